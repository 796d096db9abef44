"""Settings for `veladura init` to propose: coordinates, attributes, and a box as region."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.errors import PlanError
from veladura.methods.geography.located import LATITUDES, LONGITUDES
from veladura.methods.geography.projection import looks_like_degrees
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

PAIRS = (
    *((x, y) for x in LONGITUDES for y in LATITUDES),
    ("easting", "northing"),
    ("x_coord", "y_coord"),
    ("x", "y"),
)
MOST_LEVELS = 12
MOST_COMBINATIONS = 24
ROWS_EACH = 20  # rows a combination should have on average
FEW_ROWS = 1000


def settings(table: Table, facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Return coordinates, attributes, grid and a rounded box around the places.

    The box comes from the data, so the plan marks the region as not confirmed. Its ends are rounded
    outwards to one digit of its size: they disclose no place, but they are not the border either.
    """
    x, y = _columns(table, facts)
    columns = [table.column(name) for name in (x, y)]
    placed = ~columns[0].missing & ~columns[1].missing
    if not placed.any():
        msg = f"no row has both {x} and {y}: there is no place to protect."
        raise PlanError(msg)
    ends = [_rounded(column.numbers()[placed]) for column in columns]
    box = (ends[0][0], ends[1][0], ends[0][1], ends[1][1])
    degrees = x.lower() in LONGITUDES and looks_like_degrees(
        (
            columns[0].values[placed].min(),
            columns[1].values[placed].min(),
            columns[0].values[placed].max(),
            columns[1].values[placed].max(),
        )
    )
    if degrees:
        box = (max(box[0], -180.0), max(box[1], -90.0), min(box[2], 180.0), min(box[3], 90.0))
    return {
        "x": x,
        "y": y,
        "region": box,
        "coordinates": "degrees" if degrees else "planar",
        "missing": "refuse" if placed.all() else "keep",
        "grid": (10, 10) if table.rows < FEW_ROWS else (20, 20),
        "attributes": _attributes(table, facts, (x, y)),
    }


def quarters(box: tuple[float, float, float, float]) -> dict[str, tuple[float, ...]]:
    """Return the four quarters of a box by name.

    Examples
    --------
    >>> quarters((0.0, 0.0, 4.0, 2.0))["north-west"]
    (0.0, 1.0, 2.0, 2.0)
    """
    west, south, east, north = box
    x, y = (west + east) / 2, (south + north) / 2
    return {
        "north-west": (west, y, x, north),
        "north-east": (x, y, east, north),
        "south-west": (west, south, x, y),
        "south-east": (x, south, east, y),
    }


def _columns(table: Table, facts: Mapping[str, Facts]) -> tuple[str, str]:
    """Return the columns with names of coordinates."""
    numbers = {field.name.lower(): field.name for field in table.schema if field.kind in NUMERIC}
    for x, y in PAIRS:
        if x in numbers and y in numbers:
            return numbers[x], numbers[y]
    every = {name.lower(): name for name in facts}  # text columns too
    if texts := [(every[x], every[y]) for x, y in PAIRS if x in every and y in every]:
        msg = (
            f"the columns {texts[0][0]!r} and {texts[0][1]!r} have names of coordinates, but do not"
            " hold numbers.\n\nHint: write each coordinate as one decimal number, with a point and"
            " without letters or degree signs."
        )
        raise PlanError(msg)
    msg = (
        "this method needs coordinates, and no two number columns of the table have names of"
        f" coordinates.\n\nHint: rename the columns; recognised names are {_recognised()}, in upper"
        " or lower case. For a table without coordinates use another method, such as --method cart."
    )
    raise PlanError(msg)


def _recognised() -> str:
    """Return the names of coordinates that are recognised, as text."""
    named = [pair for pair in PAIRS if pair[0] not in LONGITUDES]
    degrees = f"{_either(LONGITUDES)} with {_either(LATITUDES)}"
    return "; ".join([degrees, *(f"{x} with {y}" for x, y in named)])


def _either(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _rounded(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float]:
    """Return ends around values, rounded outwards to a tenth of the power of ten of their span."""
    low, high = float(values.min()), float(values.max())
    step = 10.0 ** math.floor(math.log10(high - low)) if high > low else max(abs(high), 1.0)
    places = max(-math.floor(math.log10(step)), 0) + 1
    return round((math.floor(low / step + 1e-9) - 0.5) * step, places), round(
        (math.ceil(high / step - 1e-9) + 0.5) * step, places
    )


def _attributes(
    table: Table, facts: Mapping[str, Facts], places: tuple[str, str]
) -> tuple[str, ...]:
    """Return columns of few categories while combinations stay few and have enough rows."""
    chosen, product = [], 1
    candidates = [
        (facts[field.name].distinct, field.name)
        for field in table.schema
        if field.kind in ("category", "ordered")
        and 1 < facts[field.name].distinct <= MOST_LEVELS
        and field.name not in places
    ]
    for levels, name in sorted(candidates):
        width = levels + (facts[name].present < table.rows)
        if product * width <= min(MOST_COMBINATIONS, max(table.rows / ROWS_EACH, 1)):
            chosen.append(name)
            product *= width
    return tuple(name for name in table.names if name in chosen)
