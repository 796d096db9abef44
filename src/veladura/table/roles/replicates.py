"""Replicate weights: columns of one numbered name that are a weight times a few factors.

A jackknife leaves clusters out, so that its columns hold zeros, which no other weight does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats
from veladura.table.replication import recognised
from veladura.table.roles.evidence import Evidence

_NUMBERED = re.compile(r"(.*?)_?(\d+)")
FEWEST = 4
_MOST_FACTORS = 12
_SAME_MEAN = (0.75, 1.25)
_FEWEST_ROWS = 20
_DIGITS = 2  # of a factor, after the point


@dataclass(frozen=True)
class Replicates:
    """A weight and its replicates.

    Attributes
    ----------
    base
        The column of weights.
    names
        The columns of replicate weights.
    made
        How each was made, where the weights show it; else empty texts.
    """

    base: str
    names: tuple[str, ...]
    made: tuple[str, ...]


def find_multiples(columns: Sequence[Evidence]) -> Replicates | None:
    """Return the largest set of replicate weights that are one column times a few factors."""
    found = [r for group in _numbered(columns) if (r := _of_base(group, columns)) is not None]
    return max(found, key=lambda replicates: len(replicates.names), default=None)


def _numbered(columns: Sequence[Evidence]) -> list[list[Evidence]]:
    """Return columns of numbers of at least 0 that have one name and numbers of their own."""
    groups: defaultdict[str, list[Evidence]] = defaultdict(list)
    for column in columns:
        match = _NUMBERED.fullmatch(column.name)
        if match and _is_weight(column):
            groups[match[1]].append(column)
    return [group for group in groups.values() if len(group) >= FEWEST]


def _is_weight(column: Evidence) -> bool:
    return (
        column.levels is not None
        and column.field.kind != "date"
        and _FEWEST_ROWS <= column.rows == column.present
        and column.distinct > 1
        and float(column.levels[0]) >= 0
    )


def _of_base(group: Sequence[Evidence], columns: Sequence[Evidence]) -> Replicates | None:
    """Return a group with the weight that its columns are multiples of; a named one first."""
    inside = {column.name for column in group}
    candidates = [
        column
        for column in columns
        if column.name not in inside
        and _is_weight(column)
        and column.levels is not None
        and float(column.levels[0]) > 0
    ]
    for base in sorted(candidates, key=lambda column: "weight" not in column.hints):
        if all(_is_multiple(column, base) for column in group):
            names = tuple(column.name for column in group)
            made = recognised(base.by_row, np.column_stack([c.by_row for c in group]))
            texts = tuple(map(str, made)) if made else ("",) * len(names)
            return Replicates(base.name, names, texts)
    return None


def _is_multiple(column: Evidence, base: Evidence) -> bool:
    """Whether a column is another one times fewer factors than that has values, about 1 on average.

    Answers on a scale are no multiples of each other: their ratios are many.
    """
    mean = float(column.numbers.mean()) / float(base.numbers.mean())
    if not _SAME_MEAN[0] < mean < _SAME_MEAN[1]:
        return False
    factors: Floats = np.unique(np.round(column.by_row / base.by_row, _DIGITS))
    return 1 < factors.size <= min(_MOST_FACTORS, base.distinct - 1)
