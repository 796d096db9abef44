"""Distance to the closest record: whether released rows are nearer to the original than chance would bring them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.errors import DataError, PlanError
from veladura.measures.measure import (
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
    over_datasets,
)
from veladura.measures.pairing import pair
from veladura.numeric.coding import is_recoded
from veladura.numeric.points import EQUAL, nearest_rows, positions
from veladura.numeric.proportions import affordable, sample_rows, share

SAMPLE = 1_000


@dataclass(frozen=True, eq=False)
class Closeness:
    """How near released rows come to original ones.

    Attributes
    ----------
    copies
        Share of released rows that equal an original one.
    ratio
        Median distance of a released row to the nearest original one, over that of an original row
        to the nearest other one: 1 when released rows are no nearer than people are to each other.
    nearer
        Share of released rows that are nearer to the original than to a holdout of as many rows:
        1/2 if the release knows no more of the one than of the other. None without a holdout.
    sampled
        Released rows that were compared.
    distances
        Of these rows to the nearest original one, mean over columns.
    """

    copies: Estimate
    ratio: Estimate
    nearer: Estimate | None
    sampled: int
    distances: NDArray[np.float64] = field(repr=False)


def closest(
    original: Any,
    released: Any,
    *,
    holdout: Any = None,
    columns: Sequence[str] | None = None,
    sample: int = SAMPLE,
    level: float = 0.95,
) -> Closeness:
    """Return how near released rows come to original ones, against a holdout where there is one.

    The distance of two rows is the mean over columns of 1 for different categories, and of the
    share of original rows between two numbers.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    released
        A release, one released table, or a list of them.
    holdout
        Rows of the same population that the release was not made of. The larger of the two tables
        is cut to the size of the other by a fixed stream.
    columns
        What is compared: by default every released column that the original has.
    sample
        Released rows that are compared, drawn from a fixed stream.
    level
        Of the intervals.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people, others = (pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc")) for _ in range(2))
    >>> float(closest(people, people, holdout=others).nearer)
    1.0

    References
    ----------
    Platzer, M. and Reutterer, T. (2021). Holdout-based empirical assessment of mixed-type synthetic
    data.
    Frontiers in Big Data 4, 679939.
    """
    both = pair(original, released)
    names = list(both.forms if columns is None else columns)
    tables = [both.original, *both.released, *([] if holdout is None else [open_quietly(holdout)])]
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
    found = [nearest_rows(part, before).distance for part in taken]
    own = sample_rows(len(before), sample, "closest", "own")
    usual = float(np.median(nearest_rows(before[own], before, own).distance))
    flat = np.concatenate(found)
    nearer = None if holdout is None else _nearer(np.vstack(taken), before, points[-1], level)
    return Closeness(
        share(int(np.count_nonzero(flat <= EQUAL)), flat.size, level),
        _ratio([float(np.median(one)) for one in found], usual),
        nearer,
        flat.size,
        flat,
    )


def _ratio(medians: Sequence[float], usual: float) -> Estimate:
    """Return median distances over the usual one; 1 when neither is above nought."""
    return over_datasets([one / usual if usual > 0 else float(one == 0) for one in medians])


def _nearer(
    rows: NDArray[np.float64], before: NDArray[np.float64], held: NDArray[np.float64], level: float
) -> Estimate:
    """Return the share of rows nearer to the one table than to the other; as near counts half."""
    size = min(len(before), len(held))
    sides = [
        part[sample_rows(len(part), size, "closest", name)]
        for part, name in ((before, "before"), (held, "holdout"))
    ]
    one, other = (nearest_rows(rows, side).distance for side in sides)
    wins = float(np.count_nonzero(one < other - EQUAL)) + 0.5 * float(
        np.count_nonzero(np.abs(one - other) <= EQUAL)
    )
    return share(wins, len(rows), level)


@measure(
    "risk.distance",
    figures={
        "copies": Meaning("Released rows that equal an original one.", unit="share", headline=True),
        "ratio": Meaning(
            "Distance of released rows to the nearest original one, against that between original"
            " rows: 1 is usual.",
            "high",
        ),
        "nearer": Meaning(
            "Released rows nearer to the original than to people it has never seen: half of them is"
            " ideal.",
            unit="share",
        ),
    },
)
def measure_closeness(subject: Subject) -> Measured:
    """Measure a sample of released rows."""
    if not subject.changed:
        msg = "the method changes no column."
        raise NotApplicable(msg)
    if recoded := [
        name for name in subject.changed if is_recoded(subject.original, subject.tables[0], name)
    ]:
        msg = (
            f"{', '.join(recoded)}: recoded to values that no original row has; risk.classes tells"
            " the risk of such rows."
        )
        raise NotApplicable(msg)
    if min(table.rows for table in (subject.original, *subject.tables)) < 2:  # noqa: PLR2004
        msg = "there are too few rows to compare."
        raise NotApplicable(msg)
    found = closest(
        subject.original,
        subject.release,
        holdout=subject.control,
        sample=affordable(subject.original.rows),
    )
    missing = NotApplicable(
        "it needs a control: rows of the same population that the release was not made of."
    )
    figures: dict[str, Estimate | NotApplicable] = {
        "copies": found.copies,
        "ratio": found.ratio,
        "nearer": found.nearer or missing,
    }
    return Measured(figures, {"copies": f"{found.sampled} rows compared."})
