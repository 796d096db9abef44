"""k-map: how many people of the population share the known values of each released person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, PlanError
from veladura.numeric.coding import common_cells
from veladura.numeric.proportions import mean_share
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class PopulationMap:
    """People of a population who share the known values of each person in the table.

    Attributes
    ----------
    k
        The fewest people that any row could belong to: the table is k-map for this k.
    below
        Share of rows that could belong to fewer people than the wanted number.
    average
        Journalist risk: the mean over rows of 1 / people.
    per_record
        The number of people for each row.
    """

    k: Estimate
    below: Estimate
    average: Estimate
    per_record: Ints | Floats = field(repr=False)


@renamed(keys="known")
def k_map(
    table: Any,
    population: Any = None,
    known: Sequence[str] = (),
    *,
    k: int = 5,
    fraction: float | None = None,
) -> PopulationMap:
    """Return how many people of a population each row could belong to.

    Missing counts as a value of its own. Without a population, but with the fraction that was
    sampled, the f rows of a class stand for f / fraction people.

    Parameters
    ----------
    table
        The released table: anything `veladura.open` takes.
    population
        A table that holds every person of the first, with columns written in the same way. None
        where there is no such table.
    known
        The columns an intruder knows.
    k
        Rows that could belong to fewer than k people are counted in ``below``.
    fraction
        The share of the population that was sampled, instead of a population.

    Examples
    --------
    >>> import pandas as pd
    >>> released, everyone = pd.DataFrame({"zip": [1, 2]}), pd.DataFrame({"zip": [1, 1, 1, 2, 2]})
    >>> risk = k_map(released, everyone, ["zip"], k=3)
    >>> int(risk.k), float(risk.below)
    (2, 0.5)

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of
    Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 557-570.
    """
    if isinstance(known, str) or not known:
        msg = "k_map needs a list of at least one column in known."
        raise PlanError(msg)
    if k < 1:
        msg = f"k ({k}) must be at least 1."
        raise PlanError(msg)
    if (population is None) == (fraction is None):
        msg = "k_map needs either a population or the fraction of it that was sampled."
        raise PlanError(msg)
    if fraction is not None and not 0 < fraction <= 1:
        msg = f"fraction ({fraction}) must be above 0 and at most 1."
        raise PlanError(msg)
    if population is None:
        return _estimated(open_quietly(table, {name: {} for name in known}), known, k, fraction)
    tables = [open_quietly(given, {name: {} for name in known}) for given in (table, population)]
    if tables[0].rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    (cells, people), number = common_cells(tables, list(known))
    persons, sizes = np.bincount(people, minlength=number), np.bincount(cells, minlength=number)
    if lacking := int(np.maximum(sizes - persons, 0).sum()):
        msg = (
            f"{lacking} rows of the table are not in the population.\n\nHint: the population must"
            " hold every person of the table, with columns written in the same way."
        )
        raise DataError(msg)
    return _mapped(persons[cells], k)


def _estimated(table: Table, known: Sequence[str], k: int, fraction: float | None) -> PopulationMap:
    """Return the map with the people that each class stands for."""
    (cells,), number = common_cells([table], list(known))
    sizes = np.bincount(cells, minlength=number) / (fraction or 1.0)
    return _mapped(sizes[cells], k)


def _mapped(each: Ints | Floats, k: int) -> PopulationMap:
    if not each.size:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    return PopulationMap(
        Estimate.exact(float(each.min())),
        mean_share((each < k).astype(np.float64), each.size),
        Estimate.exact(float(np.mean(1 / each))),
        each,
    )
