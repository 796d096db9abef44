"""Comparisons within a source: t test, analysis of variance, chi-square, correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError
from veladura.table.codes import label_texts
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

MOST_GROUPS = 50
TWO = 2


@dataclass(frozen=True)
class Test:
    """A test whether a column has to do with another.

    Attributes
    ----------
    test
        Its name: "Welch's t test", "ANOVA", "chi-square" or "correlation".
    statistic, degrees
        The statistic and its degrees of freedom, as they are reported.
    p
        The p-value, two-sided.
    effect, measure
        The size of the effect, and what measures it: a difference of means in standard deviations
        (Cohen's d), eta squared, Cramér's V or Pearson's r.
    rows
        Rows without a missing value in either column.
    """

    name: str
    test: str
    statistic: float
    degrees: tuple[float, ...]
    p: float
    effect: float
    measure: str
    rows: int


@dataclass(frozen=True)
class Correlation:
    """Pearson's and Spearman's correlation of two columns of numbers, and Pearson's p-value."""

    first: str
    second: str
    rows: int
    pearson: float
    spearman: float
    p: float


def groups_of(table: Table, name: str) -> tuple[Ints, list[str]]:
    """Return the group of each row by a column (-1 where missing), and the names of the groups."""
    column = table.column(name)
    labels, codes = _labels(column)
    used = np.unique(codes[~column.missing])
    if used.size > MOST_GROUPS:
        msg = (
            f"column {name!r} has {used.size} different values: too many groups to compare (at most"
            f" {MOST_GROUPS}).\n\nHint: recode it first, or name another column."
        )
        raise PlanError(msg)
    place = np.searchsorted(used, codes)
    group = np.where(column.missing, -1, np.minimum(place, max(used.size - 1, 0)))
    return group.astype(np.int64), [labels[code] for code in used]


def _labels(column: Column) -> tuple[list[str], Ints]:
    if column.labels is not None:
        return label_texts(column), column.values.astype(np.int64)
    distinct, codes = np.unique(column.values, return_inverse=True)
    return [f"{value:g}" for value in distinct.tolist()], codes.astype(np.int64)


def compare_groups(name: str, numbers: Floats, group: Ints) -> Test | None:
    """Return whether the mean of a column differs between groups; None with fewer than two.

    Two groups: t test with unequal variances (Welch 1947). More: one-way analysis of variance
    (Fisher 1925). Groups of one row count in the latter only.
    """
    from scipy import stats

    keep = ~np.isnan(numbers) & (group >= 0)
    values, of = numbers[keep], group[keep]
    parts = [values[of == g] for g in np.unique(of)]
    rows = int(values.size)
    if len(parts) < TWO or rows <= len(parts) or np.ptp(values) == 0:
        return None
    if len(parts) == TWO and min(part.size for part in parts) > 1:
        result = stats.ttest_ind(*parts, equal_var=False)
        within = sum(part.var(ddof=1) * (part.size - 1) for part in parts) / (rows - TWO)
        d = float((parts[0].mean() - parts[1].mean()) / np.sqrt(within)) if within > 0 else np.inf
        found = (float(result.statistic), (float(result.df),), float(result.pvalue))
        return Test(name, "Welch's t test", *found, d, "Cohen's d", rows)
    statistic, p = stats.f_oneway(*parts)
    total = float(((values - values.mean()) ** 2).sum())
    between = sum(part.size * (part.mean() - values.mean()) ** 2 for part in parts)
    degrees = (float(len(parts) - 1), float(rows - len(parts)))
    return Test(
        name, "ANOVA", float(statistic), degrees, float(p), between / total, "eta squared", rows
    )


def compare_categories(name: str, codes: Ints, group: Ints) -> Test | None:
    """Return whether two columns of categories depend on each other: Pearson's chi-square.

    The effect is Cramér's V, sqrt(chi2 / (n (min(r, c) - 1))).
    """
    from scipy import stats

    keep = (codes >= 0) & (group >= 0)
    if not keep.any():
        return None
    rows_of = np.unique(codes[keep], return_inverse=True)[1]
    columns_of = np.unique(group[keep], return_inverse=True)[1]
    counts = np.zeros((int(rows_of.max()) + 1, int(columns_of.max()) + 1))
    np.add.at(counts, (rows_of, columns_of), 1)
    if min(counts.shape) < TWO:
        return None
    result = stats.chi2_contingency(counts, correction=False)
    rows = int(counts.sum())
    v = float(np.sqrt(result.statistic / (rows * (min(counts.shape) - 1))))
    found = (float(result.statistic), (float(result.dof),), float(result.pvalue))
    return Test(name, "chi-square", *found, v, "Cramér's V", rows)


def tests_by(table: Table, by: str, names: Sequence[str]) -> list[Test]:
    """Return a test of every column against the groups of another."""
    group, _ = groups_of(table, by)
    found = []
    for name in names:
        column = table.column(name)
        if column.labels is None and column.field.kind != "date":
            test = compare_groups(name, column.numbers(), group)
        elif column.labels is not None and len(column.labels) <= MOST_GROUPS:
            test = compare_categories(name, _codes(column), group)
        else:
            test = None
        found += [test] if test is not None else []
    return found


def tests_of(table: Table, target: str, names: Sequence[str]) -> list[Test]:
    """Return a test of one column of numbers against every other column.

    Groups of a category by t test or analysis of variance, numbers by Pearson's correlation.
    """
    numbers, found = table.column(target).numbers(), []
    for name in names:
        column = table.column(name)
        test: Test | None = None
        if column.field.kind in LABELLED:
            if len(column.labels or ()) <= MOST_GROUPS:
                test = compare_groups(name, numbers, _codes(column))
        elif column.field.kind != "date":
            pair = correlate(name, column.numbers(), target, numbers)
            if pair is not None:
                r, degrees = pair.pearson, pair.rows - TWO
                t = r * np.sqrt(degrees / max(1 - r * r, 1e-300))
                measured = (float(t), (float(degrees),), pair.p, r)
                test = Test(name, "correlation", *measured, "Pearson's r", pair.rows)
        found += [test] if test is not None else []
    return found


def _codes(column: Column) -> Ints:
    return np.where(column.missing, -1, column.values).astype(np.int64)


def correlate(first: str, x: Floats, second: str, y: Floats) -> Correlation | None:
    """Return the correlation of two columns over rows that have both; None for a constant."""
    from scipy import stats

    both = ~np.isnan(x) & ~np.isnan(y)
    a, b = x[both], y[both]
    if a.size <= TWO or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    r, p = stats.pearsonr(a, b)
    rho = stats.spearmanr(a, b).statistic
    return Correlation(first, second, int(a.size), float(r), float(rho), float(p))


def correlations(table: Table, names: Sequence[str]) -> list[Correlation]:
    """Return the correlations of all pairs of columns, the strongest first."""
    numbers = {name: table.column(name).numbers() for name in names}
    pairs = (correlate(a, numbers[a], b, numbers[b]) for a, b in combinations(names, 2))
    return sorted((pair for pair in pairs if pair), key=lambda pair: -abs(pair.pearson))
