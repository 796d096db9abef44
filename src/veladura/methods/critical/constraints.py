"""What may replace a critical value, and which critical cells nothing can replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.methods.critical.cells import Condition
from veladura.numeric.trees.leaf import TRIES, spreads
from veladura.numeric.trees.model import Constraints
from veladura.numeric.trees.numbers import Singles
from veladura.numeric.trees.tree import PARENT, Tree
from veladura.numeric.trees.variable import Variable

if TYPE_CHECKING:
    from veladura.table.codes import Column

Guard = Literal["values", "own", "drawn"]

FEWEST_VALUES = 10  # with fewer, "not its own value" would disclose by exclusion which one it was
STEPS = 60


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CriticalConstraints(Constraints):
    """The terms of one column. Holds original values: its repr shows none.

    Attributes
    ----------
    guard
        "values": no critical value of the original is released in a replaced cell. "own": no row
        keeps its own value; used where critical values fill most of the grid they are written on.
        "drawn": a new draw, which may be the same value by chance (categories, few values).
    inside
        Whether new values must be critical in their rows too.
    pool
        The critical numbers.
    width
        Bandwidth of all numbers of the column, for pools without spread.
    fixed
        Rows whose critical value nothing can replace.
    parties
        For consistency: rows with the same number draw from one node; -1 for rows that are free.
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
        return self.variable.places is not None and self.variable.smoothing != "none"

    def nodes(self, tree: Tree, leaves: Ints, rows: Ints) -> Ints:
        """Return the leaf of each row; for rows of one party, the lowest node above all leaves."""
        if self.parties is None:
            return leaves
        nodes, party = leaves.copy(), self.parties[rows]
        for number in np.unique(party[party >= 0]):
            nodes[party == number] = common_node(tree, leaves[party == number])
        return nodes

    def accepted(self, places: Floats, rows: Ints) -> Mask:
        """Return which numbers are accepted: guarded, inside the condition, with the same sign."""
        good = self.variable.allowed.accepted(places)
        if self.guard == "values":
            good &= ~self.taken.hit(places)
        elif self.guard == "own" and self.variable.places is not None:
            good &= places != self.variable.places[rows]
        if self.inside:
            good &= self.fits(rows, self._values(places))
        return good | self.fixed[rows]

    def fits(self, rows: Ints, values: NDArray[Any], missing: Mask | None = None) -> Mask:
        """Return which values are critical in their rows."""
        return self.condition.fits(self.columns, rows, values, missing)

    def settled(self, rng: Generator, places: Floats, rows: Ints) -> Floats:
        """Return numbers where no draw was accepted.

        From a wide kernel about the critical values; else the nearest free number; else the own.
        """
        settled = places.copy()
        waiting = np.arange(rows.size)
        if self.moves and self.pool.size and self.width > 0 and self.variable.grid is not None:
            for _ in range(TRIES):
                drawn = self.pool[
                    rng.integers(self.pool.size, size=waiting.size)
                ] + self.width * rng.standard_normal(waiting.size)
                settled[waiting] = self.variable.grid.written(drawn)
                waiting = waiting[~self.accepted(settled[waiting], rows[waiting])]
                if not waiting.size:
                    return settled
        settled[waiting] = self.nearest(rows[waiting])[0]
        return settled

    def nearest(self, rows: Ints) -> tuple[Floats, Mask]:
        """Return for each row an accepted number near its own, and whether there is one."""
        variable = self.variable
        assert variable.places is not None  # noqa: S101  # asked for numbers only
        assert variable.grid is not None  # noqa: S101
        own = variable.places[rows]
        near, waiting = own.copy(), np.arange(rows.size)
        for step in range(STEPS):
            for side in (-1, 1):
                tried = variable.grid.written(own[waiting] + side * variable.grid.step * 2.0**step)
                good = self.accepted(tried, rows[waiting]) & (tried != own[waiting])
                near[waiting[good]] = tried[good]
                waiting = waiting[~good]
            if not waiting.size or variable.grid.step * 2.0**step > 2 * (
                np.ptp(variable.places) + 1
            ):
                break
        exists = np.ones(rows.size, dtype=bool)
        exists[waiting] = False
        return near, exists

    def _values(self, places: Floats) -> NDArray[Any]:
        return places if self.variable.grid is None else self.variable.grid.values(places)


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


def guard_of(variable: Variable, numbers: Floats, *, smooth: bool) -> Guard:
    """Return how critical numbers can be guarded, given the room between them on their grid."""
    if (
        variable.places is None
        or variable.grid is None
        or variable.smoothing == "none"
        or not numbers.size
    ):
        return "drawn"
    if not smooth:
        return "own"
    distinct = np.unique(numbers)
    if variable.grid.decimals is None or distinct.size == 1:
        return "values"
    room = np.rint((distinct[-1] - distinct[0]) / variable.grid.step) + 1
    if distinct.size <= room / 2:
        return "values"
    return "own" if distinct.size >= FEWEST_VALUES else "drawn"


def constraints_of(
    variable: Variable,
    condition: Condition,
    columns: Mapping[str, Column],
    mark: Mask,
    *,
    smooth: bool,
    inside: bool,
) -> CriticalConstraints:
    """Return what may replace the critical cells of a column."""
    guard: Guard = "drawn"
    taken, numbers, width = Singles(np.empty(0)), np.empty(0), 0.0
    if variable.places is not None and variable.grid is not None:
        numbers = variable.places[mark & (variable.state == 0)]
        every = variable.places[variable.state == 0]
        if every.size:
            stretch = np.array([0]), np.array([every.size])
            width = float(spreads(every, *stretch, np.empty(0))[0, 0])
        guard = guard_of(variable, numbers, smooth=smooth)
        if guard == "values":
            taken = Singles.of(np.unique(numbers), variable.grid.decimals)
    constraints = CriticalConstraints(
        variable,
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
    return replace(constraints, fixed=_fixed(constraints, mark))


def _fixed(constraints: CriticalConstraints, mark: Mask) -> Mask:
    """Return the critical cells that nothing can replace."""
    variable, fixed = constraints.variable, np.zeros(mark.size, dtype=bool)
    if constraints.guard == "drawn":
        here = mark if constraints.inside else np.ones(mark.size, dtype=bool)
        places = np.zeros(mark.size) if variable.places is None else variable.places
        if np.unique(variable.state[here]).size < 2 and np.unique(places[here]).size < 2:  # noqa: PLR2004
            fixed |= mark
        return fixed
    rows = np.flatnonzero(mark & (variable.state == 0))
    fixed[rows] = ~constraints.nearest(rows)[1]
    return fixed
