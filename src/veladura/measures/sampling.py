"""The share of a population that a table is a sample of: from its weights, or as it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.measures.measure import Subject
    from veladura.table.table import Table

WHOLE = 0.999  # a fraction above which a table is taken for the whole population


def check_fraction(fraction: float) -> None:
    """Refuse a sampling fraction that is no share."""
    if not 0 < fraction <= 1:
        msg = f"fraction ({fraction}) must be above 0 and at most 1."
        raise PlanError(msg)


def positive_weights(table: Table, name: str) -> Floats:
    """Return the sampling weight of each row; refuse a column that holds none."""
    table.schema.check("weight", [name])
    column = table.column(name)
    if column.labels is not None:
        msg = f"weight {name!r} must hold numbers above 0, and it holds categories or text."
        raise DataError(msg)
    weights, missing = column.numbers(), int(column.missing.sum())
    low = int(np.count_nonzero(weights <= 0))
    if missing or low:
        faults = {"missing": missing, "0 or below": low}
        told = " and ".join(f"{number:,} {what}" for what, number in faults.items() if number)
        msg = (
            f"weight {name!r} must hold numbers above 0, none missing: {told} of {table.rows:,}"
            " rows.\n\nHint: leave out people who stand for nobody, or give their rows a weight."
        )
        raise DataError(msg)
    return weights


def sampling_fraction(table: Table, weight: str | None = None, fraction: float = 1.0) -> float:
    """Return the share of the population that is in a table: people over the sum of their weights.

    Parameters
    ----------
    weight
        The column of sampling weights; without one the fraction is all that is known.
    fraction
        The share of its source that the table is a random sample of.

    Notes
    -----
    A person with several rows counts once, with the first weight. Weights that were scaled to a
    mean of 1 do not say how many people there are: the fraction is then 1.
    """
    check_fraction(fraction)
    if weight is None:
        return fraction
    weights, persons = positive_weights(table, weight), person_numbers(table)
    first = np.unique(persons, return_index=True)[1]
    return min(float(first.size / weights[first].sum()), 1.0) * fraction


def sampled(subject: Subject, table: Table) -> tuple[str | None, float]:
    """Return the weight of a released table and the share of the population that is in it.

    A release that is no sample of anything has no population to estimate.
    """
    weight = next(iter(table.schema.of_role("weight")), None)
    try:
        fraction = sampling_fraction(table, weight, subject.release.fraction)
    except DataError as error:
        raise NotApplicable(str(error)) from None
    if fraction > WHOLE:
        msg = (
            "the release is not known to be a sample: no released column is declared a weight that"
            " says how many people a row stands for, and no step draws a sample."
        )
        raise NotApplicable(msg)
    return weight, fraction
