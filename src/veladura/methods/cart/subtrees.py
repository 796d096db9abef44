"""The sequence of pruned subtrees of a column's tree, with its cross-validation curve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.checks import check_whole
from veladura.base.pictures import INK, SOFT, new_figure, style
from veladura.methods.cart.grown import GrownTree, grown_tree
from veladura.numeric.trees.prune import MOST_TRIED, answers
from veladura.numeric.trees.tree import FEATURE, TrainingRows, cut_at, grow_on

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from veladura.methods.cart.fitted import FittedCart


@dataclass(frozen=True, eq=False, repr=False)
class Subtrees:
    """The subtrees T_alpha of a tree, from the whole tree to its root. For the custodian only.

    Each minimises C_alpha(T) = R(T) + alpha |T|, with R the impurity of the leaves times their rows
    and |T| their number (Breiman et al. 1984, section 3.3). All figures are over those of the root.

    Attributes
    ----------
    alphas
        The price of a leaf from which a subtree is the best.
    leaves
        Its number of leaves.
    errors
        R of the subtree, on the rows it was grown on.
    cv_errors, cv_spread
        Error on rows held out, by cross-validation, and its standard error: squares of what the
        tree was grown on, or misclassified rows.
    """

    column: str
    folds: int
    alphas: Floats
    leaves: Ints
    errors: Floats
    cv_errors: Floats
    cv_spread: Floats

    def __repr__(self) -> str:
        return f"Subtrees({self.column!r}, subtrees={self.alphas.size}, best={self.best} leaves)"

    @property
    def best(self) -> int:
        """Leaves of the subtree with the smallest cross-validation error."""
        return int(self.leaves[int(np.argmin(self.cv_errors))])

    @property
    def best_within_one_error(self) -> int:
        """Leaves of the smallest subtree within one standard error of the best."""
        at = int(np.argmin(self.cv_errors))
        good = self.cv_errors <= self.cv_errors[at] + self.cv_spread[at]
        return int(self.leaves[good].min())

    def table(self) -> pd.DataFrame:
        """Return a row for each subtree."""
        import pandas as pd

        return pd.DataFrame(
            {
                "alpha": self.alphas,
                "leaves": self.leaves,
                "error": self.errors,
                "cv error": self.cv_errors,
                "cv standard error": self.cv_spread,
            }
        )

    def __str__(self) -> str:
        return str(self.table().to_string(index=False, float_format="{:.4g}".format))

    def picture(self) -> Figure:
        """Return the cross-validation curve over the number of leaves."""
        with style():
            figure = new_figure(7.5, 3.4)
            axes = figure.add_subplot()
            axes.plot(self.leaves, self.errors, color=SOFT, linestyle="--", label="on its own rows")
            axes.errorbar(
                self.leaves,
                self.cv_errors,
                yerr=self.cv_spread,
                fmt="o-",
                color="#1f4e79",
                markersize=3,
                linewidth=1,
                label=f"{self.folds}-fold cross-validation",
            )
            axes.axvline(self.best, color=INK, linewidth=0.8, label=f"least error: {self.best}")
            if self.best_within_one_error != self.best:
                axes.axvline(
                    self.best_within_one_error,
                    color=INK,
                    linewidth=0.8,
                    linestyle=":",
                    label=f"within one standard error: {self.best_within_one_error}",
                )
            axes.set_xscale("log")
            ticks = _ticks(int(self.leaves.max()))
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
            axes.set_xlabel("leaves of the subtree")
            axes.set_ylabel("error over that of the root")
            axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
            axes.spines[["top", "right"]].set_visible(False)
            title = f"Pruned subtrees of {self.column}: private, do not share"
            axes.set_title(title, loc="left", fontsize=10, color=INK)
        return figure

    def plot(self, path: str | Path) -> Path:
        """Write the curve: SVG, PNG or PDF by the name of the file."""
        from veladura.base.pictures import write_figure

        return write_figure(self.picture(), Path(path))


def _ticks(most: int) -> list[int]:
    return [n * 10**k for k in range(7) for n in (1, 2, 5) if n * 10**k <= max(most, 1)]


def subtrees_of(fitted: FittedCart, column: str, folds: int = 10) -> Subtrees:
    """Return the sequence of subtrees of a column's tree.

    Of long sequences 40 subtrees are kept. A pruned tree has the sequence of what is left of it.

    Parameters
    ----------
    folds
        Parts of the rows that are held out in turn.
    """
    grown = grown_tree(fitted, column)
    rows = np.sort(grown.tree.order)
    check_whole("folds", folds, 2, max(rows.size, 2))
    prices, leaves = grown.sequence()
    if prices.size > MOST_TRIED:
        # most of them small: those are read
        steps = np.geomspace(1, prices.size, MOST_TRIED)
        kept = np.unique(prices.size - np.rint(steps).astype(int))
        prices, leaves = prices[kept], leaves[kept]
    errors = np.array([grown.risk_at(price) for price in prices])
    # between two prices one subtree is the best: their geometric mean stands for it (sec. 8.5.2)
    tried = np.sqrt(prices * np.append(prices[1:], 2 * prices[-1]))
    tried[-1] = max(float(tried[-1]), 1.0)  # no split is worth the impurity of the root
    losses = _losses(grown, rows, tried, folds)
    base = max(float(_root_losses(grown, rows).sum()), 1e-300)
    spread = np.sqrt(rows.size) * losses.std(axis=0) / base
    return Subtrees(column, folds, prices, leaves, errors, losses.sum(axis=0) / base, spread)


def _losses(grown: GrownTree, rows: Ints, tried: Floats, folds: int) -> Floats:
    """Return the loss of each row, held out, at each price of a leaf."""
    strata = grown.fitted.strata
    groups = None if strata is None else strata.groups(rows, grown.unit.columns)
    training = TrainingRows(grown.predictors(), rows, groups)
    fold = rows * 2_654_435_761 % 2**32 % folds  # copies of a row are held out together
    losses = np.zeros((rows.size, tried.size))
    for k in range(folds):
        if not np.any(fold == k) or not np.any(fold != k):
            continue
        tree = grow_on(
            training.only(fold != k), grown.features, grown.target, grown.classes, grown.growth, 0
        )
        part = replace(grown, tree=tree)
        value = answers(tree.nodes, tree.order, grown.target, grown.classes)
        held = training.only(fold == k)
        for i, price in enumerate(tried):
            inner = tree.nodes[:, FEATURE] >= 0
            cut = cut_at(tree, np.flatnonzero((part.prices <= price) & inner & (price > 0)))
            predicted = value[cut.find(held.predictors, held.rows, held.groups)]
            losses[fold == k, i] = _loss(grown, predicted, held.rows)
    return losses


def _root_losses(grown: GrownTree, rows: Ints) -> Floats:
    """Return the loss of each row when one answer serves all."""
    target = grown.target[rows]
    answer = np.bincount(target).argmax() if grown.classes else target.mean()
    return _loss(grown, np.full(rows.size, float(answer)), rows)


def _loss(grown: GrownTree, predicted: Floats, rows: Ints) -> Floats:
    off = predicted - grown.target[rows]
    return np.asarray(off != 0, dtype=np.float64) if grown.classes else off**2
