"""Risks by class sizes equal what looking at every row gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError

rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, None])), min_size=1, max_size=30
)


def frame_of(pairs):
    return pd.DataFrame(
        {
            "zip": [one for one, _ in pairs],
            "age": pd.array([two for _, two in pairs], dtype="Int64"),
        }
    )


@settings(max_examples=40, deadline=None)
@given(rows, rows)
def test_every_figure_is_that_of_the_rows(pairs, others):
    population = pairs + others
    found = vd.risk.classes(
        frame_of(pairs), ["zip", "age"], population=frame_of(population), threshold=0.3
    )
    f = np.array([pairs.count(row) for row in pairs])
    big = np.array([population.count(row) for row in pairs])
    assert float(found.prosecutor_highest) == pytest.approx((1 / f).max())
    assert float(found.prosecutor_average) == pytest.approx((1 / f).mean())
    assert float(found.journalist_highest) == pytest.approx((1 / big).max())
    assert float(found.journalist_average) == pytest.approx((1 / big).mean())
    assert float(found.marketer) == pytest.approx((1 / big).mean())
    assert float(found.at_risk) == pytest.approx((1 / f > 0.3).mean())
    assert int(found.uniques) == (f == 1).sum()
    assert int(found.smallest) == f.min()
    assert {size: int(n) for size, n in found.histogram.items()} == {
        int(size): sum(1 for row in set(pairs) if pairs.count(row) == size) for size in np.unique(f)
    }


def test_without_a_population_the_journalist_is_the_prosecutor():
    found = vd.risk.classes(frame_of([("a", 1), ("a", 1), ("b", 2)]), ["zip"])
    assert found.journalist_highest == found.prosecutor_highest
    assert float(found.marketer) == pytest.approx(2 / 3)


def test_mistakes_are_told():
    frame = frame_of([("a", 1)])
    with pytest.raises(PlanError, match="at least one column"):
        vd.risk.classes(frame, [])
    with pytest.raises(PlanError, match="threshold"):
        vd.risk.classes(frame, ["zip"], threshold=0)
    with pytest.raises(DataError, match="1 rows of the table are not in the population"):
        vd.risk.classes(frame, ["zip"], population=frame_of([("b", 1)]))


def test_the_figures_are_in_an_assessment():
    frame = pd.DataFrame(
        {"zip": ["a"] * 60 + ["b"] * 30, "sex": ["f", "m", "f"] * 30, "income": range(90)}
    )
    release = vd.KAnonymity(quasi_identifiers=["zip", "sex"], k=3).protect(frame)
    figures = vd.assess(frame, release)
    assert int(figures["risk.classes.smallest"]) >= 3
    assert float(figures["risk.classes.marketer"]) <= 1 / 3
    assert figures.details["risk.classes"].headers[0] == "People in a class"
