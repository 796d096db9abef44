"""The glossary has one source; each term has one sentence on what it means and an example in numbers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tools import glossary

ROOT = Path(__file__).parents[2]
TERMS = tomllib.loads(
    (ROOT / "src" / "veladura" / "report" / "glossary.toml").read_text(encoding="utf-8")
)["term"]
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
    "posterior",
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
    names = [term["name"].lower().replace("_", "") for term in TERMS]
    assert names == sorted(set(names))
    assert set(names) >= WANTED


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term["name"])
def test_a_term_is_said_in_two_sentences_the_second_with_numbers(term):
    assert set(term) == {"name", "text"}
    said = glossary.sentences(term["text"])
    assert len(said) == 2, said
    assert re.search(r"\d", said[1]), said[1]
