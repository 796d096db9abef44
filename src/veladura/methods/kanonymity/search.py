"""The search for all k-minimal generalisations, and its progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from operator import le
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Ints, Mask
from veladura.base.context import Advance
from veladura.errors import PlanError
from veladura.methods.kanonymity.lattice import ROW_BITS, Lattice, Vector
from veladura.methods.kanonymity.suppression import Criteria, People
from veladura.methods.kanonymity.tallies import Tallies

Tags = NDArray[np.int8]  # a node is good (1), bad (-1) or not decided yet (0)
Watch = Callable[[Tags], AbstractContextManager[None]]
UNBOUNDED = 1 << 62
MOST_NODES = 20_000_000  # beyond this many nodes not all of them are decided
DESCENTS = 32
BAR_STEPS = 100
LOOK_EVERY = 0.2  # seconds


@contextmanager
def unwatched(_tags: Tags) -> Iterator[None]:
    """Show no progress."""
    yield


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search finds.

    Attributes
    ----------
    minimal
        The good nodes below which no other is good, in order of their levels.
    good
        Whether each node is good, one axis a column; None for a lattice too large to be decided
        whole.
    complete
        Whether every node was decided.
    tallies
        What was counted at good nodes on the way; None if that was not kept.
    """

    minimal: tuple[Vector, ...]
    good: Mask | None = field(repr=False)
    complete: bool = True
    tallies: Tallies | None = field(default=None, repr=False)

    def at_values(self, places: Sequence[int]) -> SearchResult:
        """Return what was found with some columns as they are, at level 0.

        All nodes below such a node are such nodes, so that minimal ones stay minimal.
        """
        minimal = tuple(node for node in self.minimal if not any(node[c] for c in places))
        if self.good is None:
            return replace(self, minimal=minimal)
        good = self.good.copy()
        for place in places:
            np.moveaxis(good, place, 0)[1:] = False
        return replace(self, minimal=minimal, good=good)

    def at_least(self, floor: Sequence[int]) -> SearchResult:
        """Return what was found among the nodes at or above some levels."""
        if not any(floor):
            return self
        if self.good is None:  # all nodes above a good one are good
            raised = {tuple(map(max, node, floor)) for node in self.minimal}
            minimal = [a for a in raised if not any(b != a and _below(b, a) for b in raised)]
            return replace(self, minimal=tuple(sorted(minimal)))
        good = self.good.copy()
        for place, level in enumerate(floor):
            np.moveaxis(good, place, 0)[:level] = False
        return replace(self, minimal=tuple(minimal_of(good)), good=good)


def _below(one: Vector, other: Vector) -> bool:
    return all(map(le, one, other))


def find_minimal(
    lattice: Lattice,
    criteria: Criteria,
    allowed: int,
    budget: int = UNBOUNDED,
    watch: Watch = unwatched,
) -> SearchResult:
    """Return every minimal node at which at most ``allowed`` rows must be suppressed.

    k for one quasi-identifier is decided by the compiled walk. What else is monotone is tagged in
    both directions. What is not is decided node by node, except where k alone fails already.
    """
    if criteria.only_k or criteria.only_people:
        shown, k = lattice, criteria.k
        if criteria.people is not None:
            shown, k = _counting_people(lattice, criteria.people, k)
        if lattice.nodes > MOST_NODES:
            nodes = descend(shown, k, allowed, watch)
            return SearchResult(tuple(nodes), None, complete=False)
        nodes, complete, tallies = _walked(shown, k, allowed, budget, watch)
        good = at_or_above(nodes, lattice.heights)
        return SearchResult(tuple(nodes), good, complete, tallies if criteria.only_k else None)
    if lattice.nodes > MOST_NODES:
        msg = (
            f"the generalisation lattice has {lattice.nodes:,} nodes, too many to search with"
            " several quasi-identifiers, privacy models or people with several rows.\n\nHint: give"
            " fewer columns, or hierarchies with fewer levels."
        )
        raise PlanError(msg)
    return _find_by_criteria(lattice, criteria, allowed, watch)


def _find_by_criteria(
    lattice: Lattice, criteria: Criteria, allowed: int, watch: Watch
) -> SearchResult:
    """Return the minimal nodes where more is asked than k for one quasi-identifier."""
    from veladura.methods.kanonymity.traversal import Traversal

    heights = criteria.lattice.heights[list(criteria.columns)]
    tags: Tags = np.zeros(tuple(heights + 1), dtype=np.int8)
    if len(criteria.sets) == 1 and criteria.smallest > 1:
        nodes, complete = walk_lattice(lattice, criteria.smallest, allowed)
        if complete:
            tags[~at_or_above(nodes, heights)] = -1
    if len(criteria.sets) == 1 and criteria.people is not None:
        _tag_by_bounds(lattice, criteria, criteria.people, allowed, tags)
    traversal = Traversal(criteria, tags, allowed)
    with watch(tags):
        if criteria.monotone(allowed):
            traversal.tag_both_ways()
        else:
            traversal.try_all()
    good = tags == 1
    return SearchResult(tuple(minimal_of(good)), good)


