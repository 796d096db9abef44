"""Prediction loss: none for a new sample, all for shuffled columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import ColumnError, NotApplicable


def sample(rng, n=3000):
    x, g = rng.normal(size=n), rng.choice(list("abc"), n)
    y = x + (g == "a") + rng.normal(size=n)
    return pd.DataFrame({"x": x, "g": g, "y": y, "z": np.where(y > 0.3, "high", "low")})


def test_a_fresh_sample_loses_nothing_and_shuffled_columns_lose_all():
    rng = np.random.default_rng(1)
    original = sample(rng)
    fresh = vd.utility.prediction(original, [sample(rng) for _ in range(4)])
    assert set(fresh.targets) == set(original.columns)
    assert float(fresh.real) > 0.3
    assert abs(float(fresh.lost)) < 0.03
    shuffled = original.apply(rng.permutation)
    lost = vd.utility.prediction(original, shuffled)
    assert lost.lost.lower > 0.3
    assert float(lost.synthetic) < 0.05


def test_variance_explained_is_that_of_ranks_and_of_shares():
    """A category that another column determines has R^2 1, noise has 0."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"x": rng.choice(list("ab"), 2000), "noise": rng.normal(size=2000)}
    ).assign(copy=lambda d: d["x"])
    found = vd.utility.prediction(frame, frame)
    assert float(found.targets["copy"][0]) == pytest.approx(1.0)
    assert abs(float(found.targets["noise"][0])) < 0.15


def test_one_dataset_has_the_error_of_its_test_rows():
    rng = np.random.default_rng(3)
    found = vd.utility.prediction(sample(rng), sample(rng))
    assert found.lost.lower < float(found.lost) < found.lost.upper


def test_chosen_targets_are_taken_and_unknown_ones_refused():
    rng = np.random.default_rng(4)
    frame = sample(rng, 300)
    assert list(vd.utility.prediction(frame, frame, ["y"]).targets) == ["y"]
    with pytest.raises(ColumnError, match="targets names columns"):
        vd.utility.prediction(frame, frame, ["yy"])
    with pytest.raises(NotApplicable, match="60 rows"):
        vd.utility.prediction(frame[:40], frame[:40])
    with pytest.raises(NotApplicable, match="no column can be predicted"):
        vd.utility.prediction(frame, frame, [])


def test_released_versions_of_test_rows_are_not_learnt_from():
    """A column of distinct values identifies rows: a release that keeps it gains nothing."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"key": rng.normal(size=2000), "y": rng.normal(size=2000)})
    release = vd.Noise(columns=["y"], scale=0.01).protect(frame, seed=1)
    found = vd.utility.prediction(frame, release, ["y"])
    assert abs(float(found.lost)) < 0.02
