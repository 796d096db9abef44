"""Individual risk: the chance to find a row's person in the population, from sampling weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.errors import DataError, PlanError
from veladura.measures.measure import (
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
    over_datasets,
)
from veladura.measures.risk.uniqueness import keys as intruder_keys
from veladura.numeric.coding import column_of, common_cells

Floats = NDArray[np.float64]
MANY = 30  # rows of a class from which on the series is short


@dataclass(frozen=True, eq=False)
class IndividualRisk:
    """Risks of re-identification from weights.

    Attributes
    ----------
    per_record
        The risk of each row.
    frequency, population
        For each row, the rows of the sample that share its keys, and the estimated number in the
        population.
    highest, average
        Largest and mean risk.
    expected
        The sum of the risks: rows expected to be found.
    """

    per_record: Floats = field(repr=False)
    frequency: NDArray[np.int64] = field(repr=False)
    population: Floats = field(repr=False)
    highest: Estimate
    average: Estimate
    expected: Estimate


def individual(table: Any, keys: Sequence[str], *, weight: str | None = None) -> IndividualRisk:
    """Return the risk that each row is found in the population by its keys, from sampling weights.

    With f rows of the sample and F of the population that share the keys, F given f has a negative
    binomial law with success probability p = f / (sum of the weights of those rows), and the risk
    is E(1/F | f) = p^f / f 2F1(f, f; f + 1; 1 - p) (Benedetti and Franconi 1998, eq. 6), here as p
    / f 2F1(1, 1; f + 1; 1 - p), which is the same and loses no digits. Missing counts as a value of
    its own.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    keys
        The columns an intruder knows.
    weight
        The column of sampling weights; without one the table is the whole population, and the risk
        1 / f.

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
    if isinstance(keys, str) or not keys:
        msg = "individual needs a list of at least one key."
        raise PlanError(msg)
    opened = open_quietly(table, {name: {} for name in (*keys, *([weight] if weight else []))})
    opened.schema.check("keys", keys)
    if opened.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    (cells,), number = common_cells([opened], keys)
    sizes = np.bincount(cells, minlength=number)
    each = np.ones(cells.size) if weight is None else _weights(opened, weight)
    total = np.bincount(cells, each, number).astype(np.float64)
    risk = negative_binomial_risk(sizes, total)[cells]
    figures = (float(risk.max()), float(risk.mean()), float(risk.sum()))
    return IndividualRisk(risk, sizes[cells], total[cells], *map(Estimate.exact, figures))


def negative_binomial_risk(sizes: NDArray[np.int64], population: Floats) -> Floats:
    """Return E(1/F | f) for f rows of which ``population`` persons are estimated.

    Examples
    --------
    >>> negative_binomial_risk(np.array([1, 2]), np.array([17.0, 110.0])).round(8).tolist()
    [0.17707583, 0.01714426]
    """
    f = sizes.astype(np.float64)
    p = np.minimum(f / population, 1.0)
    return np.where((p < 1 / 2) & (f < MANY), _by_recurrence(f, p), _by_series(f, p))


def _by_series(f: Floats, p: Floats) -> Floats:
    """Return p / f 2F1(1, 1; f + 1; 1 - p) term by term: 60 are enough for p of a half and more, or many rows."""
    term, total = np.ones_like(f), np.ones_like(f)
    for k in range(60):
        term = term * (1 - p) * (k + 1) / (f + 1 + k)
        total = total + term
    return p / f * total


def _by_recurrence(f: Floats, p: Floats) -> Floats:
    """Return p I_f with I_1 = -log(p) / (1 - p) and I_{f+1} = (1/f - p I_f) / (1 - p), where errors shrink for p below a half.

    The same as the series by parts of the integral f I_f = 2F1(1, 1; f + 1; 1 - p) = f int
    (1-t)^(f-1) / (1 - (1-p) t) dt.
    """
    p = np.minimum(p, 1 / 2)  # what is above is not taken from here
    found = -np.log(p) / (1 - p)
    for step in range(1, MANY):
        found = np.where(f > step, (1 / step - p * found) / (1 - p), found)
    return p * found


def _weights(table: Any, name: str) -> Floats:
    table.schema.check("weight", [name])
    column = column_of(table, name)
    if column.labels is not None or column.missing.any() or not (column.numbers() > 0).all():
        msg = f"weight {name!r} must hold numbers above 0, none missing."
        raise DataError(msg)
    return column.numbers()


@measure(
    "risk.individual",
    figures={
        "highest": Meaning(
            "Chance to find the person of the easiest row in the population, by the sampling"
            " weights.",
            unit="share",
        ),
        "average": Meaning("The same chance, mean over rows.", unit="share"),
        "expected": Meaning("Rows expected to be found in the population.", unit="number"),
    },
)
def measure_individual(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, with the column declared as weight."""
    weights = subject.tables[0].schema.of_role("weight")
    if not weights:
        msg = "no released column is declared a weight."
        raise NotApplicable(msg)
    known = [name for name in intruder_keys(subject) if name not in weights]
    if not known or not all(table.rows for table in subject.tables):
        msg = "the release has no rows, or no column that an intruder may know."
        raise NotApplicable(msg)
    try:
        found = [individual(table, known, weight=weights[0]) for table in subject.tables]
    except DataError as error:
        raise NotApplicable(str(error)) from None
    figures: dict[str, Estimate | NotApplicable] = {
        "highest": over_datasets([float(one.highest) for one in found], upper=1.0),
        "average": over_datasets([float(one.average) for one in found], upper=1.0),
        "expected": over_datasets([float(one.expected) for one in found]),
    }
    return Measured(figures, {"average": f"Known: {', '.join(known)}."})
