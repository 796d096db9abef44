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
from veladura.measures.risk.uniqueness import known_columns, sampled_note
from veladura.measures.sampling import check_fraction, positive_weights
from veladura.numeric.coding import common_cells
from veladura.numeric.individual_risk import class_risks
from veladura.table.source import open_quietly
from veladura.table.units import per_person, person_numbers

if TYPE_CHECKING:
    from veladura.table.table import Table


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
    households
        Households in which at least one member is expected to be re-identified: the sum over
        households of 1 - product of (1 - risk) of their members; None without a household column.
    per_household
        That risk of the household of each row; None without a household column.
    """

    per_record: Floats = field(repr=False)
    frequency: Ints = field(repr=False)
    population: Floats = field(repr=False)
    highest: Estimate
    average: Estimate
    expected: Estimate
    households: Estimate | None = None
    per_household: Floats | None = field(default=None, repr=False)


@renamed(keys="known")
def individual(
    table: Any, known: Sequence[str], *, weight: str | None = None, fraction: float = 1.0
) -> IndividualRisk:
    """Return the individual risk of each person, from sampling weights.

    With f people of the sample and F of the population who share the known values, F given f has a
    negative binomial distribution with success probability p = f / (sum of the weights of the f
    people), and the risk is E(1/F | f) = p^f / f 2F1(f, f; f + 1; 1 - p) (Benedetti and Franconi
    1998, eq. 6), here as p / f 2F1(1, 1; f + 1; 1 - p), which is the same and loses no digits.
    Missing counts as a value of its own. A person with several rows counts once, with the highest
    risk among them. Where a column has the role "household", who finds one member has found all:
    the household risk is 1 - prod (1 - r) over its members (Templ 2017, sec. 3.6).

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    known
        The columns an intruder knows.
    weight
        The column of sampling weights; without one the table is the whole population, and the
        risk is 1 / f.
    fraction
        The share of its source that the table is a random sample of: it stands for 1 / fraction
        times as many people as the weights say.

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
    Templ, M. (2017). Statistical Disclosure Control for Microdata. Springer.
    Franconi, L. and Polettini, S. (2004). Individual risk estimation in mu-Argus: a review. Privacy
    in Statistical Databases, 262-272.
    """
    if isinstance(known, str) or not known:
        msg = "individual needs a list of at least one column in known."
        raise PlanError(msg)
    check_fraction(fraction)
    opened = open_quietly(table, {name: {} for name in (*known, *([weight] if weight else []))})
    opened.schema.check("known", known)
    if opened.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    (cells,), number = common_cells([opened], known)
    persons = person_numbers(opened)
    each = (np.ones(cells.size) if weight is None else positive_weights(opened, weight)) / fraction
    classes = class_risks(cells, number, persons if opened.person else None, each)
    people = per_person(classes.risk[cells], persons)
    households, per_household = _household_risk(opened, people, persons)
    return IndividualRisk(
        classes.risk[cells],
        classes.sizes[cells],
        classes.population[cells],
        Estimate.exact(float(people.max())),
        Estimate.exact(float(people.mean())),
        Estimate.exact(float(people.sum())),
        households,
        per_household,
    )


def _household_risk(
    table: Table, risks: Floats, persons: Ints
) -> tuple[Estimate | None, Floats | None]:
    """Return the expected households with somebody found, and the risk of each row's household.

    Parameters
    ----------
    risks, persons
        The risk of each person, and the person of each row.
    """
    name = table.units.schema.household
    if name is None:
        return None, None
    column = table.units.column(name)
    _, home = np.unique(column.values, return_inverse=True)
    alone = int(home.max(initial=-1)) + 1 + np.arange(home.size)  # nobody lives with them
    _, home = np.unique(np.where(column.missing, alone, home), return_inverse=True)
    first = np.unique(persons, return_index=True)[1]  # people are numbered in this order
    with np.errstate(divide="ignore"):
        unfound = np.bincount(home[first], weights=np.log1p(-np.minimum(risks, 1.0)))
    risk = 1 - np.exp(unfound)
    return Estimate.exact(float(risk.sum())), risk[home]


def measure(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, with the declared weight."""
    weights = subject.tables[0].schema.of_role("weight")
    fraction = subject.release.fraction
    if not weights and fraction == 1:
        msg = "no released column is declared a weight, and the release is not a sample."
        raise NotApplicable(msg)
    known = [name for name in known_columns(subject) if name not in weights]
    if not known or not all(table.rows for table in subject.tables):
        msg = "the release has no rows, or no column that an intruder may know."
        raise NotApplicable(msg)
    try:
        risks = [
            individual(table, known, weight=next(iter(weights), None), fraction=fraction)
            for table in subject.tables
        ]
    except DataError as error:
        raise NotApplicable(str(error)) from None
    figures: dict[str, Estimate | NotApplicable] = {
        "highest": over_datasets([float(risk.highest) for risk in risks], upper=1.0),
        "average": over_datasets([float(risk.average) for risk in risks], upper=1.0),
        "expected": over_datasets([float(risk.expected) for risk in risks]),
        "households": _households(risks),
    }
    note = f"Known: {', '.join(known)}." + sampled_note(fraction)
    return Measured(figures, {"average": note})


def _households(risks: Sequence[IndividualRisk]) -> Estimate | NotApplicable:
    found = [float(risk.households) for risk in risks if risk.households is not None]
    if not found:
        return NotApplicable("no released column is the number of a household.")
    return over_datasets(found)


MEASURE = Measure(
    "risk.individual",
    figures={
        "highest": Meaning(
            "Individual risk, highest: probability of re-identifying the person at greatest risk in"
            " the population, by the sampling weights or the sampling fraction.",
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
        "households": Meaning(
            "Household risk: households in which at least one member is expected to be"
            " re-identified; who finds one has found all.",
        ),
    },
    function=measure,
)
