"""A tree that can be read: its splits in words, its leaves with their sizes and means.

For the custodian only: splits and leaves show original values. Nothing here is ever released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.methods.cart.grown import GrownTree, grown_tree
from veladura.numeric.trees.tree import CUT, DEPTH, END, FEATURE, LEFT, MISSING_LEFT, START
from veladura.table.codes import Column, label_texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.methods.cart.fitted import FittedCart

MOST_NAMES = 8  # categories that a split names
SET = 4  # column of a node: the first word of its set of categories


@dataclass(frozen=True)
class Node:
    """One node of a tree, in words.

    Attributes
    ----------
    number
        Its place among the nodes; ``left`` and ``right`` are those of its children, -1 in a leaf.
    leaf
        The number of a leaf, from left to right, starting at 1; 0 for other nodes.
    question
        The predictor of its split; empty in a leaf.
    answer
        Which rows come here from the node above; empty at a root.
    rows
        Rows of the original that are here.
    mean, variance
        Of the numbers, on the scale of the column's transformation; NaN for categories.
    shares
        By category, the share of the rows; empty for numbers.
    """

    number: int
    parent: int
    left: int
    right: int
    depth: int
    leaf: int
    question: str
    answer: str
    rows: int
    mean: float
    variance: float
    shares: dict[str, float]

    @property
    def category(self) -> str:
        """The most frequent category."""
        return max(self.shares, key=lambda name: self.shares[name]) if self.shares else ""


@dataclass(frozen=True, eq=False, repr=False)
class ReadableTree:
    """The tree of one column: prints as text, ``plot`` draws it. For the custodian only.

    Attributes
    ----------
    column
        The column that it predicts.
    transform
        The transformation of its numbers; empty for none.
    nodes
        The nodes, parents before children; with strata there are several roots.
    """

    column: str
    transform: str
    nodes: tuple[Node, ...]
    is_date: bool = False

    def __repr__(self) -> str:
        return f"ReadableTree({self.column!r}, leaves={len(self.leaves)})"

    def __str__(self) -> str:
        return self.text()

    @property
    def response(self) -> str:
        """What it predicts, in words: the column, or its transformation."""
        return self.response_of(transformed=True)

    def response_of(self, transformed: bool) -> str:  # noqa: FBT001
        """Return the column in words, or its transformation if it has one."""
        named = self.transform and transformed
        return f"{self.transform}({self.column})" if named else self.column

    @property
    def leaves(self) -> list[Node]:
        """The leaves from left to right."""
        return sorted((node for node in self.nodes if node.leaf), key=lambda node: node.leaf)

    def text(self, depth: int | None = None) -> str:
        """Return the tree as lines of text, down to some depth."""
        lines = [
            f"{'  ' * node.depth}{f'{node.answer}: ' if node.answer else ''}{self.words(node)}"
            for node in self._walk()
            if depth is None or node.depth <= depth
        ]
        return "\n".join(lines)

    def words(self, node: Node) -> str:
        """Return what is in a node: its rows, and its mean or most frequent category."""
        name = f"F{node.leaf}: " if node.leaf else ""
        if node.shares:
            what = f"{node.category} {node.shares[node.category]:.0%}"
        else:
            what = f"mean {self.number(node.mean)}"
        return f"{node.rows:,} rows, {what}" if not name else f"{name}{node.rows:,} rows, {what}"

    def number(self, value: float) -> str:
        """Return a number of the column in a few digits, or a date."""
        if not np.isfinite(value):
            return "-"
        if self.is_date:
            return str(np.datetime64(int(value), "D"))
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"  # noqa: PLR2004

    def picture(self) -> Figure:
        """Return the tree as a drawing."""
        from veladura.methods.cart.tree_picture import tree_figure

        return tree_figure(self)

    def plot(self, path: str | Path) -> Path:
        """Write the drawing: SVG, PNG or PDF by the name of the file."""
        from veladura.base.pictures import write_figure

        return write_figure(self.picture(), Path(path))

    def _walk(self) -> Iterator[Node]:
        """Yield the nodes, each before what is below it, left before right."""
        waiting = [node.number for node in reversed(self.nodes) if node.parent < 0]
        while waiting:
            node = self.nodes[waiting.pop()]
            yield node
            if not node.leaf:
                waiting += [node.right, node.left]


def readable(
    fitted: FittedCart, column: str, most: int | None = None, deepest: int | None = None
) -> ReadableTree:
    """Return the tree of a column.

    Parameters
    ----------
    most
        Most leaves: the largest subtree of the pruning sequence that has no more.
    deepest
        Depth down to which nodes are described, for those who show no more.
    """
    grown = grown_tree(fitted, column, most)
    tree, number = grown.tree, grown.leaf_numbers()
    transform = grown.variable.transform
    named = "" if transform is None or grown.classes else transform.name
    nodes: list[Node] = []
    for i, row in enumerate(tree.nodes):
        inner = row[FEATURE] >= 0
        here = tree.order[row[START] : row[END]]
        shown = deepest is None or row[DEPTH] <= deepest
        mean, variance, shares = _summary(grown, here) if shown else (np.nan, np.nan, {})
        parent = int(row[7])
        answer = ""
        if parent >= 0 and shown:
            answer = _answer(grown, parent, right=i != tree.nodes[parent, LEFT])
        nodes.append(
            Node(
                i,
                parent,
                int(row[LEFT]) if inner else -1,
                int(row[LEFT]) + 1 if inner else -1,
                int(row[DEPTH]),
                int(number[i]),
                _name(grown, int(row[FEATURE])) if inner else "",
                answer,
                here.size,
                mean,
                variance,
                shares,
            )
        )
    dated = fitted.table.schema[column].type == pa.date32() and not grown.classes
    return ReadableTree(column, named, tuple(nodes), dated)


def _summary(grown: GrownTree, rows: Ints) -> tuple[float, float, dict[str, float]]:
    """Return mean, variance, and shares of the categories of some rows."""
    if not grown.classes:
        values = grown.values[rows]
        if not values.size:
            return np.nan, np.nan, {}
        return float(values.mean()), float(values.var()), {}
    count = np.bincount(grown.target[rows], minlength=grown.classes)
    names = grown.class_names
    shares = {names[k]: count[k] / max(rows.size, 1) for k in np.flatnonzero(count)}
    return np.nan, np.nan, shares


def _name(grown: GrownTree, feature: int) -> str:
    names = list(grown.fitted.binnings)
    if feature < len(names):
        return names[feature]
    several = len(grown.score_edges) > 1
    return f"linear score {feature - len(names) + 1}" if several else "linear score"


def _answer(grown: GrownTree, node: int, *, right: bool) -> str:
    """Return which rows go left or right at a node."""
    row, fitted = grown.tree.nodes[node], grown.fitted
    feature = int(row[FEATURE])
    sign, name = ">" if right else "<=", _name(grown, feature)
    if feature >= len(fitted.binnings):
        score = grown.score_edges[feature - len(fitted.binnings)]
        return f"{name} {sign} {_cut(score, int(row[CUT])):.3g}"
    edges = fitted.binnings[name].edges
    if edges is None:
        return f"{name} in {_listed(_categories(grown, node, name, right=right))}"
    missing = " or missing" if bool(row[MISSING_LEFT]) != right and _may_miss(fitted, name) else ""
    return f"{name} {sign} {_limit(fitted, name, _cut(edges, int(row[CUT])))}{missing}"


def _may_miss(fitted: FittedCart, name: str) -> bool:
    return bool(fitted.codes[name].missing.any())


def _cut(edges: Floats, cut: int) -> float:
    return float(edges[min(max(cut, 0), edges.size - 1)]) if edges.size else float("nan")


def _limit(fitted: FittedCart, name: str, cut: float) -> str:
    """Return where a number column is cut, as the column is written."""
    column = fitted.codes[name]
    if column.labels is not None and np.isfinite(cut):
        return label_texts(column)[int(np.floor(cut))]
    if column.field.type == pa.date32() and np.isfinite(cut):
        return str(np.datetime64(int(cut // 1), "D"))
    return f"{cut:g}"


def _categories(grown: GrownTree, node: int, name: str, *, right: bool) -> list[str]:
    """Return the categories of the rows that go left or right at a node, in their order."""
    tree = grown.tree
    child = int(tree.nodes[node, LEFT]) + right
    start, end = tree.nodes[child, START : END + 1]
    place = list(grown.fitted.binnings).index(name)
    codes = np.unique(grown.fitted.base.bins[tree.order[start:end], place])
    return [category_text(grown.fitted.codes[name], int(code)) for code in codes]


def category_text(column: Column, code: int) -> str:
    """Return the text of a category; the code after the last one means missing."""
    texts = label_texts(column)
    return texts[code] if code < len(texts) else "missing"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{{{shown}, and {more} more}}" if more > 0 else f"{{{shown}}}"
