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
from veladura.measures.weights import weighted_note

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
    weight
        The sampling weight that rows are counted with, if there is one.
    """

    mean: Estimate
    largest: Estimate
    largest_pair: Pair
    pairs: Mapping[Pair, tuple[Estimate, Estimate]] = field(repr=False)
    left_out: Mapping[str, str] = field(repr=False)
    weight: str | None = None


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as ranks, or as codes of its categories."""

    values: NDArray[Any]
    missing: Mask
    ranked: bool


Weights = Floats | None


@renamed(released="release")
def correlations(original: Any, release: Any, *, first: Sequence[str] = ()) -> Correlations:
    """Return the differences of pairwise associations between original and release.

    Rows count with the declared sampling weight, where original and release have it.

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
    weights = pairing.weights()
    weight = None if weights is None else pairing.weight
    used, left_out = _choose(pairing, first, weight)
    if len(used) < 2:  # noqa: PLR2004
        msg = "fewer than two columns can be compared with the original ones."
        raise NotApplicable(msg)
    ranked = {
        name
        for name in used
        if all(_is_ranked(table, name) for table in (pairing.original, *pairing.released))
    }
    own: Sequence[Weights] = weights or [None] * (1 + len(pairing.released))
    before = associations(pairing.original, used, ranked, own[0])
    after = np.array(
        [
            associations(table, used, ranked, part)
            for table, part in zip(pairing.released, own[1:], strict=True)
        ]
    )
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
        weight,
    )


def _choose(
    pairing: Pairing, first: Sequence[str], weight: str | None
) -> tuple[list[str], dict[str, str]]:
    """Return the columns to use, and the others with the reason."""
    left_out = dict(pairing.left_out)
    texts = [
        name
        for name in pairing.forms
        if "text" in (pairing.original.schema[name].kind, pairing.released[0].schema[name].kind)
    ]
    left_out |= dict.fromkeys(texts, "it is free text")
    fitting = sorted(
        (name for name in pairing.forms if name not in texts and name != weight),
        key=lambda name: name not in first,
    )
    left_out |= dict.fromkeys(fitting[MAX_COLUMNS:], f"only {MAX_COLUMNS} columns are used")
    return fitting[:MAX_COLUMNS], left_out


def _is_ranked(table: Table, name: str) -> bool:
    return table.schema[name].kind not in ("category", "text")


def associations(
    table: Table, names: Sequence[str], ranked: set[str], weights: Weights = None
) -> Floats:
    """Return the association of every pair, in the order of ``itertools.combinations``."""
    coded = [_code(table, name, weights, ranked=name in ranked) for name in names]
    return np.array([_association(a, b, weights) for a, b in combinations(coded, 2)])


def _code(table: Table, name: str, weights: Weights, *, ranked: bool) -> Coded:
    column = table.column(name)
    if not ranked:
        return Coded(column.values, column.missing, ranked)
    ranks = np.zeros(column.size)
    given = ~column.missing
    ranks[given] = _ranks(column.values[given], None if weights is None else weights[given])
    return Coded(ranks, column.missing, ranked)


def _association(a: Coded, b: Coded, weights: Weights) -> float:
    known = ~(a.missing | b.missing)
    if weights is not None:
        known &= weights > 0
    whole = bool(known.all())
    x, y = (a.values, b.values) if whole else (a.values[known], b.values[known])
    w = weights if weights is None or whole else weights[known]
    if x.size < 2:  # noqa: PLR2004
        return 0.0
    if a.ranked and b.ranked:
        return _pearson(x, y, w)
    if a.ranked or b.ranked:
        return _correlation_ratio(y, x, w) if a.ranked else _correlation_ratio(x, y, w)
    return _cramer(x, y, w)


def _pearson(x: Floats, y: Floats, w: Weights) -> float:
    x, y = x - np.average(x, weights=w), y - np.average(y, weights=w)
    if w is not None:
        x, y = x * np.sqrt(w), y * np.sqrt(w)
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip(x @ y / spread, -1.0, 1.0)) if spread > 0 else 0.0


def _correlation_ratio(labels: Ints, y: Floats, w: Weights) -> float:
    """Return eta: the root of the share of the variance of y that lies between categories."""
    y = y - np.average(y, weights=w)
    size = np.bincount(labels, weights=w)
    weighted = y if w is None else y * w
    between = float(np.sum(np.bincount(labels, weights=weighted)[size > 0] ** 2 / size[size > 0]))
    total = float(weighted @ y)
    return float(np.sqrt(min(1.0, between / total))) if total > 0 else 0.0


def _cramer(x: Ints, y: Ints, w: Weights) -> float:
    """Return V = sqrt(phi^2 / min(r - 1, c - 1)), phi^2 = sum n_ij^2 / (n_i. n_.j) - 1."""
    rows, columns = np.bincount(x, weights=w), np.bincount(y, weights=w)
    cells, place = np.unique(x.astype(np.int64) * columns.size + y, return_inverse=True)
    size = np.bincount(place.reshape(-1), weights=w)
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
    note = f"{note} {weighted_note(moved.weight)}".strip()
    return Measured(
        {"mean": moved.mean, "largest": moved.largest},
        {"mean": note, "largest": f"Pair: {', '.join(moved.largest_pair)}."},
        detail,
    )


def _ranks(values: NDArray[Any], weights: Weights) -> Floats:
    """Return ranks from one, the mean rank where values tie; rows count with their weights."""
    _, place, size = np.unique(values, return_inverse=True, return_counts=True)
    if weights is not None:
        size = np.bincount(place.reshape(-1), weights=weights)
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
