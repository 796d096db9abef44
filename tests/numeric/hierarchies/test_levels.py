"""Hierarchies applied to a column: nested codes, labels, suggestions that disclose no value."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError
from veladura.numeric.hierarchies.levels import apply_hierarchy, distinct_values
from veladura.numeric.hierarchies.suggest import suggest_hierarchy
from veladura.table.codes import encode
from veladura.table.schema import Field, kind_of


def base_of(values, kind=None):
    array = pa.array(values)
    return distinct_values(encode(array, Field("x", kind or kind_of(array.type), array.type)))[1]


def levels(hierarchy, values):
    base = base_of(values)
    return apply_hierarchy(hierarchy, base, np.ones(base.size, dtype=np.int64))


def released(hierarchy, values, level):
    found = levels(hierarchy, values)
    return [found.labels[level][code] for code in found.codes[level]]


RULES = {
    "numbers": (
        st.lists(st.integers(-500, 500), min_size=1, max_size=20),
        [
            vd.Hierarchy.intervals([5, 10, 50]),
            vd.Hierarchy.intervals(cuts=[[-10, 0, 10], [0]]),
            vd.Hierarchy.quantiles(8),
        ],
    ),
    "texts": (
        st.lists(st.text("0123456789", min_size=4, max_size=4), min_size=1, max_size=20),
        [vd.Hierarchy.mask(4), vd.Hierarchy.mask(4, side="left"), vd.Hierarchy.star()],
    ),
    "dates": (
        st.lists(st.dates(date(1900, 1, 1), date(2100, 1, 1)), min_size=1, max_size=20),
        [vd.Hierarchy.dates(), vd.Hierarchy.dates(["month", "year", "decade", "50 years"])],
    ),
}


@pytest.mark.parametrize("kind", RULES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_levels_nest_and_end_in_one_value(kind, data):
    values, rules = RULES[kind]
    found = levels(data.draw(st.sampled_from(rules)), data.draw(values))
    for below, above in zip(found.codes, found.codes[1:], strict=False):
        assert len({(int(b), int(a)) for b, a in zip(below, above, strict=True)}) == len(
            set(below.tolist())
        )
    assert found.labels[-1] == ("*",)
    assert set(found.codes[-1].tolist()) == {0}


def test_labels_as_people_write_them():
    assert released(vd.Hierarchy.intervals([5, 10]), [12, 19], 1) == ["[10, 15)", "[15, 20)"]
    assert released(vd.Hierarchy.intervals(cuts=[[15]]), [12, 19], 1) == ["< 15", ">= 15"]
    assert released(vd.Hierarchy.dates(["quarter", "year", "decade"]), [date(1984, 5, 17)], 1) == [
        "1984-Q2"
    ]
    assert released(vd.Hierarchy.dates(["quarter", "year", "decade"]), [date(1984, 5, 17)], 3) == [
        "1980-1989"
    ]
    assert released(vd.Hierarchy.mask(5), ["02138"], 2) == ["021**"]
    assert released(vd.Hierarchy.mask(5, side="left"), ["02138"], 2) == ["**138"]
    assert released(
        vd.Hierarchy.groups({"alone": ["single", "widowed"]}), ["single", "married"], 1
    ) == ["married", "alone"]


def test_types_are_kept_on_request():
    assert levels(vd.Hierarchy.dates(["year"]), [date(1984, 5, 17)]).exact[1] == (date(1984, 1, 1),)
    assert levels(vd.Hierarchy.mask(5), ["02138"]).exact[1] == ("02130",)
    assert levels(vd.Hierarchy.intervals([10]), [12]).exact[1] == (10,)


def test_missing_stays_missing_until_the_top():
    found = levels(vd.Hierarchy.intervals([10]), [12, None])
    assert found.labels[1] == ("[10, 20)", None)
    assert found.labels[2] == ("*",)


def test_a_value_outside_is_counted_and_listed_for_the_custodian_only(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path))
    with pytest.raises(
        DataError, match=r"column 'x': 1 values \(1 rows\) are not in its hierarchy"
    ) as error:
        levels(vd.Hierarchy.explicit([("a", "*")]), ["a", "canary"])
    assert "canary" not in str(error.value)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.rglob("x.txt")] == ["canary\n"]


@pytest.mark.parametrize(
    ("hierarchy", "match"),
    [
        (vd.Hierarchy.intervals([5]), "has widths, for columns of kind integer or number"),
        (vd.Hierarchy.dates(), "has periods, for columns of kind date"),
        (vd.Hierarchy.quantiles(4), "has bins, for columns of kind"),
    ],
)
def test_a_rule_for_another_kind_is_refused(hierarchy, match):
    with pytest.raises(DataError, match=match):
        levels(hierarchy, ["a", "b"])


def test_groups_that_tear_a_level_apart_are_refused():
    hierarchy = vd.Hierarchy.explicit([("a", "g", "*"), ("b", "g", "*")])
    object.__setattr__(
        hierarchy, "rows", (("a", "g", "p", "*"), ("b", "g", "q", "*"))
    )  # past the check of the rule itself
    with pytest.raises(DataError, match="does not nest"):
        levels(hierarchy, ["a", "b"])


@given(st.lists(st.integers(10_000, 99_999), min_size=3, max_size=60, unique=True))
@settings(max_examples=80, deadline=None)
def test_a_suggestion_has_round_limits_never_the_extremes(values):
    hierarchy = suggest_hierarchy(base_of(values))
    if hierarchy.flat:
        return
    assert hierarchy.rule == "widths"
    assert hierarchy.origin == 0
    round_ones = {
        nice * 10**power * factor
        for nice in (1, 2, 5)
        for power in range(-3, 6)
        for factor in (1, 2, 4, 8)
    }
    assert set(hierarchy.widths) <= round_ones


def test_suggestions_follow_the_kind():
    assert suggest_hierarchy(base_of(["02138", "02139"])).masked == 5
    assert suggest_hierarchy(base_of(["red", "blue"])).flat
    assert suggest_hierarchy(base_of([date(1980, 1, 1), date(1990, 1, 1)])).rule == "periods"
    assert suggest_hierarchy(base_of([3, 3])).flat
    assert suggest_hierarchy(
        base_of([1, 2])
    ).flat  # codes of which no interval is left below the top


@given(
    st.lists(
        st.integers(-(10**9), 10**9).map(lambda n: n / 1000), min_size=9, max_size=60, unique=True
    )
)
@settings(max_examples=60, deadline=None)
def test_limits_of_quantiles_have_two_digits(values):
    found = levels(vd.Hierarchy.quantiles(4), values)
    for label in found.labels[1]:
        for limit in label.strip("[)<>= ").split(", "):
            assert len(f"{abs(float(limit)):.10f}".replace(".", "").strip("0")) <= 2


@pytest.mark.parametrize("rule", [vd.Hierarchy.intervals([5]), vd.Hierarchy.quantiles(4), None])
def test_infinite_numbers_are_in_no_interval_and_refused_in_words(rule):
    values = [1.0, 2.5, float("inf"), float("-inf")]
    with pytest.raises(DataError, match="'x' has 2 infinite values"):
        levels(rule or suggest_hierarchy(base_of(values)), values)
