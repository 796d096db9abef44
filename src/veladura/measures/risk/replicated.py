"""Replicated uniques: rows that stand alone in the original and turn up, alone, in the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.errors import DataError, PlanError
from veladura.measures.measure import (
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    over_datasets,
)
from veladura.measures.pairing import pair
from veladura.measures.risk.uniqueness import keys as intruder_keys
from veladura.measures.risk.uniqueness import uniqueness
from veladura.numeric.coding import common_cells, is_recoded


@dataclass(frozen=True)
class Replicated:
    """Uniques before and after, all as shares of rows.

    Attributes
    ----------
    original, released
        Rows of the original, and of the release, that are alone with their keys.
    found
        Original uniques whose keys occur in the release at all, among the original's rows.
    replicated
        Original uniques whose keys occur in the release once: repU.
    """

    original: Estimate
    released: Estimate
    found: Estimate
    replicated: Estimate


def replicated(original: Any, released: Any, keys: Sequence[str]) -> Replicated:
    """Return the share of original rows that are unique in their keys, and unique in the release too.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    released
        A release, one released table, or a list of them: then figures are means over the tables.
    keys
        What an intruder may know. Missing counts as a value of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> before, after = pd.DataFrame({"zip": [1, 2, 3, 3]}), pd.DataFrame({"zip": [1, 2, 2, 3]})
    >>> found = replicated(before, after, ["zip"])
    >>> float(found.original), float(found.found), float(found.replicated)
    (0.5, 0.5, 0.25)

    References
    ----------
    Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
    arXiv:2406.16826.
    """
    if isinstance(keys, str) or not keys:
        msg = "replicated needs a list of at least one key."
        raise PlanError(msg)
    both = pair(original, released)
    if both.original.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    for table in (both.original, *both.released):
        table.schema.check("keys", keys)
    cells, number = common_cells([both.original, *both.released], list(keys))
    before, *after = [np.bincount(part, minlength=number) for part in cells]
    rows, single = both.original.rows, before == 1
    shares = [
        (
            np.count_nonzero(one == 1) / max(int(one.sum()), 1),
            np.count_nonzero(single & (one > 0)) / rows,
            np.count_nonzero(single & (one == 1)) / rows,
        )
        for one in after
    ]
    alone, found, again = (over_datasets(values, upper=1.0) for values in zip(*shares, strict=True))
    return Replicated(Estimate.exact(np.count_nonzero(single) / rows), alone, found, again)


@measure(
    "risk.replicated",
    figures={
        "uniques": Meaning(
            "Original rows alone with what an intruder may know, and found alone in the release.",
            unit="share",
            headline=True,
        )
    },
    counted=True,
)
def measure_replicated(subject: Subject) -> Measured:
    """Measure the releases over the quasi-identifiers.

    Coarser keys never tell rows apart that finer ones do not: of a release that recodes them, a row
    that is alone was alone before, and an intruder who recodes what he knows finds it. That takes
    counts only.
    """
    known, rows = _known(subject), subject.original.rows
    note = f"Known: {', '.join(known)}."
    if recoded_keys(subject, known):
        alone = [float(uniqueness(table, known).sample_uniques) / rows for table in subject.tables]
        return Measured(
            {"uniques": over_datasets(alone, upper=1.0)},
            {"uniques": f"{note} Recoded: rows alone in the release."},
        )
    subject.fetched()
    return Measured(
        {"uniques": replicated(subject.original, subject.release, known).replicated},
        {"uniques": note},
    )


def comparable_keys(subject: Subject) -> list[str]:
    """Return the columns an intruder knows; where one was recoded, nothing that is known can be looked up."""
    known = _known(subject)
    if recoded := recoded_keys(subject, known):
        msg = (
            f"{', '.join(recoded)}: recoded to values that no one would look up; risk.classes tells"
            " the risk of such rows."
        )
        raise NotApplicable(msg)
    return known


def _known(subject: Subject) -> list[str]:
    known = intruder_keys(subject)
    if subject.original.rows == 0 or not all(table.rows for table in subject.tables):
        msg = "there are no rows to compare."
        raise NotApplicable(msg)
    return known


def recoded_keys(subject: Subject, known: Sequence[str]) -> list[str]:
    """Return the keys whose released values are others than those of the original."""
    return [
        name
        for name in known
        if name in subject.changed and is_recoded(subject.original, subject.tables[0], name)
    ]
