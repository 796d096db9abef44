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
from veladura.measures.risk.suda2_search import (
    MOST_SETS,
    MOST_VISITS,
    affordable_size,
    number_of_sets,
)

NAMES = ["a", "b", "c", "d"]


def by_definition(frame, largest, persons=None):
    """All minimal sample uniques: sets in which nobody else has the row's values, but no part."""
    values = frame.astype(object).where(frame.notna(), "missing").to_numpy().tolist()
    columns = range(frame.shape[1])
    persons = range(len(values)) if persons is None else persons

    def alone(row, chosen):
        return all(
            person == persons[row] or any(other[c] != values[row][c] for c in chosen)
            for other, person in zip(values, persons, strict=True)
        )

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


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), *[st.sampled_from([0, 1, 2])] * 4), min_size=1, max_size=12
    ),
    st.integers(1, 4),
)
def test_of_people_with_several_rows_each_counts_once_a_set(rows, largest):
    whole = pd.DataFrame(rows, columns=["who", *NAMES])
    table = vd.open(whole, {"who": {"role": "person"}})
    found = vd.risk.suda2(table, NAMES, max_size=largest)
    persons = whole["who"].tolist()
    expected = by_definition(whole[NAMES], largest, persons)
    pairs = {(persons[row], chosen) for row, chosen in expected}
    assert {size: int(n) for size, n in found.sizes.items()} == {
        s: sum(len(c) == s for _, c in pairs) for s in range(1, largest + 1)
    }
    worths = {s: prod(4 - i for i in range(s, min(largest, 3) + 1)) for s in range(1, 5)}
    score = [sum(worths[len(c)] for r, c in expected if r == row) for row in range(len(whole))]
    np.testing.assert_allclose(found.score, score)
    whole_score = sum(worths[len(c)] for _, c in pairs)
    for i, name in enumerate(NAMES):
        part = sum(worths[len(c)] for _, c in pairs if i in c)
        assert float(found.contribution[name]) == pytest.approx(
            part / whole_score if whole_score else 0.0
        )


def counted_by_groupby(frame, largest):
    """The same search, one groupby a set: fast enough for tables of some size."""
    sizes, unique = dict.fromkeys(range(1, largest + 1), 0), {}
    number = np.zeros(len(frame), dtype=int)
    for size in range(1, largest + 1):
        for chosen in combinations(list(frame), size):
            alone = frame.groupby(list(chosen))[chosen[0]].transform("size").to_numpy() == 1
            parts = [unique[part] for part in combinations(chosen, size - 1) if part]
            minimal = alone & ~np.any(parts, axis=0) if parts else alone
            unique[chosen] = alone
            sizes[size] += int(minimal.sum())
            number += minimal
    return sizes, number


@pytest.mark.parametrize("levels", [(2, 3, 3, 5, 4, 20), (900, 30, 2, 7, 40, 3)])
def test_it_finds_what_a_groupby_of_every_set_finds(levels):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({f"c{i}": rng.geometric(1.5 / n, 4000) % n for i, n in enumerate(levels)})
    found = vd.risk.suda2(frame, list(frame))
    sizes, number = counted_by_groupby(frame, len(levels))
    assert {size: int(n) for size, n in found.sizes.items()} == sizes
    np.testing.assert_array_equal(found.smallest > 0, number > 0)
    assert sum(sizes.values()) > 1000  # enough to find a mistake in


def test_all_sizes_are_searched_unless_that_takes_too_long():
    frame = pd.DataFrame({f"c{i}": [1, 2, 2] for i in range(5)})
    assert list(vd.risk.suda2(frame, list(frame)).sizes) == [1, 2, 3, 4, 5]
    for rows, columns in ((91_600, 7), (10_000_000, 12), (100, 40), (10_000_000, 100)):
        size = affordable_size(rows, columns)
        fits = [
            number_of_sets(columns, s) <= MOST_SETS
            and rows * number_of_sets(columns, s) <= MOST_VISITS
            for s in range(1, columns + 1)
        ]
        assert size == max(3, sum(fits))


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


def test_an_assessment_searches_sets_of_all_sizes_where_that_is_affordable():
    """Who is unique on all columns has a minimal sample unique of some size."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.integers(0, 4, 300) for name in "abcde"})
    table = vd.open(frame, {name: {"role": "quasi-identifier"} for name in "abcde"})
    figures = vd.assess(table, vd.Recode(columns={"a": {"round": 1}}).protect(table)).figures
    alone = np.mean(frame.groupby(list("abcde"))["a"].transform("size") == 1)
    assert figures["risk.suda2.uniques"].estimate.value == pytest.approx(alone)
    pairs = vd.risk.suda2(frame, list("abcde"), max_size=2)
    assert figures["risk.suda2.special"].estimate.value == float(pairs.special) < alone
    assert "up to 5 columns" in figures["risk.suda2.uniques"].note
