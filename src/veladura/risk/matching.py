"""Match risk: how often an intruder who knows something of a person picks the right row of the releases.

Rows of the releases are aligned with those of the original: what is asked is whether the row that an
intruder picks for a target is the one that was made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.errors import DataError, PlanError
from veladura.inference.estimate import Estimate
from veladura.measure import NotApplicable, open_quietly
from veladura.recipe import Release
from veladura.risk.coding import Ints, column_of, common_cells, dense
from veladura.risk.interval import mean_share, sample_rows, share
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.table.table import Table

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # of a value: 23.1 - 0.3 is 22.800000000000001, and 22.8 is within 0.3 of 23.1
MOST_RELEASES = 20


@dataclass(frozen=True, kw_only=True)
class Intruder:
    """What someone who looks for a person in a release knows.

    Parameters
    ----------
    known
        Columns he knows exactly, and finds in the release as he knows them.
    sensitive
        Columns he knows roughly: categories exactly, numbers and dates within the radius.
    radius
        How far off he may be: one number, or one for each such column; days for dates.
    relative
        Whether the radius is a share of the value.
    population
        A table of everyone the target could be, for someone who does not know that the target is in
        the data; without it he knows.
    decline
        Whether he picks no one when it is most likely that the target is not in the data.
    """

    known: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    radius: float | Mapping[str, float] | None = None
    relative: bool = False
    population: Any = field(default=None, repr=False)
    decline: bool = False

    def __post_init__(self) -> None:
        for name in ("known", "sensitive"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        if not (*self.known, *self.sensitive):
            msg = "an intruder who knows nothing finds no one: name columns in known or sensitive."
            raise PlanError(msg)
        if twice := sorted(set(self.known) & set(self.sensitive)):
            msg = f"columns both known and sensitive: {twice}.\n\nHint: a column is known exactly or within a radius."
            raise PlanError(msg)
        radii = self.radius.values() if isinstance(self.radius, Mapping) else [] if self.radius is None else [self.radius]
        if not all(0 <= one < np.inf for one in radii):
            msg = "radius must be at least 0 and finite."
            raise PlanError(msg)
        if self.relative and any(one > 1 for one in radii):
            msg = "a relative radius is a share of the value: it must be at most 1."
            raise PlanError(msg)

    def reach(self, name: str) -> float:
        """Return the radius of a column."""
        radius = self.radius.get(name) if isinstance(self.radius, Mapping) else self.radius
        if radius is None:
            msg = (
                f"sensitive column {name!r} holds numbers or dates: it needs a radius.\n\nHint: radius=0 for someone who knows it exactly."
            )
            raise PlanError(msg)
        return float(radius)


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
        False match rate: of those for whom one row is the most likely, the share with a wrong one; 0 without any.
    claimed, unmatched
        Targets for whom one row is the most likely, and targets for whom none matches, both as shares.
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
    relative: bool = False,
    population: Any = None,
    decline: bool = False,
    targets: int | None = None,
) -> MatchRisk:
    """Return how often an intruder picks the right row, for m releases whose rows are those of the original.

    Row j of release i matches target t when the known columns are equal and every sensitive number is within
    [Y - l, Y + l]. P(J = j | t) = (1/m) sum_i I(match) / N_it, with N_it the number of matches in release i,
    or the number F_t of matches in the population, if larger, when the intruder does not know that the target
    is in the data (Reiter and Mitra 2009, eq. 4; Drechsler and Reiter 2011, sec. 3). With c the number of rows
    that share the largest probability (within 1e-9), I whether the true one is among them, K = 1 if c I = 1,
    Q = 1 if c (1 - I) = 1, and s the number of targets with c = 1: EMR = sum I / c, TMR = sum K / n,
    FMR = sum Q / s. A target without any match has no largest probability and adds to none of them.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    datasets
        A release linked to its rows, one table, or a list of tables with the rows of the original in its order.
    known, sensitive, radius, relative, population, decline
        What the intruder knows: see `Intruder`. Missing counts as a value of its own.
    targets
        Look for this many rows, drawn from a fixed stream, instead of all; figures then have intervals.

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
    Reiter, J. P. and Mitra, R. (2009). Estimating risks of identification disclosure in partially synthetic
    data. Journal of Privacy and Confidentiality 1(1), 99-110.
    Drechsler, J. and Reiter, J. P. (2011). An empirical evaluation of easily implemented, nonparametric methods
    for generating synthetic datasets. Computational Statistics & Data Analysis 55(12), 3232-3243.
    """
    intruder = Intruder(
        known=known, sensitive=sensitive, radius=radius, relative=relative, population=population, decline=decline  # type: ignore[arg-type]
    )  # fmt: skip
    table = open_quietly(original)
    return find(table, linked_tables(table, datasets), intruder, targets)


def linked_tables(original: Table, datasets: Any) -> list[tuple[Table, Ints]]:
    """Return each released table with the original row of each of its rows."""
    if isinstance(datasets, Release):
        if datasets.rows is None:
            msg = "the released rows are not linked to rows of the original."
            raise NotApplicable(msg)
        return [(dataset.table, np.asarray(dataset.rows)) for dataset in datasets.tables]
    given = datasets if isinstance(datasets, (list, tuple)) else [datasets]
    tables, rows = [open_quietly(one) for one in given], original.rows
    if not tables:
        msg = "there is no released table to look into."
        raise PlanError(msg)
    if wrong := [table.rows for table in tables if table.rows != rows]:
        msg = f"the original has {rows} rows, a released table {wrong[0]}: rows must be aligned.\n\nHint: give the release itself, which knows its rows."
        raise PlanError(msg)
    return [(table, np.arange(rows)) for table in tables]


def find(original: Table, released: Sequence[tuple[Table, Ints]], intruder: Intruder, targets: int | None = None) -> MatchRisk:
    """Return the match risk of opened tables."""
    from veladura.risk import match_kernels as kernels

    if len(released) > MOST_RELEASES:
        msg = f"match risk takes at most {MOST_RELEASES} datasets, got {len(released)}."
        raise PlanError(msg)
    if original.rows == 0:
        msg = "the table has no rows: there is no one to look for."
        raise DataError(msg)
    people = None if intruder.population is None else open_quietly(intruder.population)
    tables = [original, *(table for table, _ in released)]
    rough = _rough(tables, intruder)
    cells, number = _cells(tables, intruder, rough)
    numbers = [_numbers(table, rough) for table in tables]
    chosen = sample_rows(original.rows, targets, "match", "targets")
    low, high = _windows(numbers[0], rough, intruder, original)
    lead = _sharpest(numbers[0], low, high)
    numbers, low, high = [part[lead] for part in numbers], low[lead], high[lead]
    order = chosen[np.lexsort((numbers[0][0, chosen], cells[0][chosen]))]
    low, high = np.ascontiguousarray(low[:, order]), np.ascontiguousarray(high[:, order])
    rows, values, starts = _laid_out([links for _, links in released], cells[1:], numbers[1:], number)
    ties, hits = np.zeros(order.size, dtype=np.int64), np.zeros(order.size, dtype=np.int64)
    counted = np.zeros(order.size) if people is None else _population(original, people, intruder, order).astype(np.float64)
    common = (starts, order, cells[0][order], counted, intruder.decline, original.rows, ties, hits)
    if len(rough) <= 1:
        kernels.slide(rows, values[0], *common[:3], low[0], high[0], *common[3:])
    else:
        kernels.scan(rows, values, *common[:3], low, high, *common[3:])
    back = np.argsort(order)
    return _risk(order[back], ties[back], hits[back], original.rows)


def _risk(targets: Ints, ties: Ints, hits: Ints, rows: int) -> MatchRisk:
    """Return the figures of targets from the rows that are most likely for each."""
    found = np.divide(hits, ties, out=np.zeros(ties.size), where=ties > 0)
    alone = ties == 1
    claims, wrong = int(np.count_nonzero(alone)), int(np.count_nonzero(alone & (hits == 0)))
    whole = targets.size == rows
    false = Estimate.exact(wrong / claims if claims else 0.0) if whole else share(wrong, claims)
    right, claimed, none = (mean_share(np.asarray(flags, dtype=np.float64), rows) for flags in (alone & (hits == 1), alone, ties == 0))
    return MatchRisk(mean_share(found, rows), right, false, claimed, none, targets, found, ties)


def _rough(tables: Sequence[Table], intruder: Intruder) -> list[str]:
    """Return the sensitive columns that are known within a radius, after checking that all tables hold all columns."""
    for table in tables:
        table.schema.check("known", intruder.known)
        table.schema.check("sensitive", intruder.sensitive)
    rough = [name for name in intruder.sensitive if tables[0].schema[name].kind not in LABELLED]
    if recoded := [name for name in rough if any(table.schema[name].kind in LABELLED for table in tables)]:
        msg = f"columns whose numbers were recoded to categories: {recoded}. No radius applies to them."
        raise NotApplicable(msg)
    return rough


def _cells(tables: Sequence[Table], intruder: Intruder, rough: Sequence[str]) -> tuple[list[Ints], int]:
    """Return the cell of what must be equal: known columns, categories, and where a rough number is missing."""
    cells, number = common_cells(tables, [*intruder.known, *(name for name in intruder.sensitive if name not in rough)])
    for name in rough:
        missing = [column_of(table, name).missing for table in tables]
        flat, number = dense(np.concatenate(cells) * 2 + np.concatenate(missing), number * 2)
        cells = np.split(flat, np.cumsum([part.size for part in cells])[:-1])
    return cells, number


def _numbers(table: Table, rough: Sequence[str]) -> Floats:
    """Return the rough columns, one a row, 0 where missing; a row of noughts when there is none."""
    columns = [np.nan_to_num(column_of(table, name).numbers()) for name in rough]
    return np.array(columns) if columns else np.zeros((1, table.rows))


def _windows(numbers: Floats, rough: Sequence[str], intruder: Intruder, original: Table) -> tuple[Floats, Floats]:
    """Return the ends of what the intruder takes for possible, with a guard against the rounding of decimals."""
    if not rough:
        return numbers, numbers
    reach = np.array([intruder.reach(name) * _unit(original, name, relative=intruder.relative) for name in rough])[:, None]
    half = reach * np.abs(numbers) if intruder.relative else np.broadcast_to(reach, numbers.shape)
    guard = ROUNDING * (np.abs(numbers) + half)
    return numbers - half - guard, numbers + half + guard


def _unit(original: Table, name: str, *, relative: bool) -> float:
    """Return what one of the radius is in the numbers of a column: a day of a time is so many microseconds."""
    field_ = original.schema[name]
    return 86_400e6 if field_.kind == "date" and str(field_.type).startswith("timestamp") and not relative else 1.0


def _sharpest(numbers: Floats, low: Floats, high: Floats) -> Ints:
    """Return the columns with the one first whose windows hold the fewest original values: its window is looked through."""
    if numbers.shape[0] == 1:
        return np.zeros(1, dtype=np.int64)
    some = slice(None, None, max(numbers.shape[1] // 1000, 1))
    held = []
    for values, lower, upper in zip(np.sort(numbers, axis=1), low, high, strict=True):
        held.append(float(np.mean(np.searchsorted(values, upper[some], "right") - np.searchsorted(values, lower[some]))))
    return np.argsort(held, kind="stable")


def _laid_out(links: Sequence[Ints], cells: Sequence[Ints], numbers: Sequence[Floats], number: int) -> tuple[Ints, Floats, Ints]:
    """Return all released rows by release, cell and first number, and where each cell begins."""
    rows, values, starts, base = [], [], [], 0
    for link, cell, part in zip(links, cells, numbers, strict=True):
        order = np.lexsort((part[0], cell))
        rows.append(link[order])
        values.append(part[:, order])
        starts.append(base + np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=number))]))
        base += link.size
    return np.concatenate(rows).astype(np.int64), np.ascontiguousarray(np.hstack(values)), np.array(starts, dtype=np.int64)


def _population(original: Table, people: Table, intruder: Intruder, targets: Ints) -> Ints:
    """Return how many of a population match each target, by those of the intruder's columns that it has."""
    from veladura.risk.match_kernels import tally

    people.schema.check("known", intruder.known)
    seen = [name for name in intruder.sensitive if name in people.names]
    tables = [original, people]
    narrower = Intruder(known=intruder.known, sensitive=tuple(seen), radius=intruder.radius, relative=intruder.relative)
    rough = _rough(tables, narrower)
    cells, number = _cells(tables, narrower, rough)
    numbers = [_numbers(table, rough) for table in tables]
    low, high = _windows(numbers[0], rough, narrower, original)
    _, values, starts = _laid_out([np.arange(people.rows)], cells[1:], numbers[1:], number)
    found: Ints = tally(values, starts[0], cells[0][targets], np.ascontiguousarray(low[:, targets]), np.ascontiguousarray(high[:, targets]))
    return found
