"""Sample uniques and prosecutor risk: how well the quasi-identifiers tell people apart.

Rows with equal values in the known columns are an equivalence class. Someone who knows the values
of a person in a class of size f, and that the person is in the table, picks the right row with
probability 1/f (prosecutor risk); its mean over the rows is the number of classes over the number
of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.numeric.coding import common_cells
from veladura.table.class_sizes import class_sizes
from veladura.table.schema import LABELLED, WEIGHTS
from veladura.table.source import open_quietly
from veladura.table.units import people_per_cell, person_numbers


@dataclass(frozen=True)
class Uniqueness:
    """Equivalence classes: people with equal values in the known columns.

    Attributes
    ----------
    classes
        Number of classes.
    sample_uniques
        Number of people who are alone in their class.
    average_prosecutor
        Mean over people of 1 / size of their class, which is classes / rows; of a person in
        several classes the smallest counts.
    highest_prosecutor
        1 / size of the smallest class.
    sizes
        Number of classes of each size.
    """

    columns: tuple[str, ...]
    rows: Estimate  # people: a person with several rows counts once
    classes: Estimate
    sample_uniques: Estimate
    average_prosecutor: Estimate
    highest_prosecutor: Estimate
    sizes: Mapping[int, int] = field(repr=False)


@renamed(columns="known")
def uniqueness(table: Any, known: Sequence[str]) -> Uniqueness:
    """Return the sample uniques and the prosecutor risk of a table.

    Missing counts as a value of its own.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    known
        The columns an intruder knows: the quasi-identifiers.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"zip": [1, 1, 2], "sex": ["f", "f", "m"]})
    >>> risk = uniqueness(people, ["zip", "sex"])
    >>> int(risk.classes), int(risk.sample_uniques), round(float(risk.average_prosecutor), 2)
    (2, 1, 0.67)

    References
    ----------
    El Emam, K., & Dankar, F. K. (2008). Protecting privacy using k-anonymity. Journal of the
    American Medical Informatics Association 15(5), 627-637.
    """
    if isinstance(known, str) or not known:
        msg = "uniqueness needs a list of at least one column in known."
        raise PlanError(msg)
    counts = class_sizes(open_quietly(table, {name: {} for name in known}), list(known))
    sizes, rows = counts.size, counts.people
    return Uniqueness(
        tuple(known),
        Estimate.exact(rows),
        Estimate.exact(counts.classes),
        Estimate.exact(counts.holders(sizes == 1)),
        Estimate.exact(counts.average_chance(sizes)),
        Estimate.exact(1 / int(sizes.min()) if rows else 0.0),
        counts.histogram(),
    )


def known_columns(subject: Subject) -> list[str]:
    """Return the columns an intruder is assumed to know: the quasi-identifiers.

    Those declared, with those of the methods; without any, every column of categories or whole
    numbers.
    """
    schema = subject.tables[0].schema
    of_steps = {
        name
        for step in subject.release.steps
        for name in step.settings.get("quasi_identifiers") or ()
    }
    known = [f.name for f in schema if f.role == "quasi-identifier" or f.name in of_steps]
    known = known or [
        f.name for f in schema if f.kind in (*LABELLED, "integer") and f.role not in WEIGHTS
    ]
    if not known:
        msg = (
            "no column is declared a quasi-identifier, and none holds categories or whole numbers."
        )
        raise NotApplicable(msg)
    return known


def sampled_note(fraction: float) -> str:
    """Say that a release is a sample of its source, where it is one."""
    return "" if fraction == 1 else f" A random sample: {100 * fraction:.3g} % of the source."


def artificial_keys(subject: Subject, known: Sequence[str]) -> NotApplicable | None:
    """Return why nobody can be re-identified: a synthesizer replaced every known column."""
    if not subject.release.rule.synthetic or not set(known) <= set(subject.changed):
        return None
    return NotApplicable(
        "every column that an intruder may know is synthetic: no released row is a person's."
    )


def measure(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, and the original for comparison."""
    known = known_columns(subject)
    artificial = artificial_keys(subject, known)
    released = [uniqueness(table, known) for table in subject.tables]
    before = uniqueness(subject.original, known)
    figures: dict[str, Estimate | NotApplicable] = {
        "classes": over_datasets([float(u.classes) for u in released]),
        "sample_uniques": over_datasets([float(u.sample_uniques) for u in released]),
        "average_prosecutor": (
            artificial or over_datasets([float(u.average_prosecutor) for u in released], upper=1.0)
        ),
        "highest_prosecutor": (
            artificial or over_datasets([float(u.highest_prosecutor) for u in released], upper=1.0)
        ),
        "original_uniques": before.sample_uniques,
        "original_average_prosecutor": before.average_prosecutor,
    }
    figures["population_uniques"] = artificial or _population_uniques(subject, known, released)
    return Measured(figures, {"average_prosecutor": f"Known: {', '.join(known)}."})


def _population_uniques(
    subject: Subject, known: Sequence[str], released: Sequence[Uniqueness]
) -> Estimate:
    """Return how many people of a sample are unique in its source too.

    They are counted where the columns are those of the source. Else it is the expectation of the
    negative binomial model of `individual`: P(F = 1 | f = 1) is the fraction.
    """
    fraction = subject.release.fraction
    if fraction == 1 or set(known) & set(subject.changed):
        return over_datasets([fraction * float(u.sample_uniques) for u in released])
    counts = []
    for table in subject.tables:
        (sample, source), number = common_cells([table, subject.original], known)
        people = [
            people_per_cell(cells, person_numbers(one), number)
            for cells, one in ((sample, table), (source, subject.original))
        ]
        counts.append(float(np.count_nonzero((people[0] == 1) & (people[1] == 1))))
    return over_datasets(counts)


MEASURE = Measure(
    "risk.uniqueness",
    figures={
        "classes": Meaning(
            "Equivalence classes: different combinations of the quasi-identifiers in the release.",
            unit="count",
        ),
        "sample_uniques": Meaning(
            "Sample uniques: people in the release whose combination of quasi-identifiers nobody"
            " else has.",
            unit="count",
        ),
        "average_prosecutor": Meaning(
            "Prosecutor risk, average: probability that someone who knows a person is in the"
            " release picks the right row.",
            unit="share",
            headline=True,
        ),
        "population_uniques": Meaning(
            "Population uniques: sample uniques of the release who would be unique among all people"
            " of its source too; fewer than those only where the release is a random sample.",
            unit="count",
        ),
        "highest_prosecutor": Meaning(
            "Prosecutor risk, highest: the same probability for the person at greatest risk.",
            unit="share",
        ),
        "original_uniques": Meaning(
            "Sample uniques of the original, before protection.", better="neither", unit="count"
        ),
        "original_average_prosecutor": Meaning(
            "Average prosecutor risk of the original, before protection.",
            better="neither",
            unit="share",
        ),
    },
    function=measure,
    counted=True,
)
