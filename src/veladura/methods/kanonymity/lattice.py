"""All k-minimal generalisations: the lattice, its antichain, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.methods.kanonymity.watch import Watch, unwatched
from veladura.numeric.hierarchies.levels import Levels

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kernels import Shape
    from veladura.methods.kanonymity.suppression import Judge

POLICIES = ("min-distance", "min-relative-distance", "max-distinct", "min-suppression")
WORD_BITS = 63
UNBOUNDED = 1 << 62
MOST_NODES = 20_000_000  # beyond this many nodes not all of them are decided
DESCENTS = 32


@dataclass(frozen=True, eq=False)
class Lattice:
    """Distinct tuples packed into words, and where each column's codes stand in them."""

    levels: tuple[Levels, ...] = field(repr=False)
    keys: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.int64] = field(repr=False)
    heights: NDArray[np.int64]
    strides: NDArray[np.int64] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)
    lifts: NDArray[np.int64] = field(repr=False)
    codes: NDArray[np.int32] = field(repr=False)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return math.prod(int(height) + 1 for height in self.heights)

    def vector(self, node: int) -> tuple[int, ...]:
        """Return the levels of a node, one a column."""
        return tuple(
            int(node // stride % (height + 1))
            for stride, height in zip(self.strides, self.heights, strict=True)
        )

    @property
    def shape(self) -> Shape:
        """The lattice as the kernels take it, codes as they are packed."""
        from veladura.methods.kanonymity.kernels import Shape

        return Shape(
            self.heights,
            self.strides,
            self.places,
            self.lifts,
            self.lifts[:, 0, 0].copy(),
            self.codes,
        )

    def ordered(self, order: NDArray[np.int64]) -> Shape:
        """Return the lattice for the walk: columns in another order, codes such that those under one parent stand together."""
        from veladura.methods.kanonymity.kernels import Shape

        heights, places = (
            np.ascontiguousarray(self.heights[order]),
            np.ascontiguousarray(self.places[order]),
        )
        sorted_ = [_together(self.levels[c].codes) for c in order]
        lifts, codes = _lifts(sorted_, int(heights.max()))
        ranks = [levels[0].astype(np.int32) for levels in sorted_]
        starts = codes.size + np.cumsum([0, *(rank.size for rank in ranks[:-1])])
        return Shape(
            heights, strides_of(heights), places, lifts, starts, np.concatenate([codes, *ranks])
        )

    def groups(self, vector: Sequence[int]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the groups at a node with their sizes."""
        return self.rolled(self.keys, self.sizes, np.zeros_like(self.heights), vector)

    def rolled(
        self,
        keys: NDArray[np.uint64],
        sizes: NDArray[np.int64],
        low: Sequence[int] | NDArray[np.int64],
        high: Sequence[int],
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the groups of a node, merged from those of a node below it."""
        from veladura.methods.kanonymity.kernels import Desk, roll_up

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
        found = roll_up(keys, sizes, count, below, above, self.shape, out_keys, out_sizes, desk)
        return out_keys[:found], out_sizes[:found]


@dataclass(frozen=True, eq=False)
class Node:
    """A generalisation: the level of every column, and what it costs.

    Attributes
    ----------
    levels
        The level of each quasi-identifier column.
    suppressed, distinct
        Rows that must go, and different tuples that stay.
    """

    levels: Mapping[str, int]
    heights: Mapping[str, int] = field(repr=False)
    lattice: Lattice = field(repr=False)
    k: int = field(repr=False)
    judge: Judge | None = field(
        default=None, repr=False
    )  # decides what goes where k for one quasi-identifier is not all

    @property
    def distance(self) -> int:
        """Sum of the levels."""
        return sum(self.levels.values())

    @property
    def relative_distance(self) -> Fraction:
        """Sum of the levels, each as a share of its height."""
        return sum(
            (
                Fraction(level, self.heights[name])
                for name, level in self.levels.items()
                if self.heights[name]
            ),
            Fraction(0),
        )

    @property
    def precision(self) -> float:
        """One less the mean relative level."""
        return 1 - float(self.relative_distance) / len(self.levels)

    @cached_property
    def _counted(self) -> tuple[int, int]:
        if self.judge is not None:
            verdict = self.judge.at(tuple(self.levels.values()))
            return verdict.suppressed, verdict.distinct
        _, sizes = self.lattice.groups(tuple(self.levels.values()))
        small = sizes < self.k
        return int(sizes[small].sum()), int(np.count_nonzero(~small))

    @property
    def suppressed(self) -> int:
        """Rows in groups that fail."""
        return self._counted[0]

    @property
    def distinct(self) -> int:
        """Different tuples among the rows that stay."""
        return self._counted[1]

    @property
    def completeness(self) -> float:
        """Share of the rows that stay."""
        return 1 - self.suppressed / int(self.lattice.sizes.sum())


def build_lattice(
    index: NDArray[np.int64], sizes: NDArray[np.int64], levels: Sequence[Levels]
) -> Lattice:
    """Return the lattice of distinct tuples given by the place of each value among the distinct ones."""
    heights = np.array([level.height for level in levels], dtype=np.int64)
    strides = strides_of(heights)
    places = _places([level.codes[0].size for level in levels])
    keys = np.zeros((sizes.size, int(places[:, 0].max()) + 1), dtype=np.uint64)
    for c in range(len(levels)):
        keys[:, places[c, 0]] |= index[:, c].astype(np.uint64) << np.uint64(places[c, 1])
    lifts, codes = _lifts([level.codes for level in levels], int(heights.max()))
    return Lattice(tuple(levels), keys, sizes, heights, strides, places, lifts, codes)


def strides_of(heights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what one level of each column adds to the number of a node."""
    strides = np.ones_like(heights)
    strides[:-1] = np.cumprod((heights + 1)[:0:-1])[::-1]
    return strides


def _places(counts: Sequence[int]) -> NDArray[np.int64]:
    """Return word, shift and mask of each column: so many bits as its values need."""
    places = np.zeros((len(counts), 3), dtype=np.int64)
    word = used = 0
    for c, count in enumerate(counts):
        bits = max(1, (count - 1).bit_length())
        if used + bits > WORD_BITS:
            word, used = word + 1, 0
        places[c] = word, used, (1 << bits) - 1
        used += bits
    return places


def _together(codes: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return the codes of every level renumbered, so that codes under one parent follow each other.

    Examples
    --------
    >>> [level.tolist() for level in _together([np.array([0, 1, 2]), np.array([0, 1, 0]), np.array([0, 0, 0])])]
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


def _lifts(
    levels: Sequence[Sequence[NDArray[np.int64]]], highest: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return, for every column and pair of levels, where its map from the lower to the higher codes starts."""
    lifts = np.zeros((len(levels), highest + 1, highest + 1), dtype=np.int64)
    maps: list[NDArray[np.int32]] = []
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


def search(
    lattice: Lattice, k: int, allowed: int, budget: int = UNBOUNDED, watch: Watch = unwatched
) -> tuple[list[tuple[int, ...]], bool]:
    """Return every k-minimal vector, and whether the whole lattice was decided within the budget.

    Columns with more values are fixed first: their levels decide most, so that more is pruned.
    """
    from veladura.methods.kanonymity.search_kernels import minimal_nodes, walk

    order = np.argsort([-level.codes[0].size for level in lattice.levels], kind="stable")
    shape = lattice.ordered(order)
    tags = np.zeros(lattice.nodes, dtype=np.int8)
    with watch(tags):
        walk(lattice.keys, lattice.sizes, shape, k, allowed, tags, budget)
    found = minimal_nodes(tags, shape)
    vectors = (found[:, None] // shape.strides % (shape.heights + 1))[:, np.argsort(order)]
    return sorted(map(tuple, vectors.tolist())), bool(np.all(tags != 0))


def descend(
    lattice: Lattice, k: int, allowed: int, watch: Watch = unwatched
) -> list[tuple[int, ...]]:
    """Return some k-minimal vectors of a lattice too large to be decided whole.

    From the top, columns are lowered one level at a time while the node stays good, in turn or one
    after the other, starting with another column each time. Where no column can be lowered any
    more all direct predecessors are bad, and so (monotonicity) are all nodes below: the node is
    k-minimal.
    """
    columns = len(lattice.levels)
    top = tuple(int(height) for height in lattice.heights)
    known: dict[tuple[int, ...], bool] = {}

    def good(vector: tuple[int, ...]) -> bool:
        if vector not in known:
            sizes = lattice.groups(vector)[1]
            known[vector] = int(sizes[sizes < k].sum()) <= allowed
        return known[vector]

    if not good(top):
        return []
    found, done = set(), np.zeros(min(DESCENTS, 2 * columns), dtype=np.int8)
    with watch(done):
        for start in range(done.size):
            vector, stuck, column = top, 0, start % columns
            while stuck < columns:
                lower = tuple(level - (c == column) for c, level in enumerate(vector))
                lowered = vector[column] > 0 and good(lower)
                vector, stuck = (lower, 0) if lowered else (vector, stuck + 1)
                column = column if lowered and start < columns else (column + 1) % columns
            found.add(vector)
            done[start] = 1
    return sorted(found)


def allowed_rows(max_suppression: float, rows: int) -> int:
    """Return how many rows may be suppressed: a number of rows, or a share of them rounded down.

    The share is taken as it is written (0.29 of 100 is 29), not as binary fractions have it.

    Examples
    --------
    >>> allowed_rows(0.29, 100), allowed_rows(5, 100), allowed_rows(0.02, 30162)
    (29, 5, 603)
    """
    if isinstance(max_suppression, int):
        return min(max_suppression, rows - 1)
    return min(math.floor(Fraction(repr(max_suppression)) * rows), rows - 1)


def choose(
    nodes: Sequence[Node], prefer: Sequence[str], weights: Mapping[str, float] | None = None
) -> Node:
    """Return the node that the policies prefer, in turn; what still ties, the smallest levels from left to right."""
    left = list(nodes)
    if weights and all(policy in POLICIES for policy in prefer):
        left = _best(
            left,
            lambda node: sum(
                weights.get(name, 1.0) * level / max(node.heights[name], 1)
                for name, level in node.levels.items()
            ),
        )
    for policy in prefer:
        if policy in _COSTS:  # a quality model has chosen among all nodes already
            left = _best(left, _COSTS[policy])
    return min(left, key=lambda node: tuple(node.levels.values()))


def _best(nodes: Sequence[Node], cost) -> list[Node]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    costs = [cost(node) for node in nodes]
    return [node for node, one in zip(nodes, costs, strict=True) if one == min(costs)]


_COSTS = {
    "min-distance": lambda node: node.distance,
    "min-relative-distance": lambda node: node.relative_distance,
    "max-distinct": lambda node: -node.distinct,
    "min-suppression": lambda node: node.suppressed,
}
