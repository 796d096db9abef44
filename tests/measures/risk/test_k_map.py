"""k-map against its definition, counted row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from(["x", "y", None])),
    min_size=1,
    max_size=14,
)


def frame(rows):
    return pd.DataFrame(rows, columns=["k", "q", "t"]).astype({"k": object, "t": object})


@settings(max_examples=40, deadline=None)
@given(rows, rows)
def test_k_map_counts_the_persons_of_each_row(sample, others):
    sample = frame(sample)
    population = pd.concat([sample, frame(others)], ignore_index=True)
    keys = list(zip(population["k"], population["q"], strict=True))
    persons = [keys.count(key) for key in zip(sample["k"], sample["q"], strict=True)]
    found = vd.risk.k_map(sample, population, ["k", "q"], k=3)
    assert found.per_record.tolist() == persons
    assert int(found.k) == min(persons)
    assert float(found.below) == pytest.approx(np.mean([p < 3 for p in persons]))
    assert float(found.average) == pytest.approx(np.mean([1 / p for p in persons]))


def test_mistakes_are_told():
    people = pd.DataFrame({"k": ["a", "b"], "t": ["x", "y"]})
    with pytest.raises(PlanError, match="at least one column in known"):
        vd.risk.k_map(people, people, [])
    with pytest.raises(PlanError, match="at least 1"):
        vd.risk.k_map(people, people, ["k"], k=0)
    with pytest.raises(DataError, match="1 rows of the table are not in the population") as error:
        vd.risk.k_map(people, people.iloc[:1], ["k"])
    assert "'b'" not in str(error.value)
    with pytest.raises(DataError, match="no rows"):
        vd.risk.k_map(people.iloc[:0], people, ["k"])
