"""How far replacement is possible: what the pool of each critical cell holds, by column and over all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.measures.measure import Meaning, NotApplicable, Subject, measure
from veladura.methods.critical.constraints import CriticalConstraints
from veladura.methods.critical.tuples import TupleModel
from veladura.numeric.trees.model import Pair
from veladura.numeric.trees.tree import END, START, Predictors, Tree

if TYPE_CHECKING:
    from veladura.methods.critical.branches import Branch
    from veladura.methods.critical.fitted import FittedCritical

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
FIGURES = ("two_donors", "donors", "range", "widened")


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """What the critical cells of one column are drawn from.

    Attributes
    ----------
    distinct
        Number of different donor values of each cell.
    share
        Range of its pool as a share of that of all critical values of the column.
    widened
        Cells whose pool had to be taken from more rows than those with the same critical columns.
    """

    distinct: Ints
    share: Floats
    widened: int = 0

    def figures(self) -> dict[str, float]:
        """Return the share of cells with at least two different donors, their median number, the median range, the share widened."""
        if not self.distinct.size:
            return dict.fromkeys(FIGURES, 0.0)
        two = float(np.mean(self.distinct > 1))
        found = (
            two,
            float(np.median(self.distinct)),
            float(np.median(self.share)),
            self.widened / self.distinct.size,
        )
        return {name: round(value, 4) for name, value in zip(FIGURES, found, strict=True)}


def pools_of(fitted: FittedCritical) -> dict[str, Pool]:
    """Return the pools of every confidential column."""
    parts: dict[str, list[Pool]] = {name: [] for name in fitted.confidential}
    for branch in fitted.branches:
        if not branch.rest:
            for name in branch.columns:
                parts[name].append(_pool(branch, fitted.constraints[name], fitted.base))
    return {
        name: Pool(
            np.concatenate([np.empty(0, dtype=np.int64), *(part.distinct for part in found)]),
            np.concatenate([np.empty(0), *(part.share for part in found)]),
            sum(part.widened for part in found),
        )
        for name, found in parts.items()
    }


def _pool(branch: Branch, constraints: CriticalConstraints, predictors: Predictors) -> Pool:
    tree, leaves = _leaves(branch, predictors)
    values = (
        constraints.variable.places
        if constraints.variable.places is not None
        else constraints.variable.state.astype(np.float64)
    )
    held = (
        np.where(constraints.variable.state == 0, values, -1.0 - constraints.variable.state)
        if constraints.variable.places is not None
        else values
    )
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
    tree = _main(branch.model.pair)
    return tree, branch.model.constraints.nodes(tree, tree.find(predictors, branch.rows), branch.rows)


def _main(pair: Pair) -> Tree:
    tree = pair.numbers or pair.states
    assert tree is not None  # noqa: S101  # a branch has rows, so one of them was grown
    return tree


def replaceability(pools: Mapping[str, Pool]) -> dict[str, Any]:
    """Return the figures by column and overall, the latter as means weighted by critical cells."""
    found = {name: pool.figures() for name, pool in pools.items() if pool.distinct.size}
    weight = np.array([pools[name].distinct.size for name in found], dtype=float)
    overall = {
        figure: (
            round(float(np.average([one[figure] for one in found.values()], weights=weight)), 4)
            if found
            else 0.0
        )
        for figure in FIGURES
    }
    return {"overall": overall, **found}


@measure(
    "utility.replaceability",
    figures={
        "two_donors": Meaning(
            "Critical cells whose pool holds at least two different values.",
            "high",
            "share",
            headline=True,
        ),
        "donors": Meaning("Different values in the pool of a critical cell (median).", "high"),
        "range": Meaning(
            "Range of the pool of a critical cell, as a share of that of all critical values"
            " (median).",
            "neither",
            "share",
        ),
        "widened": Meaning(
            "Critical cells whose pool was widened beyond the rows with the same critical columns.",
            "low",
            "share",
        ),
    },
)
def measure_replaceability(subject: Subject) -> dict[str, Estimate]:
    """Return what the manifest tells of the pools, over all columns."""
    for step in subject.release.steps:
        if step.method == "critical-cart" and "replaceability" in step.settings:
            return {
                name: Estimate.exact(step.settings["replaceability"]["overall"][name])
                for name in FIGURES
            }
    msg = "no critical cells were replaced."
    raise NotApplicable(msg)
