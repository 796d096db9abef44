"""SUDA2 against a search through all sets of columns, row by row."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError

NAMES = ["a", "b", "c", "d"]


def by_definition(frame, largest):
    """All minimal sample uniques: sets in which a row is unique, but in no proper part."""
    values = frame.astype(object).where(frame.notna(), "missing").to_numpy().tolist()
    columns = range(frame.shape[1])

    def alone(row, chosen):
        return sum(all(other[c] == values[row][c] for c in chosen) for other in values) == 1

    found = []
    for row in range(len(values)):
        for size in range(1, largest + 1):
            for chosen in combinations(columns, size):
                parts = (
                    part for smaller in range(1, size) for part in combinations(chosen, smaller)
                )
                if alone(row, chosen) and not any(alone(row, part) for part in parts):
                    found.append((row, chosen))
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from([0, 1, 2, None])] * 4), min_size=1, max_size=12),
    st.integers(1, 4),
)
def test_it_finds_what_a_search_through_everything_finds(rows, largest):
    frame = pd.DataFrame(rows, columns=NAMES, dtype=float)
    found = vd.risk.suda2(frame, NAMES, max_size=largest)
    expected = by_definition(frame, largest)
    score, smallest, parts = np.zeros(len(frame)), np.zeros(len(frame), dtype=int), np.zeros(4)
    for row, chosen in expected:
        worth = prod(4 - i for i in range(len(chosen), min(largest, 3) + 1))
        score[row] += worth
        smallest[row] = min(smallest[row] or 9, len(chosen))
        parts[list(chosen)] += worth
    np.testing.assert_allclose(found.score, score)
    np.testing.assert_array_equal(found.smallest, smallest)
    assert {size: int(n) for size, n in found.sizes.items()} == {
        s: sum(len(c) == s for _, c in expected) for s in range(1, largest + 1)
    }
    assert [float(found.contribution[name]) for name in NAMES] == pytest.approx(
        list(parts / score.sum() if score.sum() else parts)
    )
    assert float(found.special) == pytest.approx(np.mean(smallest > 0))


def test_the_probability_of_a_right_match_by_hand():
    frame = pd.DataFrame({"a": [1, 2, 3, 3, 4, 4, 5, 5, 5]})  # two uniques, two pairs
    found = vd.risk.suda2(frame, ["a"], fraction=0.1)
    theta = 2 * 0.1 / (2 * 0.1 + 2 * 2 * 0.9)
    assert float(found.probability) == pytest.approx(theta)
    assert found.dis[:2].tolist() == pytest.approx([theta, theta])
    assert found.dis[2:].sum() == 0


def test_nothing_is_special_in_equal_rows():
    found = vd.risk.suda2(pd.DataFrame({"a": [1, 1], "b": [2, 2]}), ["a", "b"])
    assert (found.score.sum(), float(found.special), float(found.probability)) == (0, 0.0, 0.0)


def test_mistakes_are_told():
    frame = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(PlanError, match="at least one column in known"):
        vd.risk.suda2(frame, "a")
    with pytest.raises(PlanError, match="at least 1"):
        vd.risk.suda2(frame, ["a"], max_size=0)
    with pytest.raises(PlanError, match="fraction"):
        vd.risk.suda2(frame, ["a"], fraction=0)
    with pytest.raises(DataError, match="no rows"):
        vd.risk.suda2(frame.iloc[:0], ["a"])
    wide = pd.DataFrame({f"c{i}": [1, 2] for i in range(60)})
    with pytest.raises(PlanError, match="too many"):
        vd.risk.suda2(wide, list(wide))
