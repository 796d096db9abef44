"""Values of the original that came out although they occur there once: the check of the promise, and the figures."""

from __future__ import annotations

import numpy as np

from veladura.base.estimate import Estimate
from veladura.core.promise import Evidence
from veladura.measures.measure import Meaning, NotApplicable, Subject, measure
from veladura.methods.cart.promises import plain_values, singles_in
from veladura.methods.masks.common import source_column


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
            found = singles_in(before, after)
            numbers += int(np.count_nonzero(found)) if after.labels is None else 0
            categories += (
                np.unique(plain_values(after)[found]).size if after.labels is not None else 0
            )
    return {
        "single_numbers": Estimate.exact(numbers),
        "single_categories": Estimate.exact(categories),
    }
