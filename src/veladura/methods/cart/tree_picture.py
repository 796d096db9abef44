"""A tree drawn: splits with their answers on the edges, leaves with sizes and means."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from veladura.base.pictures import INK, SOFT, new_figure, style
from veladura.errors import PlanError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veladura.methods.cart.readable import Node, ReadableTree

MOST_LEAVES = 40  # more cannot be read
WIDE, HIGH = 1.45, 1.15  # inches for a leaf, and for a level
LETTERS = 18  # of a line on an edge
SPLIT, LEAF = "#ffffff", "#cfe3f1"


def tree_figure(tree: ReadableTree) -> Figure:
    """Return the drawing of a tree; refuse one with more leaves than can be read."""
    if len(tree.leaves) > MOST_LEAVES:
        msg = (
            f"the tree of {tree.column!r} has {len(tree.leaves)} leaves; a picture can show"
            f' {MOST_LEAVES}.\n\nHint: draw a pruned one: fitted.tree("{tree.column}", most=12).'
        )
        raise PlanError(msg)
    depth = max(node.depth for node in tree.nodes)
    with style():
        figure = new_figure(max(5.0, WIDE * len(tree.leaves)), HIGH * (depth + 1) + 0.6)
        axes = figure.add_subplot()
        for node in tree.nodes:
            if node.parent < 0:
                _draw(axes, tree, node)
        axes.set_xlim(0.4, len(tree.leaves) + 0.6)
        axes.set_ylim(-depth - 0.45, 0.45)
        axes.axis("off")
        title = f"Tree of {tree.response}: private, do not share"
        axes.set_title(title, fontsize=10, color=INK, loc="left")
    return figure


def _draw(axes: Axes, tree: ReadableTree, node: Node) -> float:
    """Draw a node and what is below it; return how far across it stands."""
    y = -float(node.depth)
    if node.leaf:
        _box(axes, float(node.leaf), y, f"F{node.leaf}\n{_inside(tree, node)}", LEAF)
        return float(node.leaf)
    left, right = tree.nodes[node.left], tree.nodes[node.right]
    ends = [_draw(axes, tree, child) for child in (left, right)]
    x = sum(ends) / 2
    for child, end in zip((left, right), ends, strict=True):
        axes.plot([x, end, end], [y - 0.12, y - 0.3, y - 0.85], color=SOFT, linewidth=0.8, zorder=0)
        words = child.answer.removeprefix(node.question).strip()
        lines = wrap(words, LETTERS)[:3]
        axes.text(
            end,
            y - 0.5,
            "\n".join(lines),
            ha="center",
            va="center",
            fontsize=7,
            color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    _box(axes, x, y, f"{_short(node.question)}\n{_inside(tree, node)}", SPLIT)
    return x


def _inside(tree: ReadableTree, node: Node) -> str:
    """Return what a box says: mean or most frequent category, and the rows."""
    if node.shares:
        return f"{_short(node.category)} {node.shares[node.category]:.0%}\n{node.rows:,} rows"
    return f"mean {tree.number(node.mean)}\n{node.rows:,} rows"


def _short(text: str) -> str:
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def _box(axes: Axes, x: float, y: float, text: str, fill: str) -> None:
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=7.5,
        color=INK,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": SOFT, "linewidth": 0.8},
    )
