"""Pools of donors: what the critical cells of each column are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.methods.critical.constraints import CriticalConstraints
from veladura.methods.critical.tuples import TupleModel
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.tree import END, START, Tree

if TYPE_CHECKING:
    from veladura.methods.critical.branches import Branch
    from veladura.methods.critical.fitted import FittedCritical

FIGURES = ("two_donors", "donors", "range", "widened")


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """What the critical cells of one column are drawn from.

    Attributes
    ----------
    distinct
        Number of distinct donor values of each cell.
    share
        Range of its pool as a share of that of all critical values of the column.
    widened
        Cells whose pool had to be taken from more rows than those with the same critical columns.
    """

    distinct: Ints
    share: Floats
    widened: int = 0

    def figures(self) -> dict[str, float]:
        """Return the figures of the cells.

        The share with at least two distinct donors, the median number of these, the median range,
        and the share of cells whose pool was widened.
        """
        if not self.distinct.size:
            return dict.fromkeys(FIGURES, 0.0)
        two = float(np.mean(self.distinct > 1))
        values = (
            two,
            float(np.median(self.distinct)),
            float(np.median(self.share)),
            self.widened / self.distinct.size,
        )
        return {name: round(value, 4) for name, value in zip(FIGURES, values, strict=True)}


def pools_of(fitted: FittedCritical) -> dict[str, Pool]:
    """Return the pools of every confidential column."""
    parts: dict[str, list[Pool]] = {name: [] for name in fitted.confidential}
    for branch in fitted.branches:
        if not branch.rest:
            for name in branch.columns:
                parts[name].append(_pool(branch, fitted.constraints[name], fitted.base))
    return {
        name: Pool(
            np.concatenate([np.empty(0, dtype=np.int64), *(pool.distinct for pool in pools)]),
            np.concatenate([np.empty(0), *(pool.share for pool in pools)]),
            sum(pool.widened for pool in pools),
        )
        for name, pools in parts.items()
    }


def _pool(branch: Branch, constraints: CriticalConstraints, predictors: Predictors) -> Pool:
    tree, leaves = _leaves(branch, predictors)
    variable = constraints.variable
    held = variable.state.astype(np.float64)
    if variable.places is not None:  # a spike or missing value is one value, below all numbers
        held = np.where(variable.state == 0, variable.places, -1.0 - held)
    used, place = np.unique(leaves, return_inverse=True)
    start, end = tree.nodes[used, START], tree.nodes[used, END]
    node = np.repeat(np.arange(used.size), end - start)
    donors = tree.order[np.concatenate([np.arange(a, b) for a, b in zip(start, end, strict=True)])]
    order = np.lexsort((held[donors], node))
    node, sorted_held = node[order], held[donors][order]
    new = np.append(True, (np.diff(node) > 0) | (np.diff(sorted_held) != 0))
    distinct = np.bincount(node[new], minlength=used.size)
    first = np.searchsorted(node, np.arange(used.size))
    last = np.append(first[1:], node.size) - 1
    whole = float(np.ptp(constraints.pool)) if constraints.pool.size else 0.0
    share = (
        np.clip((sorted_held[last] - sorted_held[first]) / whole, 0, 1)
        if whole > 0
        else np.zeros(used.size)
    )
    return Pool(distinct[place], share[place], branch.rows.size if branch.widened else 0)


def _leaves(branch: Branch, predictors: Predictors) -> tuple[Tree, Ints]:
    """Return the tree of a branch and the node of each of its rows, as the original rows fall."""
    if isinstance(branch.model, TupleModel):
        return branch.model.tree, branch.model.leaves
    pair = branch.model.pair
    tree = pair.numbers or pair.states
    assert tree is not None  # noqa: S101  # a branch has rows, so one of them was grown
    leaves = tree.find(predictors, branch.rows)
    return tree, branch.model.constraints.nodes(tree, leaves, branch.rows)


def replaceability(pools: Mapping[str, Pool]) -> dict[str, Any]:
    """Return the figures by column and overall, the latter as means weighted by critical cells."""
    columns = {name: pool.figures() for name, pool in pools.items() if pool.distinct.size}
    weight = np.array([pools[name].distinct.size for name in columns], dtype=float)
    overall = dict.fromkeys(FIGURES, 0.0)
    if columns:
        for figure in FIGURES:
            values = [figures[figure] for figures in columns.values()]
            overall[figure] = round(float(np.average(values, weights=weight)), 4)
    return {"overall": overall, **columns}
