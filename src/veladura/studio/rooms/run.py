"""Run: try the plan, keep the result as a card, compare cards, return to one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.comparison.result import figure_of, written
from veladura.errors import PlanError
from veladura.report import words
from veladura.studio.answers import Answer, Form, required
from veladura.studio.cards import comparison_of, headline
from veladura.studio.pages import fragment, spread
from veladura.studio.rooms.columns import exposed
from veladura.studio.two_cards import two_cards
from veladura.studio.work import begin

if TYPE_CHECKING:
    from veladura.comparison.result import Comparison
    from veladura.studio.session import Session

WIDTH, HEIGHT = 460.0, 240.0


@dataclass(frozen=True)
class Point:
    """A card on the risk-utility map."""

    name: str
    x: float
    y: float
    front: bool
    words: str


def show(session: Session, query: Mapping[str, str]) -> str:
    """Return the cards, the map, one card opened, or two beside each other."""
    cards = session.cards.all()
    if query.get("a") and query.get("b"):
        return two_cards(session, query["a"], query["b"])
    if query.get("card"):
        return _one(session, query["card"])
    plan, _ = session.ready
    private = next((step for step in plan.steps if step.private), None)
    job = session.job
    return fragment(
        "run",
        cards=[{**card, "headline": headline(card)} for card in reversed(cards)],
        current=plan.text,
        map=map_of(comparison_of(cards)) if cards else None,
        private=None if private is None else _outlook(session),
        problem=job.problem if job is not None and job.state == "failed" else "",
        failed=job.failed if job is not None else "",
        exposed=exposed(session),
        running=job is not None and job.state == "running",
        width=WIDTH,
        height=HEIGHT,
        read_only=session.read_only,
    )


def _outlook(session: Session) -> dict[str, Any]:
    """Return what the private step can be expected to give, from public numbers."""
    from veladura.plan.what_if import PRIORS, what_if

    plan, _ = session.ready
    try:
        seen = session.once("what-if", lambda: what_if(plan))
    except PlanError as error:
        return {"why": str(error)}
    return {"seen": seen, "priors": PRIORS, "why": ""}


def map_of(comparison: Comparison) -> dict[str, Any]:
    """Return the cards as points: safer to the left, more useful above."""
    placed, front = comparison.placed, comparison.frontier
    sides = []
    for name, length in ((comparison.risk, WIDTH), (comparison.utility, HEIGHT)):
        figure = figure_of(comparison, name)
        # left and above is better; in a picture both begin at 0
        sign = -1 if figure is not None and figure.better == "high" else 1
        values = [c.figures[name].estimate.value for c in placed]  # type: ignore[union-attr]
        sides.append((spread([sign * value for value in values], length), figure, name))
    (across, risk, risk_name), (down, utility, utility_name) = sides
    points = [
        Point(
            c.name,
            x,
            y,
            c in front,
            f"card {c.name}: {written(c, risk_name)}; {written(c, utility_name)}",
        )
        for c, x, y in zip(placed, across, down, strict=True)
    ]
    return {
        "points": points,
        "risk": risk_name if risk is None else words.term(risk.meaning),
        "utility": utility_name if utility is None else words.term(utility.meaning),
        "verdicts": {c.name: comparison.verdict(c) for c in comparison.candidates},
        "notes": comparison.notes,
    }


def _one(session: Session, name: str) -> str:
    card = session.cards.get(name)
    return fragment(
        "run-card",
        card={**card, "headline": headline(card)},
        report=session.views.address(lambda: session.cards.page(name)),
        others=[other["name"] for other in session.cards.all() if other["name"] != name],
        read_only=session.read_only,
    )


def _try(session: Session, _form: Form) -> Answer:
    """Try the plan: protect and measure, write nothing."""
    begin(session, "trial", {})
    return Answer("Trying the plan. You can go on meanwhile.")


def _return(session: Session, form: Form) -> Answer:
    """Make the plan of a card the plan again."""
    name = required(form, "card", "the card")
    text = session.cards.get(name)["text"]
    session.edit(lambda _: text, f"back to card {name}")
    return Answer(f"The plan is that of card {name} again. Undo brings the other one back.")


def _remove(session: Session, form: Form) -> Answer:
    """Throw a card away."""
    session.refuse_read_only()
    name = required(form, "card", "the card")
    session.cards.remove(name)
    session.changed()
    return Answer(f"Card {name} was thrown away.", go="run")


def _compare(session: Session, form: Form) -> Answer:
    """Put two cards beside each other."""
    ticked = form.get("cards", [])
    names = [ticked] if isinstance(ticked, str) else list(ticked)
    if len(names) != 2:  # noqa: PLR2004
        msg = f"tick two cards to compare; {words.plural(len(names), 'card')} ticked."
        raise PlanError(msg)
    for name in names:
        session.cards.get(name)
    return Answer(go=f"run?a={names[0]}&b={names[1]}")


ACTIONS = {"try": _try, "return": _return, "remove": _remove, "compare": _compare}
