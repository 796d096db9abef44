"""Hierarchies: made every way, written and read back, and refused when they do not nest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=6
).filter(lambda text: text != "*")  # a star is what all become


@given(
    values=st.lists(TEXTS, min_size=1, max_size=8, unique=True),
    groups=st.lists(st.integers(0, 2), min_size=8, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_an_explicit_hierarchy_survives_its_file(tmp_path_factory, values, groups):
    rows = [(value, f"g{group}", "*") for value, group in zip(values, groups, strict=False)]
    path = tmp_path_factory.mktemp("hierarchy") / "h.csv"
    vd.Hierarchy.explicit(rows).to_csv(path)
    assert vd.Hierarchy.from_csv(path).rows == tuple(rows)


def test_rules_are_written_as_rows(tmp_path):
    path = tmp_path / "zip.csv"
    vd.Hierarchy.mask(3).to_csv(path, ["138", "139"])
    assert path.read_text(encoding="utf-8") == "138;13*;1**;*\n139;13*;1**;*\n"
    vd.Hierarchy.intervals([5, 10]).to_csv(path, [12, 19])
    assert vd.Hierarchy.from_csv(path).rows == (
        ("12", "[10, 15)", "[10, 20)", "*"),
        ("19", "[15, 20)", "[10, 20)", "*"),
    )


def test_a_rule_needs_values_to_be_written_for(tmp_path):
    with pytest.raises(DataError, match="give the values"):
        vd.Hierarchy.mask(3).to_csv(tmp_path / "zip.csv")


@pytest.mark.parametrize(
    ("hierarchy", "height"),
    [
        (vd.Hierarchy.explicit([("a", "b", "*")]), 2),
        (vd.Hierarchy.mask(5), 5),
        (vd.Hierarchy.intervals([5, 10]), 3),
        (vd.Hierarchy.intervals(cuts=[[10, 20, 30], [20]]), 3),
        (vd.Hierarchy.dates(["month", "year"]), 3),
        (vd.Hierarchy.groups({"x": ["a", "b"]}), 2),
        (vd.Hierarchy.quantiles(8), 4),
        (vd.Hierarchy.star(), 1),
    ],
)
def test_heights_count_the_steps_to_the_top(hierarchy, height):
    assert hierarchy.height == height


@pytest.mark.parametrize(
    ("settings_", "match"),
    [
        ({}, "exactly one of"),
        ({"masked": 3, "flat": True}, "exactly one of"),
        ({"rows": (("a", "*"), ("b", "c", "*"))}, r"differ in the number of levels: \[2, 3\]"),
        ({"rows": (("a",),)}, "at least one level above"),
        ({"rows": (("a", "b", "*"), ("a", "c", "*"))}, "1 values stand more than once"),
        ({"rows": (("a", "*"), ("b", "+"))}, "must be one value"),
        (
            {"rows": (("a", "g", "x", "*"), ("b", "g", "y", "*"))},
            "levels 1 and 2 of a hierarchy do not nest: 1 values",
        ),
        ({"rows": (("a", "b", "*"), ("b", "a", "*"))}, "has a cycle: 2 values"),
        (
            {"rows": (("a", "b", "c", "*"), ("b", "b", "c", "*"), ("c", "a", "a", "*"))},
            "has a cycle: 3 values",
        ),
        ({"grouped": ({"b": ("a",), "a": ("b",)},)}, "has a cycle: 2 values"),
        ({"masked": -1}, "at least 1"),
        ({"widths": (0.0,)}, "above 0"),
        ({"widths": (5.0, 12.0)}, "do not nest"),
        ({"widths": (5.0, 5.0)}, "do not nest"),
        ({"cuts": ((3.0, 1.0),)}, "ascending order"),
        ({"cuts": ((),)}, "ascending order"),
        ({"cuts": ((1.0, 2.0), (3.0,))}, "do not nest"),
        ({"periods": ("week",)}, "period 'week' is not known"),
        ({"periods": ("year", "month")}, "do not nest"),
        ({"grouped": ({"x": ("a",), "y": ("a",)},)}, "two groups of one level"),
        ({"bins": 6}, "power of two"),
        ({"bins": 1}, "power of two"),
    ],
)
def test_hierarchies_that_are_refused(settings_, match):
    with pytest.raises(PlanError, match=match):
        vd.Hierarchy(**settings_)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe;x\n"])
def test_files_that_hold_no_hierarchy(tmp_path, content):
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"is empty|cannot be read"):
        vd.Hierarchy.from_csv(path)
    with pytest.raises(DataError, match="cannot be read as a hierarchy"):
        vd.Hierarchy.from_csv(tmp_path / "none.csv")


def test_a_path_with_nul_is_told_in_words():
    with pytest.raises(DataError, match="cannot be read as a hierarchy"):
        vd.Hierarchy.from_csv("ages\0.csv")


def test_a_repr_shows_no_rows():
    assert "canary" not in repr(vd.Hierarchy.explicit([("canary", "*")]))


def test_the_manifest_is_told_the_rule_not_the_values():
    assert vd.Hierarchy.mask(3).declared() == {"masked": 3, "side": "right"}
    assert vd.Hierarchy.intervals([5, 10], origin=2).declared() == {
        "widths": [5.0, 10.0],
        "origin": 2.0,
    }
    assert vd.Hierarchy.explicit([("a", "*")]).declared() == {"rows": [["a", "*"]]}


def test_a_file_may_repeat_a_row_but_not_contradict_it(tmp_path):
    path = tmp_path / "zip.csv"
    path.write_text("02138;0213*;*\n02139;0213*;*\n\n02138;0213*;*\n")
    assert vd.Hierarchy.from_csv(path).rows == (("02138", "0213*", "*"), ("02139", "0213*", "*"))
    path.write_text("02138;0213*;*\n02139;0213*;*\n\n02138;0214*;*\n")
    with pytest.raises(DataError, match=r"zip.csv, line 4: .* stands in line 1 already") as caught:
        vd.Hierarchy.from_csv(path)
    assert "02138" not in str(caught.value)


def test_rows_given_twice_count_once():
    rows = [("a", "x", "*"), ("b", "x", "*"), ("a", "x", "*")]
    assert vd.Hierarchy.explicit(rows) == vd.Hierarchy.explicit(rows[:2])
    with pytest.raises(PlanError, match="1 values stand more than once"):
        vd.Hierarchy.explicit([*rows, ("a", "y", "*")])
