"""Simple pictures: numbers stand where they belong, and words stay words."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest

from veladura.base.drawing import (
    Axis,
    Drawing,
    Panel,
    colour_key,
    colour_of,
    fill_cells,
    share_axis,
)

SVG = "{http://www.w3.org/2000/svg}"


def elements(drawing, kind):
    tree = ET.fromstring(drawing.svg())  # noqa: S314  # our own file
    return list(tree.iter(f"{SVG}{kind}"))


@pytest.mark.parametrize("share", np.linspace(0, 1, 33))
def test_colours_are_those_of_viridis(share):
    drawn = np.array([int(colour_of(share)[i : i + 2], 16) for i in (1, 3, 5)])
    wanted = np.array(mpl.colormaps["viridis"](share)[:3]) * 255
    assert np.abs(drawn - wanted).max() < 18  # of 255: a straight line between nine colours


@pytest.mark.parametrize("top", [0.0004, 0.01, 0.052, 0.3, 0.6, 0.99, 1.0])
def test_shares_have_few_round_labels_in_percent(top):
    axis = share_axis(top)
    assert 2 <= len(axis.places) <= 7
    assert axis.places[0] == 0
    assert axis.places[-1] <= top * (1 + 1e-9)
    told = [float(text.removesuffix(" %")) / 100 for text in axis.texts]
    assert told == pytest.approx(axis.places)
    steps = np.diff(told)
    leading = steps[0] / 10.0 ** np.floor(np.log10(steps[0]) + 1e-9)
    assert round(float(leading), 6) in {1, 2, 5}


def panel_of(*, slanted=False):
    across = Axis(0.0, 10.0, [0.0, 10.0], ["none", "all of them"], slanted=slanted)
    return Panel(Drawing(300, 200), (20.0, 10.0, 250.0, 180.0), across, share_axis(0.5))


@pytest.mark.parametrize("slanted", [False, True])
def test_a_panel_keeps_to_its_room(slanted):
    panel = panel_of(slanted=slanted)
    panel.frame()
    assert 20 < panel.left < panel.right <= 270
    assert 10 < panel.top < panel.bottom < 190
    for line in elements(panel.drawing, "line"):
        assert 20 <= float(line.get("x1")) <= 270
        assert 10 <= float(line.get("y2")) <= 190


def test_boxes_stand_where_their_numbers_are():
    panel = panel_of()
    panel.box((2.0, 7.0), 0.0, 0.25, "#000000")
    (box,) = elements(panel.drawing, "rect")
    assert float(box.get("width")) == pytest.approx((panel.right - panel.left) / 2, abs=0.01)
    assert float(box.get("height")) == pytest.approx((panel.bottom - panel.top) / 2, abs=0.01)
    assert float(box.get("y")) + float(box.get("height")) == pytest.approx(panel.bottom, abs=0.02)


def test_cells_without_a_number_stay_blank():
    axis = Axis(-0.5, 1.5, [], [])
    panel = Panel(Drawing(100, 100), (0.0, 0.0, 100.0, 100.0), axis, axis)
    fill_cells(panel, np.array([[0.0, np.nan], [0.2, 0.4]]), 0.4)
    fills = [box.get("fill") for box in elements(panel.drawing, "rect")]
    assert fills == [colour_of(0.0), colour_of(0.5), colour_of(1.0)]


def test_the_key_of_colours_runs_upwards():
    drawing = Drawing(100, 100)
    colour_key(drawing, (10.0, 10.0, 12.0, 80.0), share_axis(0.3))
    boxes = elements(drawing, "rect")
    heights = [float(box.get("y")) for box in boxes]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == pytest.approx(10.0)
    at = {text.text: float(text.get("y")) for text in elements(drawing, "text")}
    assert at["0 %"] > at["10 %"] > at["30 %"]


def test_words_are_escaped_and_bytes_repeat():
    drawing = Drawing(100, 100)
    drawing.text(1, 2, 'a < b & "c" $x^2$')
    assert [text.text for text in elements(drawing, "text")] == ['a < b & "c" $x^2$']
    assert drawing.svg() == drawing.svg()