def _tag_by_bounds(
    lattice: Lattice, criteria: Criteria, people: People, allowed: int, tags: Tags
) -> None:
    """Tag the nodes that bounds on people decide: a class has at most the people of its tuples."""
    packed, k = _counting_people(lattice, people, criteria.k)
    nodes, complete = walk_lattice(packed, k, allowed)
    if complete:
        tags[~at_or_above(nodes, lattice.heights)] = -1
    if criteria.models or criteria.household is not None:  # more is suppressed than rare rows
        return
    nodes, complete = walk_lattice(lattice, criteria.k * people.most, allowed)
    if complete:  # so many rows are of at least k people
        tags[at_or_above(nodes, lattice.heights)] = 1


def _counting_people(lattice: Lattice, people: People, k: int) -> tuple[Lattice, int]:
    """Return a lattice and k for the walk, with sizes of people above those of rows."""
    return replace(lattice, sizes=people.sizes << ROW_BITS | lattice.sizes), k << ROW_BITS


def walk_lattice(
    lattice: Lattice, k: int, allowed: int, budget: int = UNBOUNDED, watch: Watch = unwatched
) -> tuple[list[Vector], bool]:
    """Return every k-minimal node, and whether the whole lattice was decided within the budget."""
    return _walked(lattice, k, allowed, budget, watch)[:2]


def _walked(
    lattice: Lattice, k: int, allowed: int, budget: int, watch: Watch
) -> tuple[list[Vector], bool, Tallies]:
    """Return the same, and what was counted on the way.

    Columns with more values are fixed first, so that more is pruned.
    """
    from veladura.methods.kanonymity.search_kernels import minimal_nodes, walk

    order = lattice.walking_order()
    shape = lattice.ordered(order)
    tags = np.zeros(lattice.nodes, dtype=np.int8)
    with watch(tags):
        counted, tallies = walk(lattice.keys, lattice.sizes, shape, k, allowed, tags, budget)

    def levels(nodes: Ints) -> Ints:
        by_column: Ints = nodes[:, None] // shape.strides % (shape.heights + 1)
        return by_column[:, np.argsort(order)]

    minimal = sorted(map(tuple, levels(minimal_nodes(tags, shape)).tolist()))
    return minimal, bool(np.all(tags != 0)), Tallies(k, levels(counted), *tallies.T)


def descend(lattice: Lattice, k: int, allowed: int, watch: Watch = unwatched) -> list[Vector]:
    """Return some k-minimal nodes of a lattice too large to be decided whole.

    From the top, columns are lowered one level at a time while the node stays good, in turn or one
    after the other, starting with another column each time. Where no column can be lowered any
    more all direct predecessors are bad, and so (monotonicity) are all nodes below: the node is
    k-minimal.
    """
    columns = len(lattice.levels)
    top = tuple(int(height) for height in lattice.heights)
    decided: dict[Vector, bool] = {}

    def good(vector: Vector) -> bool:
        if vector not in decided:
            sizes = lattice.groups(vector)[1]
            decided[vector] = int((sizes[sizes < k] & ((1 << ROW_BITS) - 1)).sum()) <= allowed
        return decided[vector]

    if not good(top):
        return []
    minimal, done = set(), np.zeros(min(DESCENTS, 2 * columns), dtype=np.int8)
    with watch(done):
        for start in range(done.size):
            vector, stuck, column = top, 0, start % columns
            while stuck < columns:
                lower = tuple(level - (c == column) for c, level in enumerate(vector))
                lowered = vector[column] > 0 and good(lower)
                vector, stuck = (lower, 0) if lowered else (vector, stuck + 1)
                column = column if lowered and start < columns else (column + 1) % columns
            minimal.add(vector)
            done[start] = 1
    return sorted(minimal)


def minimal_of(good: Mask) -> list[Vector]:
    """Return the good nodes below which no other is good, whether or not those above them are.

    Examples
    --------
    >>> minimal_of(np.array([[False, True], [True, False]]))
    [(0, 1), (1, 0)]
    """
    reached = good.copy()
    for axis in range(good.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    below = np.zeros_like(good)
    for axis in range(good.ndim):
        upper = tuple(slice(1, None) if i == axis else slice(None) for i in range(good.ndim))
        lower = tuple(slice(None, -1) if i == axis else slice(None) for i in range(good.ndim))
        below[upper] |= reached[lower]
    return [tuple(vector) for vector in np.argwhere(good & ~below).tolist()]


def at_or_above(nodes: Sequence[Vector], heights: Ints) -> Mask:
    """Return which nodes are at or above some of the given ones."""
    good = np.zeros(tuple(heights + 1), dtype=bool)
    for vector in nodes:
        good[tuple(slice(level, None) for level in vector)] = True
    return good


def watching(advance: Advance) -> Watch:
    """Return what moves a bar of `BAR_STEPS` steps by the share of nodes that are decided.

    A thread looks at the tags, as compiled code cannot call back. The bar is full at the end.
    """
    shown = 0

    def show(share: float) -> None:
        nonlocal shown
        while shown < int(share * BAR_STEPS):
            shown += 1
            advance()

    @contextmanager
    def watch(tags: Tags) -> Iterator[None]:
        done = Event()

        def look() -> None:
            while not done.wait(LOOK_EVERY):
                show(np.count_nonzero(tags) / tags.size)

        thread = Thread(target=look, name="progress of the search", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        show(1.0)

    return watch
