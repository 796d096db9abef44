"""Cards: what a trial gave, kept in the custodian's folder until somebody throws it away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.private_files import private_folder, write_private
from veladura.errors import PlanError
from veladura.report import words
from veladura.report.opening import opening, risks_of

if TYPE_CHECKING:
    from veladura.base.limits import Verdict
    from veladura.comparison.result import Comparison
    from veladura.measures.measure import Figure
    from veladura.plan.run import Outcome, Trial

FOLDER, PAGE, FACTS, DRAWN = "cards", "report.html", "card.json", "drawn.json"


class Cards:
    """The cards of one plan, oldest first."""

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder / FOLDER)

    def all(self) -> list[dict[str, Any]]:
        """Return every card that can be read."""
        found = (self._read(path.name) for path in sorted(self.folder.iterdir()))
        return [card for card in found if card is not None]

    def get(self, name: str) -> dict[str, Any]:
        """Return a card by its name."""
        card = self._read(name) if name.isalnum() else None
        if card is None:
            msg = "this card is gone: it was thrown away in another tab."
            raise PlanError(msg)
        return card

    def page(self, name: str) -> bytes:
        """Return the custodian's report of a card."""
        self.get(name)
        return (self.folder / name / PAGE).read_bytes()

    def drawn(self, name: str) -> dict[str, Any] | None:
        """Return what the pictures of a card show; None for one of an older studio."""
        self.get(name)
        try:
            return dict(json.loads((self.folder / name / DRAWN).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None

    def remove(self, name: str) -> None:
        """Throw a card away."""
        self.get(name)
        for file in (FACTS, PAGE, DRAWN):
            (self.folder / name / file).unlink(missing_ok=True)
        (self.folder / name).rmdir()

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            text = (self.folder / name / FACTS).read_text(encoding="utf-8")
            return {**json.loads(text), "name": name}
        except (OSError, ValueError):
            return None


@dataclass(frozen=True)
class Tried:
    """A card, the custodian's report behind it, and what its pictures show."""

    card: Mapping[str, Any]
    page: str
    drawn: Mapping[str, Any]


def write_card(folder: Path, tried: Tried) -> str:
    """Write a card and its report below a folder of cards; return its name."""
    taken = [int(path.name) for path in folder.iterdir() if path.name.isdigit()]
    name = f"{max(taken, default=0) + 1:03d}"
    home = private_folder(folder / name)
    write_private(home / PAGE, tried.page)
    write_private(home / DRAWN, json.dumps(tried.drawn))
    write_private(home / FACTS, json.dumps(tried.card))  # the last one: now it is a card
    return name


def card_of(tried: Trial, text: str, seconds: float) -> Tried:
    """Return a card of a trial."""
    from veladura.release.package import custodian_facts
    from veladura.report.render import render
    from veladura.studio.beside import drawn_of

    release, assessment = tried.release, tried.assessment
    about = replace(release, standing=tried.standing)
    first = opening(about, assessment, "")
    card = {
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}",
        "seconds": round(seconds, 1),
        "text": text,
        "methods": [step.method for step in release.steps],
        "columns": len(release.tables[0].table.names),
        "rows": release.tables[0].table.rows,
        "datasets": len(release.tables),
        "sentence": first.sentence,
        "risks": [dict(risk) for risk in risks_of({}, assessment)],
        "good": list(first.good),
        "bad": list(first.bad),
        "exact": [column.to_json() for column in tried.standing.exact],
        "open": list(tried.standing.unconfirmed),
        "verdicts": [
            {"figure": v.figure, "passed": v.passed, "words": judged(v, assessment.figures)}
            for v in tried.verdicts
        ],
        "figures": {name: asdict(figure) for name, figure in assessment.figures.items()},
    }
    facts = custodian_facts(about, assessment, tried.verdicts)
    return Tried(card, render(facts), drawn_of(facts, assessment))


def judged(verdict: Verdict, figures: Mapping[str, Figure]) -> str:
    """Return a verdict of the gate in words: the field's term, the value, what is allowed."""
    figure = figures.get(verdict.figure)
    if figure is None:
        return str(verdict)
    value = f"does not apply ({verdict.why})" if figure.estimate is None else words.figure(figure)
    allowed = words.limit(verdict.limit, figure.unit)
    return f"{words.term(figure.meaning)}: {value}; allowed: {allowed}"


def outcome_facts(outcome: Outcome) -> dict[str, Any]:
    """Return what the page says of a release that was written."""
    from veladura.release.folder import SUMS, file_hash

    risks = risks_of({}, outcome.assessment)
    return {
        "folder": str(outcome.folder),
        "custodian": str(outcome.custodian),
        "status": outcome.standing.status,
        "unconfirmed": list(outcome.standing.unconfirmed),
        "digest": file_hash(outcome.folder / SUMS),
        "risks": [] if outcome.assessment.private else [dict(risk) for risk in risks],
        "verdicts": [{"passed": v.passed, "words": str(v)} for v in outcome.verdicts],
    }


def comparison_of(cards: list[dict[str, Any]]) -> Comparison:
    """Return the risk-utility comparison of cards."""
    from veladura.comparison.candidate import Candidate
    from veladura.comparison.result import Comparison, axis

    candidates = tuple(
        Candidate.from_json(
            {
                "name": card["name"],
                "method": ", then ".join(card["methods"]),
                "columns": card["columns"],
                "datasets": card["datasets"],
                "seconds": card["seconds"],
                "figures": card["figures"],
            }
        )
        for card in cards
    )
    return Comparison(candidates, axis(candidates, "risk", None), axis(candidates, "utility", None))


def headline(card: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the headline figures of a card: name, meaning, value in words."""
    from veladura.comparison.candidate import Candidate

    plain = {"name": "", "method": "", "figures": card["figures"]}
    figures = Candidate.from_json(plain).figures
    return [
        (name, figure.meaning, words.figure(figure))
        for name, figure in figures.items()
        if figure.headline and figure.estimate is not None
    ]
