"""Distances of one-way distributions: total variation and Kolmogorov-Smirnov, column by column.

Categories: total variation distance, half the sum of the absolute differences of the shares, with
missing as a value of its own. Numbers and dates: the Kolmogorov-Smirnov distance of the values, or
the difference of the shares of missing values where that is larger. 0 is equal, 1 is disjoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import Form, Pairing, pair
from veladura.measures.weights import weighted_note, weighted_profile

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.counts import Counts

TICKS = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}  # microseconds
DAY = 86_400e6
DISTANCES = {
    "labels": "total variation",
    "numbers": "Kolmogorov-Smirnov",
    "dates": "Kolmogorov-Smirnov",
}


@dataclass(frozen=True)
class ColumnDistances:
    """Distance of each released column from the original one.

    Attributes
    ----------
    mean, worst
        Over the columns that can be compared.
    worst_column
        The column with the largest distance.
    distances
        By column.
    left_out
        Columns that cannot be compared, with the reason.
    coarser
        Columns that are compared at the level of their generalisation.
    weight
        The sampling weight that rows are counted with, if there is one.
    """

    mean: Estimate
    worst: Estimate
    worst_column: str
    distances: Mapping[str, Estimate] = field(repr=False)
    measures: Mapping[str, str] = field(repr=False)
    left_out: Mapping[str, str] = field(repr=False)
    coarser: tuple[str, ...] = field(default=(), repr=False)
    weight: str | None = None


@renamed(released="release")
def columns(original: Any, release: Any) -> ColumnDistances:
    """Return the distance between the distributions of each column, original and release.

    Rows in memory count with the declared sampling weight, where original and release have it; the
    weight itself is compared row by row.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [20, 30, 40, 50]})
    >>> after = pd.DataFrame({"sex": ["f", "f", "f", "m"], "age": [20, 30, 40, 50]})
    >>> moved = columns(before, after)
    >>> moved.worst_column, float(moved.worst), float(moved.mean)
    ('sex', 0.25, 0.125)

    References
    ----------
    Drechsler, J. (2011). Synthetic Datasets for Statistical Disclosure Control. Springer.
    Gibbs, A. L., & Su, F. E. (2002). On choosing and bounding probability metrics. International
    Statistical Review 70(3), 419-435.
    """
    return _compared(original, release, ("labels", "numbers", "dates"))


@renamed(released="release")
def ks(original: Any, release: Any) -> ColumnDistances:
    """Return the Kolmogorov-Smirnov distance of every column of numbers or dates.

    It is the largest difference of their cumulative shares.

    Examples
    --------
    >>> import pandas as pd
    >>> float(ks(pd.DataFrame({"x": [1, 2, 3, 4]}), pd.DataFrame({"x": [1, 2, 3, 9]})).worst)
    0.25
    """
    return _compared(original, release, ("numbers", "dates"))


@renamed(released="release")
def total_variation(original: Any, release: Any) -> ColumnDistances:
    """Return the total variation distance of every column of categories.

    It is the share of rows that would have to change so that the distributions are equal.

    Examples
    --------
    >>> import pandas as pd
    >>> before, after = (pd.DataFrame({"x": list(values)}) for values in ("aabb", "aaab"))
    >>> float(total_variation(before, after).worst)
    0.25
    """
    return _compared(original, release, ("labels",))


def _compared(original: Any, release: Any, forms: Sequence[Form]) -> ColumnDistances:
    pairing = pair(original, release)
    left_out = dict(pairing.left_out)
    by_column: dict[str, list[float]] = {}
    weights = pairing.weights()
    for name, form in pairing.forms.items():
        if form not in forms:
            continue
        distances = _distances(_profiles(pairing, name, weights), form)
        if distances is None:
            left_out[name] = (
                "no released category is in the original: its values were replaced by coarser or"
                " new ones"
            )
        else:
            by_column[name] = distances
    if not by_column:
        msg = "no released column can be compared with the original one."
        raise NotApplicable(msg)
    used = {name: DISTANCES[pairing.forms[name]] for name in by_column}
    summary = _summary(by_column, used, left_out, pairing.coarser)
    return summary if weights is None else replace(summary, weight=pairing.weight)


def _profiles(pairing: Pairing, name: str, weights: Sequence[Floats] | None) -> list[Counts]:
    """Return the distribution of a column in every table, the original first."""
    tables = (pairing.original, *pairing.released)
    if weights is None or name == pairing.weight:
        return [table.profile(name) for table in tables]
    return [
        weighted_profile(table, name, part) for table, part in zip(tables, weights, strict=True)
    ]


def _summary(
    by_column: Mapping[str, list[float]],
    measures: Mapping[str, str],
    left_out: Mapping[str, str],
    coarser: tuple[str, ...],
) -> ColumnDistances:
    matrix = np.array(list(by_column.values()))  # a row a column, a column a dataset
    return ColumnDistances(
        over_datasets(matrix.mean(axis=0).tolist(), upper=1.0),
        over_datasets(matrix.max(axis=0).tolist(), upper=1.0),
        list(by_column)[int(matrix.mean(axis=1).argmax())],
        {name: over_datasets(distances, upper=1.0) for name, distances in by_column.items()},
        measures,
        left_out,
        coarser,
    )


def _distances(profiles: Sequence[Counts], form: Form) -> list[float] | None:
    """Return the distance in each dataset; None when the categories have nothing in common."""
    before, *after = profiles
    if form == "labels":
        shares = [_shares(counts) for counts in (before, *after)]
        labels = set(shares[0]) - {None}
        if labels and all(labels.isdisjoint(other) and set(other) - {None} for other in shares[1:]):
            return None
        return [variation(shares[0], other) for other in shares[1:]]
    return [number_distance(before, counts) for counts in after]


def _shares(counts: Counts) -> dict[str | None, float]:
    """Return the share of rows of each category; None is missing."""
    column, total = counts.columns[0], float(counts.size.sum()) or 1.0
    labels = (
        [str(label) for label in column.labels.to_pylist()] if column.labels is not None else []
    )
    rows = zip(column.values.tolist(), column.missing.tolist(), counts.size.tolist(), strict=True)
    return {None if missing else labels[code]: size / total for code, missing, size in rows}


def variation(first: Mapping[str | None, float], second: Mapping[str | None, float]) -> float:
    """Return half the sum of the absolute differences of two sets of shares.

    Examples
    --------
    >>> variation({"a": 0.5, None: 0.5}, {"a": 1.0})
    0.5
    """
    return min(
        1.0, sum(abs(first.get(key, 0.0) - second.get(key, 0.0)) for key in {**first, **second}) / 2
    )


def number_distance(first: Counts, second: Counts) -> float:
    """Return the Kolmogorov-Smirnov distance, or the difference in missing shares if larger."""
    lacking = [
        float(counts.size[counts.columns[0].missing].sum()) / max(float(counts.size.sum()), 1.0)
        for counts in (first, second)
    ]
    (a, weight_a), (b, weight_b) = _axis(first), _axis(second)
    if not (a.size and b.size):
        return abs(lacking[0] - lacking[1])
    grid = np.concatenate([a, b])
    steps = [
        np.append(0.0, np.cumsum(w) / w.sum())[np.searchsorted(v, grid, side="right")]
        for v, w in ((a, weight_a), (b, weight_b))
    ]
    return max(float(np.abs(steps[0] - steps[1]).max()), abs(lacking[0] - lacking[1]))


def _axis(counts: Counts) -> tuple[Floats, Ints]:
    """Return the values in order and how often each occurs; dates as microseconds."""
    column = counts.columns[0]
    given = ~column.missing
    return column.values[given].astype(np.float64) * tick(column), counts.size[given]


def tick(column: Column) -> float:
    """Return what one step of a column's values is: microseconds for dates, 1 for numbers."""
    type_ = column.field.type
    if pa.types.is_date32(type_):
        return DAY
    if pa.types.is_date64(type_):
        return TICKS["ms"]
    return TICKS[type_.unit] if pa.types.is_timestamp(type_) else 1.0


