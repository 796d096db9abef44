"""Sampling weights and their replicates: what is done to the one must be done to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.errors import DataError

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table


def replicates_of(table: Table, column: str) -> tuple[str, ...]:
    """Return the columns of replicate weights that belong to a column of weights.

    They are those of the table's first weight, which analyses use.
    """
    weights = table.schema.of_role("weight")
    if weights and weights[0] != column:
        return ()
    return tuple(name for name in table.schema.of_role("replicate weight") if name != column)


def check_sampling_weights(column: Column) -> None:
    """Refuse numbers that cannot be sampling weights."""
    weights = column.numbers()
    negative = int(np.count_nonzero(weights < 0))
    if not negative and np.nansum(weights) > 0:
        return
    why = f"{negative:,} values are below 0" if negative else "no value is above 0"
    msg = (
        f"column {column.name!r} cannot hold sampling weights: {why}.\n\nHint: name the column of"
        " the weights, or declare codes for no answer as missing."
    )
    raise DataError(msg)
