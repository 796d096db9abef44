"""Everything that the source documents describe is done, or the page says why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import sources

ROOT = Path(__file__).parents[2]
COUNTS = {"000": 57, "001": 50, "002": 44, "003": 46, "004": 35}  # items of the audit
ITEMS = sources.items()


def test_every_item_of_every_document_is_listed_once():
    for source, count in COUNTS.items():
        mine = [item.number for item in ITEMS if item.source == source]
        assert mine == [f"{source}.{i}" for i in range(1, count + 1)]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.number)
def test_an_item_says_how_and_is_checked_or_why_not(item):
    assert item.what
    assert bool(item.how) == bool(item.check)
    assert item.how or item.note
    if item.slow:
        assert (ROOT / item.check.split("::")[0]).is_file()


LONG = ("000", "001")  # more than half a minute each


@pytest.mark.parametrize(
    "source",
    [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in COUNTS],
)
def test_the_quick_form_of_every_item_does_what_the_page_says(source):
    """One test a document: its examples are set up once."""
    failed = []
    for item in ITEMS:
        if item.source == source and item.how and not item.slow:
            try:
                sources.run(item)
            except Exception as error:  # noqa: BLE001  # all of them are told
                failed.append(f"{item.number}: {type(error).__name__}: {error}")
    assert failed == []


def test_a_wrong_check_is_seen():
    wrong = sources.Item("003.1", "a slip", "1 + 1", "_ == 3")
    with pytest.raises(AssertionError, match=r"003\.1: not _ == 3"):
        sources.run(wrong)


def test_the_page_is_that_of_the_table():
    written = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    assert written == sources.page(), "run python tools/sources.py --write"
