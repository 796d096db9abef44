"""pMSE: its null expectations by simulation, and controls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError

pytestmark = pytest.mark.quick


def population(rng, n):
    z = rng.normal(size=n)
    return pd.DataFrame({"a": z, "b": z + rng.normal(size=n), "c": rng.choice(list("xyz"), n)})


def redrawn(rng, frame):
    return frame.iloc[rng.integers(len(frame), size=len(frame))].reset_index(drop=True)


@pytest.mark.parametrize(
    ("make", "synthesis", "right"),
    [
        (redrawn, "simple", True),
        (lambda rng, o: population(rng, len(o)), "proper", True),
        (
            lambda rng, o: population(rng, len(o)),
            "simple",
            False,
        ),  # a fresh sample is no simple synthesis: expect 2
        (
            lambda rng, o: o.assign(b=rng.permutation(o["b"])),
            "simple",
            False,
        ),  # the relation is lost
    ],
    ids=["bootstrap", "fresh", "fresh as simple", "shuffled"],
)
def test_the_ratio_is_one_when_the_model_is_right(make, synthesis, right):
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(40):
        original = population(rng, 600)
        ratios.append(
            float(vd.utility.pmse(original, make(rng, original), synthesis=synthesis).ratio)
        )
    assert (abs(np.mean(ratios) - 1) < 0.2) == right


def test_only_slopes_with_a_replaced_column_count():
    rng = np.random.default_rng(2)
    original = population(rng, 300)
    found = vd.utility.pmse(original, original.assign(a=rng.normal(size=300)))
    assert found.slopes == 4  # a, a:b, a:c (2)
    assert vd.utility.pmse(original, redrawn(rng, original)).slopes == 9
    assert vd.utility.pmse(original, redrawn(rng, original), pairs=False).slopes == 4


def test_wide_tables_get_a_model_that_their_rows_can_bear():
    rng = np.random.default_rng(3)
    wide = pd.DataFrame({f"x{i}": rng.choice(list("abcdefgh"), 400) for i in range(20)})
    found = vd.utility.pmse(wide, redrawn(rng, wide))
    assert found.slopes <= 80
    assert "pairs" in found.note
    assert 0.6 < float(found.ratio) < 1.6


def test_a_release_brings_its_own_null():
    rng = np.random.default_rng(4)
    original = population(rng, 400)
    release = vd.Cart(m=2).protect(original, seed=1)
    assert vd.utility.pmse(original, release).null == "proper"
    figures = vd.assess(original, release)
    assert float(figures["utility.pmse.ratio"]) == pytest.approx(
        float(vd.utility.pmse(original, release).ratio)
    )
    with pytest.raises(PlanError, match="did you mean 'simple'"):
        vd.utility.pmse(original, release, synthesis="simpel")


def test_scores_are_those_of_a_logistic_regression_and_their_squares_are_g():
    """Against statsmodels: scores, G by dataset, and percentiles in both tables."""
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    before = pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300)})
    after = [before.assign(y=rng.normal(shift, 1, 300)) for shift in (0.2, 0.6)]
    score = vd.utility.pmse(before, after, pairs=False)
    label = np.repeat([0, 1], 300)
    expected = []
    for data, found in zip(after, score.scores, strict=True):
        both = sm.add_constant(pd.concat([before, data], ignore_index=True))
        fitted = np.asarray(sm.Logit(label, both).fit(disp=0).predict(both))
        np.testing.assert_allclose(found.original, fitted[:300], atol=1e-4)
        np.testing.assert_allclose(found.released, fitted[300:], atol=1e-4)
        expected.append(np.mean((fitted - 0.5) ** 2))
    np.testing.assert_allclose(score.G, expected, atol=1e-5)
    assert float(score.value) == pytest.approx(np.mean(score.G))
    table = score.percentiles
    assert (table["released"] > table["original"]).all()
    assert table.loc["50 %", "original"] == pytest.approx(
        np.mean([np.median(one.original) for one in score.scores])
    )


def test_scores_of_a_tree_are_shares_of_its_leaves(tmp_path):
    rng = np.random.default_rng(4)
    before = pd.DataFrame({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    after = before.assign(y=rng.normal(1.5, 1, 400))
    score = vd.utility.pmse(before, after, model="tree")
    (one,) = score.scores
    assert one.value == pytest.approx(float(score.value))
    # rows of a leaf have its share of released rows: the mean of all scores is that of the labels
    assert np.mean(np.append(one.original, one.released)) == pytest.approx(0.5)
    assert one.released.mean() > one.original.mean() + 0.1
    text = score.scores.plot(tmp_path / "scores.svg").read_text()
    assert "propensity score" in text
    assert "private, do not share" in text
