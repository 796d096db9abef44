"""The first screen of a page: what a committee decides from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.measures.knowledge import EVERYTHING
from veladura.report import words
from veladura.report.uses import uses

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.measures.assessment import Assessment

MOST_NAMES = 8  # columns that are named on the first screen; the tables below name all
LENGTH = 280.0  # of the longest bar, in the units of the drawing
NO_REASON = "no reason given"
Risk = Mapping[str, Any]  # one entry of ``risk`` in a manifest


@dataclass(frozen=True)
class Threat:
    """One intruder of the picture: people whom he finds before and after, as lengths of bars."""

    name: str
    knows: str
    before: str
    after: str
    before_length: float
    after_length: float
    in_words: str


@dataclass(frozen=True)
class Exact:
    """A column that is released exactly, with the holder's reason and what it tells by itself."""

    name: str
    reason: str
    tells: str


@dataclass(frozen=True)
class Opening:
    """The verdict of a page.

    Attributes
    ----------
    sentence
        How many people were at risk, and how many are now.
    threats, people
        The intruders, and how many people there are.
    exact, also_exact
        Exact columns with a reason or with something to tell, and the names of the others.
    good, bad
        What the data are good for, and what not.
    loosened
        The limits that the holder loosened, and why.
    """

    sentence: str
    threats: tuple[Threat, ...]
    people: str
    exact: tuple[Exact, ...]
    also_exact: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    loosened: tuple[str, ...] = ()


def opening(
    release: Release, assessment: Assessment | None, withheld: str, *, compared: bool = True
) -> Opening:
    """Return the verdict of a page.

    Parameters
    ----------
    withheld
        Why no figure may be shown, where none may.
    compared
        False where nothing may be said of the original beside the release.
    """
    manifest = release.manifest
    risks = [] if withheld and assessment is not None else risks_of(manifest, assessment)
    shown = None if withheld or not compared else assessment
    good, bad = ([], []) if shown is None else uses(shown, release)
    exact, others = _exact(manifest)
    return Opening(
        risk_sentence(risks) if risks else withheld,
        tuple(_threat(risk) for risk in risks),
        f"{risks[0]['people']:,}" if risks else "",
        exact,
        others,
        tuple(good),
        tuple(bad),
        loosened_limits(manifest),
    )


def loosened_limits(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the limits that the holder loosened, with the reasons, one sentence each."""
    return tuple(
        f"{each['figure']} may be {each['limit']} (by default {each['default']}): {each['reason']}"
        for each in manifest.get("loosened", ())
    )


def risks_of(manifest: Mapping[str, Any], assessment: Assessment | None) -> list[Risk]:
    """Return the people at risk for each intruder: as measured, or as the manifest has them.

    Where nothing else is unperturbed (exact, or only made coarser), one who knows every such column
    knows what another intruder knows: he is not said twice.
    """
    records = () if assessment is None else assessment.intruders
    risks = [record.to_json() for record in records] or list(manifest.get("risk", ()))
    others = [risk for risk in risks if risk["intruder"] != EVERYTHING]
    known = [risk["knows"] for risk in others if not risk.get("within")]
    return [r for r in risks if r["intruder"] != EVERYTHING or r["knows"] not in known]


def risk_sentence(risks: Sequence[Risk]) -> str:
    """Return how many people were at risk, and how many are now for each intruder.

    Examples
    --------
    >>> keys = {"knows": ["age"], "people": 900}
    >>> risk_sentence([{"intruder": "register", "before": 42, "after": 0, **keys}])
    '42 of 900 people could be found by the register; now the register finds 0.'

    Rows of a synthesis fit people by chance too: how many is said beside.

    >>> risk_sentence([{"intruder": "register", "before": 42, "after": 5, "by_chance": 6, **keys}])
    '42 of 900 people could be found by the register; now the register finds 5 (by chance 6).'
    """
    first = risks[0]
    now = [f"{called(risk['intruder'])} {_after(risk)}" for risk in risks]
    now[0] = f"{called(first['intruder'])} finds {_after(first)}"
    return (
        f"{first['before']:,} of {first['people']:,} people could be found by"
        f" {called(first['intruder'])}; now {words.enumerated(now)}."
    )


def called(name: str) -> str:
    """Return an intruder as a sentence calls him."""
    return "someone who knows every unperturbed column" if name == EVERYTHING else f"the {name}"


def _about(risk: Risk) -> str:
    return f"{'' if risk.get('counted', True) else 'about '}{risk['after']:,}"


def _after(risk: Risk, when: str = "") -> str:
    """Return how many people an intruder finds, and how many rows would fit by chance."""
    chance = risk.get("by_chance")
    return _about(risk) + when + ("" if chance is None else f" (by chance {chance:,})")


def _threat(risk: Risk) -> Threat:
    people = max(risk["people"], 1)
    after = _after(risk, " after")
    return Threat(
        called(EVERYTHING) if risk["intruder"] == EVERYTHING else risk["intruder"],
        _knows(risk),
        f"{risk['before']:,}",
        after,
        LENGTH * min(risk["before"] / people, 1.0),
        LENGTH * min(risk["after"] / people, 1.0),
        f"{risk['intruder']}: {risk['before']:,} people before, {after}, of {people:,}",
    )


def _knows(risk: Risk) -> str:
    within = risk.get("within", {})
    names = [
        f"{name} (within {within[name]})" if name in within else name for name in risk["knows"]
    ]
    return shortened(names) if names else "no released column"


def shortened(names: Sequence[str]) -> str:
    """Return names as a phrase, the number of the others where there are many."""
    more = len(names) - MOST_NAMES
    return words.enumerated(list(names) if more <= 1 else [*names[:MOST_NAMES], f"{more} more"])


def _exact(manifest: Mapping[str, Any]) -> tuple[tuple[Exact, ...], str]:
    """Return exact columns that need a decision, and the names of the others."""
    listed = manifest.get("exact", ())
    telling = [c for c in listed if c.get("reason") or c.get("unique") or c.get("gives_back")]
    others = [c["name"] for c in listed if c not in telling]
    return tuple(
        Exact(column["name"], column.get("reason") or NO_REASON, tells(column))
        for column in telling
    ), words.enumerated(others) if others else ""


def tells(column: Mapping[str, Any]) -> str:
    """Return what an exact column tells by itself, in numbers of people."""
    unique, given = column.get("unique"), column.get("gives_back") or ()
    parts = [
        ""
        if not unique
        else f"{words.plural(unique, 'person').replace('persons', 'people')}"
        f" {'is' if unique == 1 else 'are'} unique by it alone",
        f"gives back {words.enumerated(list(given))}" if given else "",
    ]
    return "; ".join(filter(None, parts)) or "nobody is unique by it alone"
