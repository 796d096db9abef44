"""Distance to the closest record (DCR): how near released rows are to people of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.numeric.coding import is_recoded
from veladura.numeric.points import EQUAL, nearest_rows, positions
from veladura.numeric.proportions import affordable, sample_rows, share
from veladura.table.source import open_quietly

SAMPLE = 1_000


@dataclass(frozen=True, eq=False)
class Closeness:
    """Distances to the closest record.

    Attributes
    ----------
    copies
        Share of released rows that equal an original one.
    ratio
        Median distance of a released row to the nearest original one, over that of an original row
        to the nearest other one: 1 when released rows are no nearer than people are to each other.
    nearer
        Share of released rows that are nearer to the original than to a control group of equal
        size: 1/2 if the release favours neither. None without a control group.
    sampled
        Released rows that were compared.
    distances
        Of these rows to the nearest original one, mean over columns.
    """

    copies: Estimate
    ratio: Estimate
    nearer: Estimate | None
    sampled: int
    distances: Floats = field(repr=False)


@renamed(released="release", holdout="control")
def distance(
    original: Any,
    release: Any,
    *,
    control: Any = None,
    columns: Sequence[str] | None = None,
    sample: int = SAMPLE,
    level: float = 0.95,
) -> Closeness:
    """Return the distances of released rows to the closest record of the original.

    The distance of two rows is the mean over columns of 1 for different categories, and of the
    share of original rows between two numbers.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    control
        The control group: people of the same population who are not in the original. The larger of
        the two tables is cut to the size of the other by a fixed stream.
    columns
        The columns that are compared: by default every released column that the original has.
    sample
        Released rows that are compared, drawn from a fixed stream.
    level
        Of the intervals.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> everybody = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    >>> people, others = everybody[:300], everybody[300:]
    >>> float(distance(people, people, control=others).nearer)
    1.0

    References
    ----------
    Platzer, M. and Reutterer, T. (2021). Holdout-based empirical assessment of mixed-type synthetic
    data. Frontiers in Big Data 4, 679939.
    """
    both = pair(original, release)
    names = list(both.forms if columns is None else columns)
    tables = [both.original, *both.released, *([] if control is None else [open_quietly(control)])]
    for table in tables:
        table.schema.check("columns", names)
    if sample < 1 or min(table.rows for table in tables) < 2:  # noqa: PLR2004
        msg = "distances need a sample of at least 1 and tables of at least 2 rows."
        raise (PlanError if sample < 1 else DataError)(msg)
    points = positions(tables, names, [0])
    before, after = points[0], points[1 : 1 + len(both.released)]
    taken = [
        part[sample_rows(len(part), -(-sample // len(after)), "closest", i)]
        for i, part in enumerate(after)
    ]
    distances = [nearest_rows(part, before).distance for part in taken]
    own = sample_rows(len(before), sample, "closest", "own")
    usual = float(np.median(nearest_rows(before[own], before, own).distance))
    flat = np.concatenate(distances)
    nearer = None if control is None else _nearer(np.vstack(taken), before, points[-1], level)
    return Closeness(
        share(int(np.count_nonzero(flat <= EQUAL)), flat.size, level),
        _ratio([float(np.median(part)) for part in distances], usual),
        nearer,
        flat.size,
        flat,
    )


def _ratio(medians: Sequence[float], usual: float) -> Estimate:
    """Return median distances over the usual one; 1 when both are zero."""
    return over_datasets(
        [median / usual if usual > 0 else float(median == 0) for median in medians]
    )


def _nearer(rows: Floats, before: Floats, held: Floats, level: float) -> Estimate:
    """Return the share of rows nearer to the original than to the control; ties count half."""
    size = min(len(before), len(held))
    sides = [
        part[sample_rows(len(part), size, "closest", name)]
        for part, name in ((before, "before"), (held, "holdout"))
    ]
    inside, outside = (nearest_rows(rows, side).distance for side in sides)
    ties = np.count_nonzero(np.abs(inside - outside) <= EQUAL)
    wins = float(np.count_nonzero(inside < outside - EQUAL)) + 0.5 * float(ties)
    return share(wins, len(rows), level)


def measure(subject: Subject) -> Measured:
    """Measure a sample of released rows."""
    if not subject.changed:
        msg = "the method changes no column."
        raise NotApplicable(msg)
    if recoded := [
        name for name in subject.changed if is_recoded(subject.original, subject.tables[0], name)
    ]:
        msg = (
            f"{', '.join(recoded)}: recoded to values that are not in the original; risk.classes"
            " has the risk of such a release."
        )
        raise NotApplicable(msg)
    if min(table.rows for table in (subject.original, *subject.tables)) < 2:  # noqa: PLR2004
        msg = "there are too few rows to compare."
        raise NotApplicable(msg)
    result = distance(
        subject.original,
        subject.release,
        control=subject.control,
        sample=affordable(subject.original.rows),
    )
    missing = NotApplicable(
        "it needs a control group: people of the same population who are not in the original."
    )
    figures: dict[str, Estimate | NotApplicable] = {
        "copies": result.copies,
        "ratio": result.ratio,
        "nearer": result.nearer or missing,
    }
    return Measured(figures, {"copies": f"{result.sampled} rows compared."})


MEASURE = Measure(
    "risk.distance",
    figures={
        "copies": Meaning(
            "Copies: released rows that equal a row of the original.", unit="rows", headline=True
        ),
        "ratio": Meaning(
            "Distance to the closest record (DCR), over the same distance between people of the"
            " original: 1 is usual.",
            "high",
        ),
        "nearer": Meaning(
            "DCR share: released rows nearer to the original than to the control group; half of"
            " them is ideal.",
            unit="share",
        ),
    },
    function=measure,
)
