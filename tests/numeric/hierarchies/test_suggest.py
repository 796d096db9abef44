"""Suggested hierarchies of categories: by labels, prefixes or frequency, never bands of codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.kanonymity.kanonymity import KAnonymity
from veladura.numeric.hierarchies.levels import apply_hierarchy, distinct_values
from veladura.numeric.hierarchies.suggest import suggest_from, suggest_hierarchy
from veladura.table.inspect import inspect_table


def column_of(values, **declared):
    table = vd.open(pd.DataFrame({"a": values}), columns={"a": {"kind": "category", **declared}})
    return table.counts(["a"])


def suggested(values, k=5, **declared):
    return suggest_from(column_of(values, **declared), k)


def test_codes_whose_labels_begin_alike_are_put_together():
    labels = {"1": "single: never married", "2": "single: widowed", "3": "married", "4": "married"}
    hierarchy = suggested([1, 2, 3, 4] * 5, labels=labels)
    assert hierarchy == vd.Hierarchy.groups({"single": ["1", "2"], "married": ["3", "4"]})


def test_labels_that_have_nothing_in_common_group_nothing():
    labels = {"1": "north", "2": "south"}
    assert suggested([1, 2] * 20, labels=labels) == vd.Hierarchy.star()


def test_long_codes_are_cut_to_prefixes():
    assert suggested(["A01", "A02", "B11", "C99"]).masked == 3
    assert suggested(["02138", "02139"]).masked == 5
    assert suggested(["male", "fema"]).flat


@pytest.mark.parametrize(
    ("codes", "districts"),
    [
        (["00-950", "00-951", "31-042", "31-101"], {"00****", "31****"}),
        (["1000-001", "1000-119", "4050-022"], {"1000****", "4050****"}),
        (["SW1A 2AA", "SW1A 1AA", "M1 1AE", "M1 2AB"], {"SW1A****", "M1****"}),
    ],
)
def test_codes_of_two_parts_are_cut_to_the_first(codes, districts):
    """Postal codes of several countries: a level of the hierarchy is the district."""
    hierarchy = suggested(codes)
    counts = column_of(codes)
    _, base = distinct_values(counts.columns[0])
    levels = apply_hierarchy(hierarchy, base, counts.size)
    assert districts in [set(labels) for labels in levels.labels]


@pytest.mark.parametrize(
    "texts",
    [["type-1", "type-2", "type-3"], ["a 1", "b 22", "c 333"], ["a-1", "b-2", "c 3"], ["x.1", "y"]],
    ids=["one first part", "second parts of other lengths", "other separators", "some whole"],
)
def test_names_with_a_number_are_no_codes(texts):
    assert suggested(texts).flat


@pytest.mark.parametrize("codes", [range(1, 9), range(10, 18)])
def test_nominal_codes_are_never_put_into_bands(codes):
    rng = np.random.default_rng(1)
    shares = np.array([0.5, 0.2, 0.1, 0.1, 0.085, 0.006, 0.005, 0.004])
    values = rng.choice(list(codes), 4000, p=shares)
    for hierarchy in (
        suggested(values),
        suggest_hierarchy(distinct_values(column_of(values).columns[0])[1]),
    ):
        assert hierarchy.rule in ("kept", "flat")


def test_rare_categories_are_put_together_and_never_named():
    numbers = {"a": 500, "b": 300, "c": 120, "d": 40, "e": 21, "f": 9, "g": 6, "h": 3, "i": 1}
    values = [name for name, number in numbers.items() for _ in range(number)]
    hierarchy = suggested(values, k=5)
    assert hierarchy.kept == (("a", "b", "c", "d", "e"), ("a", "b", "c"), ("a", "b"))
    counts = column_of(values)
    _, base = distinct_values(counts.columns[0])
    levels = apply_hierarchy(hierarchy, base, counts.size)
    for height in range(1, levels.height):
        people = np.bincount(levels.codes[height], weights=counts.size)
        assert people.min() >= 5
        assert "other" in levels.labels[height]


def test_k_people_are_needed_to_keep_a_name_and_to_be_together():
    values = ["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]
    assert suggested(values, k=10).kept[0] == ("a", "b")
    assert suggested(["a"] * 60 + ["b"] * 30 + ["c"] * 2 + ["d"], k=10).flat


def test_without_numbers_of_people_nothing_depends_on_the_data():
    values = ["a"] * 90 + ["b"] * 8 + ["c"] * 6 + ["d"] * 2
    _, base = distinct_values(column_of(values).columns[0])
    assert suggest_hierarchy(base).flat


def test_ordered_categories_go_with_their_neighbours():
    order = ("none", "low", "mid", "high", "top")
    table = vd.open(
        pd.DataFrame({"a": list(order)}), columns={"a": {"kind": "ordered", "order": order}}
    )
    hierarchy = suggest_from(table.counts(["a"]), 5)
    _, base = distinct_values(table.counts(["a"]).columns[0])
    levels = apply_hierarchy(hierarchy, base, np.ones(5, dtype=np.int64))
    shown = [
        [labels[code] for code in codes]
        for labels, codes in zip(levels.labels, levels.codes, strict=True)
    ]
    assert shown[1] == ["none to low", "none to low", "mid to high", "mid to high", "top"]
    assert shown[2] == ["none to high"] * 4 + ["top"]
    assert shown[3] == ["*"] * 5


def test_a_draft_names_what_is_kept_for_the_holder_to_confirm():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"job": rng.choice(list("abcdef"), 900, p=[0.5, 0.3, 0.15, 0.03, 0.01, 0.01])}
    )
    table = vd.open(frame, columns={"job": {"role": "quasi-identifier"}})
    drafted = KAnonymity.suggest_for(table, inspect_table(table))
    assert drafted.hierarchies["job"].rule == "kept"
    release = drafted.protect(table)
    assert set(release.datasets[0].job) <= {*"abcdef", "other", "*"}


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([["a", "a"]], "named twice"),
        ([["a"], ["b"]], "does not nest"),
        ([["a"], ["a"]], "does not nest"),
    ],
)
def test_lists_that_do_not_nest_are_refused(levels, words):
    with pytest.raises(PlanError, match=words):
        vd.Hierarchy.keep(*levels)
