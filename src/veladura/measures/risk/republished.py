"""Values of the original that came out although they occur there once: the check of the promise, and the figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.core.promise import Evidence, checks, source_column
from veladura.measures.measure import Meaning, NotApplicable, Subject, measure
from veladura.table.codes import Column, label_text


@checks("single-numbers", linked=False)
def single_numbers(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many released numbers occur once in the original column."""
    return sum(
        int(np.count_nonzero(_singles_in(source_column(evidence, name), evidence.column(name))))
        for name in settings["columns"]
    )


def _singles_in(before: Column, after: Column) -> NDArray[np.bool_]:
    """Return which released values, missing ones apart, occur once in the original."""
    known, released = _plain(before), _plain(after)
    distinct, count = np.unique(known, return_counts=True)
    return np.isin(released, distinct[count == 1])


def _plain(column: Column) -> NDArray[Any]:
    values = column.values[~column.missing]
    if column.labels is None:
        return values
    texts = np.array([label_text(label) for label in column.labels.to_pylist()], dtype=str)
    return texts[values] if texts.size else np.empty(0, dtype=str)


@measure(
    "risk.republished",
    figures={
        "single_numbers": Meaning(
            "Released numbers of replaced columns that occur once in the original column.",
            unit="count",
        ),
        "single_categories": Meaning(
            "Released categories of replaced columns that one row of the original holds alone.",
            unit="count",
        ),
    },
)
def measure_republished(subject: Subject) -> dict[str, Estimate]:
    """Count, over all datasets, what came out although one row alone held it."""
    original = subject.original if subject.release.original is None else subject.release.original
    numbers = categories = 0
    if not subject.changed:
        msg = "no column was replaced."
        raise NotApplicable(msg)
    for dataset in subject.release.tables:
        evidence = Evidence(dataset.table, original)
        for name in subject.changed:
            if evidence.released.schema[name].kind != original.schema[name].kind:
                continue  # recoded to values of another kind
            before, after = source_column(evidence, name), evidence.column(name)
            found = _singles_in(before, after)
            numbers += int(np.count_nonzero(found)) if after.labels is None else 0
            categories += np.unique(_plain(after)[found]).size if after.labels is not None else 0
    return {
        "single_numbers": Estimate.exact(numbers),
        "single_categories": Estimate.exact(categories),
    }
