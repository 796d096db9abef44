"""Match risk: how often an intruder who knows something of a person picks the right row of the releases.

Rows of the releases are aligned with those of the original: what is asked is whether the row that
an intruder picks for a target is the one that was made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.core.recipe import Release
from veladura.errors import DataError, PlanError
from veladura.measures.measure import NotApplicable, open_quietly
from veladura.measures.risk.intruder import Intruder
from veladura.measures.risk.match_search import (
    exact_cells,
    laid_out,
    population_counts,
    rough_columns,
    rough_numbers,
    sharpest,
    windows,
)
from veladura.numeric.coding import Ints
from veladura.numeric.proportions import mean_share, sample_rows, share

if TYPE_CHECKING:
    from veladura.table.table import Table

Floats = NDArray[np.float64]
MOST_RELEASES = 20


@dataclass(frozen=True, eq=False)
class MatchRisk:
    """Whom an intruder finds.

    Attributes
    ----------
    emr
        Expected match risk over the number of targets: the mean of ``per_record``.
    tmr
        True match rate: targets for whom one row is the most likely, and is the right one.
    fmr
        False match rate: of those for whom one row is the most likely, the share with a wrong one;
        0 without any.
    claimed, unmatched
        Targets for whom one row is the most likely, and targets for whom none matches, both as
        shares.
    targets
        The original rows that were looked for.
    per_record
        I / c for each target: the chance to pick the right row among the c that are equally likely.
    ties
        c for each target: the rows that share the largest probability; 0 without a match.
    """

    emr: Estimate
    tmr: Estimate
    fmr: Estimate
    claimed: Estimate
    unmatched: Estimate
    targets: Ints = field(repr=False)
    per_record: Floats = field(repr=False)
    ties: Ints = field(repr=False)


def match(
    original: Any,
    datasets: Any,
    *,
    known: Sequence[str] | str = (),
    sensitive: Sequence[str] | str = (),
    radius: float | Mapping[str, float] | None = None,
    relative: bool | Sequence[str] = False,
    population: Any = None,
    decline: bool = False,
    targets: int | None = None,
) -> MatchRisk:
    """Return how often an intruder picks the right row, for m releases whose rows are those of the original.

    Row j of release i matches target t when the known columns are equal and every sensitive number
    is within [Y - l, Y + l]. P(J = j | t) = (1/m) sum_i I(match) / N_it, with N_it the number of
    matches in release i, or the number F_t of matches in the population, if larger, when the
    intruder does not know that the target is in the data (Reiter and Mitra 2009, eq. 4; Drechsler
    and Reiter 2011, sec. 3). With c the number of rows that share the largest probability (within
    1e-9), I whether the true one is among them, K = 1 if c I = 1, Q = 1 if c (1 - I) = 1, and s the
    number of targets with c = 1: EMR = sum I / c, TMR = sum K / n, FMR = sum Q / s. A target
    without any match has no largest probability and adds to none of them.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    datasets
        A release linked to its rows, one table, or a list of tables with the rows of the original
        in its order.
    known, sensitive, radius, relative, population, decline
        What the intruder knows: see `Intruder`. Missing counts as a value of its own.
    targets
        Look for this many rows, drawn from a fixed stream, instead of all; figures then have
        intervals.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"sex": ["f", "f", "m"], "income": [10.0, 20.0, 30.0]})
    >>> after = before.assign(income=[11.0, 19.0, 90.0])
    >>> found = match(before, [after], known=["sex"], sensitive="income", radius=2)
    >>> round(float(found.emr), 4), found.per_record.tolist()
    (0.6667, [1.0, 1.0, 0.0])

    References
    ----------
    Reiter, J. P. and Mitra, R. (2009). Estimating risks of identification disclosure in partially
    synthetic data. Journal of Privacy and Confidentiality 1(1), 99-110.
    Drechsler, J. and Reiter, J. P. (2011). An empirical evaluation of easily implemented,
    nonparametric methods for generating synthetic datasets. Computational Statistics & Data
    Analysis 55(12), 3232-3243.
    """
    intruder = Intruder(
        known=known,  # type: ignore[arg-type]
        sensitive=sensitive,  # type: ignore[arg-type]
        radius=radius,
        relative=relative,  # type: ignore[arg-type]
        population=population,
        decline=decline,
    )
    table = open_quietly(original)
    return find(table, linked_tables(table, datasets), intruder, targets)


def linked_tables(original: Table, datasets: Any) -> list[tuple[Table, Ints]]:
    """Return each released table with the original row of each of its rows."""
    if isinstance(datasets, Release):
        if datasets.rows is None:
            msg = "the released rows are not linked to rows of the original."
            raise NotApplicable(msg)
        links = [np.asarray(dataset.rows) for dataset in datasets.tables]
        if max(int(link.max(initial=-1)) for link in links) >= original.rows:
            msg = (
                f"the table has {original.rows} rows, fewer than the release was made of.\n\nHint:"
                " give the table that was protected."
            )
            raise PlanError(msg)
        return [(dataset.table, link) for dataset, link in zip(datasets.tables, links, strict=True)]
    given = datasets if isinstance(datasets, (list, tuple)) else [datasets]
    tables, rows = [open_quietly(one) for one in given], original.rows
    if not tables:
        msg = "there is no released table to look into."
        raise PlanError(msg)
    if wrong := [table.rows for table in tables if table.rows != rows]:
        msg = (
            f"the original has {rows} rows, a released table {wrong[0]}: rows must be"
            " aligned.\n\nHint: give the release itself, which knows its rows."
        )
        raise PlanError(msg)
    return [(table, np.arange(rows)) for table in tables]


def find(
    original: Table,
    released: Sequence[tuple[Table, Ints]],
    intruder: Intruder,
    targets: int | None = None,
) -> MatchRisk:
    """Return the match risk of opened tables."""
    from veladura.measures.risk import match_kernels as kernels

    if len(released) > MOST_RELEASES:
        msg = f"match risk takes at most {MOST_RELEASES} datasets, got {len(released)}."
        raise PlanError(msg)
    if original.rows == 0:
        msg = "the table has no rows: there is no one to look for."
        raise DataError(msg)
    people = None if intruder.population is None else open_quietly(intruder.population)
    tables = [original, *(table for table, _ in released)]
    rough = rough_columns(tables, intruder)
    cells, number = exact_cells(tables, intruder, rough)
    numbers = [rough_numbers(table, rough) for table in tables]
    chosen = sample_rows(original.rows, targets, "match", "targets")
    low, high = windows(numbers[0], rough, intruder, original)
    lead = sharpest(numbers[0], low, high)
    numbers, low, high = [part[lead] for part in numbers], low[lead], high[lead]
    order = chosen[np.lexsort((numbers[0][0, chosen], cells[0][chosen]))]
    low, high = np.ascontiguousarray(low[:, order]), np.ascontiguousarray(high[:, order])
    rows, values, starts = laid_out(
        [links for _, links in released], cells[1:], numbers[1:], number
    )
    ties, hits = np.zeros(order.size, dtype=np.int64), np.zeros(order.size, dtype=np.int64)
    counted = (
        np.zeros(order.size)
        if people is None
        else population_counts(original, people, intruder, order).astype(np.float64)
    )
    inside, more = cells[0][order], (counted, intruder.decline, original.rows, ties, hits)
    if len(rough) <= 1:
        kernels.slide(rows, values[0], starts, order, inside, low[0], high[0], *more)
    else:
        kernels.scan(rows, values, starts, order, inside, low, high, *more)
    back = np.argsort(order)
    return _risk(order[back], ties[back], hits[back], original.rows)


def _risk(targets: Ints, ties: Ints, hits: Ints, rows: int) -> MatchRisk:
    """Return the figures of targets from the rows that are most likely for each."""
    found = np.divide(hits, ties, out=np.zeros(ties.size), where=ties > 0)
    alone = ties == 1
    claims, wrong = int(np.count_nonzero(alone)), int(np.count_nonzero(alone & (hits == 0)))
    whole = targets.size == rows
    false = Estimate.exact(wrong / claims if claims else 0.0) if whole else share(wrong, claims)
    right, claimed, none = (
        mean_share(np.asarray(flags, dtype=np.float64), rows)
        for flags in (alone & (hits == 1), alone, ties == 0)
    )
    return MatchRisk(mean_share(found, rows), right, false, claimed, none, targets, found, ties)
