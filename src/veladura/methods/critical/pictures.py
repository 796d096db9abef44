"""Pictures for the custodian: critical cells, forced splits of a class, associations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veladura.base.pictures import INK, SOFT, image_of, new_figure
from veladura.methods.critical.groups import ColumnClass
from veladura.methods.critical.tuples import TupleModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veladura.methods.critical.branches import Branch
    from veladura.methods.critical.fitted import FittedCritical

SINGLE, TUPLE, SPLIT = "#cfe3f1", "#f6d9c4", "#ffffff"
MOST_COMBINATIONS, MOST_BARS = 12, 20  # more cannot be read
WIDE, HIGH = 1.9, 1.1


@dataclass(frozen=True)
class ForcedSplit:
    """A node of the forced splits: a question with its two answers, or a branch."""

    rows: int
    column: str = ""
    yes: ForcedSplit | None = None
    no: ForcedSplit | None = None
    branch: Branch | None = None

    @property
    def width(self) -> int:
        """Number of branches below."""
        return 1 if self.yes is None or self.no is None else self.yes.width + self.no.width

    @property
    def depth(self) -> int:
        """Number of questions on the longest way down."""
        return 0 if self.yes is None or self.no is None else 1 + max(self.yes.depth, self.no.depth)


def forced_splits(fitted: FittedCritical, class_: ColumnClass) -> list[tuple[str, ForcedSplit]]:
    """Return the tree of each column of a class: its rows, split by the later critical columns.

    They are the rows that are critical there and in no earlier column. A question that all rows
    answer alike is left out.
    """
    trees = []
    left = [
        branch
        for branch in fitted.branches
        if not branch.rest and set(branch.columns) <= set(class_.confidential)
    ]
    for k, name in enumerate(class_.confidential):
        mine = [branch for branch in left if name in branch.columns]
        left = [branch for branch in left if name not in branch.columns]
        if mine:
            trees.append((name, _split(mine, class_.confidential[k + 1 :])))
    return trees


def _split(branches: Sequence[Branch], questions: Sequence[str]) -> ForcedSplit:
    rows = sum(branch.rows.size for branch in branches)
    if len(branches) == 1:
        return ForcedSplit(rows, branch=branches[0])
    name, *later = questions
    yes = [branch for branch in branches if name in branch.columns]
    no = [branch for branch in branches if name not in branch.columns]
    if not yes or not no:
        return _split(branches, later)
    return ForcedSplit(rows, name, _split(yes, later), _split(no, later))


def forced_figure(fitted: FittedCritical, class_: ColumnClass) -> Figure:
    """Return the forced splits of a class: a tree for each column, a branch a combination."""
    trees = forced_splits(fitted, class_)
    width = sum(tree.width for _, tree in trees)
    depth = max(tree.depth for _, tree in trees)
    figure = new_figure(max(5.0, WIDE * width + 0.4), HIGH * (depth + 2))
    axes = figure.add_subplot()
    left = 0.0
    for name, tree in trees:
        x = left + tree.width / 2
        lower = _draw(axes, tree, left, -1.0)
        _link(axes, (x, 0.0), lower, "")
        _box(axes, x, 0.0, f"{name} critical\n{tree.rows} rows", SPLIT)
        left += tree.width
    axes.set_xlim(-0.05, width + 0.05)
    axes.set_ylim(-depth - 1.6, 0.5)
    axes.axis("off")
    axes.set_title(
        f"Forced splits, columns in the order {', '.join(class_.confidential)}",
        fontsize=10,
        color=INK,
        loc="left",
        parse_math=False,
    )
    return figure


def _draw(axes: Axes, tree: ForcedSplit, left: float, y: float) -> tuple[float, float]:
    """Draw a node and what is below it; return where it stands."""
    x = left + tree.width / 2
    if tree.yes is None or tree.no is None:
        assert tree.branch is not None  # noqa: S101  # a split without answers is a branch
        fill = TUPLE if isinstance(tree.branch.model, TupleModel) else SINGLE
        _box(axes, x, y, _label(tree.branch), fill)
        return x, y
    for child, start, answer in ((tree.yes, left, "yes"), (tree.no, left + tree.yes.width, "no")):
        _link(axes, (x, y), _draw(axes, child, start, y - 1), answer)
    _box(axes, x, y, f"{tree.column} critical?\n{tree.rows} rows", SPLIT)
    return x, y


def _label(branch: Branch) -> str:
    """Return the label of a branch: its columns, its rows and its leaves."""
    if isinstance(branch.model, TupleModel):
        return (
            f"{' + '.join(branch.columns)}\n{branch.rows.size} rows,"
            f" {branch.model.tree.leaves().size} clusters\ntuples"
        )
    tree = branch.model.pair.numbers or branch.model.pair.states
    leaves = 1 if tree is None else tree.leaves().size
    return f"{branch.columns[0]} only\n{branch.rows.size} rows, {leaves} leaves\nCART"


def _link(axes: Axes, above: tuple[float, float], below: tuple[float, float], answer: str) -> None:
    axes.plot([above[0], below[0]], [above[1], below[1]], color="#c3cad2", linewidth=1.0, zorder=1)
    if answer:
        middle = ((above[0] + below[0]) / 2, (above[1] + below[1]) / 2)
        axes.text(
            *middle,
            answer,
            fontsize=8,
            color=SOFT,
            ha="center",
            va="center",
            zorder=2,
            backgroundcolor="white",
        )


def _box(axes: Axes, x: float, y: float, text: str, fill: str) -> None:
    shape = {
        "boxstyle": "round,pad=0.35",
        "facecolor": fill,
        "edgecolor": "#8c96a1",
        "linewidth": 0.8,
    }
    axes.text(
        x,
        y,
        text,
        fontsize=8,
        color=INK,
        ha="center",
        va="center",
        bbox=shape,
        zorder=3,
        parse_math=False,
    )


def ties_figure(fitted: FittedCritical) -> Figure:
    """Return the strongest associations of columns as bars, those that make a group filled."""
    shown = [
        (f"{tie.first}, {tie.second}: {tie.strength:.2f} ({tie.measure})", tie.strength)
        for tie in fitted.ties[:MOST_BARS]
    ]
    title = "Association of columns (pairs to the right of the line form a group)"
    figure = _bars(shown, title, fitted.recipe.linked)
    figure.axes[0].axvline(fitted.recipe.linked, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    figure.axes[0].set_xlim(0, 1)
    figure.axes[0].set_xlabel("strength of association, 0 (none) to 1", fontsize=8)
    return figure


def cells_figure(fitted: FittedCritical) -> Figure:
    """Return the combinations of critical columns that occur, as bars of their rows."""
    shown = []
    for pattern in fitted.structure:
        rows, columns = pattern.rows.size, " + ".join(pattern.columns)
        shown.append((f"{columns}: {rows} rows, {rows * len(pattern.columns)} cells", rows))
    more = f"; {len(shown) - MOST_BARS} more" if len(shown) > MOST_BARS else ""
    figure = _bars(shown[:MOST_BARS], f"Combinations of critical columns{more}", 0)
    figure.axes[0].set_xlabel("people (rows) with critical values in exactly these", fontsize=8)
    return figure


def _bars(shown: Sequence[tuple[str, float]], title: str, filled: float) -> Figure:
    """Return bars with their labels, those of at least some length filled."""
    figure = new_figure(6.5, 0.26 * len(shown) + 0.9)
    axes = figure.add_subplot()
    whole = max(length for _, length in shown)
    for i, (text, length) in enumerate(shown):
        axes.barh(-i, length, color=TUPLE if length >= filled else "#e6e9ed", height=0.7)
        axes.text(0.01 * whole, -i, text, fontsize=8, va="center", color=INK, parse_math=False)
    axes.set(yticks=[])
    axes.spines[["left", "top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    return figure


def pictures(fitted: FittedCritical) -> Mapping[str, bytes]:
    """Return the pictures as SVG by title, those that are not too large to read."""
    titled = {"Critical cells": image_of(cells_figure(fitted))} if fitted.structure else {}
    for class_ in fitted.classes:
        combinations = [
            branch for branch in fitted.branches if set(branch.columns) <= set(class_.confidential)
        ]
        if len(class_.confidential) > 1 and 0 < len(combinations) <= MOST_COMBINATIONS:
            titled[f"Forced splits of {', '.join(class_.confidential)}"] = image_of(
                forced_figure(fitted, class_)
            )
    if fitted.ties:
        titled["Association of columns"] = image_of(ties_figure(fitted))
    return titled
