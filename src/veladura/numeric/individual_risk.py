"""Individual risk of classes: probability to pick the right person of the population."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.table.units import first_of_pairs

MANY = 30  # people in a class from which on the series is short


@dataclass(frozen=True, eq=False)
class ClassRisks:
    """Risk, people in the sample and estimated people in the population, class by class."""

    risk: Floats = field(repr=False)
    sizes: Ints = field(repr=False)
    population: Floats = field(repr=False)


def class_risks(cells: Ints, number: int, persons: Ints | None, weights: Floats) -> ClassRisks:
    """Return the individual risk of each class; a person counts once in it, by the first weight.

    Parameters
    ----------
    cells
        The class of each row, numbered from 0.
    number
        Number of classes.
    persons
        The person of each row, numbered from 0; None where every row is a person.
    weights
        How many people of the population each row stands for.
    """
    once = slice(None) if persons is None else first_of_pairs(cells, persons)
    sizes = np.bincount(cells[once], minlength=number)
    total = np.bincount(cells[once], weights[once], number).astype(np.float64)
    return ClassRisks(negative_binomial_risk(sizes, total), sizes, total)


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
