"""On which terms a critical column is drawn: what may replace a critical value, and which cells nothing can replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.methods.critical.cells import Condition
from veladura.numeric.trees.leaf import TRIES, Singles
from veladura.numeric.trees.model import Terms
from veladura.numeric.trees.tree import PARENT, Tree
from veladura.numeric.trees.variable import Subject

if TYPE_CHECKING:
    from veladura.table.codes import Column

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Guard = Literal["values", "own", "drawn"]

FEWEST_VALUES = (
    10  # with fewer critical values, "never its own" would tell by exclusion what the own one was
)
STEPS = 60


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CriticalTerms(Terms):
    """The terms of one column. Holds original values: its repr shows none.

    Attributes
    ----------
    guard
        "values": no critical value of the original comes out. "own": no row keeps its own, for the
        critical values fill most of the grid they are written on. "drawn": drawn anew, and by
        chance perhaps the same (categories, few values).
    inside
        Whether new values must be critical in their rows too.
    pool
        The critical numbers.
    width
        Bandwidth of all numbers of the column, for pools that have none.
    fixed
        Rows whose critical value nothing can replace.
    parties
        For the consistency step: rows that must draw from one node have the same number; -1 for
        rows that are free.
    """

    condition: Condition
    columns: Mapping[str, Column]
    guard: Guard
    inside: bool
    taken: Singles
    pool: Floats
    width: float
    fixed: Mask
    parties: Ints | None = None

    @property
    def moves(self) -> bool:
        """Whether its values are numbers that a kernel moves."""
        return self.subject.places is not None and self.subject.smoothing != "none"

    def nodes(self, tree: Tree, leaves: Ints, rows: Ints) -> Ints:
        """Return the leaf of each row; rows of one party, the lowest node that holds all of their leaves."""
        if self.parties is None:
            return leaves
        found, party = leaves.copy(), self.parties[rows]
        for number in np.unique(party[party >= 0]):
            found[party == number] = common_node(tree, leaves[party == number])
        return found

    def accepted(self, places: Floats, rows: Ints) -> Mask:
        """Return which numbers may stand in which rows: guarded, inside the condition, and never across nought."""
        good = self.subject.accepted(places)
        if self.guard == "values":
            good &= ~self.taken.hit(places)
        elif self.guard == "own" and self.subject.places is not None:
            good &= places != self.subject.places[rows]
        if self.inside:
            good &= self.fits(rows, self._values(places))
        return good | self.fixed[rows]

    def fits(self, rows: Ints, values: NDArray[Any], missing: Mask | None = None) -> Mask:
        """Return which values are critical in their rows."""
        return self.condition.fits(self.columns, rows, values, missing)

    def settled(self, rng: Generator, places: Floats, rows: Ints) -> Floats:
        """Return numbers where no pool had one: a wide kernel about the critical values, the nearest free number, or the own one."""
        found = places.copy()
        waiting = np.arange(rows.size)
        if self.moves and self.pool.size and self.width > 0 and self.subject.grid is not None:
            for _ in range(TRIES):
                drawn = self.pool[
                    rng.integers(self.pool.size, size=waiting.size)
                ] + self.width * rng.standard_normal(waiting.size)
                found[waiting] = self.subject.grid.written(drawn)
                waiting = waiting[~self.accepted(found[waiting], rows[waiting])]
                if not waiting.size:
                    return found
        found[waiting] = self.nearest(rows[waiting])[0]
        return found

    def nearest(self, rows: Ints) -> tuple[Floats, Mask]:
        """Return for each row an accepted number near its own, found by steps that double, and whether there is one."""
        subject = self.subject
        assert subject.places is not None  # noqa: S101  # asked for numbers only
        assert subject.grid is not None  # noqa: S101
        own = subject.places[rows]
        found, waiting = own.copy(), np.arange(rows.size)
        for step in range(STEPS):
            for side in (-1, 1):
                tried = subject.grid.written(own[waiting] + side * subject.grid.step * 2.0**step)
                good = self.accepted(tried, rows[waiting]) & (tried != own[waiting])
                found[waiting[good]] = tried[good]
                waiting = waiting[~good]
            if not waiting.size or subject.grid.step * 2.0**step > 2 * (np.ptp(subject.places) + 1):
                break
        left = np.ones(rows.size, dtype=bool)
        left[waiting] = False
        return found, left

    def _values(self, places: Floats) -> NDArray[Any]:
        return places if self.subject.grid is None else self.subject.grid.values(places)


def common_node(tree: Tree, nodes: Ints) -> int:
    """Return the lowest node of which all of some nodes are descendants."""
    open_, parents = set(nodes.tolist()), tree.nodes[:, PARENT].tolist()
    for node in range(max(open_), -1, -1):  # a parent has a smaller number than its children
        if len(open_) == 1:
            break
        if node in open_:
            open_.remove(node)
            open_.add(parents[node])
    return int(open_.pop())


def guard_of(subject: Subject, numbers: Floats, *, smooth: bool) -> Guard:
    """Return how far a column's critical numbers can be guarded: by the room that their grid leaves beside them."""
    if (
        subject.places is None
        or subject.grid is None
        or subject.smoothing == "none"
        or not numbers.size
    ):
        return "drawn"
    if not smooth:
        return "own"
    distinct = np.unique(numbers)
    if subject.grid.decimals is None or distinct.size == 1:
        return "values"
    room = np.rint((distinct[-1] - distinct[0]) / subject.grid.step) + 1
    if distinct.size <= room / 2:
        return "values"
    return "own" if distinct.size >= FEWEST_VALUES else "drawn"


def terms_of(
    subject: Subject,
    condition: Condition,
    columns: Mapping[str, Column],
    mark: Mask,
    *,
    smooth: bool,
    inside: bool,
) -> CriticalTerms:
    """Return the terms of a column with some critical cells."""
    from veladura.numeric.trees.draws import spreads

    guard: Guard = "drawn"
    taken, numbers, width = Singles(np.empty(0)), np.empty(0), 0.0
    if subject.places is not None and subject.grid is not None:
        numbers, known = (
            subject.places[mark & (subject.state == 0)],
            subject.places[subject.state == 0],
        )
        width = (
            float(spreads(known, np.array([0]), np.array([known.size]), np.empty(0))[0, 0])
            if known.size
            else 0.0
        )
        guard = guard_of(subject, numbers, smooth=smooth)
        taken = (
            Singles.of(np.unique(numbers), subject.grid.decimals) if guard == "values" else taken
        )
    terms = CriticalTerms(
        subject,
        inside,
        condition=condition,
        columns=columns,
        guard=guard,
        inside=inside,
        taken=taken,
        pool=numbers,
        width=width,
        fixed=np.zeros(mark.size, dtype=bool),
    )
    return replace(terms, fixed=_fixed(terms, mark))


def _fixed(terms: CriticalTerms, mark: Mask) -> Mask:
    """Return the critical cells that nothing can replace."""
    subject, fixed = terms.subject, np.zeros(mark.size, dtype=bool)
    if terms.guard == "drawn":
        here = mark if terms.inside else np.ones(mark.size, dtype=bool)
        places = np.zeros(mark.size) if subject.places is None else subject.places
        if np.unique(subject.state[here]).size < 2 and np.unique(places[here]).size < 2:  # noqa: PLR2004
            fixed |= mark
        return fixed
    rows = np.flatnonzero(mark & (subject.state == 0))
    fixed[rows] = ~terms.nearest(rows)[1]
    return fixed
