"""Pairs of coordinates under any name: two numbers that together are a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from veladura.base.arrays import Floats
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.nesting import explained, pairs
from veladura.table.roles.numbers import is_even, is_sequence, skewness

_FEWEST_PLACES = 30
_ENOUGH = 4  # points of evidence
_FAR = 0.5  # least distance from zero, in spans, of numbers counted from far away
_WIDEST_DEGREES = 60.0
_MOST_SKEWED = 2.5
_ALIKE = 8.0  # largest ratio of two spreads
_MANY_DECIMALS = 4
_TIED = 20
_STRAIGHT = 0.98  # correlation of two numbers that are one
_REGION_ROWS = 20  # rows of a region, on average
_METRES = 1000  # least span of projected coordinates


def find_pairs(columns: Sequence[Evidence], shapes: Mapping[str, str]) -> dict[str, str]:
    """Return the other coordinate by column, for columns that are pairs of coordinates."""
    candidates = [column for column in columns if _may_be(column, shapes[column.name])]
    scored = [
        (points, -abs(columns.index(x) - columns.index(y)), x, y)
        for x, y in combinations(candidates, 2)
        if (points := _points(x, y, columns, shapes)) >= _ENOUGH
    ]
    partners: dict[str, str] = {}
    for _, _, x, y in sorted(scored, key=lambda pair: pair[:2], reverse=True):
        if x.name not in partners and y.name not in partners:
            partners |= {x.name: y.name, y.name: x.name}
    return partners


def _may_be(column: Evidence, shape: str) -> bool:
    """Whether numbers could be coordinates: many, with decimals or far from zero, not skewed."""
    if column.levels is None or column.field.kind == "date" or column.distinct < _FEWEST_PLACES:
        return False
    if "weight" in column.hints or is_sequence(column) or shape in ("date", "birth date"):
        return False
    if column.whole and (shape in ("age", "count") or not _spans(column)):
        return bool(column.hints & {"x", "y"}) and shape != "age"
    mean_one = abs(column.numbers.mean() - 1) < 0.01  # noqa: PLR2004  # a weight
    return not mean_one and abs(skewness(column.numbers)) < _MOST_SKEWED


def _as_running(column: Evidence) -> bool:
    """Whether whole numbers are spread as evenly as running ones."""
    return column.whole and column.levels is not None and is_even(column.levels)


def _spans(column: Evidence) -> bool:
    """Whether whole numbers span thousands, as metres do."""
    return bool(column.numbers[-1] - column.numbers[0] > _METRES)


def _far(column: Evidence) -> bool:
    """Whether values stay away from zero, as projected metres and degrees of a region do."""
    levels = column.levels if column.levels is not None else np.zeros(1)
    span = levels[-1] - levels[0]
    return bool(
        span > 0 and min(abs(levels[0]), abs(levels[-1])) > _FAR * span and _one_sign(levels)
    )


def _one_sign(levels: Floats) -> bool:
    return bool(levels[0] > 0 or levels[-1] < 0)


def _points(
    x: Evidence, y: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]
) -> int:
    """Return points of evidence that two numbers are the coordinates of a place."""
    both = (x.codes >= 0) & (y.codes >= 0)
    if both.sum() < _FEWEST_PLACES:
        return 0
    a, b = x.by_row[both], y.by_row[both]
    spreads = a.std() / b.std() if b.std() > 0 else 0.0
    if not 1 / _ALIKE < spreads < _ALIKE or not _jointly_distinct(x, y):
        return 0
    far, named = _far(x) or _far(y), _are_named(x, y)
    together = _explained_together(x, y, columns, shapes)
    # people along a coast
    straight = abs(np.corrcoef(a, b)[0, 1]) > (_STRAIGHT if together else 0.95)
    if straight or abs(x.decimals - y.decimals) > 1:
        return 0
    running = not named and (_as_running(x) or _as_running(y))
    if running and not _by_regions(x, y, columns, shapes):
        return 0
    reason = far or named or together or min(x.numbers[0], y.numbers[0]) < 0
    if not reason or (not (far or named) and _rise_together(a, b)):
        return 0
    points = 2 * together + 2 * named + far + (_far(x) and _far(y))
    points += x.decimals == y.decimals and (x.decimals >= _MANY_DECIMALS or _as_metres(x, y))
    points += x.decimals >= _MANY_DECIMALS - 1 and y.decimals >= _MANY_DECIMALS - 1
    points += _as_degrees(x, y) or _as_metres(x, y)
    points += abs(columns.index(x) - columns.index(y)) == 1
    points += bool(np.array_equal(x.codes < 0, y.codes < 0) and not both.all())
    points += 2 * _tied_together(x, y)
    points -= 2 * (x.decimals <= 2 and y.decimals <= 2 and not _as_metres(x, y))  # noqa: PLR2004
    return int(points)


def _rise_together(a: Floats, b: Floats) -> bool:
    """Whether positive numbers of about the same mean are correlated, as two weights are."""
    positive = min(a.min(), b.min()) > 0
    same = positive and 0.7 < a.mean() / b.mean() < 1.4  # noqa: PLR2004
    return bool(same and np.corrcoef(a, b)[0, 1] > 0.2)  # noqa: PLR2004


def _are_named(x: Evidence, y: Evidence) -> bool:
    return ("x" in x.hints and "y" in y.hints) or ("y" in x.hints and "x" in y.hints)


def _jointly_distinct(x: Evidence, y: Evidence) -> bool:
    """Whether two columns have about as many pairs as the finer one has values."""
    distinct = pairs(x.codes, y.codes)[0].size
    return distinct >= _FEWEST_PLACES and min(x.distinct, y.distinct) > 0.2 * distinct


def _as_degrees(x: Evidence, y: Evidence) -> bool:
    """Whether ranges are those of longitude and latitude of a region, either way round."""
    ends = [(column.numbers[0], column.numbers[-1]) for column in (x, y)]
    inside = all(low >= -180 and high <= 180 and high - low < _WIDEST_DEGREES for low, high in ends)  # noqa: PLR2004
    return inside and any(low >= -90 and high <= 90 for low, high in ends)  # noqa: PLR2004


def _as_metres(x: Evidence, y: Evidence) -> bool:
    """Whether ranges are those of projected metres: thousands wide, one far from zero."""
    spans = [column.numbers[-1] - column.numbers[0] for column in (x, y)]
    return min(spans) > _METRES and (_far(x) or _far(y))


def _tied_together(x: Evidence, y: Evidence) -> bool:
    """Whether rows that agree in one number agree in the other: the same place again."""
    distinct = pairs(x.codes, y.codes)[0].size
    repeated = x.present - x.distinct
    return repeated >= _TIED and distinct < 1.1 * max(x.distinct, y.distinct)


def _by_regions(
    x: Evidence, y: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]
) -> bool:
    """Whether a category of large groups tells much of both; numbers of households are not one."""
    large = [column for column in columns if column.distinct <= column.present / _REGION_ROWS]
    return _explained_together(x, y, large, shapes)


def _explained_together(
    x: Evidence, y: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]
) -> bool:
    """Whether some category (a district) tells much of both numbers, and neither exactly."""
    few = [
        column
        for column in columns
        if 3 <= column.distinct <= min(200, column.present / 5)  # noqa: PLR2004
        and (column.levels is None or shapes[column.name] in ("nominal code", "scale"))
    ]
    return any(explained(c, x) > 0.5 and explained(c, y) > 0.5 for c in few)  # noqa: PLR2004
