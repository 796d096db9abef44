"""What may replace a critical value, and which critical cells nothing can replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.methods.critical.cells import Condition
from veladura.numeric.trees.model import Constraints
from veladura.numeric.trees.tree import PARENT, Tree
from veladura.numeric.trees.variable import Variable

if TYPE_CHECKING:
    from veladura.table.codes import Column

STEPS = 60


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CriticalConstraints(Constraints):
    """The terms of one column. Holds original values: its repr shows none.

    Attributes
    ----------
    inside
        Whether new values must be critical in their rows too.
    outside
        Whether they must not be: for cells that are not critical.
    pool
        The critical numbers.
    fixed
        Rows whose critical value nothing can replace.
    parties
        For consistency: rows with the same number draw from one node; -1 for rows that are free.
    """

    condition: Condition
    columns: Mapping[str, Column]
    inside: bool
    pool: Floats
    fixed: Mask
    parties: Ints | None = None
    outside: bool = False

    @property
    def bind(self) -> bool:
        """Whether there are numbers that would not be accepted."""
        return self.inside or self.outside or self.variable.limits != (-np.inf, np.inf)

    def nodes(self, tree: Tree, leaves: Ints, rows: Ints) -> Ints:
        """Return the leaf of each row; for rows of one party, the lowest node above all leaves."""
        if self.parties is None:
            return leaves
        nodes, party = leaves.copy(), self.parties[rows]
        for number in np.unique(party[party >= 0]):
            nodes[party == number] = common_node(tree, leaves[party == number])
        return nodes

    def accepted(self, places: Floats, rows: Ints) -> Mask:
        """Return which numbers are accepted: inside the condition, with the same sign."""
        good = self.variable.inside(places)
        if self.inside or self.outside:
            good &= self.fits(rows, self._values(places)) == self.inside
        return good | self.fixed[rows]

    def fits(self, rows: Ints, values: NDArray[Any], missing: Mask | None = None) -> Mask:
        """Return which values are critical in their rows."""
        return self.condition.fits(self.columns, rows, values, missing)

    def settled(self, places: Floats, rows: Ints) -> Floats:
        """Return accepted numbers near those drawn, where no draw was accepted.

        Steps double, so a narrow condition far from what was drawn can be stepped over. Every row
        that is not fixed has an accepted number near its own: that one is taken then.
        """
        assert self.variable.places is not None  # noqa: S101  # asked for numbers only
        near, exists = self.nearest(rows, places)
        lost = np.flatnonzero(~exists)
        near[lost] = self.nearest(rows[lost], self.variable.places[rows[lost]])[0]
        return near

    def nearest(self, rows: Ints, places: Floats) -> tuple[Floats, Mask]:
        """Return for each row an accepted number near a given one, and whether there is one."""
        variable = self.variable
        assert variable.places is not None  # noqa: S101  # asked for numbers only
        assert variable.grid is not None  # noqa: S101
        near, waiting = places.copy(), np.arange(rows.size)
        for step in range(STEPS):
            for side in (-1, 1):
                tried = variable.grid.written(
                    places[waiting] + side * variable.grid.step * 2.0**step
                )
                good = self.accepted(tried, rows[waiting]) & (tried != places[waiting])
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


def constraints_of(
    variable: Variable,
    condition: Condition,
    columns: Mapping[str, Column],
    mark: Mask,
    *,
    inside: bool,
) -> CriticalConstraints:
    """Return what may replace the critical cells of a column."""
    numbers = np.empty(0)
    if variable.places is not None:
        numbers = variable.places[mark & (variable.state == 0)]
    constraints = CriticalConstraints(
        variable,
        condition=condition,
        columns=columns,
        inside=inside,
        pool=numbers,
        fixed=np.zeros(mark.size, dtype=bool),
    )
    return replace(constraints, fixed=_fixed(constraints, mark))


def _fixed(constraints: CriticalConstraints, mark: Mask) -> Mask:
    """Return the critical cells that nothing can replace: their condition leaves no other value."""
    variable, fixed = constraints.variable, np.zeros(mark.size, dtype=bool)
    if variable.moves and variable.places is not None:
        rows = np.flatnonzero(mark & (variable.state == 0))
        fixed[rows] = ~constraints.nearest(rows, variable.places[rows])[1]
        return fixed
    here = mark if constraints.inside else np.ones(mark.size, dtype=bool)
    places = np.zeros(mark.size) if variable.places is None else variable.places
    if np.unique(variable.state[here]).size < 2 and np.unique(places[here]).size < 2:  # noqa: PLR2004
        fixed |= mark
    return fixed
