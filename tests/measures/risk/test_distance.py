"""Distances to the closest record, against distances computed pair by pair."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.numeric.points import MISSING, nearest_rows

points = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 2.0, np.nan]), st.sampled_from([0.0, 0.25, 0.7, np.nan])),
    min_size=1,
    max_size=9,
)


def between(one, other):
    """The mean over a category and a number of how far two rows are apart."""
    total = 0.0
    for j, (a, b) in enumerate(zip(one, other, strict=True)):
        if np.isnan(a) or np.isnan(b):
            total += float(np.isnan(a) != np.isnan(b))
        else:
            total += float(a != b) if j == 0 else abs(a - b)
    return total / 2


@settings(max_examples=80, deadline=None)
@given(points, points)
def test_the_kernel_finds_the_nearest_and_counts_ties(ones, others):
    found = nearest_rows(*(np.nan_to_num(np.array(rows), nan=MISSING) for rows in (ones, others)))
    for i, one in enumerate(ones):
        distances = np.array([between(one, other) for other in others])
        assert found.distance[i] == pytest.approx(distances.min())
        assert found.index[i] == int(np.flatnonzero(distances <= distances.min() + 1e-12)[0])
        assert found.ties[i] == np.count_nonzero(distances <= distances.min() + 1e-12)


def people(rng, n=400):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "job": rng.choice(list("abcde"), n),
            "income": rng.lognormal(10, 1, n).round(),
        }
    )


def test_copies_and_the_control_group_expose_a_release_that_copies():
    rng = np.random.default_rng(2)
    before, held, fresh = people(rng), people(rng), people(rng)
    independent = vd.risk.distance(before, fresh, control=held, level=1 - 1e-5)
    assert independent.nearer.lower < 0.5 < independent.nearer.upper
    assert float(independent.copies) == 0
    assert 0.8 < float(independent.ratio) < 1.25
    copy = vd.risk.distance(before, before, control=held, level=1 - 1e-5)
    assert (float(copy.copies), float(copy.ratio)) == (1.0, 0.0)
    assert copy.nearer.lower > 0.9


def test_a_control_group_of_another_size_does_not_bias_the_comparison():
    rng = np.random.default_rng(4)
    before, held, fresh = people(rng, 1500), people(rng, 300), people(rng, 800)
    found = vd.risk.distance(before, fresh, control=held, level=1 - 1e-5)
    assert found.nearer.lower < 0.5 < found.nearer.upper
    alone = vd.risk.distance(before, fresh, level=1 - 1e-5)
    assert alone.nearer is None


def test_the_old_names_still_work_with_a_warning():
    rng = np.random.default_rng(6)
    before, held = people(rng, 50), people(rng, 50)
    now = vd.risk.distance(before, before, control=held)
    with pytest.warns(DeprecationWarning, match="now called veladura.risk.distance"):
        closest = vd.risk.closest
    with pytest.warns(DeprecationWarning, match="'holdout'"):
        assert float(closest(before, before, holdout=held).nearer) == float(now.nearer)


def test_mistakes_are_told():
    frame = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(DataError, match="at least 2 rows"):
        vd.risk.distance(frame, frame.iloc[:1])
    with pytest.raises(PlanError, match="sample"):
        vd.risk.distance(frame, frame, sample=0)
    with pytest.raises(PlanError, match="no column"):
        vd.risk.distance(frame, frame, columns=[])
