"""Differences of pairwise associations: Spearman's rank correlation, Cramer's V, eta.

Numbers, dates and ordered categories: Spearman's rank correlation. Two columns of categories:
Cramer's V. A column of categories and a ranked one: the correlation ratio eta of the ranks. Rows
with a missing value in a pair are left out of it; the association with a constant is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import Pairing, pair
from veladura.table.codes import encode

if TYPE_CHECKING:
    from veladura.table.table import Table

MAX_COLUMNS = 40
MAX_LISTED = 10
Pair = tuple[str, str]


@dataclass(frozen=True)
class Correlations:
    """Absolute differences of the pairwise associations.

    Attributes
    ----------
    mean, largest
        Over the pairs of columns that can be compared.
    largest_pair
        The two columns with the largest difference.
    pairs
        The original association and the difference, by pair.
    left_out
        Columns that are left out, with the reason.
    """

    mean: Estimate
    largest: Estimate
    largest_pair: Pair
    pairs: Mapping[Pair, tuple[Estimate, Estimate]] = field(repr=False)
    left_out: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as ranks, or as codes of its categories."""

    values: NDArray[Any]
    missing: Mask
    ranked: bool


@renamed(released="release")
def correlations(original: Any, release: Any, *, first: Sequence[str] = ()) -> Correlations:
    """Return the differences of pairwise associations between original and release.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.
    first
        Columns to prefer when there are more than 40: only so many are used.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0]})
    >>> after = before.assign(y=[4.0, 3.0, 2.0, 1.0])
    >>> float(correlations(before, after).largest)
    2.0

    References
    ----------
    Cramer, H. (1946). Mathematical Methods of Statistics. Princeton University Press, ch. 21.
    Kruskal, W. H. (1958). Ordinal measures of association. Journal of the American Statistical
    Association 53(284), 814-861.
    """
    pairing = pair(original, release)
    used, left_out = _choose(pairing, first)
    if len(used) < 2:  # noqa: PLR2004
        msg = "fewer than two columns can be compared with the original ones."
        raise NotApplicable(msg)
    ranked = {
        name
        for name in used
        if all(_is_ranked(table, name) for table in (pairing.original, *pairing.released))
    }
    before = associations(pairing.original, used, ranked)
    after = np.array([associations(table, used, ranked) for table in pairing.released])
    moved = np.abs(after - before)  # a row a dataset, a column a pair
    pairs = list(combinations(used, 2))
    return Correlations(
        over_datasets(moved.mean(axis=1).tolist()),
        over_datasets(moved.max(axis=1).tolist()),
        pairs[int(moved.mean(axis=0).argmax())],
        {
            names: (Estimate.exact(float(before[j])), over_datasets(moved[:, j].tolist()))
            for j, names in enumerate(pairs)
        },
        left_out,
    )


def _choose(pairing: Pairing, first: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the columns to use, and the others with the reason."""
    left_out = dict(pairing.left_out)
    texts = [
        name
        for name in pairing.forms
        if "text" in (pairing.original.schema[name].kind, pairing.released[0].schema[name].kind)
    ]
    left_out |= dict.fromkeys(texts, "it is free text")
    fitting = sorted(
        (name for name in pairing.forms if name not in texts), key=lambda name: name not in first
    )
    left_out |= dict.fromkeys(fitting[MAX_COLUMNS:], f"only {MAX_COLUMNS} columns are used")
    return fitting[:MAX_COLUMNS], left_out


def _is_ranked(table: Table, name: str) -> bool:
    return table.schema[name].kind not in ("category", "text")


def associations(table: Table, names: Sequence[str], ranked: set[str]) -> Floats:
    """Return the association of every pair, in the order of ``itertools.combinations``."""
    coded = [_code(table, name, ranked=name in ranked) for name in names]
    return np.array([_association(a, b) for a, b in combinations(coded, 2)])


def _code(table: Table, name: str, *, ranked: bool) -> Coded:
    column = encode(table.arrow.column(name), table.schema[name])
    if not ranked:
        return Coded(column.values, column.missing, ranked)
    ranks = np.zeros(column.size)
    ranks[~column.missing] = _ranks(column.values[~column.missing])
    return Coded(ranks, column.missing, ranked)


def _association(a: Coded, b: Coded) -> float:
    unknown = a.missing | b.missing
    x, y = (a.values[~unknown], b.values[~unknown]) if unknown.any() else (a.values, b.values)
    if x.size < 2:  # noqa: PLR2004
        return 0.0
    if a.ranked and b.ranked:
        return _pearson(x, y)
    if a.ranked or b.ranked:
        return _correlation_ratio(y, x) if a.ranked else _correlation_ratio(x, y)
    return _cramer(x, y)


def _pearson(x: Floats, y: Floats) -> float:
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip(x @ y / spread, -1.0, 1.0)) if spread > 0 else 0.0


def _correlation_ratio(labels: Ints, y: Floats) -> float:
    """Return eta: the root of the share of the variance of y that lies between categories."""
    y = y - y.mean()
    size = np.bincount(labels)
    between = float(np.sum(np.bincount(labels, weights=y)[size > 0] ** 2 / size[size > 0]))
    total = float(y @ y)
    return float(np.sqrt(min(1.0, between / total))) if total > 0 else 0.0


def _cramer(x: Ints, y: Ints) -> float:
    """Return V = sqrt(phi^2 / min(r - 1, c - 1)), phi^2 = sum n_ij^2 / (n_i. n_.j) - 1."""
    rows, columns = np.bincount(x), np.bincount(y)
    cells, size = np.unique(x.astype(np.int64) * columns.size + y, return_counts=True)
    expected = rows[cells // columns.size].astype(float) * columns[cells % columns.size]
    smaller = min(np.count_nonzero(rows), np.count_nonzero(columns)) - 1
    phi = float(np.sum(size / expected * size)) - 1.0
    return float(np.sqrt(np.clip(phi / smaller, 0.0, 1.0))) if smaller > 0 else 0.0


def measure(subject: Subject) -> Measured:
    """Measure all pairs, changed columns first, and name the pair with the largest difference."""
    moved = correlations(subject.original, subject.release, first=subject.changed)
    order = sorted(moved.pairs.items(), key=lambda item: -float(item[1][1]))[:MAX_LISTED]
    rows = tuple(
        (a, b, f"{float(before):.3f}", f"{float(change):.4f}") for (a, b), (before, change) in order
    )
    detail = Detail(
        "Pairs of columns with the largest differences",
        ("Column", "With", "Association in the original", "Difference"),
        rows,
    )
    reasons = sorted(set(moved.left_out.values()))
    note = f"{len(moved.left_out)} columns left out: {'; '.join(reasons)}." if reasons else ""
    return Measured(
        {"mean": moved.mean, "largest": moved.largest},
        {"mean": note, "largest": f"Pair: {', '.join(moved.largest_pair)}."},
        detail,
    )


def _ranks(values: NDArray[Any]) -> Floats:
    """Return ranks from one, the mean rank where values tie."""
    _, place, size = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(size) - (size - 1) / 2)[place]
    return ranks


MEASURE = Measure(
    "utility.correlations",
    figures={
        "mean": Meaning(
            "Difference of pairwise associations (Spearman, Cramer's V, eta), mean over pairs of"
            " columns: 0 is equal."
        ),
        "largest": Meaning(
            "Difference of pairwise associations for the pair of columns where it is largest: 0 is"
            " equal."
        ),
    },
    function=measure,
)
