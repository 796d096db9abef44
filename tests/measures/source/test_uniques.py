"""Who is unique by what an intruder knows, against counts by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.measures.source.uniques import contribution, knowable, unique_combinations
from veladura.table.telling import Telling


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {name: rng.integers(0, levels, 300) for name, levels in (("a", 3), ("b", 9), ("c", 40))}
    ).astype(str)
    table.loc[rng.random(300) < 0.1, "b"] = None
    return table


def alone(table: pd.DataFrame, names: list[str]) -> int:
    rows = [tuple(row) for row in table[names].fillna("-").to_numpy()]
    return sum(rows.count(row) == 1 for row in rows)


def test_contributions_are_differences_of_counts(people):
    telling = Telling(vd.open(people))
    for size in (1, 2, 3):
        for known in map(list, combinations(people.columns, size)):
            for name in people.columns:
                part = contribution(telling, known, name)
                rest = [other for other in known if other != name]
                if name in known:
                    before = alone(people, rest) if rest else 0
                    assert part.people == alone(people, known) - before
                else:
                    assert part.people == alone(people, [*known, name]) - alone(people, known)


def test_many_columns_of_many_values_are_counted_without_overflow():
    """Seven columns of 3,000 values each have more combinations than an integer holds."""
    rng = np.random.default_rng(4)
    half = pd.DataFrame({f"c{i}": rng.permutation(3000) for i in range(7)})
    both = pd.concat([half, half.iloc[:2900]])
    telling = Telling(vd.open(both))
    assert telling.alone(list(both.columns)) == 100


def test_combinations_are_those_of_people_who_are_alone(people):
    listed = unique_combinations(vd.open(people), ["a", "b"], 1000)
    rows = [tuple(row) for row in people[["a", "b"]].fillna("missing").to_numpy()]
    assert sorted(listed) == sorted(row for row in set(rows) if rows.count(row) == 1)
    assert len(unique_combinations(vd.open(people), ["b", "c"], 5)) == 5


def test_what_is_not_released_cannot_be_known(people):
    roles = {"a": {"role": "identifier"}, "b": {"role": "household"}}
    assert knowable(vd.open(people, roles)) == ["c"]
