"""Limits of masked numbers: declared by the holder, or 0 for a column that is never negative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.bounds import Bounds
from veladura.errors import DataError, PlanError

if TYPE_CHECKING:
    from veladura.table.codes import Column

WIDE = 4.5  # standard deviations; 7 in a million normal draws are further away


def limits_of(columns: Sequence[Column], declared: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """Return the limits of the columns that have some.

    The smallest and the largest value of the data are never taken for limits: they are those of
    two people, and values piled up there, or missing beyond, would tell them.
    """
    limits = {}
    for column in columns:
        numbers = column.numbers()
        natural = Bounds(min=0.0) if np.nanmin(numbers, initial=np.inf) >= 0 else Bounds()
        bounds = declared.get(column.name, natural)
        if bounds != Bounds():
            limits[column.name] = bounds
            _refuse_outside(column.name, numbers, bounds)
    return limits


def limits_between(
    ends: Mapping[str, tuple[float, float]], declared: Mapping[str, Bounds]
) -> dict[str, Bounds]:
    """Return the limits of columns whose smallest and largest values are known.

    These are compared with declared limits, and never taken for limits themselves.
    """
    limits = {}
    for name, (low, high) in ends.items():
        bounds = declared.get(name, Bounds(min=0.0) if low >= 0 else Bounds())
        if bounds == Bounds():
            continue
        limits[name] = bounds
        least, most = _ends(bounds)
        if low < least or high > most:
            msg = (
                f"column {name!r} has values outside its limits.\n\nHint: widen them in limits, or"
                " top-code the column in an earlier step."
            )
            raise DataError(msg)
    return limits


def _refuse_outside(name: str, numbers: Floats, bounds: Bounds) -> None:
    low, high = _ends(bounds)
    if outside := int(np.count_nonzero((numbers < low) | (numbers > high))):
        msg = (
            f"{outside} values of column {name!r} are outside its limits.\n\nHint: widen them in"
            " limits, or top-code the column in an earlier step."
        )
        raise DataError(msg)


def refuse_narrow(limits: Mapping[str, Bounds], spread: Mapping[str, float], scale: float) -> None:
    """Refuse limits between which noise has no room: ``scale`` times the spread of a column."""
    for name, bounds in limits.items():
        low, high = _ends(bounds)
        if high - low < 2 * WIDE * scale * spread[name]:
            msg = (
                f"the limits of column {name!r} are too narrow for noise of this size (scale ="
                f" {scale:g}).\n\nHint: lower scale, widen the limits, or use Pram for a column of"
                " few values."
            )
            raise PlanError(msg)


def ends_of(column: Column, bounds: Bounds) -> tuple[float, float]:
    """Return the lowest and the highest value that can be written with a column's decimals."""
    low, high = _ends(bounds)
    if column.values.dtype.kind != "f":  # what a whole number of 64 bits can hold
        most = float(np.nextafter(2.0**63, 0))
        low, high = max(low, -most), min(high, most)
    if column.decimals is not None:
        unit = 10.0**column.decimals
        low = np.ceil(low * unit) / unit if bounds.min is not None else low
        high = np.floor(high * unit) / unit if bounds.max is not None else high
    return float(low), float(high)


def added(numbers: Floats, noise: Floats, low: float, high: float) -> Floats:
    """Return the numbers of a column with noise, none of them outside its limits.

    Noise that would leave them has the other sign. It keeps its size, so that no value is less
    protected near a limit, and no values pile up at it. Both signs lead outside only for noise of
    more than half the room, which is cut to that.
    """
    room = (high - low) / 2
    noise = np.clip(noise, -room, room)
    sums = numbers + noise
    sums = np.where((sums < low) | (sums > high), numbers - noise, sums)
    within: Floats = np.clip(sums, low, high)  # only the last digit can be outside now
    return within


def _ends(bounds: Bounds) -> tuple[float, float]:
    return (
        -np.inf if bounds.min is None else bounds.min,
        np.inf if bounds.max is None else bounds.max,
    )
