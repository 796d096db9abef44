"""What the masks share: checks of their settings, and figures of a column that no size of value upsets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.errors import DataError, PlanError

if TYPE_CHECKING:
    from veladura.core.promise import Evidence
    from veladura.table.codes import Codes, Column
    from veladura.table.schema import Schema

NUMERIC = ("integer", "number")


def check_columns(columns: object, what: str) -> None:
    """Refuse columns that are not a list of different names.

    Examples
    --------
    >>> check_columns(("income", "age"), "the number columns to mask")
    """
    if isinstance(columns, str):
        msg = (
            f"columns must be a list of names, got one word.\n\nHint: write columns=[{columns!r}]."
        )
        raise PlanError(msg)
    if not isinstance(columns, (tuple, Mapping)) or not all(
        isinstance(name, str) for name in columns
    ):
        msg = f"columns must be a list of names, got {type(columns).__name__}."
        raise PlanError(msg)
    if not columns:
        msg = f"columns is empty: name {what}."
        raise PlanError(msg)
    if len(set(columns)) < len(columns):
        msg = "columns names a column twice."
        raise PlanError(msg)


def check_choice(setting: str, value: object, possible: tuple[str, ...]) -> None:
    """Refuse a word that is not one of the known ones."""
    if value not in possible:
        raise PlanError.unknown(setting, str(value), possible)


def is_number(value: object) -> bool:
    """Whether a setting is a finite number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_kinds(
    schema: Schema, columns: tuple[str, ...], kinds: tuple[str, ...], hint: str
) -> None:
    """Refuse names that the table does not have, and columns of kinds that a mask cannot treat."""
    schema.check("columns", columns)
    if wrong := [name for name in columns if schema[name].kind not in kinds]:
        msg = (
            f"these columns are of no kind that the mask can treat ({', '.join(kinds)}):"
            f" {wrong}.\n\nHint: {hint}"
        )
        raise PlanError(msg)


def still_columns(codes: Codes) -> list[str]:
    """Return the columns with fewer than two different values."""
    return [
        name
        for name, column in codes.items()
        if np.unique(column.values[~column.missing]).size <= 1
    ]


def refuse_still(still: list[str], what: str) -> None:
    """Refuse columns that a mask would leave as they are."""
    if still:
        msg = (
            f"columns with one value only, or none, {what}: {still}.\n\nHint: leave them out of"
            " columns."
        )
        raise DataError(msg)


def spread(numbers: NDArray[np.float64]) -> float:
    """Return the sample standard deviation of what is not NaN; 0 for one value only, or none.

    Examples
    --------
    >>> round(spread(np.array([1.0, np.nan, 3.0])), 6), spread(np.array([0.1, 0.1, 0.1]))
    (1.414214, 0.0)
    """
    values = numbers[~np.isnan(numbers)]
    if values.size < 2 or values.min() == values.max():  # noqa: PLR2004
        return 0.0
    top = float(np.abs(values).max())  # squares of large numbers would overflow
    return float(np.std(values / top, ddof=1) * top)


def source_column(evidence: Evidence, name: str) -> Column:
    """Return a whole column of the original, also when rows of it were dropped from the release."""
    from veladura.table.codes import encode

    if evidence.original is None:
        msg = "this check needs the original."
        raise ValueError(msg)
    return encode(evidence.original.arrow.column(name), evidence.original.schema[name])


def label_texts(column: Column) -> list[str]:
    """Return the labels of a column of categories as text, in the order of their codes."""
    from veladura.table.codes import label_text

    if column.labels is None:
        msg = f"column {column.name!r} has no categories."
        raise ValueError(msg)
    return [label_text(label) for label in column.labels.to_pylist()]
