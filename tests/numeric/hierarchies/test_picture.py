"""Hierarchies drawn: every value and every step is there, long ones are cut, many are counted."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

import veladura as vd
from veladura.errors import DataError

ROWS = [
    ("02138", "0213*", "021**"),
    ("02139", "0213*", "021**"),
    ("02141", "0214*", "021**"),
    ("02142", "0214*", "021**"),
]


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314  # our own picture
    return [node.text or "" for node in root.iter() if node.tag.endswith("text")]


def test_the_trees_of_the_paper():
    svg = vd.Hierarchy.explicit(ROWS).to_svg()
    words = texts(svg)
    assert "Z2 = {021**}" in words
    assert "Z1 = {0213*, 0214*}" in words
    assert "Z0 = {02138, 02139, 02141, \u2026 (4)}" in words
    for value in {value for row in ROWS for value in row}:
        assert words.count(value) == 1
    # two steps of the chain, four values to two, two to one
    assert len(re.findall("<line", svg)) == 2 + 4 + 2


def test_a_value_stands_above_the_middle_of_those_that_become_it():
    root = ET.fromstring(vd.Hierarchy.explicit(ROWS).to_svg())  # noqa: S314  # our own picture
    place = {n.text: float(n.get("x")) for n in root.iter() if n.get("text-anchor") == "middle"}
    assert place["0213*"] == pytest.approx((place["02138"] + place["02139"]) / 2, abs=0.02)
    assert place["021**"] == pytest.approx((place["0213*"] + place["0214*"]) / 2, abs=0.02)
    leaves = [place[row[0]] for row in ROWS]
    assert leaves == sorted(leaves)


def test_rules_are_drawn_for_values_and_many_values_are_counted(tmp_path):
    svg = vd.Hierarchy.intervals([5, 10, 100]).to_svg(range(100), name="age")
    words = texts(svg)
    assert "age, level 0: {0, 1, 2, \u2026 (100)}" in words
    assert "values below level 1 are too many to draw" in words
    assert "[0, 5)" in words
    assert "57" not in words
    path = vd.Hierarchy.mask(2).plot(tmp_path / "m.svg", ["ab", "<b"], name="code")
    assert "&lt;b" in path.read_text()
    with pytest.raises(DataError, match="needs values"):
        vd.Hierarchy.mask(2).to_svg()
