"""Limits of top-coding: as declared, or from the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.checks import is_number
from veladura.errors import DataError, PlanError
from veladura.methods.masks.dates import moment_of, start_of, to_number, to_text

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.schema import Field

FEWEST = 10  # released rows that have a limit from the data
DIGITS = 2
Limit = int | float | str
Pair = tuple[Limit | None, Limit | None]  # lower, upper


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The highest and the lowest value of a column: numbers, or dates as ISO text."""

    upper: int | float | str | None = None
    lower: int | float | str | None = None

    def __post_init__(self) -> None:
        given = [limit for limit in (self.lower, self.upper) if limit is not None]
        if not given:
            msg = "limits need upper, lower or both."
            raise PlanError(msg)
        if not all(isinstance(limit, str) or is_number(limit) for limit in given):
            msg = "a limit must be a finite number, or a date as in '2020-12-31'."
            raise PlanError(msg)
        order = [
            moment_of("a limit", limit) if isinstance(limit, str) else limit for limit in given
        ]
        try:
            crossed = order[0] > order[-1]  # type: ignore[operator]
        except TypeError:
            msg = (
                "both limits of a column must be numbers, or dates; dates both with or both without"
                " a time zone."
            )
            raise PlanError(msg) from None
        if crossed:
            msg = "the lower limit must not be above the upper one."
            raise PlanError(msg)


def limits_of(name: str, given: object) -> Limits:
    """Return the limits that were given for a column."""
    if isinstance(given, Limits):
        return given
    if not isinstance(given, Mapping):
        return Limits(upper=given)  # type: ignore[arg-type]  # checked in __post_init__
    if unknown := [key for key in given if key not in Limits.__dataclass_fields__]:
        setting = f"columns.{name}: setting"
        raise PlanError.unknown(setting, str(unknown[0]), Limits.__dataclass_fields__)
    return Limits(**given)


def checked_limit(field: Field, limit: Limit | None) -> Limit | None:
    """Return a declared limit if it fits the kind of its column."""
    if limit is None:
        return None
    if isinstance(limit, str) != (field.kind == "date"):
        wanted = "a date as ISO text" if field.kind == "date" else "a number"
        msg = f"the limit of column {field.name!r} must be {wanted}: its kind is {field.kind!r}."
        raise PlanError(msg)
    if isinstance(limit, str) or field.kind != "integer":
        return limit
    if limit % 1:
        msg = f"the limit of column {field.name!r} must be a whole number, as its values are."
        raise PlanError(msg)
    return int(limit)


def as_held(field: Field, limit: Limit | None) -> Any:
    """Return a limit as the column holds its values."""
    return to_number(field, limit) if isinstance(limit, str) else limit


def limit_from(column: Column, quantile: float) -> Limit:
    """Return an upper limit from the data that at least ten released rows have."""
    values = np.sort(column.values[~column.missing])
    if values.size < FEWEST:
        msg = (
            f"column {column.name!r} has {values.size} values: a limit from the data needs at least"
            f" {FEWEST}.\n\nHint: declare the limit."
        )
        raise DataError(msg)
    column.numbers()  # refuses infinite values
    place = min(math.ceil(quantile * values.size) - 1, values.size - FEWEST)
    if column.field.kind == "date":
        at = column.take(np.flatnonzero(~column.missing)).with_values(
            values, np.zeros(values.size, dtype=bool)
        )
        return to_text(column.field, int(start_of(at, "month")[place]))
    floor = values[min(place, values.size // 2)].item()
    rounded = (round_down(values[place].item(), digits) for digits in range(DIGITS, 16))
    return next((limit for limit in rounded if limit >= floor), values[place].item())


def round_down(value: float, digits: int) -> int | float:
    """Return the largest number with so many significant digits that is not above a value.

    Examples
    --------
    >>> round_down(217_900, 2), round_down(-0.123, 2), round_down(7, 2)
    (210000, -0.13, 7)
    """
    from decimal import ROUND_FLOOR, Decimal

    exact = Decimal(str(value))
    if not exact:
        return value
    unit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    rounded = (exact / unit).to_integral_value(ROUND_FLOOR) * unit
    return math.floor(rounded) if isinstance(value, int) else float(rounded)
