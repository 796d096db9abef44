"""Re-identification risk from the sizes of equivalence classes, under three intruders.

The prosecutor knows that the person is in the release: the risk of a row is 1 / f, with f the size
of its class. The journalist does not, and looks the row up in a population where F persons share
its values: 1 / F. The marketer wants many rows, not one: the share of rows he gets right when he
picks a person for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.errors import DataError, PlanError
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
    over_datasets,
)
from veladura.measures.risk.uniqueness import artificial_keys, keys
from veladura.table.codes import label_text
from veladura.table.counts import Counts

LARGEST_LISTED = 20
# as the guidance of the European Medicines Agency has it: 0.09, and 0.2 for access under contract
RISKY = 0.2


@dataclass(frozen=True)
class ClassRisk:
    """Risk of re-identification over the rows of a table.

    Attributes
    ----------
    prosecutor_highest, prosecutor_average
        Largest and mean of 1 / f over the rows.
    journalist_highest, journalist_average
        The same with the class in the population; without one, as for the prosecutor, who knows
        more.
    marketer
        Expected share of rows re-identified: the mean of 1 / F, or of 1 / f without a population.
    at_risk
        Share of rows whose prosecutor risk is above the threshold.
    uniques, classes, smallest
        Rows alone in their class, number of classes, and size of the smallest.
    histogram
        Number of classes of each size.
    """

    columns: tuple[str, ...]
    prosecutor_highest: Estimate
    prosecutor_average: Estimate
    journalist_highest: Estimate
    journalist_average: Estimate
    marketer: Estimate
    at_risk: Estimate
    uniques: Estimate
    classes: Estimate
    smallest: Estimate
    histogram: Mapping[int, Estimate] = field(repr=False)


def classes(
    table: Any, columns: Sequence[str], *, population: Any = None, threshold: float = RISKY
) -> ClassRisk:
    """Return the risk of the rows of a table from the sizes of their classes. Missing counts as a value of its own.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    columns
        What an intruder may know: the quasi-identifiers.
    population
        A table with the same columns that holds every person of the first; None when there is none.
    threshold
        A row whose prosecutor risk is above this is at risk.

    Examples
    --------
    >>> import pandas as pd
    >>> found = classes(pd.DataFrame({"zip": [1, 1, 1, 2], "sex": ["f", "f", "f", "m"]}), ["zip", "sex"])
    >>> float(found.prosecutor_highest), float(found.prosecutor_average), int(found.uniques)
    (1.0, 0.5, 1)
    >>> {size: int(number) for size, number in found.histogram.items()}
    {1: 1, 3: 1}

    References
    ----------
    El Emam, K. and Dankar, F. K. (2008). Protecting privacy using k-anonymity. Journal of the
    American Medical Informatics Association 15(5), 627-637.
    Dankar, F. K. and El Emam, K. (2010). A method for evaluating marketer re-identification risk.
    EDBT workshops, 28.
    """
    if isinstance(columns, str) or not columns:
        msg = "classes needs a list of at least one column."
        raise PlanError(msg)
    if not 0 < threshold <= 1:
        msg = f"threshold ({threshold}) must be above 0 and at most 1."
        raise PlanError(msg)
    counts = open_quietly(table, {name: {} for name in columns}).counts(list(columns))
    sizes = counts.size
    if not sizes.size:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    persons = (
        sizes
        if population is None
        else _persons(
            counts, open_quietly(population, {name: {} for name in columns}).counts(list(columns))
        )
    )
    return _risk(tuple(columns), sizes, persons, threshold)


def _risk(
    columns: tuple[str, ...], sizes: NDArray[np.int64], persons: NDArray[np.int64], threshold: float
) -> ClassRisk:
    rows = int(sizes.sum())
    size, number = np.unique(sizes, return_counts=True)
    journalist = float((sizes / persons).sum() / rows)
    return ClassRisk(
        columns,
        Estimate.exact(1 / int(sizes.min())),
        Estimate.exact(sizes.size / rows),
        Estimate.exact(1 / int(persons.min())),
        Estimate.exact(journalist),
        Estimate.exact(journalist),
        Estimate.exact(float(sizes[1 / sizes > threshold].sum()) / rows),
        Estimate.exact(int(np.count_nonzero(sizes == 1))),
        Estimate.exact(int(sizes.size)),
        Estimate.exact(int(sizes.min())),
        {int(one): Estimate.exact(int(many)) for one, many in zip(size, number, strict=True)},
    )


def _persons(counts: Counts, population: Counts) -> NDArray[np.int64]:
    """Return how many of the population share each tuple; all must be there, and at least as often."""
    known = dict(zip(_tuples(population), population.size.tolist(), strict=True))
    persons = np.array([known.get(one, 0) for one in _tuples(counts)], dtype=np.int64)
    if lacking := int(np.maximum(counts.size - persons, 0).sum()):
        msg = (
            f"{lacking} rows of the table are not in the population.\n\nHint: it must hold every"
            " row, its columns written alike."
        )
        raise DataError(msg)
    return persons


def _tuples(counts: Counts) -> list[tuple[str | None, ...]]:
    parts = [
        [None if value is None else label_text(value) for value in column.to_arrow().to_pylist()]
        for column in counts.columns
    ]
    return list(zip(*parts, strict=True))


@measure(
    "risk.classes",
    figures={
        "marketer": Meaning(
            "Share of rows that someone who guesses a person for every row gets right.",
            unit="share",
        ),
        "at_risk": Meaning(
            f"Released rows with a chance above {RISKY:g} to be picked by someone who knows the"
            " person is there.",
            unit="share",
        ),
        "smallest": Meaning(
            "Rows of the rarest combination of the values an intruder may know.",
            better="high",
            unit="count",
            headline=True,
        ),
    },
    counted=True,
)
def measure_classes(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, with the sizes of the classes as a table."""
    known = keys(subject)
    artificial = artificial_keys(subject, known)
    found = [classes(table, known) for table in subject.tables if table.rows]
    if not found:
        msg = "the release has no rows."
        raise NotApplicable(msg)
    figures: dict[str, Estimate | NotApplicable] = {
        "marketer": artificial or over_datasets([float(one.marketer) for one in found], upper=1.0),
        "at_risk": artificial or over_datasets([float(one.at_risk) for one in found], upper=1.0),
        "smallest": artificial or over_datasets([float(one.smallest) for one in found]),
    }
    return Measured(figures, {"smallest": f"Known: {', '.join(known)}."}, _histogram(found[0]))


def _histogram(found: ClassRisk) -> Detail:
    """Return how many classes there are of each size, large ones together."""
    sizes = {size: int(number) for size, number in found.histogram.items()}
    rows = [
        (str(size), str(number), str(size * number))
        for size, number in sizes.items()
        if size <= LARGEST_LISTED
    ]
    large = {size: number for size, number in sizes.items() if size > LARGEST_LISTED}
    if large:
        rows.append(
            (
                f"above {LARGEST_LISTED}",
                str(sum(large.values())),
                str(sum(size * number for size, number in large.items())),
            )
        )
    return Detail(
        "Sizes of classes in the release",
        ("Rows in a class", "Classes", "Rows in them"),
        tuple(rows),
    )
