"""Weights of a survey: positive numbers that say how many people a row stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from veladura.table.roles.evidence import Evidence
from veladura.table.roles.nesting import (
    CONSTANT,
    constancy,
    determines,
    explained,
    is_listed,
)
from veladura.table.roles.units import Units

_ENOUGH = 3  # points of evidence
_MANY_DECIMALS = 3
_FEWEST_REPLICATES = 4
_RATIO = (0.01, 60.0)  # smallest and largest weight against the mean
_MANY = 5.0  # people that an average row stands for
_LARGE = 50.0  # the same for whole numbers: smaller ones count or code something
_MOST_STRATA = 400
_MOST_CELLS = 60  # weights that come from a few cells
_MANY_LEVELS = 20
_LONG_RUN = 40
_AMOUNTS = ("amount", "measure")
_MOST_REGIONS = 20  # in which whole weights may be the same
_EVEN = 0.9  # share of the variance of weights between strata
_BODIES = (30.0, 180.0)  # kilograms of nearly all people who are asked
_POUND = 0.45359237  # kilograms
_BODY_DECIMALS = 2  # of scales, and of kilograms that were multiplied
_BODY_SPREAD = (0.08, 0.4)  # and their coefficient of variation
_RELATED = 0.35  # correlation of a measure with another one
_OFTENER, _SURELY = 1.3, 5.0  # of round numbers: times what chance gives, standard errors above it


def find_weights(
    columns: Sequence[Evidence],
    shapes: Mapping[str, str],
    units: Units,
    replicates: Sequence[Evidence],
) -> list[Evidence]:
    """Return the weights among columns that are nothing else yet, the one to be used first."""
    weights = [
        column
        for column in columns
        if _may_be(column) and _points(column, columns, shapes, units) >= _ENOUGH
    ]
    every = [*weights, *(column for column in replicates if column not in weights)]
    return sorted(every, key=lambda c: ("weight" not in c.hints, c in replicates, columns.index(c)))


def _may_be(column: Evidence) -> bool:
    """Whether numbers could be weights: positive, none missing, of about the same size."""
    if column.levels is None or column.field.kind == "date" or column.distinct < 2 + column.whole:
        return False
    if column.present < column.rows or column.levels[0] < 0:
        return False
    mean = float(column.numbers.mean())
    small_counts = column.whole and mean < _LARGE
    positive = column.levels[0] > 0 or "weight" in column.hints
    run = column.whole and column.distinct == column.levels[-1] - column.levels[0] + 1
    if run and column.distinct > _LONG_RUN and "weight" not in column.hints:
        return False  # 1001, 1002, ... without a gap number places
    return bool(
        positive
        and not small_counts
        and column.levels[-1] < _RATIO[1] * mean
        and column.levels[0] > (0 if "weight" in column.hints else _RATIO[0]) * mean - 1e-12
    )


def _points(
    column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str], units: Units
) -> int:
    """Return points of evidence that numbers are weights; none without a decisive one."""
    mean, shape = float(column.numbers.mean()), shapes[column.name]
    fine = column.decimals >= _MANY_DECIMALS
    few = column.distinct < 0.5 * column.rows
    one = abs(mean - 1) < 0.005 and not column.whole  # noqa: PLR2004
    named, shared = "weight" in column.hints, _within_household(column, units)
    framed = fine and _in_frame(column, columns)
    designed = framed or _by_design(column, columns, shapes)
    if not (one or named or shared or framed or (designed and column.distinct <= _MOST_CELLS)):
        return 0
    if not (one or shared or designed) and is_measured(column, columns, shapes):
        return 0
    points = 2 * one + 2 * named + shared + designed + fine + (fine and few) + (mean >= _MANY)
    points += designed and not column.whole and column.distinct <= _MOST_CELLS
    differs = shared and _differs(column, units)
    points += column.whole and few and not _is_heaped(column) and (differs or shape in _AMOUNTS)
    points -= bool(column.hints & {"sensitive", "age", "quasi", "x", "y"})
    points -= 2 * (shape in ("age", "birth year", "year", "date", "birth date"))
    points -= 3 * is_listed(column, columns)
    points -= 2 * (shape in ("long code", "running number") and not differs)
    points -= 2 * (shape == "nominal code" and not differs and not _is_derived(column, columns))
    points -= 2 * (_is_heaped(column) or (_is_dense(column) and shape not in _AMOUNTS))
    points -= float(column.numbers[-1]) > 30 * float(np.median(column.numbers))
    return int(points)


def is_measured(column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> bool:
    """Whether numbers were read off scales or are prices: rounded, as bodies are, or related.

    A survey computes its weights: they are not rounded as people round, and rise with no measure.
    """
    if column.levels is None or not column.present or column.decimals >= _MANY_DECIMALS:
        return False
    return _like_bodies(column) or _is_rounded(column) or _is_related(column, columns, shapes)


def _like_bodies(column: Evidence) -> bool:
    """Whether numbers with few decimals are within the kilograms or pounds of people."""
    low, high = np.quantile(column.numbers, [0.01, 0.99])
    spread = float(column.numbers.std() / column.numbers.mean())
    like = any(_BODIES[0] <= low * unit and high * unit <= _BODIES[1] for unit in (1.0, _POUND))
    few = column.decimals <= _BODY_DECIMALS
    return bool(few and like and _BODY_SPREAD[0] <= spread <= _BODY_SPREAD[1])


def _is_rounded(column: Evidence) -> bool:
    """Whether multiples of five or ten of the last digit are more frequent than chance has them."""
    if column.distinct < _MANY_LEVELS:
        return False
    steps = np.rint(column.numbers * 10.0**column.decimals).astype(np.int64)
    for unit in (5, 10):
        often, chance = float(np.mean(steps % unit == 0)), 1 / unit
        error = float(np.sqrt(chance * (1 - chance) / steps.size))
        if often > max(_OFTENER * chance, chance + _SURELY * error):
            return True
    return False


def _is_related(column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> bool:
    """Whether numbers rise with another measure or amount, as weights of bodies with heights."""
    for other in columns:
        if other is column or other.levels is None or shapes[other.name] not in _AMOUNTS:
            continue
        both = (column.codes >= 0) & (other.codes >= 0)
        if "weight" in other.hints or both.sum() < _MANY_LEVELS:
            continue
        # places among the distinct values: no long tail decides
        with np.errstate(invalid="ignore"):  # one of them may be constant where both are there
            related = abs(np.corrcoef(column.codes[both], other.codes[both])[0, 1])
        if related > _RELATED:
            return True
    return False


def _within_household(column: Evidence, units: Units) -> bool:
    key = units.household or (None if column.whole else units.person)
    return key is not None and constancy(key.column, column) >= CONSTANT


def _differs(column: Evidence, units: Units) -> bool:
    """Whether most households have a value of their own, but not all; they share that of a town."""
    key = units.household
    return key is not None and 0.5 < column.distinct / key.column.distinct < 1  # noqa: PLR2004


def _by_design(column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> bool:
    """Whether weights are nearly the same within a stratum, a region or a cell of two columns."""
    few = [
        other
        for other in columns
        if 2 <= other.distinct <= _MOST_STRATA  # noqa: PLR2004
        and other.distinct < 0.2 * other.rows
        and (other.levels is None or shapes[other.name] in ("nominal code", "scale", "binary"))
    ]
    return any(other is not column and explained(other, column) > _EVEN for other in few)


def _in_frame(column: Evidence, columns: Sequence[Evidence]) -> bool:
    """Whether numbers hardly differ within codes that are named as strata or sampled places."""
    return any(
        other is not column
        and other.hints & {"strata", "cluster"}
        and other.distinct < column.distinct
        and explained(other, column) > _EVEN
        for other in columns
    )


def _is_heaped(column: Evidence) -> bool:
    """Whether many values are round, as amounts are and weights are not."""
    if not column.whole or column.distinct < _MANY_LEVELS:
        return False
    return float(np.mean(column.numbers % 10 == 0)) > 0.2  # noqa: PLR2004


def _is_dense(column: Evidence) -> bool:
    """Whether whole numbers leave few gaps, as numbers of places do."""
    span = float(column.numbers[-1] - column.numbers[0])
    return column.whole and span < 3 * column.distinct


def _is_numbered(column: Evidence, columns: Sequence[Evidence]) -> bool:
    """Whether codes of places begin with that of their region."""
    return any(
        2 < other.distinct < column.distinct  # noqa: PLR2004
        and determines(column, other)
        and explained(other, column) > _EVEN
        for other in columns
    )


def _is_derived(column: Evidence, columns: Sequence[Evidence]) -> bool:
    """Whether a few whole numbers of different lengths are told by a column as short."""
    if _is_numbered(column, columns):
        return False
    lengths = {len(str(int(number))) for number in (column.numbers[0], column.numbers[-1])}
    return len(lengths) > 1 and any(
        other is not column
        and 1 < other.distinct <= min(1.5 * column.distinct, _MOST_REGIONS)
        and determines(other, column)
        for other in columns
    )


def find_replicates(columns: Sequence[Evidence]) -> list[Evidence]:
    """Return columns that have nearly the same mean and rise together: replicate weights."""
    fine = [
        c for c in columns if _may_be(c) and (c.decimals > 0 or float(c.numbers.mean()) >= _MANY)
    ]
    alike: dict[str, set[str]] = {column.name: {column.name} for column in fine}
    for first, second in combinations(fine, 2):
        means = float(first.numbers.mean()) / float(second.numbers.mean())
        if not 0.9 < means < 1.1:  # noqa: PLR2004
            continue
        if np.corrcoef(first.by_row, second.by_row)[0, 1] > 0.3:  # noqa: PLR2004
            alike[first.name].add(second.name)
            alike[second.name].add(first.name)
    return [column for column in fine if len(alike[column.name]) > _FEWEST_REPLICATES]
