"""Columns of sampling weights as an analysis needs them: numbers of at least 0, one in each row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats
from veladura.errors import DataError


def read_weights(column: pa.ChunkedArray, name: str) -> Floats:
    """Return the weights of all rows; refuse a column that holds anything else."""
    weights = weight_numbers(column, name)
    check_weights(weights, name)
    if not weights.any():
        raise DataError(_refused(name, "all are 0"))
    return weights


def weight_numbers(column: pa.ChunkedArray, name: str) -> Floats:
    """Return a column as numbers, NaN where one is missing; refuse text and dates."""
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise DataError(_refused(name, "it holds no numbers"))
    weights: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    return weights


def check_weights(weights: Floats, name: str) -> None:
    """Refuse weights of which some are missing, infinite or below 0, with their number."""
    faults = {
        "missing": np.isnan(weights),
        "infinite": np.isinf(weights),
        "below 0": weights < 0,
    }
    told = [f"{int(rows.sum()):,} {what}" for what, rows in faults.items() if rows.any()]
    if told:
        raise DataError(_refused(name, f"{' and '.join(told)} of {weights.size:,} rows"))


def _refused(name: str, why: str) -> str:
    return (
        f"weights {name!r} must be numbers of at least 0, not all 0, and none missing: {why}."
        "\n\nHint: name another column of weights, or count rows equally: sampling=vd.Sampling()"
        " (--no-design). The holder may leave rows without a weight out by a step, method ="
        ' "filter".'
    )
