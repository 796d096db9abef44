"""The ten most frequent values of each column: how often they occur in original and release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.measures.utility.columns import tick
from veladura.table.codes import label_texts

if TYPE_CHECKING:
    from veladura.table.counts import Counts

MOST_VALUES = 10
FEWEST_ROWS = 10  # a rarer value may well be absent by chance


@dataclass(frozen=True)
class Frequency:
    """A value, its rows in the original, and its rows in a release of as many rows."""

    value: str
    original: int
    released: float
    errors: float  # their difference, in standard errors of the original's count


@dataclass(frozen=True)
class Frequent:
    """The most frequent values of each column.

    Attributes
    ----------
    difference
        Difference of the counts in standard errors, mean over all these values.
    lost
        Values of ten rows or more among them that do not occur in the release.
    columns
        By column, the most frequent value first.
    """

    difference: Estimate
    lost: Estimate
    columns: Mapping[str, tuple[Frequency, ...]] = field(repr=False)


def frequent(original: Any, release: Any) -> Frequent:
    """Return how often the ten most frequent values of each column occur in original and release.

    The difference of the counts is divided by sqrt(n p (1 - p)), the standard error of the count of
    a value with share p in n rows. Heaps of rounded numbers, "not applicable" codes and zeros are
    such values; a release that smooths them away is seen here first.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then counts are means over the tables.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"income": [0] * 60 + [1000] * 30 + [1001] * 10})
    >>> after = pd.DataFrame({"income": [0] * 60 + [999] * 40})
    >>> found = frequent(before, after)
    >>> int(found.lost), found.columns["income"][1].released
    (2, 0.0)
    """
    pairing = pair(original, release)
    columns, apart, lost = {}, [], []
    for name in pairing.forms:
        if pairing.original.schema[name].kind == "text":
            continue
        profiles = [table.profile(name) for table in (pairing.original, *pairing.released)]
        before, *after = [_rows(counts) for counts in profiles]
        top = sorted(before, key=lambda key: -before[key])[:MOST_VALUES]
        if not top:
            continue
        total = sum(before.values())
        shares = np.array([[part.get(key, 0) for key in top] for part in after], dtype=float)
        scaled = shares * (total / np.maximum([[sum(part.values())] for part in after], 1))
        count = np.array([before[key] for key in top], dtype=float)
        error = np.sqrt(count * (1 - count / total))
        errors = np.divide(scaled - count, error, out=np.zeros_like(scaled), where=error > 0)
        apart.append(np.abs(errors))
        lost.append(((shares == 0) & (count >= FEWEST_ROWS)).sum(axis=1))
        words = _words(profiles[0])
        columns[name] = tuple(
            Frequency(words[key], int(count[i]), *(float(v[:, i].mean()) for v in (scaled, errors)))
            for i, key in enumerate(top)
        )
    if not columns:
        msg = "no released column can be compared with the original one."
        raise NotApplicable(msg)
    return Frequent(
        over_datasets(np.concatenate(apart, axis=1).mean(axis=1).tolist()),
        over_datasets(np.sum(lost, axis=0).tolist()),
        columns,
    )


def _rows(counts: Counts) -> dict[object, int]:
    """Return the rows of each value: text for categories, else a number; None is missing."""
    column = counts.columns[0]
    texts = [] if column.labels is None else label_texts(column)
    keys: list[object] = (
        (column.values.astype(np.float64) * tick(column)).tolist()
        if column.labels is None
        else [texts[code] if texts else "" for code in column.values]  # all may be missing
    )
    return {
        None if missing else key: int(size)
        for key, missing, size in zip(keys, column.missing, counts.size, strict=True)
    }


def _words(counts: Counts) -> dict[object, str]:
    """Return each value as it is written."""
    texts = counts.columns[0].to_arrow().to_pylist()
    return {
        key: "missing" if text is None else str(text)
        for key, text in zip(_rows(counts), texts, strict=True)
    }


def measure(subject: Subject) -> Measured:
    """Measure the most frequent values of every released column, and list their counts."""
    result = frequent(subject.original, subject.release)
    rows = tuple(
        (name, "; ".join(f"{one.value}: {one.original:,}, {one.released:,.0f}" for one in listed))
        for name, listed in result.columns.items()
    )
    detail = Detail(
        "Ten most frequent values of each column: rows of the original, of the release",
        ("Column", "Value: original, release"),
        rows,
    )
    return Measured({"difference": result.difference, "lost": result.lost}, {}, detail)


MEASURE = Measure(
    "utility.frequent",
    figures={
        "difference": Meaning(
            "Counts of the ten most frequent values of each column: their difference in standard"
            " errors, mean."
        ),
        "lost": Meaning(
            "Lost values: of the ten most frequent values of each column, those of ten people or"
            " more that do not occur in the release.",
            unit="count",
        ),
    },
    counted=True,
    function=measure,
)
