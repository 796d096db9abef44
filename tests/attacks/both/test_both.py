"""No attack of the list wins against this version; `__main__` runs them against any other."""

from __future__ import annotations

import pytest
from tests.attacks.both.__main__ import ATTACKS, ROOT, outcome


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_loses(name):
    won, words = outcome(name, ROOT)
    assert not won, words


def test_the_attacks_are_those_of_the_page_of_threats():
    """One of each kind that the page says was run against version 0.1.0."""
    assert len(ATTACKS) == 34
    page = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
    assert f"repeats {len(ATTACKS)} of them" in page
