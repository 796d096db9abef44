"""The glossary has one source.

Each term has one sentence on what it means and an example in numbers.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tools import glossary

ROOT = Path(__file__).parents[2]
ENTRIES = tomllib.loads(
    (ROOT / "src" / "veladura" / "report" / "glossary.toml").read_text(encoding="utf-8")
)["entry"]
WANTED = {
    "k-anonymity",
    "quasi-identifier",
    "equivalence class",
    "l-diversity",
    "t-closeness",
    "prosecutor risk",
    "replicated uniques",
    "disco",
    "tcap",
    "combining rule",
    "epsilon",
    "ledger",
    "posterior distribution",
    "gate",
    "promise",
    "attested",
    "custodian",
    "manifest",
    "codebook",
}


def test_the_page_is_made_from_the_terms():
    assert glossary.PAGE.read_text(encoding="utf-8") == glossary.page()


def test_the_terms_are_in_order_and_each_is_there_once():
    names = [entry["term"].lower() for entry in ENTRIES]
    assert names == sorted(set(names))
    assert set(names) >= WANTED


def test_no_word_leads_to_two_entries():
    words = [word.lower() for entry in ENTRIES for word in (entry["term"], *entry.get("also", ()))]
    figures = [name for entry in ENTRIES for name in entry.get("figures", ())]
    assert len(words) == len(set(words))
    assert len(figures) == len(set(figures))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["term"])
def test_a_term_is_said_in_two_sentences_the_second_with_numbers(entry):
    assert {"term", "text"} <= set(entry) <= {"term", "text", "also", "figures"}
    said = glossary.sentences(entry["text"])
    assert len(said) == 2, said
    assert re.search(r"\d", said[1]), said[1]
