"""pMSE by a tree: leaves by hand, a lost relation, and the null from pairs of datasets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd


def population(rng, n=600):
    z = rng.normal(size=n)
    return pd.DataFrame(
        {"a": z, "b": z + rng.normal(size=n), "c": np.where(z + rng.normal(size=n) > 0, "x", "y")}
    )


def conditional(rng, frame):
    """One column replaced by a draw from its true law given the others."""
    return frame.assign(b=frame["a"] + rng.normal(size=len(frame)))


def test_a_tree_sees_a_lost_relation_where_every_column_is_exact():
    rng = np.random.default_rng(2)
    original = population(rng, 2000)
    shuffled = original.assign(b=rng.permutation(original["b"]), a=rng.permutation(original["a"]))
    assert float(vd.utility.pmse_tree(original, shuffled).ratio) > 2


def test_kept_columns_without_a_counterpart_need_pairs_of_datasets():
    rng = np.random.default_rng(4)
    original = population(rng)
    fewer = [conditional(rng, original).iloc[:-7].reset_index(drop=True) for _ in range(3)]
    alone = vd.utility.pmse_tree(original, fewer[0], replaced=["b"])
    assert np.isnan(alone.ratio.value)
    assert "at least two datasets" in alone.note
    pairs = vd.utility.pmse_tree(original, fewer, replaced=["b"])
    assert "3 pairs of datasets" in pairs.null
    assert 0.3 < float(pairs.ratio) < 3


def test_tree_scores_are_those_of_the_leaves():
    """A tree on one binary column has two leaves at most: pMSE by hand."""
    before, after = (
        pd.DataFrame({"x": ["a"] * 60 + ["b"] * 40}),
        pd.DataFrame({"x": ["a"] * 30 + ["b"] * 70}),
    )
    found = vd.utility.pmse_tree(before, after, replaced=["x"])
    by_hand = (90 * (30 / 90 - 0.5) ** 2 + 110 * (70 / 110 - 0.5) ** 2) / 200
    assert float(found.value) == pytest.approx(by_hand)


def test_the_assessment_and_the_model_of_pmse_give_the_same():
    rng = np.random.default_rng(8)
    people = population(rng)
    release = vd.Cart(columns=["b"], m=2).protect(people, seed=1)
    figures = vd.assess(people, release)
    score = vd.utility.pmse(people, release, model="tree")
    assert float(figures["utility.pmse_tree.value"]) == float(score.value)
    assert float(vd.utility.pmse_tree(people, release).ratio) == float(score.ratio)
