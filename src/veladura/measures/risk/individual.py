"""Individual risk: probability to re-identify a person in the population, by sampling weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.risk.uniqueness import known_columns
from veladura.numeric.coding import common_cells
from veladura.table.source import open_quietly
from veladura.table.units import first_of_pairs, per_person, person_numbers

if TYPE_CHECKING:
    from veladura.table.table import Table

MANY = 30  # people in a class from which on the series is short


@dataclass(frozen=True, eq=False)
class IndividualRisk:
    """Individual risks of re-identification, from sampling weights.

    Attributes
    ----------
    per_record
        The risk of each person, row by row.
    frequency, population
        For each person, how many of the sample share the known values, and how many of the
        population are estimated to.
    highest, average
        Largest and mean risk.
    expected
        The sum of the risks: people expected to be re-identified.
    """

    per_record: Floats = field(repr=False)
    frequency: Ints = field(repr=False)
    population: Floats = field(repr=False)
    highest: Estimate
    average: Estimate
    expected: Estimate


@renamed(keys="known")
def individual(table: Any, known: Sequence[str], *, weight: str | None = None) -> IndividualRisk:
    """Return the individual risk of each person, from sampling weights.

    With f people of the sample and F of the population who share the known values, F given f has a
    negative binomial distribution with success probability p = f / (sum of the weights of the f
    people), and the risk is E(1/F | f) = p^f / f 2F1(f, f; f + 1; 1 - p) (Benedetti and Franconi
    1998, eq. 6), here as p / f 2F1(1, 1; f + 1; 1 - p), which is the same and loses no digits.
    Missing counts as a value of its own. A person with several rows counts once, with the highest
    risk among them.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    known
        The columns an intruder knows.
    weight
        The column of sampling weights; without one the table is the whole population, and the
        risk is 1 / f.

    Examples
    --------
    >>> import pandas as pd
    >>> sample = pd.DataFrame({"zip": [1, 1, 2], "w": [50.0, 60.0, 17.0]})
    >>> individual(sample, ["zip"], weight="w").per_record.round(6).tolist()
    [0.017144, 0.017144, 0.177076]

    References
    ----------
    Benedetti, R. and Franconi, L. (1998). Statistical and technological solutions for controlled
    data dissemination. Pre-proceedings of New Techniques and Technologies for Statistics 1,
    225-232.
    Franconi, L. and Polettini, S. (2004). Individual risk estimation in mu-Argus: a review. Privacy
    in Statistical Databases, 262-272.
    """
    if isinstance(known, str) or not known:
        msg = "individual needs a list of at least one column in known."
        raise PlanError(msg)
    opened = open_quietly(table, {name: {} for name in (*known, *([weight] if weight else []))})
    opened.schema.check("known", known)
    if opened.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    (cells,), number = common_cells([opened], known)
    persons = person_numbers(opened)
    once = first_of_pairs(cells, persons) if opened.person else slice(None)
    sizes = np.bincount(cells[once], minlength=number)
    each = np.ones(cells.size) if weight is None else _weights(opened, weight)
    total = np.bincount(cells[once], each[once], number).astype(np.float64)
    risk = negative_binomial_risk(sizes, total)[cells]
    people = per_person(risk, persons)
    figures = (float(people.max()), float(people.mean()), float(people.sum()))
    return IndividualRisk(risk, sizes[cells], total[cells], *map(Estimate.exact, figures))


def negative_binomial_risk(sizes: Ints, population: Floats) -> Floats:
    """Return E(1/F | f) for f people of the sample and an estimated number of the population.

    Examples
    --------
    >>> negative_binomial_risk(np.array([1, 2]), np.array([17.0, 110.0])).round(8).tolist()
    [0.17707583, 0.01714426]
    """
    f = sizes.astype(np.float64)
    p = np.minimum(f / population, 1.0)
    return np.where((p < 1 / 2) & (f < MANY), _by_recurrence(f, p), _by_series(f, p))


def _by_series(f: Floats, p: Floats) -> Floats:
    """Return p / f 2F1(1, 1; f + 1; 1 - p) by its series.

    60 terms are enough for p of a half and more, or many people.
    """
    term, total = np.ones_like(f), np.ones_like(f)
    for k in range(60):
        term = term * (1 - p) * (k + 1) / (f + 1 + k)
        total = total + term
    return p / f * total


def _by_recurrence(f: Floats, p: Floats) -> Floats:
    """Return p I_f with I_1 = -log(p) / (1 - p) and I_{f+1} = (1/f - p I_f) / (1 - p).

    Errors shrink for p below a half. It equals the series: by parts of the integral
    f I_f = 2F1(1, 1; f + 1; 1 - p) = f int (1-t)^(f-1) / (1 - (1-p) t) dt.
    """
    p = np.minimum(p, 1 / 2)  # larger values come from the series
    integral = -np.log(p) / (1 - p)
    for step in range(1, MANY):
        integral = np.where(f > step, (1 / step - p * integral) / (1 - p), integral)
    return p * integral


def _weights(table: Table, name: str) -> Floats:
    table.schema.check("weight", [name])
    column = table.column(name)
    if column.labels is not None or column.missing.any() or not (column.numbers() > 0).all():
        msg = f"weight {name!r} must hold numbers above 0, none missing."
        raise DataError(msg)
    return column.numbers()


def measure(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, with the declared weight."""
    weights = subject.tables[0].schema.of_role("weight")
    if not weights:
        msg = "no released column is declared a weight."
        raise NotApplicable(msg)
    known = [name for name in known_columns(subject) if name not in weights]
    if not known or not all(table.rows for table in subject.tables):
        msg = "the release has no rows, or no column that an intruder may know."
        raise NotApplicable(msg)
    try:
        risks = [individual(table, known, weight=weights[0]) for table in subject.tables]
    except DataError as error:
        raise NotApplicable(str(error)) from None
    figures: dict[str, Estimate | NotApplicable] = {
        "highest": over_datasets([float(risk.highest) for risk in risks], upper=1.0),
        "average": over_datasets([float(risk.average) for risk in risks], upper=1.0),
        "expected": over_datasets([float(risk.expected) for risk in risks]),
    }
    return Measured(figures, {"average": f"Known: {', '.join(known)}."})


MEASURE = Measure(
    "risk.individual",
    figures={
        "highest": Meaning(
            "Individual risk, highest: probability of re-identifying the person at greatest risk in"
            " the population, by the sampling weights.",
            unit="share",
        ),
        "average": Meaning(
            "Individual risk, average over the people in the release.", unit="share"
        ),
        "expected": Meaning(
            "Expected re-identifications: people expected to be re-identified in the population, by"
            " the sampling weights.",
            unit="number",
            headline=True,
        ),
    },
    function=measure,
)
