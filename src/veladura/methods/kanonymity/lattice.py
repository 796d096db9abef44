"""The generalisation lattice: one node for every combination of levels, one level a column.

Distinct tuples of the quasi-identifiers are packed into 64-bit words, a few bits a column. Going up
a level, or merging the equivalence classes of a node into those of a node above it, is then a pass
through memory without Python objects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Ints
from veladura.numeric.hierarchies.levels import Levels

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kernels import Shape

Vector = tuple[int, ...]  # the level of each column
Words = NDArray[np.uint64]  # packed tuples
Codes = NDArray[np.int32]
WORD_BITS = 63
ROW_BITS = 36  # of a size for the walk, where the higher ones count people


@dataclass(frozen=True, eq=False)
class Lattice:
    """Distinct tuples packed into words, and the hierarchies of their columns.

    Attributes
    ----------
    keys, sizes
        The tuples, packed, and the rows of each.
    heights, strides
        Height of each hierarchy, and what one level more adds to the number of a node.
    places
        Word, shift and mask of each column in a key.
    lifts, codes
        Maps between the levels of a column: where each starts, and all of them one after the other.
    """

    levels: tuple[Levels, ...] = field(repr=False)
    keys: Words = field(repr=False)
    sizes: Ints = field(repr=False)
    heights: Ints
    strides: Ints = field(repr=False)
    places: Ints = field(repr=False)
    lifts: Ints = field(repr=False)
    codes: Codes = field(repr=False)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return math.prod(int(height) + 1 for height in self.heights)

    @property
    def rows(self) -> int:
        """Number of rows of all tuples together."""
        return int(self.sizes.sum())

    def groups(self, vector: Sequence[int]) -> tuple[Words, Ints]:
        """Return the equivalence classes of a node, packed, with their sizes."""
        return self.rolled(self.keys, self.sizes, np.zeros_like(self.heights), vector)

    def rolled(
        self, keys: Words, sizes: Ints, low: Sequence[int] | Ints, high: Sequence[int]
    ) -> tuple[Words, Ints]:
        """Return the equivalence classes of a node, merged from those of a node below it."""
        from veladura.methods.kanonymity.kernels import Desk, Shape, roll_up

        if len(low) != self.heights.size or len(high) != self.heights.size:
            msg = (
                f"a node of this lattice has {self.heights.size} levels, got {len(low)} and"
                f" {len(high)}."
            )
            raise ValueError(msg)
        count = sizes.size
        out_keys, out_sizes = np.empty_like(keys), np.empty_like(sizes)
        table = 1 << max(4, (2 * count - 1).bit_length())
        desk = Desk(np.zeros(2 * table, dtype=np.uint64), np.zeros(1, dtype=np.int64))
        below, above = np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
        packed = self.lifts[:, 0, 0].copy()
        shape = Shape(self.heights, self.strides, self.places, self.lifts, packed, self.codes)
        groups = roll_up(keys, sizes, count, below, above, shape, out_keys, out_sizes, desk)
        return out_keys[:groups], out_sizes[:groups]

    def walking_order(self) -> Ints:
        """Return the columns, those with more values first: their levels decide most."""
        return np.argsort([-level.codes[0].size for level in self.levels], kind="stable")

    def ordered(self, order: Ints) -> Shape:
        """Return the lattice for the compiled walk, its columns in another order.

        Codes are renumbered so that those under one parent follow each other.
        """
        from veladura.methods.kanonymity.kernels import Shape

        heights = np.ascontiguousarray(self.heights[order])
        places = np.ascontiguousarray(self.places[order])
        sorted_ = [together(self.levels[c].codes) for c in order]
        lifts, codes = _lifts(sorted_, int(heights.max()))
        ranks = [levels[0].astype(np.int32) for levels in sorted_]
        starts = codes.size + np.cumsum([0, *(rank.size for rank in ranks[:-1])])
        all_codes = np.concatenate([codes, *ranks])
        return Shape(heights, _strides(heights), places, lifts, starts, all_codes)

    def packed(self, codes: Sequence[Ints], columns: Sequence[int]) -> Words:
        """Return tuples packed from the codes of some columns; the others are 0."""
        keys = np.zeros((codes[0].size, self.keys.shape[1]), dtype=np.uint64)
        for c, code in zip(columns, codes, strict=True):
            word, shift, _ = self.places[c].tolist()
            keys[:, word] |= code.astype(np.uint64) << np.uint64(shift)
        return keys

    def unpacked(self, keys: Words, column: int) -> Ints:
        """Return the codes of one column in packed tuples."""
        word, shift, bits = self.places[column].tolist()
        return ((keys[:, word] >> np.uint64(shift)) & np.uint64(bits)).astype(np.int64)

    def mask(self, columns: Sequence[int]) -> Words:
        """Return the bits of some columns in a packed tuple."""
        mask = np.zeros(self.keys.shape[1], dtype=np.uint64)
        for c in columns:
            word, shift, bits = self.places[c].tolist()
            mask[word] |= np.uint64(bits) << np.uint64(shift)
        return mask

    def numbered(self, keys: Words, columns: Sequence[int]) -> tuple[Ints, Ints]:
        """Return the number of each tuple's group by some columns, and each group's first tuple."""
        from veladura.methods.kanonymity.kernels import number_groups

        ids, first = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
        groups = number_groups(keys, self.mask(columns), ids, first)
        return ids, first[:groups]


def build_lattice(
    index: Sequence[NDArray[np.int32]] | Sequence[Ints] | Ints,
    sizes: Ints,
    levels: Sequence[Levels],
) -> Lattice:
    """Return the lattice of distinct tuples.

    Parameters
    ----------
    index
        For each column, where the value of each tuple stands among its distinct ones.
    sizes
        Rows of each tuple.
    """
    heights = np.array([level.height for level in levels], dtype=np.int64)
    places = _places([level.codes[0].size for level in levels])
    keys = np.zeros((sizes.size, int(places[:, 0].max()) + 1), dtype=np.uint64)
    for c, column in enumerate(index):
        keys[:, places[c, 0]] |= column.astype(np.uint64) << np.uint64(places[c, 1])
    lifts, codes = _lifts([level.codes for level in levels], int(heights.max()))
    return Lattice(tuple(levels), keys, sizes, heights, _strides(heights), places, lifts, codes)


def _strides(heights: Ints) -> Ints:
    """Return what one level of each column adds to the number of a node."""
    strides = np.ones_like(heights)
    strides[:-1] = np.cumprod((heights + 1)[:0:-1])[::-1]
    return strides


def _places(counts: Sequence[int]) -> Ints:
    """Return word, shift and mask of each column: as many bits as its values need."""
    places = np.zeros((len(counts), 3), dtype=np.int64)
    word = used = 0
    for c, count in enumerate(counts):
        bits = max(1, (count - 1).bit_length())
        if used + bits > WORD_BITS:
            word, used = word + 1, 0
        places[c] = word, used, (1 << bits) - 1
        used += bits
    return places


def together(codes: Sequence[Ints]) -> list[Ints]:
    """Return the codes of every level renumbered, so that codes under one parent follow each other.

    Examples
    --------
    >>> levels = [np.array([0, 1, 2]), np.array([0, 1, 0]), np.array([0, 0, 0])]
    >>> [level.tolist() for level in together(levels)]
    [[0, 2, 1], [0, 1, 0], [0, 0, 0]]
    """
    order = np.lexsort(tuple(codes))
    renumbered = []
    for level in codes:
        steps = np.zeros(order.size, dtype=np.int64)
        steps[1:] = np.diff(level[order]) != 0
        number = np.empty(order.size, dtype=np.int64)
        number[order] = np.cumsum(steps)
        renumbered.append(number)
    return renumbered


def _lifts(levels: Sequence[Sequence[Ints]], highest: int) -> tuple[Ints, Codes]:
    """Return the maps from every level of a column to every higher one, and where each starts.

    ``lifts[c, a, b]`` is where the map of column c from level a to level b starts.
    """
    lifts = np.zeros((len(levels), highest + 1, highest + 1), dtype=np.int64)
    maps: list[Codes] = []
    start = 0
    for c, codes in enumerate(levels):
        for a, below in enumerate(codes):
            for b in range(a, len(codes)):
                lift = np.zeros(int(below.max()) + 1, dtype=np.int32)
                lift[below] = codes[b]
                lifts[c, a, b] = start
                start += lift.size
                maps.append(lift)
    return lifts, np.concatenate(maps)
