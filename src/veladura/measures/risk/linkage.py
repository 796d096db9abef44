"""Record linkage by distance: how often the nearest original row is the true one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject
from veladura.measures.pairing import linked_tables
from veladura.numeric.coding import is_recoded
from veladura.numeric.points import EQUAL, nearest_rows, own_distance, positions
from veladura.numeric.proportions import affordable, mean_share, sample_rows
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.table.table import Table

SAMPLE = 1_000


@dataclass(frozen=True, eq=False)
class Linked:
    """Released rows that are linked to the person they were made from.

    Attributes
    ----------
    correct
        Expected share of released rows linked to their own original row; of rows equally near a
        random one is picked.
    chance
        The same for an intruder who picks a random row.
    per_record
        The probability of a correct link, for each row of the sample.
    rows
        The original rows of the sample.
    """

    correct: Estimate
    chance: Estimate
    per_record: Floats = field(repr=False)
    rows: Ints = field(repr=False)


@renamed(released="release", columns="known")
def linkage(
    original: Any, release: Any, *, known: Sequence[str] | None = None, sample: int = SAMPLE
) -> Linked:
    """Return how often the original row nearest to a released one is the row it was made from.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release linked to its rows, one table, or a list of tables with the rows of the original
        in its order.
    known
        The columns an intruder compares: by default every released column that the original has.
        Distances are those of `distance`.
    sample
        Number of released rows that are linked, drawn from a fixed stream.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> people = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 3)), columns=list("abc"))
    >>> float(linkage(people, people + 0.001).correct) > 0.95
    True

    References
    ----------
    Domingo-Ferrer, J. and Torra, V. (2001). Disclosure control methods and information loss for
    microdata. In Confidentiality, Disclosure and Data Access, 93-112. Elsevier.
    """
    table = open_quietly(original)
    parts = linked_tables(table, release)
    names = (
        [name for name in parts[0][0].names if name in table.names]
        if known is None
        else list(known)
    )
    for opened in (table, *(part for part, _ in parts)):
        opened.schema.check("known", names)
    if sample < 1:
        msg = f"sample ({sample}) must be at least 1."
        raise PlanError(msg)
    return _linked(table, parts, names, sample)


def _linked(
    table: Table, parts: Sequence[tuple[Table, Ints]], names: Sequence[str], sample: int
) -> Linked:
    points = positions([table, *(part for part, _ in parts)], names, [0])
    before, correct, rows = points[0], [], []
    for i, (after, (_, link)) in enumerate(zip(points[1:], parts, strict=True)):
        taken = sample_rows(len(after), -(-sample // len(parts)), "linkage", i)
        near = nearest_rows(after[taken], before)
        own = own_distance(after[taken], before[link[taken]])
        correct.append(np.where(own <= near.distance + EQUAL, 1 / np.maximum(near.ties, 1), 0.0))
        rows.append(link[taken])
    flat = np.concatenate(correct)
    if flat.size == 0:
        msg = "the release has no rows."
        raise DataError(msg)
    total = sum(len(after) for after in points[1:])
    return Linked(
        mean_share(flat, total), Estimate.exact(1 / len(before)), flat, np.concatenate(rows)
    )


def measure(subject: Subject) -> Measured:
    """Measure a sample of the aligned rows, by all released columns."""
    evidence = subject.one_row_a_person().aligned()
    original = evidence[0].original
    assert original is not None  # noqa: S101  # aligned rows have one
    names = [
        name
        for name in evidence[0].released.names
        if not is_recoded(original, evidence[0].released, name)
    ]
    parts = [(part.released, part.rows) for part in evidence if part.rows is not None]
    if not subject.changed:
        msg = "the method changes no column."
        raise NotApplicable(msg)
    if not names or not all(part.rows for part, _ in parts):
        msg = "the release has no rows, or no column whose values can be compared."
        raise NotApplicable(msg)
    result = _linked(original, parts, names, affordable(original.rows))
    figures: dict[str, Estimate | NotApplicable] = {"correct": result.correct}
    left = len(evidence[0].released.names) - len(names)
    note = f"{result.per_record.size} rows compared on {len(names)} columns" + (
        f"; {left} recoded columns left out." if left else "."
    )
    return Measured(figures, {"correct": note})


MEASURE = Measure(
    "risk.linkage",
    figures={
        "correct": Meaning(
            "Record linkage: released rows whose nearest original row is the one they were made"
            " from.",
            unit="rows",
        )
    },
    function=measure,
)
