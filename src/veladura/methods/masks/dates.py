"""Dates as the masks need them: limits written as ISO text, and first days of periods."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.schema import Field

PERIODS = {
    "month": (1, "month"),
    "quarter": (1, "quarter"),
    "year": (1, "year"),
    "decade": (10, "year"),
}


def moment_of(setting: str, text: str) -> datetime:
    """Return the moment that ISO text names, or refuse the setting.

    Examples
    --------
    >>> moment_of("upper", "2020-12-31").year
    2020
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        msg = f"{setting} is text, but no ISO date.\n\nHint: write a date as in '2020-12-31'."
        raise PlanError(msg) from None


def to_number(field: Field, text: str) -> int:
    """Return ISO text as a column of dates holds it: days, or units of time since 1970.

    A time without a zone is taken in the zone of the column.
    """
    moment = moment_of("a limit", text)
    if pa.types.is_date32(field.type):
        return (moment.date() - date(1970, 1, 1)).days
    unit = "ms" if pa.types.is_date64(field.type) else field.type.unit
    zone = None if pa.types.is_date64(field.type) else field.type.tz
    if moment.tzinfo is not None and zone is None:
        msg = f"column {field.name!r} has no time zone, but its limit has one."
        raise PlanError(msg)
    if moment.tzinfo is not None:
        return int(pa.scalar(moment, pa.timestamp(unit, tz="UTC")).value)
    time = pa.scalar(moment, pa.timestamp(unit))
    if zone:
        time = pc.assume_timezone(time, zone, ambiguous="earliest", nonexistent="earliest")
    return int(time.value)


def to_text(field: Field, number: int) -> str:
    """Return a number of a column of dates as ISO text, in the zone of the column."""
    plain = pa.scalar(number, pa.int32() if pa.types.is_date32(field.type) else pa.int64())
    return str(plain.cast(field.type).as_py().isoformat())


def start_of(column: Column, period: str) -> NDArray[Any]:
    """Return the first day of the period each date falls in, as the column holds dates.

    The start of a period is that of the calendar of the column's time zone.
    """
    from veladura.table.codes import encode

    multiple, unit = PERIODS[period]
    floored = pc.floor_temporal(column.to_arrow(), multiple=multiple, unit=unit)
    starts = encode(floored.cast(column.field.type), column.field)
    return np.where(column.missing, column.values, starts.values)
