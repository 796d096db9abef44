"""SUDA2: special uniques, people whom a few columns are enough to tell from all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.risk.suda2_search import affordable_size, minimal_uniques
from veladura.measures.risk.uniqueness import known_columns
from veladura.table.source import open_quietly
from veladura.table.units import per_person, person_numbers

if TYPE_CHECKING:
    from veladura.table.table import Table

FEW = 2  # columns that are enough to call a person special in an assessment
VISITS = 100_000_000  # rows times sets of an assessment


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques of a table.

    Attributes
    ----------
    score
        The SUDA score of each person: 0 without a minimal sample unique.
    dis
        DIS-SUDA: probability that a match with the person is right, by data intrusion simulation:
        the score scaled so that its mean over the sample uniques is ``probability``, cut at 1.
    smallest
        For each person, the number of columns of the smallest minimal sample unique; 0 without.
    contribution
        The share of the sum of all scores that comes from sets with each column.
    sizes
        How many minimal sample uniques have each number of columns.
    special
        Share of people with at least one.
    probability
        The probability that a unique match is right, over the whole table.
    """

    score: Floats = field(repr=False)
    dis: Floats = field(repr=False)
    smallest: Ints = field(repr=False)
    contribution: Mapping[str, Estimate] = field(repr=False)
    sizes: Mapping[int, Estimate]
    special: Estimate
    probability: Estimate


@renamed(keys="known")
def suda2(
    table: Any, known: Sequence[str], *, max_size: int | None = None, fraction: float = 0.01
) -> SpecialUniques:
    """Return the minimal sample uniques of a table, and the SUDA score of each person.

    A set of columns is a minimal sample unique of a row when no other row has its values there, and
    every smaller set of them is shared. With ATT known columns, one of k columns scores prod over i
    from k to M of (ATT - i), where M is the largest size searched, at most ATT - 1; a row's score
    is the sum over its own (Elliot et al. 2005). The probability that a unique match is right is
    U d / (U d + 2 P (1 - d)), with U uniques, P pairs and the sampling fraction d (Skinner and
    Elliot 2002, eq. 4). Missing counts as a value of its own.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    known
        The columns an intruder knows.
    max_size
        Most columns of a minimal sample unique; all sets up to this size are searched. By default
        all sizes, or as many as make a thousand million rows times sets, and at least 3; scores
        depend on it, and the keys of ``sizes`` tell it.
    fraction
        The share of the population that is in the table.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": list("ffmm"), "age": [1, 2, 1, 1], "job": list("aaab")})
    >>> risk = suda2(people, ["sex", "age", "job"])
    >>> risk.score.tolist(), risk.smallest.tolist()
    ([1.0, 2.0, 1.0, 2.0], [2, 1, 2, 1])

    References
    ----------
    Elliot, M. J., Manning, A., Mayes, K., Gurd, J. and Bane, M. (2005). SUDA: a program for
    detecting special uniques. Joint UNECE/Eurostat Work Session on Statistical Data
    Confidentiality, Geneva.
    Manning, A. M., Haglin, D. J. and Keane, J. A. (2008). A recursive search algorithm for
    statistical disclosure assessment. Data Mining and Knowledge Discovery 16(2), 165-196.
    Skinner, C. J. and Elliot, M. J. (2002). A measure of disclosure risk for microdata. Journal of
    the Royal Statistical Society B 64(4), 855-867.
    """
    if isinstance(known, str) or not known:
        msg = "suda2 needs a list of at least one column in known."
        raise PlanError(msg)
    if (max_size is not None and max_size < 1) or not 0 < fraction <= 1:
        msg = (
            f"max_size ({max_size}) must be at least 1, fraction ({fraction}) above 0 and at"
            " most 1."
        )
        raise PlanError(msg)
    names = list(dict.fromkeys(known))
    opened = open_quietly(table, {name: {} for name in names})
    if opened.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    largest = affordable_size(opened.rows, len(names)) if max_size is None else max_size
    return _scored(opened, names, min(largest, len(names)), fraction)


def _scored(table: Table, names: Sequence[str], largest: int, fraction: float) -> SpecialUniques:
    found = minimal_uniques(table, names, largest)
    worth = np.array([set_score(size, largest, len(names)) for size in range(1, largest + 1)])
    score: Floats = np.asarray(worth @ found.sets)
    smallest = np.where(found.sets.any(axis=0), 1 + np.argmax(found.sets > 0, axis=0), 0)
    parts, whole = worth @ found.columns, float(worth @ found.people)
    uniques, pairs = (int(np.count_nonzero(found.sharing == number)) for number in (1, 2))
    probability = _probability(uniques, pairs, fraction)
    total = float(per_person(score, found.persons).sum())
    dis = np.minimum(score * (probability * uniques / total), 1.0) if total else score
    shares = {
        name: Estimate.exact(float(part / whole) if whole else 0.0)
        for name, part in zip(names, parts, strict=True)
    }
    counted = {size: Estimate.exact(int(people)) for size, people in enumerate(found.people, 1)}
    special = float(np.mean(per_person(smallest.astype(np.float64), found.persons) > 0))
    return SpecialUniques(
        score, dis, smallest, shares, counted, Estimate.exact(special), Estimate.exact(probability)
    )


def set_score(size: int, largest: int, columns: int) -> float:
    """Return what a minimal sample unique scores: prod over i from k to M of (ATT - i).

    Examples
    --------
    >>> set_score(1, 2, 5), set_score(2, 2, 5)
    (12.0, 3.0)
    """
    return float(prod(columns - i for i in range(size, min(largest, columns - 1) + 1)))


def _probability(uniques: int, pairs: int, fraction: float) -> float:
    """Return the probability that a unique match is right."""
    right = uniques * fraction
    return right / (right + 2 * pairs * (1 - fraction)) if uniques else 0.0


def measure(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, sets of all sizes if affordable."""
    known = known_columns(subject)
    tables = [table for table in subject.tables if table.rows]
    if not tables:
        msg = "the release has no rows."
        raise NotApplicable(msg)
    risks = [suda2(table, known, max_size=_size(table, known)) for table in tables]
    few = [
        float(np.mean(per_person(_few(risk.smallest), person_numbers(table))))
        for table, risk in zip(tables, risks, strict=True)
    ]
    figures: dict[str, Estimate | NotApplicable] = {
        "special": over_datasets(few, upper=1.0),
        "uniques": over_datasets([float(risk.special) for risk in risks], upper=1.0),
    }
    searched = f"Known: {', '.join(known)}. Sets of up to {max(risks[0].sizes)} columns."
    return Measured(figures, dict.fromkeys(figures, searched))


def _size(table: Table, known: Sequence[str]) -> int:
    """Return the most columns that an assessment searches: all, if they are few enough."""
    columns = len(set(known))
    affordable = affordable_size(table.rows, columns, least=FEW, most=VISITS)
    return min(affordable, columns)


def _few(smallest: Ints) -> Floats:
    return ((smallest > 0) & (smallest <= FEW)).astype(np.float64)


MEASURE = Measure(
    "risk.suda2",
    figures={
        "special": Meaning(
            f"SUDA2 special uniques: people in the release whom {FEW} columns are enough to tell"
            " from all others.",
            unit="rows",
        ),
        "uniques": Meaning(
            "SUDA2 minimal sample uniques: people in the release whom some of the columns, of any"
            " number that was searched, tell from all others.",
            unit="rows",
        ),
    },
    function=measure,
    counts_people=True,
)
