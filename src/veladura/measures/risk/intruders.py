"""People at risk for each intruder of a plan, before and after protection.

A person is at risk when exactly one person is compatible with what the intruder knows, and it is
the right one. In the original that is a count of people who are unique. In the release:

- columns that are unchanged or only coarsened can be looked up: whoever shares the released values
  (numbers within the intruder's reach) is compatible. Suppressed values are compatible with fewer
  people than they could be, so that the count is never too low;
- of columns that were disturbed, swapped or synthesised the nearest row is taken, by the distance
  of record linkage (Domingo-Ferrer and Torra 2001), with one vote for each dataset;
- synthetic rows that are nobody's have replicated uniques instead (Raab, Nowok and Dibben 2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.knowledge import (
    EVERYTHING,
    STRONGEST,
    Scenario,
    check_intruders,
    draft_intruders,
)
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measure,
    Measured,
    Subject,
)
from veladura.measures.risk.at_risk import AtRisk, Columns, at_risk
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Release


@dataclass(frozen=True)
class AtRiskTable(Detail):
    """The table behind the figures, with the records it was made from."""

    records: tuple[AtRisk, ...] = ()


def intruders(
    original: Any, release: Release, scenarios: Iterable[Scenario] = ()
) -> tuple[AtRisk, ...]:
    """Return the people at risk for each intruder, before and after protection.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        The release made from it.
    scenarios
        The intruders; without any, a register and an acquaintance by the roles of the columns. One
        who knows every column that is released exactly is always added.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": list("ffmm"), "age": [30, 31, 40, 40]})
    >>> release = vd.Recode(columns={"age": {"round": 10}}).protect(people)
    >>> who = vd.risk.Scenario(name="neighbour", knows=["sex", "age"])
    >>> risk = vd.risk.intruders(people, release, [who])[0]
    >>> int(risk.before), int(risk.after), risk.people
    (2, 0, 4)

    References
    ----------
    Domingo-Ferrer, J. and Torra, V. (2001). Disclosure control methods and information loss for
    microdata. In Confidentiality, Disclosure and Data Access, 93-112. Elsevier.
    Elliot, M. and Dale, A. (1999). Scenarios of attack: the data intruder's perspective on
    statistical disclosure risk. Netherlands Official Statistics 14, 6-10.
    Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
    arXiv:2406.16826.
    """
    table = open_quietly(original)
    listed = check_intruders(scenarios, table.schema)
    return records(Subject(table, release, intruders=listed))


def records(subject: Subject) -> tuple[AtRisk, ...]:
    """Return the people at risk for every intruder of an assessment."""
    columns = Columns.of(subject)
    return tuple(
        at_risk(subject, columns, who, columns.released(who.knows))
        for who in _scenarios(subject, columns)
    )


def _scenarios(subject: Subject, columns: Columns) -> list[Scenario]:
    """Return the intruders of the plan or the usual ones, and the one who knows all that is exact.

    That one also knows the quasi-identifiers, by their released values where they are coarser.
    """
    schema = subject.original.schema
    of_steps = subject.release.quasi_identifiers
    given = list(subject.intruders) or list(draft_intruders(schema, of_steps))
    keys = {*schema.of_role("quasi-identifier"), *of_steps}
    knows = [name for name in columns.all if name in columns.exact or name in keys]
    return [*given, *([Scenario(name=EVERYTHING, knows=tuple(knows))] if knows else [])]


def measure(subject: Subject) -> Measured:
    """Measure every intruder of the plan, or the usual ones, and the strongest of them."""
    if subject.original.rows == 0 or not all(table.rows for table in subject.tables):
        msg = "there are no rows to compare."
        raise NotApplicable(msg)
    found = records(subject)
    if not found:
        msg = "no released column is known to any intruder."
        raise NotApplicable(msg)
    strongest = max(found, key=lambda record: record.after.value)
    figures: dict[str, Estimate | NotApplicable] = {
        STRONGEST: _share(strongest.after, subject),
        **{record.name: _share(record.after, subject) for record in found},
    }
    notes = {record.name: _note(record) for record in found}
    return Measured(
        figures, notes | {STRONGEST: f"{strongest.name}. {_note(strongest)}"}, _table(found)
    )


def _share(number: Estimate, subject: Subject) -> Estimate:
    base = subject.base("people")
    return Estimate(number.value / base, number.lower / base, number.upper / base, number.level)


def knowledge(record: AtRisk) -> str:
    """Return what an intruder knows, as a phrase."""
    return (
        ", ".join(
            f"{name} within {record.within[name]}" if name in record.within else name
            for name in record.knows
        )
        or "no released column"
    )


def _note(record: AtRisk) -> str:
    before = (
        f"Knows: {knowledge(record)}. Before: {record.before.value:,.0f} of"
        f" {record.people:,} people."
    )
    if record.by_chance is None:
        return before
    return (
        f"{before} Synthetic rows: replicated uniques; other people of the same population would"
        f" give about {record.by_chance:,}."
    )


def _table(found: Sequence[AtRisk]) -> AtRiskTable:
    rows = [
        (
            record.name,
            knowledge(record),
            f"{record.before.value:,.0f}",
            f"{'' if record.after.is_exact else 'about '}{record.after.value:,.0f}",
            f"{record.people:,}",
        )
        for record in found
    ]
    return AtRiskTable(
        "People at risk for each intruder",
        ("Intruder", "Knows", "At risk before", "At risk after", "People"),
        tuple(rows),
        tuple(found),
    )


MEASURE = Measure(
    "risk.intruders",
    figures={
        STRONGEST: Meaning(
            "People at risk for the strongest intruder: those whom the one who finds most can"
            " find in the release.",
            unit="people",
            headline=True,
        )
    },
    function=measure,
    counted=True,
    others=Meaning(
        "People at risk for this intruder: exactly one person in the release is compatible with"
        " what he knows, and it is the right one.",
        unit="people",
    ),
)
