"""Pairs of coordinates as one attribute: a quadtree of cells, released as their centres.

For the search a pair is one column whose values are texts of two numbers; the cells of a level are
found from numbers and the declared grid alone, never from who is in which cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.errors import DataError
from veladura.numeric.hierarchies.hierarchy import TOP, Hierarchy
from veladura.numeric.hierarchies.levels import Levels, distinct_values, figure
from veladura.table.codes import Column
from veladura.table.schema import NUMERIC, Field

Point = tuple[float | None, float | None]
NOWHERE: Point = (None, None)
BETWEEN = " "  # the two numbers of a pair in its text
DIGITS = 3  # of a centre, beyond the size of the smallest cell
FARTHEST = 2.0**52  # cells from the origin: beyond, numbers of cells are not exact


def pair_name(columns: Sequence[str]) -> str:
    """Return the name of a pair in settings and reports.

    Examples
    --------
    >>> pair_name(["lon", "lat"])
    'lon, lat'
    """
    return ", ".join(columns)


def composed(x: Column, y: Column) -> Column:
    """Return two columns as one; a pair is missing where both coordinates are."""
    for column in (x, y):
        if column.field.kind not in NUMERIC:
            msg = (
                f"column {column.name!r} is one of a pair of coordinates and has kind"
                f" {column.field.kind}: coordinates must be numbers."
            )
            raise DataError(msg)
        column.numbers()  # refuses infinite ones
    places, bases = zip(*(distinct_values(column) for column in (x, y)), strict=True)
    numbers = places[0] * bases[1].size + places[1]
    _, first, codes = np.unique(numbers, return_index=True, return_inverse=True)
    texts = (_texts(column.take(first)) for column in (x, y))
    labels = pa.array([BETWEEN.join(pair) for pair in zip(*texts, strict=True)], pa.string())
    field = Field(pair_name([x.name, y.name]), "category", pa.string())
    return Column(field, codes.astype(np.int64), x.missing & y.missing, labels)


def _texts(column: Column) -> list[str]:
    """Return numbers as texts that give them back exactly, empty where missing."""
    values = column.values.tolist()
    return ["" if gone else repr(value) for value, gone in zip(values, column.missing, strict=True)]


def grid_levels(hierarchy: Hierarchy, base: Column, parts: Sequence[Field]) -> Levels:
    """Return the distinct pairs at every level: as they are, in cells of every size, ``*``."""
    if hierarchy.rule not in ("cell", "flat"):
        msg = (
            f"the hierarchy of the pair {base.name!r} has {hierarchy.rule}; a pair of coordinates"
            " needs a grid.\n\nHint: Hierarchy.grid(cell=0.01), in a plan {cell = 0.01}."
        )
        raise DataError(msg)
    points = points_of(base)
    texts = [None if point == NOWHERE else _label(point) for point in points]
    codes: list[Ints] = [np.arange(len(points), dtype=np.int64)]
    labels: list[tuple[Any, ...]] = [tuple(texts)]
    exact: list[tuple[Any, ...]] = [tuple(points)]
    whole = [field.kind == "integer" for field in released_fields(hierarchy, parts)]
    for size in range(hierarchy.sizes if hierarchy.rule == "cell" else 0):
        code, centres = _cells(hierarchy, points, size, whole)
        codes.append(code)
        labels.append(tuple(None if point == NOWHERE else _label(point) for point in centres))
        exact.append(tuple(centres))
    codes.append(np.zeros(len(points), dtype=np.int64))
    labels.append((TOP,))
    exact.append((NOWHERE,))
    levels = (hierarchy, base, tuple(codes), tuple(labels), tuple(exact))
    return Levels(*levels, parts=tuple(parts))


def _label(point: Point) -> str:
    return BETWEEN.join("" if number is None else figure(number) for number in point)


def points_of(base: Column) -> list[Point]:
    """Return the two numbers of every distinct pair."""
    points: list[Point] = []
    for text in base.to_arrow().to_pylist():
        ends = ("", "") if text is None else text.split(BETWEEN)
        points.append((_number(ends[0]), _number(ends[1])))
    return points


def _number(text: str) -> float | None:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _cells(
    hierarchy: Hierarchy, points: Sequence[Point], size: int, whole: Sequence[bool]
) -> tuple[Ints, list[Point]]:
    """Return the cell of each point, numbered, and the centre of each cell.

    A pair with a missing coordinate is in no cell.
    """
    nowhere = np.array([None in point for point in points], dtype=bool)
    cells = np.zeros((len(points), 3), dtype=np.int64)
    cells[:, 0] = nowhere
    for axis in range(2):
        ends = np.array([point[axis] or 0.0 for point in points], dtype=np.float64)
        cells[~nowhere, axis + 1] = cell_numbers(hierarchy, ends, axis, size)[~nowhere]
    kinds, codes = np.unique(cells, axis=0, return_inverse=True)
    centres: list[Point] = []
    for gone, *numbers in kinds.tolist():
        middle = [centre(hierarchy, number, axis, size) for axis, number in enumerate(numbers)]
        x, y = (int(end) if int_ else end for end, int_ in zip(middle, whole, strict=True))
        centres.append(NOWHERE if gone else (x, y))
    return codes.ravel().astype(np.int64), centres


def cell_numbers(hierarchy: Hierarchy, numbers: Floats, axis: int, size: int) -> Ints:
    """Return the number of the column (axis 0) or row (axis 1) of cells that a coordinate is in.

    Cells are numbered from the origin, at the smallest size first: so those of all sizes nest.
    """
    place = np.floor((numbers - hierarchy.corner[axis]) / hierarchy.sides[axis])
    if np.any(np.abs(place) > FARTHEST):
        msg = (
            f"the cells of a grid ({hierarchy.sides[axis]:g}) are too small for coordinates so far"
            " from its origin.\n\nHint: check the unit of cell, and origin."
        )
        raise DataError(msg)
    return np.asarray(place.astype(np.int64) >> size)


def centre(hierarchy: Hierarchy, number: int, axis: int, size: int) -> float:
    """Return the middle of a column or row of cells, with few decimals."""
    side = hierarchy.sides[axis] * 2.0**size
    middle = hierarchy.corner[axis] + (number + 0.5) * side
    return round(middle, max(0, DIGITS - math.floor(math.log10(hierarchy.sides[axis])))) + 0.0


def released_fields(hierarchy: Hierarchy, parts: Sequence[Field]) -> tuple[Field, ...]:
    """Return the descriptions of the two columns of a pair, once they hold centres.

    Whole numbers stay so where every centre is one, whoever is in the data.
    """
    fields = []
    for axis, field in enumerate(parts):
        half, corner = hierarchy.sides[axis] / 2, hierarchy.corner[axis]
        whole = field.kind == "integer" and half.is_integer() and corner.is_integer()
        same = whole or hierarchy.rule == "flat"
        if same or pa.types.is_floating(field.type):
            fields.append(field)
        else:
            fields.append(replace(field, kind="number", type=pa.float64()))
    return tuple(fields)
