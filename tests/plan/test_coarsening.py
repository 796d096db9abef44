"""Drafted roundings leave few people alone by a number, recounted with pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.plan.coarsening import (
    coarser_number,
    date_period,
    holders,
    merged_share,
    rare_levels,
)
from veladura.table.codes import label_texts

pytestmark = pytest.mark.quick

MOST_ALONE = 0.005


def amounts(shape: str, rows: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    match shape:
        case "cents":
            return np.round(draw.lognormal(7, 1.2, rows), 2)
        case "loss and gain":
            return np.round(draw.standard_t(2, rows) * 100, 1)
        case "whole":
            return draw.integers(0, 10_000_000, rows)
        case "heaped":
            return np.where(draw.random(rows) < 0.8, 0.0, np.round(draw.pareto(1.5, rows) * 999, 2))
        case _:
            return draw.normal(0, 1, rows)


def alone(series: pd.Series) -> int:
    return int((series.value_counts(dropna=False) == 1).sum())


@pytest.mark.parametrize("shape", ["cents", "loss and gain", "whole", "heaped", "many digits"])
@given(rows=st.integers(400, 3_000), seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_few_people_are_alone_by_a_drafted_number(shape, rows, seed):
    frame = pd.DataFrame({"x": amounts(shape, rows, seed)})
    limits, rule = coarser_number(holders(vd.open(frame), "x", None), MOST_ALONE)
    released = frame
    if limits is not None:
        released = vd.TopCode(columns={"x": limits}).protect(released).datasets[0]
    if rule is not None:
        released = vd.Recode(columns={"x": rule}).protect(released).datasets[0]
    assert alone(released["x"]) <= max(MOST_ALONE * rows, 8)  # eight values say too little already
    if limits is not None and rule is not None:  # the promise of the limit survives the rounding
        assert limits.upper is None or released["x"].max() <= limits.upper
        assert limits.lower is None or released["x"].min() >= limits.lower


def test_rounding_is_no_coarser_than_needed():
    frame = pd.DataFrame({"x": amounts("whole", 2_000, 1)})
    _, rule = coarser_number(holders(vd.open(frame), "x", None), MOST_ALONE)
    finer = {1: 5, 2: 1, 5: 2}
    digit = int(str(rule.round)[0])
    before = rule.round // digit * finer[digit] // (10 if digit == 1 else 1)
    assert alone((frame["x"] / rule.round + 0.5).astype(int)) <= MOST_ALONE * 2_000
    assert alone((frame["x"] / before + 0.5).astype(int)) > MOST_ALONE * 2_000


def test_numbers_that_many_share_stay():
    frame = pd.DataFrame({"x": np.random.default_rng(1).integers(0, 40, 2_000)})
    assert coarser_number(holders(vd.open(frame), "x", None), MOST_ALONE) == (None, None)


def test_people_count_once_however_many_rows_they_have():
    frame = pd.DataFrame({"who": [1, 1, 1, 2, 3], "x": [5, 5, 5, 6, 6]})
    by_rows, by_people = (holders(vd.open(frame), "x", who) for who in (None, "who"))
    assert (by_rows.people, by_people.people) == (5, 3)
    assert by_rows.alone(by_rows.column.values) == 0
    assert by_people.alone(by_people.column.values) == 1


def test_dates_take_the_finest_period_that_will_do():
    days = pd.to_datetime("2001-01-01") + pd.to_timedelta(
        np.random.default_rng(2).integers(0, 3_650, 2_400), unit="D"
    )
    frame = pd.DataFrame({"day": days})
    rule = date_period(holders(vd.open(frame), "day", None), MOST_ALONE)
    assert rule.date == "month"
    assert alone(frame["day"].dt.to_period("M")) <= 12
    assert alone(frame["day"]) > 12
    assert date_period(holders(vd.open(pd.concat([frame] * 4)), "day", None), MOST_ALONE) is None


@given(
    labels=st.lists(st.sampled_from("aaaaaaabbbbbcde"), min_size=12, max_size=60),
    fewest=st.integers(2, 6),
)
@settings(max_examples=60, deadline=None)
def test_no_rare_category_is_left(labels, fewest):
    frame = pd.DataFrame({"c": labels})
    held = holders(vd.open(frame), "c", None)
    rule = rare_levels(held, fewest)
    sizes = frame["c"].value_counts()
    if rule is None:
        assert sizes.min() >= fewest
        return
    new = pd.Series(rule.new_labels(labels)).value_counts()
    assert new.min() >= min(fewest, len(labels))
    gone = sum(size for label, size in sizes.items() if label not in rule.keep)
    assert merged_share(held, rule) == pytest.approx(gone / len(labels))


def test_the_merged_category_has_a_name_of_its_own():
    held = holders(vd.open(pd.DataFrame({"c": ["other"] * 9 + ["x", "y"] * 3})), "c", None)
    assert "other" in label_texts(held.column)
    assert rare_levels(held, 5).other == "other (merged)"


def test_a_few_debts_do_not_make_all_amounts_coarse():
    """Amounts of very different size keep their digits, though some are below 0."""
    rng = np.random.default_rng(5)
    numbers = np.round(np.exp(rng.normal(6, 2, 4000))).astype(int)
    numbers[:20] *= -1
    limits, rule = coarser_number(
        holders(vd.open(pd.DataFrame({"x": numbers})), "x", None), MOST_ALONE
    )
    assert limits is not None
    assert rule is not None
    assert rule.digits is not None
    rounded = rule.rounded(numbers)
    quartiles = np.quantile(numbers, [0.25, 0.5, 0.75])
    # one significant digit moves a number by a third at most
    assert np.quantile(rounded, [0.25, 0.5, 0.75]) == pytest.approx(quartiles, rel=1 / 3)
