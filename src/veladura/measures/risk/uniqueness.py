"""How many rows stand alone: classes of rows that share their values in some columns.

A row in a class of size s is found again by someone who knows its values with probability 1/s
(prosecutor risk); the mean of that over the rows is the number of classes over the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.errors import PlanError
from veladura.measures.measure import (
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
    over_datasets,
)
from veladura.table.schema import LABELLED


@dataclass(frozen=True)
class Uniqueness:
    """Classes of rows with equal values.

    Attributes
    ----------
    classes
        Number of different combinations of values.
    sample_uniques
        Number of rows whose combination no other row has.
    average_prosecutor
        Mean over rows of 1 / size of the row's class, which is classes / rows.
    highest_prosecutor
        1 / size of the smallest class.
    sizes
        Number of classes of each size.
    """

    columns: tuple[str, ...]
    rows: Estimate
    classes: Estimate
    sample_uniques: Estimate
    average_prosecutor: Estimate
    highest_prosecutor: Estimate
    sizes: Mapping[int, int] = field(repr=False)


def uniqueness(table: Any, columns: Sequence[str]) -> Uniqueness:
    """Return how well the values of some columns tell rows apart. Missing counts as a value of its own.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    columns
        What an intruder may know: the quasi-identifiers.

    Examples
    --------
    >>> import pandas as pd
    >>> found = uniqueness(pd.DataFrame({"zip": [1, 1, 2], "sex": ["f", "f", "m"]}), ["zip", "sex"])
    >>> int(found.classes), int(found.sample_uniques), round(float(found.average_prosecutor), 2)
    (2, 1, 0.67)

    References
    ----------
    El Emam, K., & Dankar, F. K. (2008). Protecting privacy using k-anonymity. Journal of the
    American Medical Informatics Association 15(5), 627-637.
    """
    if isinstance(columns, str) or not columns:
        msg = "uniqueness needs a list of at least one column."
        raise PlanError(msg)
    sizes = open_quietly(table, {name: {} for name in columns}).counts(list(columns)).size
    rows, classes = int(sizes.sum()), int(sizes.size)
    size, number = np.unique(sizes, return_counts=True)
    return Uniqueness(
        tuple(columns),
        Estimate.exact(rows),
        Estimate.exact(classes),
        Estimate.exact(int(np.count_nonzero(sizes == 1))),
        Estimate.exact(classes / rows if rows else 0.0),
        Estimate.exact(1 / int(size[0]) if rows else 0.0),
        dict(zip(size.tolist(), number.tolist(), strict=True)),
    )


def keys(subject: Subject) -> list[str]:
    """Return the columns an intruder is taken to know.

    The declared quasi-identifiers, with those a method was told of; without any, every column
    of categories or whole numbers.
    """
    schema = subject.tables[0].schema
    told = {
        name
        for step in subject.release.steps
        for name in step.settings.get("quasi_identifiers") or ()
    }
    known = [f.name for f in schema if f.role == "quasi-identifier" or f.name in told]
    known = known or [
        f.name for f in schema if f.kind in (*LABELLED, "integer") and f.role != "weight"
    ]
    if not known:
        msg = (
            "no column is declared a quasi-identifier, and none holds categories or whole numbers."
        )
        raise NotApplicable(msg)
    return known


def artificial_keys(subject: Subject, known: Sequence[str]) -> NotApplicable | None:
    """Return why a row cannot be picked: a synthesizer replaced everything an intruder may know, so that no row is anyone's."""
    if not subject.release.rule.synthetic or not set(known) <= set(subject.changed):
        return None
    return NotApplicable(
        "every value that an intruder may know is artificial: no released row is a person's."
    )


@measure(
    "risk.uniqueness",
    figures={
        "classes": Meaning(
            "Different combinations of the values an intruder may know, in the release.",
            unit="count",
        ),
        "sample_uniques": Meaning(
            "Released rows whose combination no other row has.", unit="count"
        ),
        "average_prosecutor": Meaning(
            "Chance to pick the right row of a person known to be in the release, mean over rows.",
            unit="share",
            headline=True,
        ),
        "highest_prosecutor": Meaning(
            "The same chance for the row that is easiest to find.", unit="share"
        ),
        "original_uniques": Meaning(
            "Rows alone with their combination before protection.", better="neither", unit="count"
        ),
        "original_average_prosecutor": Meaning(
            "Mean chance to pick the right row before protection.", better="neither", unit="share"
        ),
    },
    counted=True,
)
def measure_uniqueness(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, the original beside them."""
    known = keys(subject)
    artificial = artificial_keys(subject, known)
    released = [uniqueness(table, known) for table in subject.tables]
    before = uniqueness(subject.original, known)
    figures: dict[str, Estimate | NotApplicable] = {
        "classes": over_datasets([float(u.classes) for u in released]),
        "sample_uniques": over_datasets([float(u.sample_uniques) for u in released]),
        "average_prosecutor": (
            artificial or over_datasets([float(u.average_prosecutor) for u in released], upper=1.0)
        ),
        "highest_prosecutor": (
            artificial or over_datasets([float(u.highest_prosecutor) for u in released], upper=1.0)
        ),
        "original_uniques": before.sample_uniques,
        "original_average_prosecutor": before.average_prosecutor,
    }
    return Measured(figures, {"average_prosecutor": f"Known: {', '.join(known)}."})
