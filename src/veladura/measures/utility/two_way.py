"""Original and release in common cells: columns as small codes, counted in pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.streams import Streams
from veladura.measures.utility.columns import tick
from veladura.measures.utility.design import shared_labels

if TYPE_CHECKING:
    from veladura.table.codes import Column

MOST_PAIRS = 5_000
Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Coded:
    """One column of an original and of a released table in common codes; the last is missing.

    Attributes
    ----------
    before, after
        The code of each row.
    levels
        The number of codes, missing included.
    labels
        What the codes stand for, in words, without missing.
    """

    before: Ints = field(repr=False)
    after: Ints = field(repr=False)
    levels: int
    labels: Sequence[str] = field(repr=False)

    def label(self, code: int) -> str:
        """Return what a code stands for."""
        return self.labels[code] if code < len(self.labels) else "missing"


def categories(before: Column, after: Column) -> Coded:
    """Return two columns of categories in common codes."""
    codes, labels = shared_labels([before, after])
    first, second = (
        np.where(column.missing, len(labels), code)
        for column, code in zip((before, after), codes, strict=True)
    )
    return Coded(first, second, len(labels) + 1, labels)


def numbers_of(column: Column) -> Floats:
    """Return numbers, or dates in microseconds; not a number where a value is missing."""
    return np.where(column.missing, np.nan, column.values.astype(np.float64) * tick(column))


def chosen_pairs(names: Sequence[str], most: int = MOST_PAIRS) -> list[Pair]:
    """Return all pairs of columns, or 5,000 of them, drawn from a fixed stream."""
    every = list(combinations(names, 2))
    if len(every) <= most:
        return every
    drawn = Streams(0)("utility", "pairs").choice(len(every), most, replace=False)
    return [every[i] for i in np.sort(drawn)]


def pair_counts(
    first: Coded,
    second: Coded,
    weights: Sequence[Floats | None] = (None, None),
) -> tuple[Floats, Floats, Ints]:
    """Return the rows in each occupied cell, original and release, and the numbers of the cells.

    Cell a * levels + b holds code a of the first and b of the second column.
    """
    size = first.levels * second.levels
    cells = [
        one * second.levels + two
        for one, two in ((first.before, second.before), (first.after, second.after))
    ]
    if size > 4 * (cells[0].size + cells[1].size):  # nearly all of them are empty
        present, places = np.unique(np.concatenate(cells), return_inverse=True)
        cells, size = np.split(places.reshape(-1), [cells[0].size]), present.size
    else:
        present = np.arange(size)
    counts = [
        np.bincount(cell, weights=weight, minlength=size).astype(np.float64)
        for cell, weight in zip(cells, weights, strict=True)
    ]
    occupied = np.flatnonzero((counts[0] > 0) | (counts[1] > 0))
    return counts[0][occupied], counts[1][occupied], present[occupied]


def over_pairs(
    coded: Mapping[str, Coded], chosen: Sequence[Pair], weights: Sequence[Floats | None]
) -> list[tuple[Floats, Floats]]:
    """Return the counts of every chosen pair of columns."""
    return [pair_counts(coded[a], coded[b], weights)[:2] for a, b in chosen]
