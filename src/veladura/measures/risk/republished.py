"""Republished values: original values that one person alone holds, and that are in the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.core.promise import Evidence
from veladura.core.violations import source_column
from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Measured, Subject
from veladura.methods.cart.promises import plain_values, singles_in
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Release


BY_CHANCE = (
    "Over all datasets and columns. Numbers that few people share were moved, and land on"
    " somebody's by chance: the hole and spike attacks say whether oftener than on those around."
)


@dataclass(frozen=True)
class Republished:
    """Counts over the replaced columns and all datasets.

    Attributes
    ----------
    single_numbers
        Released numbers that occur once in the original column.
    single_categories
        Released categories that occur once in the original column.
    """

    single_numbers: Estimate
    single_categories: Estimate


def republished(original: Any, release: Release) -> Republished:
    """Return how many values of one person alone are in the release, in the replaced columns.

    Parameters
    ----------
    original
        The table the release was made from: anything `veladura.open` takes.
    release
        The release.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"income": [10.0, 10.0, 20.0, 30.0]})
    >>> swapped = vd.Swap(columns=["income"], min_people=0).protect(people, seed=1)
    >>> int(republished(people, swapped).single_numbers)
    2
    """
    return _republished(Subject(open_quietly(original), release))


def _republished(subject: Subject) -> Republished:
    original = subject.original if subject.release.original is None else subject.release.original
    if not subject.changed:
        msg = "no column was replaced."
        raise NotApplicable(msg)
    numbers = categories = 0
    for dataset in subject.release.tables:
        evidence = Evidence(dataset.table, original)
        for name in subject.changed:
            if evidence.released.schema[name].kind != original.schema[name].kind:
                continue  # recoded to values of another kind
            before, after = source_column(evidence, name), evidence.column(name)
            single = singles_in(before, after)
            if after.labels is None:
                numbers += int(np.count_nonzero(single))
            else:
                categories += np.unique(plain_values(after)[single]).size
    return Republished(Estimate.exact(numbers), Estimate.exact(categories))


def measure(subject: Subject) -> Measured:
    """Count over all datasets."""
    counted = _republished(subject.one_row_a_person())
    moved = any("moved_numbers_in" in step.settings for step in subject.release.steps)
    return Measured(
        {
            "single_numbers": counted.single_numbers,
            "single_categories": counted.single_categories,
        },
        {"single_numbers": BY_CHANCE} if moved else {},
    )


MEASURE = Measure(
    "risk.republished",
    figures={
        "single_numbers": Meaning(
            "Republished numbers: released numbers of replaced columns that occur once in the"
            " original column.",
            unit="count",
        ),
        "single_categories": Meaning(
            "Republished categories: released categories of replaced columns that one person alone"
            " has in the original.",
            unit="count",
        ),
    },
    function=measure,
)
