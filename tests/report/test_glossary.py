"""The glossary of a page explains every term that is linked, on the page itself."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import veladura as vd
from veladura.measures.registry import figure_names
from veladura.release.package import Pages
from veladura.report.gather import public_drawings
from veladura.report.glossary import Glossary, entries, entry_of

LINK = re.compile(r'href="([^"]*)"')


@pytest.fixture(scope="module")
def pages():
    """Both reports of a release, and the page of a comparison."""
    people = pd.DataFrame({"age": [20 + i % 50 for i in range(200)], "income": range(200)})
    release = vd.Noise(columns=["income"]).protect(people, seed=1)
    both = Pages(release.prove(), public_drawings(release), vd.assess(people, release), ())
    recipes = {str(scale): vd.Noise(columns=["income"], scale=scale) for scale in (0.1, 0.5)}
    return {
        "public": both.render(release, "public"),
        "custodian": both.render(release, "custodian"),
        "comparison": vd.compare(people, recipes, seed=1).to_html(),
    }


@pytest.mark.parametrize("name", ["public", "custodian", "comparison"])
def test_every_link_leads_to_a_place_on_the_page(pages, name):
    page = pages[name]
    links = LINK.findall(page)
    assert links
    assert all(link.startswith("#") for link in links)
    places = re.findall(r'id="([^"]*)"', page)
    assert {link[1:] for link in links} <= set(places)
    assert len(places) == len(set(places))


def test_every_entry_of_a_page_is_linked_and_no_others_are_shown(pages):
    page = pages["public"]
    assert set(re.findall(r'id="(term-[^"]*)"', page)) == {
        link[1:] for link in LINK.findall(page) if link.startswith("#term-")
    }


def test_every_figure_has_an_entry():
    assert [name for name in figure_names() if entry_of(name) is None] == []


def test_entries_name_figures_that_exist():
    names = figure_names()
    for entry in entries():
        for figure in entry.figures:
            assert any(name == figure or name.startswith(f"{figure}.") for name in names), figure


def test_every_entry_has_a_place_of_its_own():
    anchors = [entry.anchor for entry in entries()]
    assert len(anchors) == len(set(anchors))


def test_the_first_mention_is_linked_and_text_is_escaped():
    glossary = Glossary()
    assert glossary.link("<b> DiSCO & DiSCO") == (
        '&lt;b&gt; <a href="#term-disco">DiSCO</a> &amp; DiSCO'
    )
    assert glossary.link("DiSCO") == "DiSCO"
    assert [entry.term for entry in glossary.shown()] == ["DiSCO"]
    assert glossary.link("a quasi-identifiers' name") == (
        'a <a href="#term-quasi-identifier">quasi-identifiers</a>&#39; name'
    )
    assert "href" not in glossary.link("precisionist non-gate")  # words that only contain a term
