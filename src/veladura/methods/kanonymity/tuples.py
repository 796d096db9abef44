"""The distinct tuples of a table's quasi-identifiers, and how many rows share or match each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints, Mask
from veladura.methods.kanonymity.lattice import Lattice
from veladura.numeric.hierarchies.levels import Levels


@dataclass(frozen=True, eq=False)
class Tuples:
    """Distinct tuples in their canonical order, which is also that of the rows.

    Attributes
    ----------
    heights
        Height of each hierarchy.
    places
        Where each value stands among those of its hierarchy; a row a tuple, a column a
        quasi-identifier.
    sizes, people
        Rows of each tuple, and people: a person with several rows counts once.
    """

    names: tuple[str, ...]
    levels: tuple[Levels, ...] = field(repr=False)
    heights: Ints = field(repr=False)
    places: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    people: Ints = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    def at(self, vector: Sequence[int]) -> Ints:
        """Return the codes of every tuple at a node."""
        columns = [
            level.codes[height][self.places[:, c]]
            for c, (level, height) in enumerate(zip(self.levels, vector, strict=True))
        ]
        return np.column_stack(columns)

    def missing_at(self, vector: Sequence[int]) -> Mask:
        """Return which cells are missing at a node; at the top of a hierarchy none is."""
        codes = self.at(vector)
        flags = [
            np.array([label is None for label in level.labels[height]])[codes[:, c]]
            for c, (level, height) in enumerate(zip(self.levels, vector, strict=True))
        ]
        return np.column_stack(flags)

    def of_rows(self) -> Ints:
        """Return the tuple of every row, rows in their canonical order."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def original(self) -> pa.Table:
        """Return the tuples with the values of the original table."""
        columns: dict[str, pa.Array] = {}
        for c, (name, level) in enumerate(zip(self.names, self.levels, strict=True)):
            place = pa.array(self.places[:, c])
            columns |= {
                part: values.take(place) for part, values in original_values(name, level).items()
            }
        return pa.table(columns)


def original_values(name: str, level: Levels) -> dict[str, pa.Array]:
    """Return the distinct values of an attribute, by column: a pair of coordinates has two."""
    if not level.parts:
        return {name: level.base.to_arrow()}
    return {
        field.name: pa.array([point[axis] for point in level.exact[0]], field.type)
        for axis, field in enumerate(level.parts)
    }


def tuples_of(names: Sequence[str], lattice: Lattice, people: Ints | None = None) -> Tuples:
    """Return the tuples that a lattice holds packed; every row is a person unless given."""
    places = [lattice.unpacked(lattice.keys, c) for c in range(len(names))]
    index = np.column_stack(places)
    people = lattice.sizes if people is None else people
    return Tuples(tuple(names), lattice.levels, lattice.heights, index, lattice.sizes, people)


def group_numbers(codes: Ints) -> Ints:
    """Return the number of each tuple's group: tuples are together when all their codes agree.

    Examples
    --------
    >>> group_numbers(np.array([[1, 2], [1, 2], [0, 2]])).tolist()
    [1, 1, 0]
    """
    numbers = np.zeros(len(codes), dtype=np.int64)
    for c in range(codes.shape[1]):
        _, value = np.unique(codes[:, c], return_inverse=True)
        pairs = numbers * (int(value.max(initial=0)) + 1) + value
        _, numbers = np.unique(pairs, return_inverse=True)
    return numbers


def group_rows(codes: Ints, sizes: Ints) -> Ints:
    """Return for each tuple how many rows share its codes."""
    if not len(codes):
        return np.zeros(0, dtype=np.int64)
    numbers = group_numbers(codes)
    rows: Ints = np.bincount(numbers, weights=sizes).astype(np.int64)[numbers]
    return rows


def matching_rows(codes: Ints, sizes: Ints) -> Ints:
    """Return for each tuple how many rows match it; a code of -1 is missing and matches anything.

    Tuples with the same columns missing are taken together. Two such patterns are compared on the
    columns that neither misses, by counting, never pair by pair.

    Examples
    --------
    >>> matching_rows(np.array([[1, -1], [1, 2], [1, 3]]), np.array([1, 1, 1])).tolist()
    [3, 2, 2]
    """
    missing = codes < 0
    pattern = group_numbers(missing.astype(np.int64)) if len(codes) else np.zeros(0, dtype=np.int64)
    members = [np.flatnonzero(pattern == p) for p in range(int(pattern.max(initial=-1)) + 1)]
    total = np.zeros(len(codes), dtype=np.int64)
    for mine in members:
        for other in members:
            both = ~(missing[mine[0]] | missing[other[0]])
            total[mine] += _equal_rows(codes[mine][:, both], codes[other][:, both], sizes[other])
    return total


def _equal_rows(wanted: Ints, there: Ints, sizes: Ints) -> Ints:
    """Return how many rows of ``there`` equal each tuple of ``wanted``."""
    numbers = group_numbers(np.concatenate([wanted, there]))
    groups = int(numbers.max(initial=0)) + 1
    rows = np.bincount(numbers[len(wanted) :], weights=sizes, minlength=groups)
    return rows[numbers[: len(wanted)]].astype(np.int64)


def matched(codes: Ints, sizes: Ints, k: int) -> Mask:
    """Return the largest set of tuples whose rows all match at least k rows of the set.

    Matching is not transitive, so there are no equivalence classes. Taking rows away lowers the
    counts of others, so suppression is repeated until nothing changes.
    """
    kept = np.ones(len(codes), dtype=bool)
    while kept.any():
        few = matching_rows(codes[kept], sizes[kept]) < k
        if not few.any():
            break
        kept[np.flatnonzero(kept)[few]] = False
    return kept
