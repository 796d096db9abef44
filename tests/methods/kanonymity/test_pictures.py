"""Pictures of a search: whole, repeatable, and without a value of the table."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET

import pytest
from tests.methods.kanonymity.recount import people, recipe

import veladura as vd
from veladura.errors import DataError
from veladura.methods.kanonymity import pictures
from veladura.methods.kanonymity.pictures import BAR, FULL, kept_picture


@pytest.fixture(scope="module")
def fitted():
    return recipe(k=3, max_suppression=0.1).fit(people(1, rows=200))


def texts_of(svg):
    return [text for node in ET.fromstring(svg).iter() if (text := (node.text or "").strip())]  # noqa: S314  # our own file


def test_the_lattice_shows_every_node_and_what_became_of_it(fitted):
    svg = pictures.drawn("lattice", fitted)
    shown = texts_of(svg)
    assert sum(bool(re.fullmatch(r"\d \d \d", text)) for text in shown) == fitted.lattice.nodes
    assert svg.decode().count(pictures.CHOSEN) >= 2
    assert {"too many rows suppressed", "allowed", "k-minimal", "chosen"} <= set(shown)


def test_the_trade_off_names_its_axes_and_the_number_of_points(fitted):
    shown = " ".join(texts_of(pictures.drawn("trade-off", fitted)))
    assert f"{len(fitted.vectors)} k-minimal generalisations" in shown
    assert "precision" in shown
    assert "completeness" in shown


@pytest.mark.parametrize("kind", ["lattice", "trade-off"])
def test_a_picture_is_the_same_each_time_and_can_be_written(kind, fitted, tmp_path):
    assert pictures.drawn(kind, fitted) == pictures.drawn(kind, fitted)
    assert pictures.write(kind, fitted, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert b"02138" not in pictures.drawn(kind, fitted)


def test_a_lattice_that_no_one_could_read_is_refused():
    wide = vd.KAnonymity(
        quasi_identifiers=["zip", "age", "sex", "income"], k=2, max_suppression=0.5
    ).fit(people(1))
    assert wide.lattice.nodes > pictures.MOST_NODES
    with pytest.raises(DataError, match="a picture is readable with at most 120"):
        pictures.drawn("lattice", wide)
    assert not pictures.worth_drawing("lattice", wide)


def test_names_with_odd_letters_are_shown_as_they_are():
    frame = people(1).rename(columns={"zip": "$zip$ <b> & Ω"})
    drawn = pictures.drawn(
        "lattice",
        vd.KAnonymity(quasi_identifiers=["$zip$ <b> & Ω", "sex"], k=2, max_suppression=0.1).fit(
            frame
        ),
    )
    assert any("$zip$ <b> & Ω" in text for text in texts_of(drawn))


def test_the_custodians_page_holds_them_and_the_public_one_does_not(tmp_path):
    release = recipe(k=3, max_suppression=0.1).protect(people(1, rows=200))
    saved = release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c")
    mine = (tmp_path / "safe" / "c" / "report-custodian.html").read_text(encoding="utf-8")
    drawn, public = (
        [base64.b64decode(one) for one in re.findall(r'base64,([^"]+)"', page)]
        for page in (mine, (saved / "report.html").read_text(encoding="utf-8"))
    )
    assert len(drawn) == 4  # the search, what stays, estimates, and the pairs of columns
    assert any(b"k-minimal generalisations" in one for one in drawn)
    assert public == [
        kept_picture(release.manifest["steps"][0]["settings"])
    ]  # what the manifest tells, and nothing of the search


@pytest.mark.parametrize(
    "settings",
    [{}, {"recoding": "local"}, {"recoding": "mondrian"}, {"suppressed": "star"}],
    ids=str,
)
def test_what_stays_is_drawn_as_long_as_it_is(settings):
    told = (
        recipe(k=3, max_suppression=0.1, **settings)
        .protect(people(1, rows=200))
        .manifest["steps"][0]["settings"]
    )
    svg = ET.fromstring(kept_picture(told))  # noqa: S314  # our own file
    bars = [float(node.get("width")) for node in svg.iter() if node.get("fill") == FULL]
    assert bars == pytest.approx(
        [BAR * share for share in (*told["precision"].values(), told["completeness"])], abs=0.06
    )
    assert f"{told['suppressed_rows']:,} suppressed" in " ".join(texts_of(kept_picture(told)))
