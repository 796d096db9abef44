"""The page of two cards: what differs in their plans, every figure, and picture beside picture."""

from __future__ import annotations

from base64 import b64decode
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from veladura.comparison.result import figure_of, written
from veladura.studio.cards import comparison_of
from veladura.studio.pages import fragment

if TYPE_CHECKING:
    from veladura.comparison.result import Comparison
    from veladura.studio.session import Session


def two_cards(session: Session, first: str, second: str) -> str:
    """Return two cards beside each other."""
    cards = [session.cards.get(first), session.cards.get(second)]
    comparison = comparison_of(cards)
    listed = _figures(comparison)
    return fragment(
        "run-two",
        cards=cards,
        verdicts=[comparison.verdict(candidate) for candidate in comparison.candidates],
        first=[row for row in listed if row[4]],
        rest=sorted((row for row in listed if not row[4]), key=lambda row: not row[3]),
        differences=_differences(*(card["text"] for card in cards)),
        drawn=_drawn(session, [first, second]),
        reports=[
            session.views.address(lambda name=card["name"]: session.cards.page(name))  # type: ignore[misc]
            for card in cards
        ],
    )


def _figures(comparison: Comparison) -> list[tuple[str, str, list[str], bool, bool]]:
    """Return every figure: name, meaning, both values, whether they differ, whether a headline."""
    names = dict.fromkeys(name for c in comparison.candidates for name in c.figures)
    rows = []
    for name in names:
        shown = [written(candidate, name) for candidate in comparison.candidates]
        figure = figure_of(comparison, name)
        if set(shown) != {"-"} and figure is not None:
            rows.append((name, figure.meaning, shown, shown[0] != shown[1], figure.headline))
    return rows


def _drawn(session: Session, names: list[str]) -> dict[str, Any] | None:
    """Return the pictures of both cards, pair by pair; None where one was made without them."""
    from veladura.studio import beside

    kept = [session.cards.drawn(name) for name in names]
    cards = [card for card in kept if card is not None]
    if len(cards) < len(kept):
        return None
    listed = beside.pairs(cards)
    shown = beside.pictures(cards, lambda address: _address(session, address))
    return {
        "marginals": beside.marginals(cards),
        "pairs": listed,
        # exact copies have a score of 0
        "most": max((s for _, scores in listed for s in scores if s), default=1.0),
        "estimates": beside.estimates(cards),
        "formulas": beside.formulas(cards),
        "shared": [picture for picture in shown if all(picture[1])],
        "single": [picture for picture in shown if not all(picture[1])],
    }


def _address(session: Session, inside: str) -> str:
    """Return an address for a picture inside a report: the page itself loads no data addresses."""
    svg = b64decode(inside.partition(",")[2])
    return session.views.address(lambda: svg, "image/svg+xml")


def _differences(first: str, second: str) -> list[str]:
    """Return the lines of two plans that differ, without comments."""
    one, two = (
        [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        for text in (first, second)
    )
    return [
        line
        for line in unified_diff(one, two, lineterm="", n=1)
        if not line.startswith(("---", "+++", "@@"))
    ]
