"""No picture shows a bar of fewer than ten original rows; trees are for the custodian only."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import ColumnError
from veladura.methods.cart import pictures
from veladura.methods.cart.cuts import scale_of
from veladura.methods.cart.tree_text import tree_text, tree_texts
from veladura.table.codes import encode

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": np.append(rng.normal(size=299), 1e6), "g": ["rare", *["a"] * 150, *["b"] * 149]}
    )
    recipe = vd.Cart(m=2)
    return frame, recipe.protect(frame, seed=1), recipe.fit(frame, seed=1)


def test_every_bar_holds_ten_rows(case):
    frame, release, _ = case
    for name in ("x", "g"):
        column = encode(release.original.arrow.column(name), release.original.schema[name])
        labels, before, after = pictures.shares(column, pictures._released(release, name))
        assert (before[before > 0] * len(frame) >= 9.99).all() or name == "x"
        assert before.sum() == pytest.approx(1)
        assert after.sum() == pytest.approx(1)
        assert "rare" not in labels


def elements(svg, kind):
    return list(ET.fromstring(svg).iter(f"{SVG}{kind}"))  # noqa: S314  # our own file


def words(svg):
    return [element.text for element in elements(svg, "text")]


def filled(svg, *colours):
    """The rectangles of some colours in the order in which they were drawn."""
    return [
        {key: float(element.get(key)) for key in ("x", "y", "width", "height")}
        for element in elements(svg, "rect")
        if element.get("fill") in colours
    ]


def test_bars_are_as_high_as_the_shares_of_rows(case):
    _, release, _ = case
    svg = pictures.marginals(release, release.original, ["g"])
    column = encode(release.original.arrow.column("g"), release.original.schema["g"])
    _, before, after = pictures.shares(column, pictures._released(release, "g"))
    for shares, colour in ((before, pictures.ORIGINAL), (after, pictures.SYNTHETIC)):
        heights = np.array([bar["height"] for bar in filled(svg, colour)[1:]])  # after the legend
        assert heights / heights.sum() == pytest.approx(shares, abs=1e-3)


def test_cells_show_ten_rows_of_the_original(case):
    frame, release, _ = case
    svg = pictures.pairs(release, release.original, "x", "g")
    assert words(svg).count("a") == 2
    assert {"original", "synthetic", "x", "g"} <= set(words(svg))
    assert "share of rows (blank: fewer than 10)" in words(svg)  # the scale of colours
    scales = [scale_of(pictures._released(release, name), pictures.CUTS, 10) for name in "xg"]
    places = [
        scale.place(encode(release.original.arrow.column(name), release.original.schema[name]))
        for scale, name in zip(scales, "xg", strict=True)
    ]
    cells = pd.Series(1, index=range(len(frame))).groupby(places).sum()
    key, largest = 64, max(cell["width"] for cell in filled(svg, *colours(svg)))
    drawn = [cell for cell in filled(svg, *colours(svg)) if cell["width"] == largest]
    assert len(drawn) == 2 * (cells >= 10).sum()
    assert len(filled(svg, *colours(svg))) == len(drawn) + key


def colours(svg):
    return {element.get("fill") for element in elements(svg, "rect")}


def test_trees_are_told_in_words(case):
    _, _, fitted = case
    assert tree_text(fitted, "g").startswith("300 rows")
    assert list(tree_texts(fitted)) == [
        "Tree of x (first levels)",
        "Tree of g (first levels)",
    ]
    with pytest.raises(ColumnError, match="nobody"):
        tree_text(fitted, "nobody")


def test_every_panel_has_labels_ticks_and_a_unit():
    draw = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "income": draw.lognormal(10, 1, 900).round(2),
            "lon": draw.normal(-71.05, 0.02, 900),
            "day": pd.Series(pd.date_range("2001-01-01", periods=900)).dt.date,
            "job": draw.choice(["nurse", "baker", "clerk"], 900),
        }
    )
    release = vd.Cart(m=1).protect(frame, seed=1)
    texts = {}
    for name in frame:
        texts[name] = words(pictures.marginals(release, release.original, [name]))
        assert {"original", "synthetic", name, "share of rows", "0 %"} <= set(texts[name])
    assert [text for text in texts["job"] if text in set(frame["job"])] == [
        "baker",
        "clerk",
        "nurse",
    ]
    assert sum(bool(re.fullmatch(r"200\d-\d\d-\d\d", text)) for text in texts["day"]) > 2
    for name in ("income", "lon"):
        numbers = [text for text in texts[name] if re.fullmatch(r"-?[\d,.]+", text)]
        ticks = [float(text.replace(",", "")) for text in numbers]
        assert len(ticks) > 2
        assert ticks == sorted(set(ticks))
        assert frame[name].min() < ticks[0] < ticks[-1] < frame[name].max()


def test_ticks_tell_no_value_of_the_original():
    """Cuts come from the release: another original with the same release has the same cuts."""
    draw = np.random.default_rng(4)
    column, other = (
        encode(opened.arrow.column("x"), opened.schema["x"])
        for opened in (vd.open(pd.DataFrame({"x": draw.normal(size=600)})) for _ in range(2))
    )
    released = encode(
        vd.open(pd.DataFrame({"x": draw.normal(size=600)})).arrow.column("x"), column.field
    )
    first, second = (pictures._bars(before, [released])[0] for before in (column, other))
    assert set(first.labels) & set(second.labels) == set(first.labels)
    assert not np.isin(first.edges, column.values).any()


def test_what_is_left_over_holds_ten_rows_or_none():
    """Three missing values are not a bar of their own: the smallest category joins them."""
    frame = pd.DataFrame({"g": ["a"] * 50 + ["b"] * 30 + [None] * 3, "x": range(83)})
    release = vd.Cart(m=1).protect(frame, seed=1)
    column = encode(release.original.arrow.column("g"), release.original.schema["g"])
    labels, before, _ = pictures.shares(column, pictures._released(release, "g"))
    assert labels == ["a", "others or missing"]
    assert before[-1] * 83 == pytest.approx(33)


def test_fewer_than_ten_numbers_are_not_shown():
    frame = pd.DataFrame({"x": [1.5] * 4 + [None] * 30, "g": ["a", "b"] * 17})
    column = encode(
        vd.Cart(m=1).protect(frame, seed=1).original.arrow.column("x"), vd.open(frame).schema["x"]
    )
    assert pictures.shares(column, [column])[1].tolist() == [0.0]


def test_the_pages_show_margins_to_all_and_trees_to_the_custodian(case, tmp_path):
    _, release, _ = case
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    page = (tmp_path / "out" / "release" / "report.html").read_text()
    assert "Original and synthetic distributions" in page
    assert "x and g" in page
    assert "Tree of" not in page
    custodian = next((tmp_path / "safe").rglob("report-custodian.html")).read_text()
    assert "Tree of x" in custodian
    assert "300 rows, mean " in custodian  # the tree itself, in words


def test_cuts_of_dates_are_told_as_dates():
    days = pd.Series(pd.date_range("2001-01-01", periods=400)).dt.date
    frame = pd.DataFrame({"day": days, "g": ["a"] * 200 + ["b"] * 200})
    fitted = vd.Cart(columns=["g"], m=1).fit(frame, seed=1)
    assert "day <= 2001-07-" in tree_text(fitted, "g")
