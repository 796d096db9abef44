"""Replicated uniques: people unique on the known columns in both the original and the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.measures.risk.uniqueness import known_columns, uniqueness
from veladura.numeric.coding import common_cells, is_recoded
from veladura.table.units import holders, people_per_cell, person_numbers


@dataclass(frozen=True)
class Replicated:
    """Uniques of the original and of the release, as shares of their people.

    Attributes
    ----------
    original, released
        People of the original, and of the release, whose known values nobody else has.
    found
        Uniques of the original whose known values occur in the release, over the original's people.
    replicated
        repU: uniques of the original whose known values occur in the release exactly once.
    """

    original: Estimate
    released: Estimate
    found: Estimate
    replicated: Estimate


@renamed(released="release", keys="known")
def replicated(original: Any, release: Any, known: Sequence[str]) -> Replicated:
    """Return the replicated uniques: people unique in both the original and the release.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.
    known
        The columns an intruder knows. Missing counts as a value of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> before, after = pd.DataFrame({"zip": [1, 2, 3, 3]}), pd.DataFrame({"zip": [1, 2, 2, 3]})
    >>> risk = replicated(before, after, ["zip"])
    >>> float(risk.original), float(risk.found), float(risk.replicated)
    (0.5, 0.5, 0.25)

    References
    ----------
    Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
    arXiv:2406.16826.
    """
    if isinstance(known, str) or not known:
        msg = "replicated needs a list of at least one column in known."
        raise PlanError(msg)
    both = pair(original, release)
    if both.original.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    for table in (both.original, *both.released):
        table.schema.check("known", known)
    cells, number = common_cells([both.original, *both.released], list(known))
    persons = [person_numbers(table) for table in (both.original, *both.released)]
    before, *after = [
        people_per_cell(part, who, number) for part, who in zip(cells, persons, strict=True)
    ]
    people, single = both.original.people, before == 1
    shares = [
        (
            holders(part, who, sizes == 1) / max(int(np.unique(who).size), 1),
            holders(cells[0], persons[0], single & (sizes > 0)) / people,
            holders(cells[0], persons[0], single & (sizes == 1)) / people,
        )
        for part, who, sizes in zip(cells[1:], persons[1:], after, strict=True)
    ]
    estimates = (over_datasets(values, upper=1.0) for values in zip(*shares, strict=True))
    alone = holders(cells[0], persons[0], single) / people
    return Replicated(Estimate.exact(alone), *estimates)


def measure(subject: Subject) -> Measured:
    """Measure the releases over the quasi-identifiers.

    Coarser values never tell people apart whom finer ones do not. Whoever is unique in a release
    that recodes the known columns was unique before, and an intruder who recodes his knowledge
    finds that person: counting the uniques of the release is enough.
    """
    known, people = _known(subject), subject.original.people
    note = f"Known: {', '.join(known)}."
    if recoded_columns(subject, known):
        alone = [
            float(uniqueness(table, known).sample_uniques) / people for table in subject.tables
        ]
        return Measured(
            {"uniques": over_datasets(alone, upper=1.0)},
            {"uniques": f"{note} Recoded: uniques of the release."},
        )
    subject.fetched()
    return Measured(
        {"uniques": replicated(subject.original, subject.release, known).replicated},
        {"uniques": note},
    )


def comparable_columns(subject: Subject) -> list[str]:
    """Return the columns an intruder knows, if their released values can be looked up."""
    known = _known(subject)
    if recoded := recoded_columns(subject, known):
        msg = (
            f"{', '.join(recoded)}: recoded to values that are not in the original; risk.classes"
            " has the risk of such a release."
        )
        raise NotApplicable(msg)
    return known


def _known(subject: Subject) -> list[str]:
    known = known_columns(subject)
    if subject.original.rows == 0 or not all(table.rows for table in subject.tables):
        msg = "there are no rows to compare."
        raise NotApplicable(msg)
    return known


def recoded_columns(subject: Subject, known: Sequence[str]) -> list[str]:
    """Return the known columns whose released values are not values of the original."""
    return [
        name
        for name in known
        if name in subject.changed and is_recoded(subject.original, subject.tables[0], name)
    ]


MEASURE = Measure(
    "risk.replicated",
    figures={
        "uniques": Meaning(
            "Replicated uniques: people who are unique on the quasi-identifiers in both the"
            " original and the release.",
            unit="people",
            headline=True,
        )
    },
    counted=True,
    function=measure,
)
