"""Leaves as groups for analysis: who is in which, statistics and means, original and synthetic.

For the custodian only: the figures are of the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import PlanError
from veladura.methods.cart.grown import GrownTree, grown_tree
from veladura.methods.cart.readable import ReadableTree, readable
from veladura.numeric.trees.bins import Predictors
from veladura.table.codes import Column, label_texts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from veladura.core.release import Release
    from veladura.methods.cart.fitted import FittedCart
    from veladura.table.table import Table

STATISTICS = ("n", "min", "q1", "median", "mean", "q3", "max", "variance")


@dataclass(frozen=True, eq=False, repr=False)
class Leaves:
    """The leaves of one column's tree as groups of rows. For the custodian only.

    Attributes
    ----------
    tree
        The tree in words.
    membership
        For each row of the original, in its order, the number of its leaf (from 1).
    values
        The numbers of the column in the same order, transformed as the recipe says unless the
        untransformed ones were asked for. NaN where a row has none, or a value that many rows share
        (a spike): the tree of numbers is not grown on these.
    """

    grown: GrownTree
    tree: ReadableTree
    membership: Ints
    values: Floats
    transformed: bool

    def __repr__(self) -> str:
        return f"Leaves({self.tree.column!r}, leaves={self.count})"

    @property
    def count(self) -> int:
        """Number of leaves."""
        return len(self.tree.leaves)

    @cached_property
    def conditions(self) -> list[str]:
        """The way to each leaf, in words."""
        ways = []
        for leaf in self.tree.leaves:
            way, node = [], leaf
            while node.parent >= 0:
                way.append(node.answer)
                node = self.tree.nodes[node.parent]
            ways.append(" and ".join(reversed(way)) or "all rows")
        return ways

    def statistics(self) -> pd.DataFrame:
        """Return rows, extremes, quartiles, mean and variance of the numbers of each leaf."""
        return _statistics(self.membership, self.values, self.count)

    def means(self, release: Release | None = None, *, level: float = 0.95) -> LeafMeans:
        """Return the mean of each leaf with its interval, and those of a release beside it.

        A synthetic row is in the leaf that its own predictors lead to. Its means are combined over
        the datasets by the rule of the release.

        Parameters
        ----------
        release
            A release of the same table, such as the one that this fitted recipe draws.
        """
        original = self._original_means(level)
        if release is None:
            return LeafMeans(self.tree.response_of(self.transformed), level, original, None)
        tables = [self.of_table(dataset.table) for dataset in release.tables]
        q, v = (
            np.array(part)
            for part in zip(*(_means(*pair, self.count)[:2] for pair in tables), strict=True)
        )
        rows = np.mean([_means(*pair, self.count)[2] for pair in tables], axis=0)
        synthetic = _combined(release, q, v, rows, level)
        return LeafMeans(self.tree.response_of(self.transformed), level, original, synthetic)

    def of_table(self, table: Table) -> tuple[Ints, Floats]:
        """Return leaf and number of each row of a released table."""
        fitted = self.grown.fitted
        bins = np.column_stack(
            [
                binning.codes(*_coded(table.column(name), fitted.codes[name]))
                if name in table.names
                else np.zeros(table.rows, dtype=np.uint16)
                for name, binning in fitted.binnings.items()
            ]
        )
        predictors = Predictors(
            np.ascontiguousarray(bins), fitted.base.categorical, fitted.base.levels
        )
        roots = None
        if fitted.strata is not None:
            drawn = {name: _as_original(table, name, fitted) for name in fitted.codes}
            roots = fitted.strata.roots(drawn, table.rows, self.grown.unit.columns)
        leaf = self.grown.leaf_numbers()[self.grown.find(predictors, roots)]
        numbers = table.column(self.tree.column)
        return leaf, numbers_of(self.grown, numbers, transformed=self.transformed)

    def _original_means(self, level: float) -> pd.DataFrame:
        from scipy.special import stdtrit

        mean, variance, rows = _means(self.membership, self.values, self.count)
        half = stdtrit(np.maximum(rows - 1, 1), 0.5 + level / 2) * np.sqrt(variance)
        return _frame(rows, mean, mean - half, mean + half)

    def picture(self, release: Release | None = None) -> Figure:
        """Return the statistics as boxes: original, and synthetic beside it."""
        from veladura.methods.cart.leaf_pictures import boxes_figure

        return boxes_figure(self, release)

    def plot(self, path: str | Path, release: Release | None = None) -> Path:
        """Write the picture: SVG, PNG or PDF by the name of the file."""
        from veladura.base.pictures import write_figure

        return write_figure(self.picture(release), Path(path))


@dataclass(frozen=True, eq=False)
class LeafMeans:
    """Means by leaf with intervals. Prints as a table; ``plot`` draws both side by side.

    Attributes
    ----------
    original, synthetic
        Frames with rows, mean, lower and upper end of the interval, by leaf; no synthetic one
        without a release.
    """

    response: str
    level: float
    original: pd.DataFrame
    synthetic: pd.DataFrame | None

    def table(self) -> pd.DataFrame:
        """Return original and synthetic side by side."""
        if self.synthetic is None:
            return self.original
        return self.original.join(self.synthetic, rsuffix=" synthetic")

    def __str__(self) -> str:
        return str(self.table().to_string(float_format="{:.4g}".format))

    def picture(self) -> Figure:
        """Return the means with their intervals."""
        from veladura.methods.cart.leaf_pictures import means_figure

        return means_figure(self)

    def plot(self, path: str | Path) -> Path:
        """Write the picture: SVG, PNG or PDF by the name of the file."""
        from veladura.base.pictures import write_figure

        return write_figure(self.picture(), Path(path))


def leaves_of(
    fitted: FittedCart, column: str, most: int | None = None, *, transformed: bool = True
) -> Leaves:
    """Return the leaves of the tree of a column of numbers.

    Parameters
    ----------
    most
        Most leaves: those of the largest subtree of the pruning sequence that has no more.
    """
    grown = grown_tree(fitted, column, most)
    if grown.variable.places is None or grown.classes:
        msg = (
            f"column {column!r} holds categories: its leaves have no means.\n\nHint: see"
            f' fitted.tree("{column}") and fitted.confusion("{column}").'
        )
        raise PlanError(msg)
    strata = fitted.strata
    drawn = strata is None or set(grown.unit.columns) & set(strata.drawn)
    roots = None if strata is None or drawn else strata.place
    place = grown.leaf_numbers()[grown.find(None, roots)]
    leaf = np.zeros(place.size, dtype=np.int64)
    leaf[fitted.codes.rows] = place
    values = numbers_of(grown, fitted.table.column(column), transformed=transformed)
    return Leaves(grown, readable(fitted, column, most), leaf, values, transformed)


def numbers_of(grown: GrownTree, column: Column, *, transformed: bool) -> Floats:
    """Return the numbers of a column, transformed or not; NaN where there is none.

    Spikes are not among them: the tree of numbers is not grown on them.
    """
    variable, numbers = grown.variable, column.numbers()
    if variable.spikes is not None and variable.grid is not None:
        spikes = np.asarray(variable.grid.values(variable.spikes), dtype=np.float64)
        numbers[np.isin(numbers, spikes)] = np.nan
    if variable.transform is None or not transformed:
        return numbers
    held = ~np.isnan(numbers)
    numbers[held] = variable.transform.of(numbers[held])
    return numbers


def _means(leaf: Ints, values: Floats, count: int) -> tuple[Floats, Floats, Ints]:
    """Return mean, variance of the mean, and rows with a number, by leaf."""
    held = ~np.isnan(values)
    place, numbers = leaf[held] - 1, values[held]
    rows = np.bincount(place, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(place, numbers, count) / rows
        squares = np.bincount(place, (numbers - mean[place]) ** 2, count)
        return mean, squares / (rows - 1) / rows, rows


def _combined(release: Release, q: Floats, v: Floats, rows: Floats, level: float) -> Any:
    """Return the means of m datasets combined by the rule of the release."""
    from scipy.special import ndtri, stdtrit

    m, mean = len(q), q.mean(axis=0)
    if not release.rule.combines(m):
        none = np.full(mean.size, np.nan)
        return _frame(rows, mean, none, none)
    between = q.var(axis=0, ddof=1) if m > 1 else np.zeros(mean.size)
    # the rules of synthetic rows are those of large samples
    own = np.inf if release.rule.adds_variance else float(rows.min()) - 1
    total, df = release.rule.total(m, between, v.mean(axis=0), own)
    finite = np.isfinite(df)
    quantile = np.where(
        finite, stdtrit(np.where(finite, df, 1.0), 0.5 + level / 2), ndtri(0.5 + level / 2)
    )
    half = quantile * np.sqrt(total)
    return _frame(rows, mean, mean - half, mean + half)


def _frame(rows: Any, mean: Floats, lower: Floats, upper: Floats) -> pd.DataFrame:
    import pandas as pd

    index = pd.Index([f"F{i + 1}" for i in range(mean.size)], name="leaf")
    return pd.DataFrame({"n": rows, "mean": mean, "lower": lower, "upper": upper}, index=index)


def _statistics(leaf: Ints, values: Floats, count: int) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for number in range(1, count + 1):
        here = values[(leaf == number) & ~np.isnan(values)]
        if not here.size:
            rows.append((0, *[np.nan] * (len(STATISTICS) - 1)))
            continue
        low, q1, middle, q3, high = np.quantile(here, (0, 0.25, 0.5, 0.75, 1))
        variance = here.var(ddof=1) if here.size > 1 else np.nan
        rows.append((here.size, low, q1, middle, here.mean(), q3, high, variance))
    index = pd.Index([f"F{i + 1}" for i in range(count)], name="leaf")
    return pd.DataFrame(rows, columns=list(STATISTICS), index=index)


def _coded(column: Column, original: Column) -> tuple[Any, Mask]:
    """Return values of a released column as the original codes them, and which are missing."""
    if original.labels is None or column.labels is None:
        return column.values, column.missing
    number = {text: code for code, text in enumerate(label_texts(original))}
    texts = label_texts(column)
    codes = np.array([number.get(text, len(number)) for text in texts] or [0], dtype=np.int64)
    return codes[column.values], column.missing


def _as_original(table: Table, name: str, fitted: FittedCart) -> Column:
    column = table.column(name)
    return fitted.codes[name].with_values(*_coded(column, fitted.codes[name]))
