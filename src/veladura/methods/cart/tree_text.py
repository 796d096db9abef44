"""The trees of a synthesis as text, for the custodian: splits show original values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.errors import ColumnError
from veladura.methods.cart.joint import JointModel
from veladura.numeric.trees.linear import ScoredModel
from veladura.numeric.trees.model import TreeModel
from veladura.numeric.trees.tree import CUT, DEPTH, END, FEATURE, LEFT, MISSING_LEFT, START, Tree

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart

MOST_TREES = 12


def tree_texts(fitted: FittedCart) -> dict[str, str]:
    """Return the first levels of the trees of some columns as text, by title."""
    names = [
        name
        for name in fitted.table.names
        if name in fitted.variables and _tree_of(fitted, name) is not None
    ]
    return {
        f"Tree of {name} (first levels)": tree_text(fitted, name) for name in names[:MOST_TREES]
    }


def tree_text(fitted: FittedCart, column: str, most_depth: int = 4) -> str:
    """Return the tree of a column as text. For the custodian only: splits show original values."""
    tree = _tree_of(fitted, column)
    if tree is None:
        setting = "the column of the tree"
        raise ColumnError.missing(setting, [column], list(fitted.variables))
    return "\n".join(_lines(fitted, tree, 0, "", most_depth))


def _lines(fitted: FittedCart, tree: Tree, node: int, sign: str, most_depth: int) -> list[str]:
    """Return a node and what is below it, a line each; ``sign`` says which rows reach it."""
    row = tree.nodes[node]
    lines = [f"{'  ' * int(row[DEPTH])}{sign}{int(row[END] - row[START])} rows"]
    if row[FEATURE] < 0 or tree.stop[node] or row[DEPTH] >= most_depth:
        return lines
    for side, answer in enumerate(_answers(fitted, row)):
        lines += _lines(fitted, tree, int(row[LEFT]) + side, answer, most_depth)
    return lines


def _answers(fitted: FittedCart, row: Ints) -> tuple[str, str]:
    """Return which rows go left and which go right at a node."""
    if row[FEATURE] >= len(fitted.binnings):
        return "linear score up to a limit: ", "linear score above it: "
    name = list(fitted.binnings)[int(row[FEATURE])]
    edges = fitted.binnings[name].edges
    if edges is None:
        return f"{name} in one set of categories: ", f"{name} in another category: "
    cut = edges[min(max(int(row[CUT]), 0), edges.size - 1)] if edges.size else np.nan
    limit = f"{cut:g}"
    if fitted.table.schema[name].type == pa.date32() and np.isfinite(cut):
        limit = str(np.datetime64(int(cut // 1), "D"))
    missing = " or missing" if row[MISSING_LEFT] else ""
    return f"{name} <= {limit}{missing}: ", f"{name} > {limit}: "


def _tree_of(fitted: FittedCart, column: str) -> Tree | None:
    """Return the tree of a column's numbers, else that of its states; None without trees."""
    for unit, model in zip(fitted.units, fitted.models[0], strict=True):
        if column in unit.columns:
            if isinstance(model, JointModel):
                return model.tree
            trees = model.model if isinstance(model, ScoredModel) else model
            if isinstance(trees, TreeModel):
                return trees.pairs[0].numbers or trees.pairs[0].states
    return None
