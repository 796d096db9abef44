"""The k-marginal score against pandas, its ends, and how it falls with the size of a sample."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import NotApplicable, PlanError

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", None]), st.integers(0, 9)),
    min_size=2,
    max_size=40,
)


def by_pandas(before, after):
    scores = []
    for names in combinations(before.columns, 2):
        shares = [
            frame.groupby(list(names), dropna=False).size() / len(frame)
            for frame in (before, after)
        ]
        scores.append(1000 * (1 - shares[0].subtract(shares[1], fill_value=0).abs().sum() / 2))
    return np.mean(scores)


@settings(max_examples=30, deadline=None)
@given(rows, rows)
def test_score_is_that_of_crosstabs(first, second):
    before, after = (pd.DataFrame(data, columns=["u", "v", "n"]) for data in (first, second))
    before, after = (frame.fillna({"v": "missing"}) for frame in (before, after))
    found = vd.utility.k_marginal(before, after)
    assert float(found.score) == pytest.approx(by_pandas(before, after))
    assert len(found.pairs) == 3


def test_missing_is_a_value_of_its_own():
    before = pd.DataFrame({"u": ["a", None] * 10, "n": [1.0, np.nan] * 10})
    after = pd.DataFrame({"u": ["a"] * 20, "n": [1.0] * 20})
    assert float(vd.utility.k_marginal(before, after).score) == pytest.approx(500.0)


def test_numbers_are_binned_where_the_original_has_equal_shares():
    numbers = np.arange(1000.0)
    before = pd.DataFrame({"x": numbers, "s": ["a"] * 1000})
    moved = before.assign(x=numbers + 0.4)  # within the bins, but for those at an edge
    assert float(vd.utility.k_marginal(before, moved).score) > 950
    # 19 edges at equal shares: 40 rows of one bin go to the next
    third = np.sort(numbers)[np.ceil(np.arange(19) * 999 / 19).astype(int)][2]
    crossing = (numbers > third - 40) & (numbers <= third)
    inside = before.assign(x=np.where(crossing, third + 1, numbers))
    assert float(vd.utility.k_marginal(before, inside).score) == pytest.approx(960.0)
    wild = before.assign(x=numbers * 100 + 5000)
    assert float(vd.utility.k_marginal(before, wild).score) < 60


def test_ends_and_samples():
    rng = np.random.default_rng(3)
    before = pd.DataFrame({name: rng.choice(list("abcdef"), 4000) for name in "uvw"})
    other = before.map(str.upper)
    assert float(vd.utility.k_marginal(before, before).score) == 1000.0
    assert float(vd.utility.k_marginal(before, other).score) == pytest.approx(0.0, abs=1e-9)
    shares = (0.01, 0.1, 0.5)
    scores = [
        float(vd.utility.k_marginal(before, before.sample(frac=share, random_state=1)).score)
        for share in shares
    ]
    assert scores == sorted(scores)
    assert scores[0] < 800
    assert scores[-1] > 950


def test_weights_are_counted():
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"], "w": [3.0, 1.0]})
    declared = {"w": {"role": "weight"}}
    same = pd.DataFrame({"a": list("xxxy"), "b": list("uuuv"), "w": [1.0] * 4})
    found = vd.utility.k_marginal(vd.open(frame, declared), vd.open(same, declared))
    assert float(found.score) == pytest.approx(1000.0)
    assert found.note == "Weighted by w."


def test_what_cannot_be_scored():
    one = pd.DataFrame({"a": ["x"]})
    with pytest.raises(NotApplicable, match="only one column"):
        vd.utility.k_marginal(one, one)
    with pytest.raises(PlanError, match="bins"):
        vd.utility.k_marginal(one, one, bins=1)
