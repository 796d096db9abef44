"""The k-marginal score of NIST: how near the two-way tables of a release are to the original's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable, PlanError
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.measures.utility.two_way import (
    Coded,
    Pair,
    categories,
    chosen_pairs,
    numbers_of,
    over_pairs,
)
from veladura.measures.weights import weighted_note
from veladura.numeric.sampling import read

if TYPE_CHECKING:
    from veladura.table.codes import Column

BINS, BEST, MAX_LISTED = 20, 1000.0, 15


@dataclass(frozen=True)
class KMarginal:
    """The k-marginal score.

    Attributes
    ----------
    score
        Mean over the pairs of columns: 1000 when all two-way tables are equal, 0 when they are
        disjoint.
    pairs
        The score of each pair.
    """

    score: Estimate
    pairs: Mapping[Pair, Estimate] = field(repr=False)
    note: str = field(default="", repr=False)


def k_marginal(original: Any, release: Any, *, bins: int = BINS) -> KMarginal:
    """Return NIST's k-marginal score over all pairs of columns (k = 2), from 0 to 1000.

    With p and q the shares of the cells of a table, (2 - mean over tables of sum |p - q|) 500.
    Numbers and dates with more than `bins` different values are cut into bins that hold equal
    shares of the original; missing is a value of its own. Where all pairs are too many, 5,000 of
    them are drawn, as NIST draws its marginals. Rows count with the declared sampling weight, where
    original and release have it.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.
    bins
        Bins of a column of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50})
    >>> float(k_marginal(before, before.assign(b=["u"] * 50 + ["v"] * 50)).score)
    500.0

    References
    ----------
    Task, C., Bhagat, K. and Howarth, G. S. (2023). SDNist v2: deidentified data report tool.
    National Institute of Standards and Technology, doi:10.18434/mds2-2943.
    """
    if bins < 2:  # noqa: PLR2004
        msg = f"bins ({bins}) must be at least 2."
        raise PlanError(msg)
    pairing = pair(original, release)
    names, weights = pairing.tabulated(), pairing.weights()
    if pairing.original.rows == 0 or any(table.rows == 0 for table in pairing.released):
        msg = "there are no rows to compare."
        raise NotApplicable(msg)
    chosen = chosen_pairs(names)
    if not chosen:
        msg = "there is only one column: pairs need two."
        raise NotApplicable(msg)
    before = {name: read(pairing.original, name) for name in names}
    scores = []
    for i, table in enumerate(pairing.released, start=1):
        coded = {name: _binned(before[name], read(table, name), bins) for name in names}
        both: Sequence[Floats | None] = (
            (None, None) if weights is None else (weights[0], weights[i])
        )
        scores.append([_score(*counts) for counts in over_pairs(coded, chosen, both)])
    columns = np.array(scores).T.tolist()
    return KMarginal(
        over_datasets(np.mean(scores, axis=1).tolist(), upper=BEST),
        {
            pair_: over_datasets(column, upper=BEST)
            for pair_, column in zip(chosen, columns, strict=True)
        },
        weighted_note(pairing.weight if weights else None),
    )


def _score(before: Floats, after: Floats) -> float:
    apart = np.abs(before / before.sum() - after / after.sum()).sum()
    return float((2 - apart) * BEST / 2)


def _binned(before: Column, after: Column, bins: int) -> Coded:
    """Return two columns in common codes: bins of the original's numbers, or distinct values."""
    if before.labels is not None:
        return categories(before, after)
    first, second = numbers_of(before), numbers_of(after)
    given = first[~np.isnan(first)]
    if np.unique(given).size > bins:
        share = np.arange(bins - 1) * 100 / (bins - 1)
        inner = np.unique(np.percentile(given, share, method="higher"))[1:]
        codes = [np.searchsorted(inner, part, side="left") for part in (first, second)]
        levels = inner.size + 1
    else:
        both, codes_of = np.unique(
            np.nan_to_num(np.concatenate([first, second])), return_inverse=True
        )
        codes, levels = np.split(codes_of.reshape(-1), [first.size]), both.size
    one, two = (
        np.where(np.isnan(part), levels, code)
        for part, code in zip((first, second), codes, strict=True)
    )
    return Coded(one, two, levels + 1, ())


def measure(subject: Subject) -> Measured:
    """Measure all pairs of columns, and list those with the lowest scores."""
    result = k_marginal(subject.original, subject.release)
    worst = sorted(result.pairs.items(), key=lambda item: float(item[1]))[:MAX_LISTED]
    rows = tuple((" and ".join(names), f"{float(score):.0f}") for names, score in worst)
    detail = Detail("Pairs of columns with the lowest k-marginal score", ("Columns", "Score"), rows)
    return Measured({"score": result.score}, {"score": result.note}, detail)


MEASURE = Measure(
    "utility.k_marginal",
    figures={
        "score": Meaning(
            "k-marginal score of NIST over all pairs of columns: 1000 when all two-way tables are"
            " equal, 0 when they are disjoint.",
            "high",
        ),
    },
    function=measure,
)
