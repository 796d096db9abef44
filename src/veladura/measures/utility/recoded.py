"""Information lost in columns whose values were made coarser or suppressed.

Such a column is compared with the original at its released level elsewhere, where it looks
perfect. Here it is asked how much a released value still tells about the original one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from veladura.base.arrays import Floats, Ints
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.domain import column_levels, map_of
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.weights import weights_of
from veladura.numeric.coding import is_recoded
from veladura.table.codes import encode
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Dataset, Release
    from veladura.table.codes import Column
    from veladura.table.table import Table

DROPPED = -1


@dataclass(frozen=True)
class RecodedLoss:
    """Information lost in recoded columns: 0 nothing, 1 everything.

    Attributes
    ----------
    mean, worst
        Over the recoded columns.
    worst_column
        The column that lost most.
    columns
        By column.
    """

    mean: Estimate
    worst: Estimate
    worst_column: str
    columns: Mapping[str, Estimate] = field(repr=False)


def recoded(original: Any, release: Release) -> RecodedLoss:
    """Return how much of each recoded column a recipient can no longer know.

    Numbers, dates and ordered categories: 1 - eta^2, the share of the variance of the original's
    ranks that lies within the released values (a recipient who takes the middle of each band is
    off by that much). Categories: H(X | Y) / H(X), the share of the entropy of the original that
    the released values leave open (Theil 1970). People who are not released count as lost. A
    declared weight of the original weighs its people.

    Parameters
    ----------
    original
        The table that was protected: anything `veladura.open` takes.
    release
        Its release.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"zip": ["02138", "02139", "02141", "02142"]})
    >>> recipe = vd.KAnonymity(
    ...     quasi_identifiers=["zip"], k=2, hierarchies={"zip": vd.Hierarchy.mask(5)}
    ... )
    >>> float(recoded(people, recipe.protect(people)).mean)
    0.5

    References
    ----------
    Theil, H. (1970). On the estimation of relationships involving qualitative variables. American
    Journal of Sociology 76(1), 103-154 (uncertainty coefficient).
    Kruskal, W. H. (1958). Ordinal measures of association. Journal of the American Statistical
    Association 53(284), 814-861 (correlation ratio).
    """
    before = open_quietly(original)
    first = release.tables[0].table
    names = [
        name
        for name in release.changed
        if name in before.names
        and name in first.names
        and (name in column_levels(release) or is_recoded(before, first, name))
    ]
    if not names:
        msg = "no released column has coarser values than the original."
        raise NotApplicable(msg)
    weights = weights_of(before)
    each = np.ones(before.rows) if weights is None else weights
    losses = {
        name: [_lost(before, release, dataset, name, each) for dataset in release.tables]
        for name in names
    }
    matrix = np.array(list(losses.values()))  # a row a column, a column a dataset
    return RecodedLoss(
        over_datasets(matrix.mean(axis=0).tolist(), upper=1.0),
        over_datasets(matrix.max(axis=0).tolist(), upper=1.0),
        names[int(matrix.mean(axis=1).argmax())],
        {name: over_datasets(values, upper=1.0) for name, values in losses.items()},
    )


def _lost(before: Table, release: Release, dataset: Dataset, name: str, weights: Floats) -> float:
    column, coarse = before.column(name), _released(before, release, dataset, name)
    if column.labels is None or column.field.kind == "ordered":
        keep = ~column.missing
        return lost_variance(_ranks(column, keep, weights[keep]), coarse[keep], weights[keep])
    values = np.where(column.missing, len(column.labels), column.values)
    return lost_entropy(values, coarse, weights)


def _released(before: Table, release: Release, dataset: Dataset, name: str) -> Ints:
    """Return what each original row became, as codes; people who are not released are apart."""
    released = dataset.table.column(name)
    if dataset.rows is not None:
        coarse = np.full(before.rows, DROPPED, dtype=np.int64)
        coarse[dataset.rows] = _codes(released)
        return coarse
    level = column_levels(release).get(name)
    pairs = None if level is None else map_of(before, release, name, level)
    if pairs is None:
        msg = "the released rows are not linked to rows of the original."
        raise NotApplicable(msg)
    old, new = (pairs.column(end).combine_chunks() for end in ("old", "new"))
    values = before.arrow.column(name).combine_chunks()
    return _codes(encode(new.take(pc.index_in(values, old.cast(values.type))), released.field))


def _codes(column: Column) -> Ints:
    """Return the rank of each value among those that occur; missing is one of its own."""
    codes = np.unique(column.values, return_inverse=True)[1]
    return np.where(column.missing, codes.max(initial=0) + 1, codes).astype(np.int64)


def _ranks(column: Column, keep: Any, weights: Floats) -> Floats:
    """Return the middle rank of each value, rows counted with their weights."""
    _, place = np.unique(column.values[keep], return_inverse=True)
    size = np.bincount(place, weights=weights)
    ranks: Floats = (np.cumsum(size) - size / 2)[place]
    return ranks


def lost_variance(values: Floats, coarse: Ints, weights: Floats) -> float:
    """Return the share of the variance that lies within classes; 0 for a constant.

    Examples
    --------
    >>> lost_variance(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]), np.ones(4))
    0.0
    """
    centred = values - np.average(values, weights=weights) if values.size else values
    total = float(weights @ centred**2)
    if total <= 0:
        return 0.0
    kept = coarse != DROPPED
    _, group = np.unique(coarse[kept], return_inverse=True)
    size = np.bincount(group, weights=weights[kept])
    sums = np.bincount(group, weights=(weights * centred)[kept])
    return float(np.clip(1 - np.sum(sums**2 / size) / total, 0.0, 1.0))


def lost_entropy(values: Ints, coarse: Ints, weights: Floats) -> float:
    """Return the share of the entropy that is left open; 0 for a constant.

    Examples
    --------
    >>> lost_entropy(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.ones(4))
    0.5
    """
    most = _entropy(values, weights)
    if most <= 0:
        return 0.0
    gone = coarse == DROPPED
    joint = np.unique(np.stack([values, coarse]), axis=1, return_inverse=True)[1].reshape(-1)
    kept = ~gone
    open_ = _entropy(joint[kept], weights[kept]) - _entropy(coarse[kept], weights[kept])
    share = float(weights[gone].sum() / weights.sum())
    return float(np.clip(share + (1 - share) * open_ / most, 0.0, 1.0))


def _entropy(codes: Ints, weights: Floats) -> float:
    if not codes.size:
        return 0.0
    size = np.bincount(np.unique(codes, return_inverse=True)[1], weights=weights)
    shares = size[size > 0] / size.sum()
    return float(-np.sum(shares * np.log(shares)))


def measure(subject: Subject) -> Measured:
    """Measure every recoded column, and name the one that lost most."""
    result = recoded(subject.original, subject.release)
    rows = sorted(result.columns.items(), key=lambda item: -float(item[1]))
    detail = Detail(
        "Information lost in each recoded column",
        ("Column", "Lost"),
        tuple((name, f"{100 * float(lost):.1f} %") for name, lost in rows),
    )
    notes = {
        "mean": f"{_listed(list(result.columns))}.",
        "worst": f"Column: {result.worst_column}.",
    }
    return Measured({"mean": result.mean, "worst": result.worst}, notes, detail)


def _listed(names: Sequence[str]) -> str:
    return f"Columns: {', '.join(names)}"


MEASURE = Measure(
    "utility.recoded",
    figures={
        "mean": Meaning(
            "Information lost in generalised columns: share of what the original column tells"
            " (variance of ranks, or entropy) that released values leave open, mean over columns.",
            unit="share",
            headline=True,
        ),
        "worst": Meaning(
            "Information lost in the generalised column where it is largest: 100 % when nothing is"
            " left of it.",
            unit="share",
            headline=True,
        ),
    },
    function=measure,
)
