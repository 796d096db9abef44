"""The grown tree of one column with what it was grown on, and its pruned subtrees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.checks import check_whole
from veladura.errors import ColumnError, PlanError
from veladura.methods.cart.growing import growth_of
from veladura.methods.cart.joint import JointModel
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.criteria import number_target
from veladura.numeric.trees.linear import LinearScores, ScoredModel
from veladura.numeric.trees.model import TreeModel
from veladura.numeric.trees.prune import collapse
from veladura.numeric.trees.tree import FEATURE, LEFT, PARENT, Growth, Tree, cut_at
from veladura.numeric.trees.variable import Variable
from veladura.table.codes import label_texts

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart
    from veladura.methods.cart.order import Unit
    from veladura.methods.cart.unit_draw import UnitModel


@dataclass(frozen=True, eq=False, repr=False)
class GrownTree:
    """The tree of one column. Holds original rows: its repr shows none.

    Attributes
    ----------
    tree
        Its nodes; those that rows cannot reach are left out.
    classes
        Number of categories, or 0 for a tree of numbers.
    """

    fitted: FittedCart
    unit: Unit
    variable: Variable
    tree: Tree
    classes: int
    scores: LinearScores | None = None

    @cached_property
    def values(self) -> Floats:
        """The numbers of all rows, transformed."""
        return self.variable.scaled()

    @cached_property
    def target(self) -> Ints:
        """What the tree was grown on, for each row of the original: classes or whole numbers."""
        if self.classes:
            return self.variable.state
        target = np.zeros(self.variable.state.size, dtype=np.int64)
        rows = np.unique(self.tree.order)
        target[rows] = number_target(self.values[rows], self.growth.numbers)
        return target

    @property
    def growth(self) -> Growth:
        """How it was grown."""
        return growth_of(self.fitted.recipe, self.variable)

    @cached_property
    def class_names(self) -> list[str]:
        """The categories; of a number column: a number, each spike, missing."""
        column = self.variable.column
        if self.variable.places is None:
            return [*label_texts(column), "missing"]
        spikes = self.variable.spikes
        grid = self.variable.grid
        named = (
            []
            if spikes is None or grid is None
            else [f"{value:g}" for value in np.asarray(grid.values(spikes), dtype=float)]
        )
        return ["a number", *named, "missing"]

    @property
    def score_edges(self) -> list[Floats]:
        """Where linear scores are cut into bins."""
        if self.scores is None:
            return []
        return [binning.edges for binning in self.scores.binnings if binning.edges is not None]

    @property
    def features(self) -> tuple[int, ...]:
        """The predictors, as columns of `predictors`."""
        names = list(self.fitted.binnings)
        own = tuple(names.index(name) for name in self.unit.given)
        count = 0 if self.scores is None else len(self.scores.binnings)
        return (*own, *range(len(names), len(names) + count))

    def predictors(self, base: Predictors | None = None) -> Predictors:
        """Return binned columns with the linear scores beside them."""
        base = self.fitted.base if base is None else base
        if self.scores is None:
            return base
        return self.scores.extended(base)

    def find(self, base: Predictors | None = None, roots: Ints | None = None) -> Ints:
        """Return the leaf of each row, by the number of its node."""
        return self.tree.find(self.predictors(base), None, roots)

    def leaf_numbers(self) -> Ints:
        """Return the number of each leaf, from left to right and from 1; 0 for other nodes."""
        numbers = np.zeros(len(self.tree.nodes), dtype=np.int64)
        waiting = np.flatnonzero(self.tree.nodes[:, PARENT] < 0)[::-1].tolist()
        found = 0
        while waiting:
            node = waiting.pop()
            left = int(self.tree.nodes[node, LEFT])
            if self.tree.nodes[node, FEATURE] < 0:
                found += 1
                numbers[node] = found
            else:
                waiting += [left + 1, left]
        return numbers

    @cached_property
    def prices(self) -> Floats:
        """For each node the price of a leaf, over the root's impurity, at which it becomes one."""
        risk = np.ascontiguousarray(self.tree.risks[:, 0])
        roots = self.tree.nodes[:, PARENT] < 0
        whole = max(float(risk[roots].sum()), 1e-300)
        prices: Floats = collapse(np.ascontiguousarray(self.tree.nodes), risk) / whole
        return prices

    def sequence(self) -> tuple[Floats, Ints]:
        """Return the prices at which the tree loses leaves, 0 first, and the leaves it then has."""
        inner = self.tree.nodes[:, FEATURE] >= 0
        prices = np.unique(np.append(0.0, self.prices[inner]))
        # what is below a node has no higher price: its leaves end where a price begins
        own = np.sort(np.where(inner, self.prices, -1.0))
        parent = self.tree.nodes[:, PARENT]
        above = np.sort(np.where(parent < 0, np.inf, self.prices[parent]))
        ends, begins = (np.searchsorted(part, prices, side="right") for part in (own, above))
        leaves: Ints = ends - begins
        leaves[0] = np.count_nonzero(~inner)
        return prices, leaves

    def risk_at(self, price: float) -> float:
        """Return the impurity of the leaves at a price of a leaf, over that of the root."""
        inner, parent = self.tree.nodes[:, FEATURE] >= 0, self.tree.nodes[:, PARENT]
        risk = self.tree.risks[:, 0]
        ends = ~inner | ((self.prices <= price) & (price > 0))
        reached = (parent < 0) | ~ends[np.maximum(parent, 0)]
        return float(risk[ends & reached].sum() / max(float(risk[parent < 0].sum()), 1e-300))

    def cut_at_price(self, price: float) -> Tree:
        """Return the subtree whose leaves are worth a price; the whole tree at price 0."""
        if price <= 0:
            return self.tree
        inner = self.tree.nodes[:, FEATURE] >= 0
        return compacted(cut_at(self.tree, np.flatnonzero((self.prices <= price) & inner)))


