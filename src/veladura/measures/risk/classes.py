"""Prosecutor, journalist and marketer risk, from the sizes of equivalence classes.

The prosecutor knows that the person is in the release: the risk of a row is 1 / f, with f the size
of its class. The journalist does not know it, and looks the row up in a population where F people
share its values: 1 / F. The marketer wants to re-identify many people: the expected share of rows
for which the right person is picked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.risk.uniqueness import artificial_keys, known_columns, sampled_note
from veladura.numeric.individual_risk import negative_binomial_risk
from veladura.table.class_sizes import ClassSizes, class_sizes
from veladura.table.codes import label_text
from veladura.table.counts import Counts
from veladura.table.source import open_quietly
from veladura.table.units import PeopleCounts

LARGEST_LISTED = 20
# as the guidance of the European Medicines Agency has it: 0.09, and 0.2 for access under contract
RISKY = 0.2


@dataclass(frozen=True)
class ClassRisk:
    """Risk of re-identification of the people in a table.

    Attributes
    ----------
    prosecutor_highest, prosecutor_average
        Largest and mean of 1 / f over the people.
    journalist_highest, journalist_average
        The same with the class in the population; without a population, as for the prosecutor.
    marketer
        Expected share of people re-identified: the mean of 1 / F, or 1 / f without a population.
    at_risk
        Share of people whose prosecutor risk is above the threshold.
    uniques, classes, smallest
        People alone in their class, number of classes, and size of the smallest (k).
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


@renamed(columns="known")
def classes(
    table: Any,
    known: Sequence[str],
    *,
    population: Any = None,
    threshold: float = RISKY,
    fraction: float = 1.0,
) -> ClassRisk:
    """Return prosecutor, journalist and marketer risk from the sizes of equivalence classes.

    Missing counts as a value of its own.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    known
        The columns an intruder knows: the quasi-identifiers.
    population
        A table with the same columns that holds every person of the first, if there is one.
    threshold
        People whose prosecutor risk is above this are at risk.
    fraction
        Without a population: the share of it that the table is a random sample of. The journalist
        then has the individual risk E(1/F | f) of `individual`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"zip": [1, 1, 1, 2], "sex": ["f", "f", "f", "m"]})
    >>> risk = classes(people, ["zip", "sex"])
    >>> float(risk.prosecutor_highest), float(risk.prosecutor_average), int(risk.uniques)
    (1.0, 0.5, 1)
    >>> {size: int(number) for size, number in risk.histogram.items()}
    {1: 1, 3: 1}

    References
    ----------
    El Emam, K. and Dankar, F. K. (2008). Protecting privacy using k-anonymity. Journal of the
    American Medical Informatics Association 15(5), 627-637.
    Dankar, F. K. and El Emam, K. (2010). A method for evaluating marketer re-identification risk.
    EDBT workshops, 28.
    """
    if isinstance(known, str) or not known:
        msg = "classes needs a list of at least one column in known."
        raise PlanError(msg)
    if not 0 < threshold <= 1:
        msg = f"threshold ({threshold}) must be above 0 and at most 1."
        raise PlanError(msg)
    if not 0 < fraction <= 1 or (fraction < 1 and population is not None):
        msg = f"fraction ({fraction}) must be above 0 and at most 1, and goes without a population."
        raise PlanError(msg)
    opened = open_quietly(table, {name: {} for name in known})
    counts = class_sizes(opened, list(known)) if population is None else _counts(opened, known)
    sizes = persons = counts.size
    if not sizes.size:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    if isinstance(counts, PeopleCounts) and population is not None:
        persons = _persons(counts, _counts(population, known))
    chance = 1 / persons if fraction == 1 else negative_binomial_risk(sizes, sizes / fraction)
    return _risk(tuple(known), counts, chance, threshold)


def _counts(table: Any, known: Sequence[str]) -> PeopleCounts:
    return open_quietly(table, {name: {} for name in known}).people_counts(list(known))


