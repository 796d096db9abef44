"""Numbers of people in a manifest, counted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veladura.errors import NotApplicable
from veladura.measures.knowledge import Scenario
from veladura.measures.measure import Subject
from veladura.measures.population import among_its_people, conditions_of
from veladura.measures.risk.at_risk import Columns, at_risk
from veladura.measures.risk.recount import impossible, recount
from veladura.release.line import Line, few
from veladura.table.telling import Telling

if TYPE_CHECKING:
    from veladura.core.release import Release

Risk = Mapping[str, Any]  # one entry of ``risk`` in a manifest


def exact_lines(release: Release) -> list[Line]:
    """Return whether what the manifest says of exact columns is so; that of 0.1.0 is silent."""
    if "exact" not in release.manifest:
        return []
    counted = _counts_people(release)
    wrong = [*_unlisted(release), *(_miscounted(release) if counted else ())]
    claim = "The manifest lists the columns that are released exactly."
    lines = [Line(claim, "broken" if wrong else "holds", few(wrong))]
    if not counted and any(
        column.get("unique") is not None for column in release.manifest["exact"]
    ):
        lines.append(Line("How many people are unique by each of them.", "attested"))
    return lines


def _counts_people(release: Release) -> bool:
    """Whether released rows show how many people are unique: not with several rows a person."""
    return release.tables[0].table.person is None and not release.manifest.get("units")


def _unlisted(release: Release) -> list[str]:
    """Return the exact columns that a manifest does not list."""
    listed = {column["name"] for column in release.manifest["exact"]}
    return [f"not listed: {name}" for name in release.exact if name not in listed]


def _miscounted(release: Release) -> list[str]:
    """Return the exact columns by which more or fewer people are unique than a manifest says."""
    table = release.tables[0].table
    counted = {
        column["name"]: column["unique"]
        for column in release.manifest["exact"]
        if column["name"] in table.names and column.get("unique") is not None
    }
    telling = Telling(table)
    return [
        f"{name}: another number of people is unique by it"
        for name, unique in counted.items()
        if telling.alone([name]) != unique
    ]


def risk_lines(release: Release) -> list[Line]:
    """Return whether the people at risk are as many as the manifest says.

    From the released rows where they can say it; with the original beside them, all numbers.
    Names of intruders are the holder's words: the lines say what they know instead.
    """
    lines, before, others = [], 0, 0
    for risk in release.manifest.get("risk", ()):
        if impossible(release, risk):
            claim = "The numbers of people at risk can be numbers of these people."
            lines.append(Line(claim, "broken", "unknown columns, or more people than there are"))
            continue
        counts = _counts(release, risk)
        before, others = before + ("before" not in counts), others + ("after" not in counts)
        if counts:
            lines.append(_compared(risk, counts))
    if before:
        now = f", and {others} of them now" if others else ""
        claim = f"How many people the {_intruders(before)} found before protection{now}."
        lines.append(Line(claim, "attested"))
    return list(dict.fromkeys(lines))


def _intruders(number: int) -> str:
    return "intruder" if number == 1 else f"{number} intruders"


def _counts(release: Release, risk: Risk) -> dict[str, int]:
    """Return those numbers of an entry that can be counted here."""
    needed = {name for condition in conditions_of(release) for name in condition.columns}
    if release.original is None or not needed <= set(release.original.names):
        after = recount(release, risk)
        return {} if after is None else {"after": after}
    who = Scenario(name="intruder", knows=tuple(risk["knows"]), within=risk.get("within", {}))
    subject = Subject(*among_its_people(release.original, release))
    try:
        record = at_risk(subject, Columns.of(subject), who, list(who.knows)).to_json()
    except NotApplicable:  # rows that stay in a database
        return {}
    exact = record["counted"] and risk.get("counted", True)  # the same of two samples need not be
    names = ("people", "before", "after") if exact else ("people", "before")
    return {name: record[name] for name in names}


def _compared(risk: Risk, counts: Mapping[str, int]) -> Line:
    """Return what an intruder finds, and which numbers of the manifest are others."""
    within = risk.get("within", {})
    knows = [f"{name} (roughly)" if name in within else name for name in risk["knows"]]
    finds = f"finds {counts['after']:,} people" if "after" in counts else "was counted"
    claim = f"One who knows {few(knows, 8) or 'no released column'} {finds}."
    wrong = [name for name, number in counts.items() if risk[name] != number]
    return Line(claim, "broken" if wrong else "holds", _other(wrong))


def _other(wrong: Sequence[str]) -> str:
    return f"the manifest has another number of people ({', '.join(wrong)})" if wrong else ""
