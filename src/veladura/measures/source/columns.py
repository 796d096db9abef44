"""One column of a source: how often its values occur, and the moments of its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.table.codes import label_text
from veladura.table.schema import NUMERIC, UNITS

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_LISTED = 10
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Frequencies:
    """How often the values of a column occur; missing is not a value.

    Attributes
    ----------
    present, missing
        Rows with and without a value.
    distinct
        Number of different values.
    least, greatest, median
        Of the number of rows that share a value, over the different values.
    alone
        Values that one row has only.
    most
        The commonest values with their rows, the commonest first.
    """

    name: str
    kind: str
    present: int
    missing: int
    distinct: int
    least: int
    greatest: int
    median: float
    alone: int
    most: tuple[tuple[str, int], ...] = field(repr=False)


@dataclass(frozen=True)
class Moments:
    """Mean, spread, shape and quantiles of a column of numbers, missing values left out.

    Skewness and excess kurtosis are moment ratios, m3 / m2^(3/2) and m4 / m2^2 - 3.
    """

    name: str
    rows: int
    mean: float
    deviation: float
    skewness: float
    kurtosis: float
    smallest: float
    quantiles: tuple[float, ...]
    largest: float


def frequencies(table: Table, name: str) -> Frequencies:
    """Return how often the values of a column occur."""
    counts = table.counts([name])
    column, size = counts.columns[0], counts.size
    sizes: Ints = size[~column.missing]
    order = np.argsort(-sizes, kind="stable")[:MOST_LISTED]
    values = column.to_arrow().filter(_present(column.missing)).take(order).to_pylist()
    return Frequencies(
        name,
        column.field.kind,
        int(sizes.sum()),
        int(size[column.missing].sum()),
        int(sizes.size),
        int(sizes.min(initial=table.rows if sizes.size else 0)),
        int(sizes.max(initial=0)),
        float(np.median(sizes)) if sizes.size else 0.0,
        int(np.count_nonzero(sizes == 1)),
        tuple(
            (label_text(value), int(rows)) for value, rows in zip(values, sizes[order], strict=True)
        ),
    )


def _present(missing: np.ndarray) -> object:
    import pyarrow as pa

    return pa.array(~missing)


def number_columns(table: Table) -> list[str]:
    """Return the columns of numbers that are not numbers of units or of rows."""
    return [
        f.name for f in table.schema if f.kind in NUMERIC and f.role not in ("identifier", *UNITS)
    ]


def moments(name: str, numbers: Floats) -> Moments | None:
    """Return the moments of numbers, NaN left out; None where none is left.

    Examples
    --------
    >>> moments("x", np.array([1.0, 2.0, 3.0, np.nan])).mean
    2.0
    """
    values = numbers[~np.isnan(numbers)]
    if not values.size:
        return None
    centred = values - values.mean()
    second = float(np.mean(centred**2))
    shape = (float("nan"), float("nan"))  # a constant has none
    if second > 0:
        third, fourth = (float(np.mean(centred**power)) for power in (3, 4))
        shape = (third / second**1.5, fourth / second**2 - 3)
    return Moments(
        name,
        int(values.size),
        float(values.mean()),
        float(values.std(ddof=1)) if values.size > 1 else float("nan"),
        *shape,
        float(values.min()),
        tuple(map(float, np.quantile(values, QUANTILES))),
        float(values.max()),
    )