def _risk(
    columns: tuple[str, ...],
    counts: PeopleCounts | ClassSizes,
    chance: Floats,
    threshold: float,
) -> ClassRisk:
    """Return the figures, from the journalist's chance of the right person in each class."""
    sizes = counts.size
    journalist = counts.average_chance(1 / chance)
    return ClassRisk(
        columns,
        Estimate.exact(1 / int(sizes.min())),
        Estimate.exact(counts.average_chance(sizes)),
        Estimate.exact(float(chance.max())),
        Estimate.exact(journalist),
        Estimate.exact(journalist),
        Estimate.exact(counts.holders(1 / sizes > threshold) / counts.people),
        Estimate.exact(counts.holders(sizes == 1)),
        Estimate.exact(counts.classes),
        Estimate.exact(int(sizes.min())),
        {size: Estimate.exact(number) for size, number in counts.histogram().items()},
    )


def _persons(counts: Counts, population: Counts) -> Ints:
    """Return how many of the population share each tuple; it must hold every row of the table."""
    people = dict(zip(_tuples(population), population.size.tolist(), strict=True))
    persons = np.array([people.get(values, 0) for values in _tuples(counts)], dtype=np.int64)
    if lacking := int(np.maximum(counts.size - persons, 0).sum()):
        msg = (
            f"{lacking} rows of the table are not in the population.\n\nHint: the population must"
            " hold every person of the table, with columns written in the same way."
        )
        raise DataError(msg)
    return persons


def _tuples(counts: Counts) -> list[tuple[str | None, ...]]:
    parts = [
        [None if value is None else label_text(value) for value in column.to_arrow().to_pylist()]
        for column in counts.columns
    ]
    return list(zip(*parts, strict=True))


def measure(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers; the sizes of classes are a table."""
    known = known_columns(subject)
    artificial = artificial_keys(subject, known)
    fraction = subject.release.fraction
    counted = fraction < 1 and not set(known) & set(subject.changed)
    among: dict[str, Any] = {"population": subject.original} if counted else {"fraction": fraction}
    risks = [classes(table, known, **among) for table in subject.tables if table.rows]
    if not risks:
        msg = "the release has no rows."
        raise NotApplicable(msg)
    figures: dict[str, Estimate | NotApplicable] = {
        "marketer": artificial
        or over_datasets([float(risk.marketer) for risk in risks], upper=1.0),
        "journalist": artificial
        or over_datasets([float(risk.journalist_average) for risk in risks], upper=1.0),
        "at_risk": artificial or over_datasets([float(risk.at_risk) for risk in risks], upper=1.0),
        "smallest": artificial or over_datasets([float(risk.smallest) for risk in risks]),
    }
    notes = {"smallest": f"Known: {', '.join(known)}."}
    if sampled := sampled_note(fraction).strip():
        sampled += " Counted in it." if counted else " Estimated from the fraction."
        notes |= {"journalist": sampled, "marketer": sampled}
    return Measured(figures, notes, _histogram(risks[0]))


def _histogram(risk: ClassRisk) -> Detail:
    """Return how many classes there are of each size, large ones together."""
    sizes = {size: int(number) for size, number in risk.histogram.items()}
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
        "Sizes of the equivalence classes in the release",
        ("People in a class", "Classes", "People in them"),
        tuple(rows),
    )


MEASURE = Measure(
    "risk.classes",
    figures={
        "marketer": Meaning(
            "Marketer risk: expected share of released rows for which the right person is picked.",
            unit="rows",
        ),
        "journalist": Meaning(
            "Journalist risk, average: probability that someone who does not know whether a person"
            " is in the release picks the right person. Below the prosecutor risk where the release"
            " is a random sample.",
            unit="share",
        ),
        "at_risk": Meaning(
            f"People at risk: those in the release whose prosecutor risk is above {RISKY:g}.",
            unit="rows",
        ),
        "smallest": Meaning(
            "Smallest equivalence class (k): people who share the rarest combination of"
            " quasi-identifiers.",
            better="high",
            unit="count",
            headline=True,
        ),
    },
    counted=True,
    counts_people=True,
    function=measure,
)
