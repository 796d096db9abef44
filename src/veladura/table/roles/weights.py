"""Weights of a survey, replicate weights, strata and clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from veladura.table.roles.coordinates import _explained as explained
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.nesting import CONSTANT, constancy, determines
from veladura.table.roles.units import Units

_ENOUGH = 3  # points of evidence
_MANY_DECIMALS = 3
_FEWEST_REPLICATES = 4
_RATIO = (0.01, 60.0)  # smallest and largest weight against the mean
_MANY = 5.0  # people that an average row stands for
_STRATA = (3, 400)
_CLUSTER_ROWS = (4.0, 400.0)
_EVEN = 0.9  # share of the variance of weights between strata


@dataclass(frozen=True)
class Design:
    """Columns of the survey design: the weight, others of its kind, strata and clusters."""

    weight: str | None = None
    others: tuple[str, ...] = ()
    strata: str | None = None
    cluster: str | None = None


def find_design(
    columns: Sequence[Evidence], shapes: Mapping[str, str], units: Units, taken: Sequence[str]
) -> Design:
    """Return the weight of a table and the rest of its survey design."""
    free = [column for column in columns if column.name not in taken]
    weights = [
        column
        for column in free
        if _may_be(column) and _points(column, free, shapes, units) >= _ENOUGH
    ]
    replicates = _replicates([column for column in free if _may_be(column)])
    every = [*weights, *(column for column in replicates if column not in weights)]
    if not every:
        return Design()
    best = max(every, key=lambda c: ("weight" in c.hints, c not in replicates, -free.index(c)))
    others = tuple(column.name for column in every if column is not best)
    rest = [column for column in free if column not in every]
    cluster = _cluster(rest, shapes, best, units)
    strata = _strata(rest, shapes, best, cluster)
    return Design(
        best.name, others, strata.name if strata else None, cluster.name if cluster else None
    )


def _may_be(column: Evidence) -> bool:
    """Whether numbers could be weights: positive, none missing, of about the same size."""
    if column.levels is None or column.field.kind == "date" or column.distinct < 3:  # noqa: PLR2004
        return False
    if column.present < column.rows or column.levels[0] < 0:
        return False
    mean = float(column.numbers.mean())
    small_counts = column.whole and mean < _MANY
    positive = column.levels[0] > 0 or "weight" in column.hints
    return bool(
        positive
        and not small_counts
        and column.levels[-1] < _RATIO[1] * mean
        and column.levels[0] > (0 if "weight" in column.hints else _RATIO[0]) * mean - 1e-12
    )


def _points(
    column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str], units: Units
) -> int:
    """Return points of evidence that numbers are weights."""
    numbers = column.numbers
    fine = column.decimals >= _MANY_DECIMALS
    few = column.distinct < 0.5 * column.rows
    mean_one = abs(float(numbers.mean()) - 1) < 0.005  # noqa: PLR2004
    points = 0
    points += 2 * mean_one * (not column.whole)
    points += fine
    points += fine and few
    points += float(numbers.mean()) >= _MANY
    points += 2 * ("weight" in column.hints)
    points += _within_household(column, units)
    points += _by_design(column, columns, shapes)
    points -= bool(column.hints & {"sensitive", "age", "quasi", "x", "y"})
    points -= 2 * (
        shapes[column.name] in ("age", "nominal code", "long code", "birth year", "year")
    )
    points -= _heaped(column)
    points -= float(numbers.max()) > 30 * float(np.median(numbers))
    return int(points)


def _within_household(column: Evidence, units: Units) -> bool:
    key = units.household or units.person
    return key is not None and constancy(key.column, column) >= CONSTANT


def _by_design(column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> bool:
    """Whether weights are nearly the same within a stratum, a region or a cell of two columns."""
    few = [
        other
        for other in columns
        if 2 <= other.distinct <= _STRATA[1]  # noqa: PLR2004
        and other.distinct < 0.2 * other.rows
        and (other.levels is None or shapes[other.name] in ("nominal code", "scale", "binary"))
    ]
    return any(explained(other, column) > _EVEN for other in few)


def _heaped(column: Evidence) -> bool:
    """Whether most values are round, as amounts are and weights are not."""
    return column.whole and float(np.mean(column.numbers % 10 == 0)) > 0.3  # noqa: PLR2004


def _replicates(columns: Sequence[Evidence]) -> list[Evidence]:
    """Return columns that have nearly the same mean and rise together: replicate weights."""
    fine = [c for c in columns if c.decimals > 0 or float(c.numbers.mean()) >= _MANY]
    alike: dict[str, set[str]] = {column.name: {column.name} for column in fine}
    for first, second in combinations(fine, 2):
        means = float(first.numbers.mean()) / float(second.numbers.mean())
        if not 0.9 < means < 1.1:  # noqa: PLR2004
            continue
        if np.corrcoef(first.by_row, second.by_row)[0, 1] > 0.5:  # noqa: PLR2004
            alike[first.name].add(second.name)
            alike[second.name].add(first.name)
    return [column for column in fine if len(alike[column.name]) > _FEWEST_REPLICATES]


def _codes(columns: Sequence[Evidence], shapes: Mapping[str, str]) -> list[Evidence]:
    return [
        column
        for column in columns
        if (column.levels is None and shapes[column.name] in ("code", "words"))
        or (column.whole and shapes[column.name] not in ("age", "year", "birth year", "count"))
    ]


def _cluster(
    columns: Sequence[Evidence], shapes: Mapping[str, str], weight: Evidence, units: Units
) -> Evidence | None:
    """Return codes of sampled places: households lie in one each, and weights hardly differ."""
    key = units.household or units.person
    candidates = [
        column
        for column in _codes(columns, shapes)
        if column.distinct >= 10  # noqa: PLR2004
        and _CLUSTER_ROWS[0] <= column.present / column.distinct <= _CLUSTER_ROWS[1]
        and column.sizes.max() < 6 * column.sizes.mean()
        and column is not (key.column if key else None)
        and (key is None or determines(key.column, column))
        and any(c is not column and constancy(column, c) >= CONSTANT for c in columns)
        and ("cluster" in column.hints or explained(column, weight) > 0.6)  # noqa: PLR2004
    ]
    return max(candidates, key=lambda c: ("cluster" in c.hints, c.distinct), default=None)


def _strata(
    columns: Sequence[Evidence],
    shapes: Mapping[str, str],
    weight: Evidence,
    cluster: Evidence | None,
) -> Evidence | None:
    """Return codes of strata: few, weights nearly the same within them, clusters nested in them."""
    candidates = [
        column
        for column in _codes(columns, shapes)
        if _STRATA[0] <= column.distinct <= _STRATA[1]
        and column is not cluster
        and column.distinct < 0.1 * column.rows
        and (
            ("strata" in column.hints and (cluster is None or determines(cluster, column)))
            or (
                cluster is not None
                and shapes[column.name] != "words"
                and not column.hints & {"quasi", "sensitive"}
                and determines(cluster, column)
                and explained(column, weight) > _EVEN
            )
        )
    ]
    return max(candidates, key=lambda c: ("strata" in c.hints, c.distinct), default=None)