def measure(subject: Subject) -> Measured:
    """Measure every released column, and name the one with the largest distance."""
    moved = columns(subject.original, subject.release)
    level = "compared at the released level"
    rows = [
        (
            name,
            moved.measures[name],
            f"{float(distance):.4f}",
            level if name in moved.coarser else "",
        )
        for name, distance in moved.distances.items()
    ]
    rows += [(name, "", "", f"not compared: {why}") for name, why in moved.left_out.items()]
    note = (
        f"{len(moved.distances)} of {len(rows)} columns can be compared." if moved.left_out else ""
    )
    note = f"{note} {weighted_note(moved.weight)}".strip()
    detail = Detail(
        "Distance of each column", ("Column", "Distance used", "Distance", "Remark"), tuple(rows)
    )
    parts = {
        short: _part(moved, kind)
        for short, kind in (("ks", DISTANCES["numbers"]), ("total_variation", DISTANCES["labels"]))
    }
    return Measured(
        {"mean": moved.mean, "worst": moved.worst, **parts},
        {"mean": note, "worst": f"Column: {moved.worst_column}."},
        detail,
    )


def _part(moved: ColumnDistances, kind: str) -> Estimate | NotApplicable:
    """Return the mean over the columns with one kind of distance, and the mean of its ends."""
    mine = [moved.distances[name] for name, used in moved.measures.items() if used == kind]
    if not mine:
        return NotApplicable("no column of this kind can be compared.")
    ends = [(distance.value, distance.lower, distance.upper) for distance in mine]
    value, lower, upper = np.mean(ends, axis=0).tolist()
    return Estimate(value, lower, upper, mine[0].level)


MEASURE = Measure(
    "utility.columns",
    figures={
        "mean": Meaning(
            "Distance of one-way distributions, original and release, mean over columns: 0 equal,"
            " 100 % disjoint.",
            unit="share",
        ),
        "worst": Meaning(
            "Distance of one-way distributions for the column where it is largest.",
            unit="share",
            headline=True,
        ),
        "ks": Meaning(
            "Kolmogorov-Smirnov distance of numbers and dates, mean over columns.",
            unit="share",
        ),
        "total_variation": Meaning(
            "Total variation distance of categories, mean over columns.", unit="share"
        ),
    },
    counted=True,
    function=measure,
)
