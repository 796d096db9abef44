"""k-map: how many of the population share the keys of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.errors import DataError, PlanError
from veladura.measures.measure import open_quietly
from veladura.numeric.coding import common_cells
from veladura.numeric.proportions import mean_share


@dataclass(frozen=True, eq=False)
class PopulationMap:
    """Persons of a population that share the keys of each row.

    Attributes
    ----------
    k
        The fewest persons that any row could be: the table is k-map for this k.
    below
        Share of rows that fewer than the wanted number of persons share.
    average
        Mean over rows of 1 / persons: the journalist's risk.
    per_record
        The number of persons for each row.
    """

    k: Estimate
    below: Estimate
    average: Estimate
    per_record: NDArray[np.int64] = field(repr=False)


def k_map(table: Any, population: Any, keys: Sequence[str], *, k: int = 5) -> PopulationMap:
    """Return how many persons of a population each row could be. Missing counts as a value of its own.

    Parameters
    ----------
    table
        The rows that are released: anything `veladura.open` takes.
    population
        A table with the same columns, written alike, that holds every person of the first.
    keys
        What an intruder may know.
    k
        Rows that fewer than k persons share are counted as below.

    Examples
    --------
    >>> import pandas as pd
    >>> found = k_map(pd.DataFrame({"zip": [1, 2]}), pd.DataFrame({"zip": [1, 1, 1, 2, 2]}), ["zip"], k=3)
    >>> int(found.k), float(found.below)
    (2, 0.5)

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of
    Uncertainty,
    Fuzziness and Knowledge-Based Systems 10(5), 557-570.
    """
    if isinstance(keys, str) or not keys:
        msg = "k_map needs a list of at least one key."
        raise PlanError(msg)
    if k < 1:
        msg = f"k ({k}) must be at least 1."
        raise PlanError(msg)
    tables = [open_quietly(one, {name: {} for name in keys}) for one in (table, population)]
    if tables[0].rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    (cells, people), number = common_cells(tables, list(keys))
    persons, sizes = np.bincount(people, minlength=number), np.bincount(cells, minlength=number)
    if lacking := int(np.maximum(sizes - persons, 0).sum()):
        msg = (
            f"{lacking} rows of the table are not in the population.\n\nHint: it must hold every"
            " row, its columns written alike."
        )
        raise DataError(msg)
    found = persons[cells]
    share = mean_share((found < k).astype(np.float64), found.size)
    return PopulationMap(
        Estimate.exact(int(found.min())), share, Estimate.exact(float(np.mean(1 / found))), found
    )
