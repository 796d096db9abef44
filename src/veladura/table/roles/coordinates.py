"""Pairs of coordinates under any name: two numbers that together are a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from veladura.base.arrays import Floats
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.nesting import pairs
from veladura.table.roles.numbers import is_sequence, skewness

_FEWEST_PLACES = 30
_ENOUGH = 4  # points of evidence
_FAR = 0.5  # least distance from zero, in spans, of numbers counted from far away
_WIDEST_DEGREES = 60.0
_MOST_SKEWED = 2.5
_ALIKE = 8.0  # largest ratio of two spreads
_MANY_DECIMALS = 4
_TIED = 20


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
    if column.whole and (shape in ("age", "count") or is_sequence(column) or not _far(column)):
        return bool(column.hints & {"x", "y"}) and not is_sequence(column) and shape != "age"
    mean_one = abs(column.numbers.mean() - 1) < 0.01  # noqa: PLR2004  # a weight
    return not mean_one and abs(skewness(column.numbers)) < _MOST_SKEWED


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
    if not 1 / _ALIKE < spreads < _ALIKE or abs(np.corrcoef(a, b)[0, 1]) > 0.95:  # noqa: PLR2004
        return 0
    if not _jointly_distinct(x, y):
        return 0
    points = 0
    points += x.decimals == y.decimals and (x.decimals >= _MANY_DECIMALS or _as_metres(x, y))
    points += x.decimals >= _MANY_DECIMALS - 1 and y.decimals >= _MANY_DECIMALS - 1
    points += _as_degrees(x, y) or _as_metres(x, y)
    points += _far(x) or _far(y)
    points += abs(columns.index(x) - columns.index(y)) == 1
    points += bool(np.array_equal(x.codes < 0, y.codes < 0) and not both.all())
    points += 2 * _tied_together(x, y)
    points += 2 * _explained_together(x, y, columns, shapes)
    points += 2 * bool(("x" in x.hints and "y" in y.hints) or ("y" in x.hints and "x" in y.hints))
    points -= 2 * (x.decimals <= 2 and y.decimals <= 2 and not _as_metres(x, y))  # noqa: PLR2004
    return int(points)


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
    return min(spans) > 1000 and (_far(x) or _far(y))  # noqa: PLR2004


def _tied_together(x: Evidence, y: Evidence) -> bool:
    """Whether rows that agree in one number agree in the other: the same place again."""
    distinct = pairs(x.codes, y.codes)[0].size
    repeated = x.present - x.distinct
    return repeated >= _TIED and distinct < 1.1 * max(x.distinct, y.distinct)


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
    return any(_explained(c, x) > 0.5 and _explained(c, y) > 0.5 for c in few)  # noqa: PLR2004


def _explained(category: Evidence, number: Evidence) -> float:
    """Return the share of variance between categories (the correlation ratio)."""
    both = (category.codes >= 0) & (number.codes >= 0)
    values, group = number.by_row[both], category.codes[both]
    if values.size == 0 or values.std() == 0:
        return 0.0
    sizes = np.bincount(group)
    means = np.bincount(group, weights=values) / np.maximum(sizes, 1)
    between = float((sizes * (means - values.mean()) ** 2).sum())
    return between / float(((values - values.mean()) ** 2).sum())
