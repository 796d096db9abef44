"""The pMSE ratio is 1 in expectation for correct synthesis, and far above for marginals only.

Claim: the mean of the ratio over independent replicates differs from 1 by less than five standard
errors and the few per cent that a simulated null may be off (false alarm about 1e-5). Controls:
columns drawn each by itself must be far above.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.measures.utility.propensity_tree import predictors_of, stacked
from veladura.numeric.sampling import matched_rows

REPLICATES, ROWS, SLACK = 40, 600, 0.04


def population(rng, n=ROWS):
    z = rng.normal(size=n)
    return pd.DataFrame(
        {"a": z, "b": z + rng.normal(size=n), "c": np.where(z + rng.normal(size=n) > 0, "x", "y")}
    )


def redrawn(rng, frame):
    """Simple synthesis by the right model: rows drawn with equal weights."""
    return frame.iloc[rng.integers(len(frame), size=len(frame))].reset_index(drop=True)


def fresh(rng, frame):
    """Proper synthesis by the right model: a new sample."""
    return population(rng, len(frame))


def conditional(rng, frame):
    """One column replaced by a draw from its true law given the others."""
    return frame.assign(b=frame["a"] + rng.normal(size=len(frame)))


def marginals_only(rng, frame):
    """Control: every column drawn by itself."""
    return pd.DataFrame(
        {name: frame[name].to_numpy()[rng.integers(len(frame), size=len(frame))] for name in frame}
    )


def ratios(make, synthesis, model, replaced=None):
    rng = np.random.default_rng(11)
    found = []
    for _ in range(REPLICATES):
        original = population(rng)
        found.append(
            float(
                vd.utility.pmse(
                    original,
                    make(rng, original),
                    model=model,
                    synthesis=synthesis,
                    replaced=replaced,
                ).ratio
            )
        )
    return np.array(found)


def is_one(found):
    return abs(found.mean() - 1) < SLACK + 5 * found.std(ddof=1) / np.sqrt(found.size)


@pytest.mark.parametrize("model", ["logistic", "tree"])
@pytest.mark.parametrize(
    ("make", "synthesis", "replaced"),
    [
        (redrawn, "simple", list("abc")),
        (fresh, "proper", list("abc")),
        (conditional, "proper", ["b"]),
    ],
)
def test_the_ratio_is_one_for_correct_synthesis(make, synthesis, replaced, model):
    assert is_one(ratios(make, synthesis, model, replaced))


@pytest.mark.parametrize("model", ["logistic", "tree"])
@pytest.mark.parametrize("synthesis", ["simple", "proper"])
def test_marginals_alone_are_far_above(model, synthesis):
    found = ratios(marginals_only, synthesis, model, list("abc"))
    assert not is_one(found)
    assert found.min() > 1.5


def test_a_shuffled_package_is_matched_by_the_columns_that_were_kept():
    rng = np.random.default_rng(3)
    original = vd.open(population(rng))
    order = rng.permutation(ROWS)
    released = vd.open(conditional(rng, original.frame).iloc[order].reset_index(drop=True))
    rows = matched_rows(original, released, ["a", "c"])
    assert rows.aligned
    np.testing.assert_array_equal(
        original.frame["a"].to_numpy()[rows.original], released.frame["a"].to_numpy()[rows.released]
    )
    assert not matched_rows(original, vd.open(fresh(rng, original.frame)), ["a"]).aligned


def test_one_dataset_has_an_interval_that_holds_the_truth_and_several_a_t_interval():
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(60):
        original = population(rng)
        ratio = vd.utility.pmse(
            original, fresh(rng, original), synthesis="proper", replaced=list("abc")
        ).ratio
        assert ratio.lower < ratio.value < ratio.upper
        covered.append(ratio.lower <= 1 <= ratio.upper)
    assert (
        np.mean(covered) > 0.75
    )  # 95 % were it not for the skew of a chi-squared law with 5 degrees of freedom


def test_g_is_the_score_of_main_effects():
    rng = np.random.default_rng(6)
    original = population(rng)
    several = [marginals_only(rng, original) for _ in range(3)]
    mean = np.mean([float(vd.utility.pmse(original, one, pairs=False).value) for one in several])
    assert float(vd.utility.g(original, several)) == pytest.approx(mean)


def test_an_unknown_model_is_refused_and_rare_levels_are_one():
    frame = pd.DataFrame({"x": [f"v{i}" for i in range(400)]})
    with pytest.raises(PlanError, match="did you mean 'tree'"):
        vd.utility.pmse(frame, frame, model="trees")
    table = vd.open(frame, {"x": "category"})
    assert stacked(table, table, ["x"], []).predictors.bins.max() <= 200
    assert predictors_of({}).bins.size == 0