def grown_tree(fitted: FittedCart, column: str, most: int | None = None) -> GrownTree:
    """Return the tree of a column's numbers, else that of its categories.

    Parameters
    ----------
    most
        Most leaves: the largest subtree of the pruning sequence that has no more.
    """
    unit, model = _model_of(fitted, column)
    scores = model.scores if isinstance(model, ScoredModel) else None
    trees = model.model if isinstance(model, ScoredModel) else model
    variable = fitted.variables[column]
    if isinstance(trees, JointModel):
        tree: Tree | None = trees.tree
        classes = variable.states if variable.places is None else 0
    elif isinstance(trees, TreeModel):
        pair = trees.pairs[0]
        tree, classes = (
            (pair.numbers, 0) if pair.numbers is not None else (pair.states, variable.states)
        )
    else:
        tree, classes = None, 0
    if tree is None:
        msg = (
            f"column {column!r} has no tree: its model is {fitted.recipe.model!r} or a"
            " regression.\n\nHint: use model 'cart', 'bagging' or 'forest' for it."
        )
        raise PlanError(msg)
    grown = GrownTree(fitted, unit, variable, compacted(tree), classes, scores)
    if most is None:
        return grown
    check_whole("most", most, 1, why=": a tree has at least one leaf")
    prices, leaves = grown.sequence()
    return replace(grown, tree=grown.cut_at_price(prices[np.flatnonzero(leaves <= most)[0]]))


def _model_of(fitted: FittedCart, column: str) -> tuple[Unit, UnitModel]:
    """Return the unit of a column, and the model of its first dataset."""
    for unit, model in zip(fitted.units, fitted.models[0], strict=True):
        if column in unit.columns:
            return unit, model
    setting = "the column of the tree"
    raise ColumnError.missing(setting, [column], list(fitted.variables))


def compacted(tree: Tree) -> Tree:
    """Return a tree without the nodes that rows cannot reach, and without stops."""
    if not tree.stop.any():
        return tree
    ends = tree.is_leaf()
    parent = tree.nodes[:, PARENT]
    reached = np.ones(len(tree.nodes), dtype=bool)
    for node in range(len(tree.nodes)):  # parents come before their children
        if parent[node] >= 0:
            reached[node] = reached[parent[node]] and not ends[parent[node]]
    place = np.cumsum(reached) - 1  # children are side by side, and go or stay together
    nodes = tree.nodes.copy()
    nodes[ends, FEATURE] = -1
    inner = nodes[:, FEATURE] >= 0
    nodes[inner, LEFT] = place[nodes[inner, LEFT]]
    above = parent >= 0
    nodes[above, PARENT] = place[parent[above]]
    stop = np.zeros(int(reached.sum()), dtype=np.int64)
    return replace(
        tree,
        nodes=np.ascontiguousarray(nodes[reached]),
        risks=np.ascontiguousarray(tree.risks[reached]),
        stop=stop,
    )
