"""Whom an intruder picks: the rows that are compatible with what he knows, the nearest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.measures.knowledge import Scenario
from veladura.measures.risk.match_search import exact_cells, rough_numbers, sharpest, windows
from veladura.numeric.points import positions
from veladura.numeric.proportions import PAIRS, sample_rows
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.table.table import Table

FEWER = 10  # times the pairs of rows: without distances most searches end at the second person
FEWEST = 100  # people of a sample


@dataclass(frozen=True, eq=False)
class Search:
    """Candidates and targets of one table, row for row, as the kernels take them.

    Attributes
    ----------
    cells, number
        The cell of the values that must be equal, and the number of cells.
    values, low, high
        The columns with a window, one a row, and the ends of the windows of each target.
    points, wanted
        The columns that are compared by distance: of the candidates, and as the intruder knows
        them of the targets.
    """

    cells: Ints = field(repr=False)
    number: int
    values: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    points: Floats = field(repr=False)
    wanted: Floats = field(repr=False)

    @property
    def starts(self) -> Ints:
        """Where the candidates of each cell begin, once they are sorted."""
        sizes = np.bincount(self.cells, minlength=self.number)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def affordable(self, people: Ints, wanted: Ints) -> Ints:
        """Return the people who can be looked for: a sample, with too many pairs of rows.

        Parameters
        ----------
        people
            The person of each row.
        wanted
            The people to look for.
        """
        from veladura.measures.risk.picking_kernels import pairs

        nearest = self.points.shape[1] > 0
        if self.values.shape[0] == 1 and not nearest:
            return wanted  # the second compatible person ends the search
        targets = np.flatnonzero(among(people, wanted))
        order = np.lexsort((self.values[0], self.cells))
        total = int(
            pairs(
                np.ascontiguousarray(self.values[:, order]),
                self.starts,
                self.cells[targets],
                np.ascontiguousarray(self.low[:, targets]),
                np.ascontiguousarray(self.high[:, targets]),
            )
        )
        most = PAIRS if nearest else FEWER * PAIRS
        if total <= most:
            return wanted
        number = max(int(wanted.size * (most / total)), FEWEST)
        return wanted[sample_rows(wanted.size, number, "intruders")]

    def picks(self, people: Ints, targets: Ints) -> Ints:
        """Return the person picked for each target, -1 where it is not one person."""
        from veladura.measures.risk.picking_kernels import pick

        order = np.lexsort((self.values[0], self.cells))
        picked: Ints = pick(
            np.ascontiguousarray(self.values[:, order]),
            np.ascontiguousarray(self.points[order]),
            people[order],
            self.starts,
            self.cells[targets],
            np.ascontiguousarray(self.low[:, targets]),
            np.ascontiguousarray(self.high[:, targets]),
            np.ascontiguousarray(self.wanted[targets]),
        )
        return picked


def distinct(*numbers: Ints) -> Ints:
    """Return the numbers that occur, in order; people are numbered from 0 almost without gaps."""
    flags = np.zeros(max(int(part.max(initial=-1)) for part in numbers) + 1, dtype=bool)
    for part in numbers:
        flags[part] = True
    return np.flatnonzero(flags)


def among(people: Ints, wanted: Ints) -> Mask:
    """Return which of some rows belong to the wanted people."""
    flags = np.zeros(max(int(people.max(initial=-1)), int(wanted.max(initial=-1))) + 1, dtype=bool)
    flags[wanted] = True
    return flags[people]


def roughly_known(table: Table, scenario: Scenario, columns: Sequence[str]) -> list[str]:
    """Return the columns that are known within a distance: those that hold numbers or dates."""
    return [
        name
        for name in columns
        if name in scenario.within and table.schema[name].kind not in LABELLED
    ]


def search_of(
    table: Table,
    scenario: Scenario,
    columns: Sequence[str],
    truth: Table | None = None,
    changed: Sequence[str] = (),
) -> Search:
    """Return what an intruder compares.

    Parameters
    ----------
    table
        The rows that he searches; each is also a target.
    columns
        The columns whose values he can look up: he knows them as the table has them. Those known
        within a distance must be in the window around the true value, or equal the target's own.
    truth
        The true values of each row; without them those of the table.
    changed
        Those columns: known ones within a distance must be in the window around the true value, of
        the others the nearest row is taken.
    """
    rough = roughly_known(table, scenario, [*columns, *changed])
    exactly = [name for name in columns if name not in rough]
    nearest = [name for name in changed if name not in rough]
    if not (exactly or rough):
        cells, number = np.zeros(table.rows, dtype=np.int64), 1
        values = low = high = np.zeros((1, table.rows))
    else:
        intruder = scenario.intruder(exactly, rough)
        (cells,), number = exact_cells([table], intruder, rough)
        values = rough_numbers(table, rough)
        centre = values if truth is None else rough_numbers(truth, rough)
        low, high = windows(centre, rough, intruder, table)
        own = np.array([name not in changed for name in rough], dtype=bool).reshape(-1, 1)
        if rough:  # a coarser value is compatible with the true one, wherever it lies
            low = np.where(own, np.minimum(low, values), low)
            high = np.where(own, np.maximum(high, values), high)
        lead = sharpest(values, low, high)
        values, low, high = values[lead], low[lead], high[lead]
    points = wanted = np.zeros((table.rows, 0))
    if nearest and truth is not None:
        wanted, points = positions([truth, table], nearest, [0])
    return Search(cells, number, values, low, high, points, wanted)


def alone(
    table: Table,
    scenario: Scenario,
    columns: Sequence[str],
    people: Ints,
    truth: Table | None = None,
    wanted: Ints | None = None,
) -> tuple[Ints, Ints]:
    """Return who has a row that is compatible with nobody else, and who was looked for.

    Parameters
    ----------
    columns
        The columns whose values can be looked up.
    people
        The person of each row.
    truth
        The true values of each row; without them those of the table.
    wanted
        The people to look for; by default all, or a sample where that takes too long.
    """
    search = search_of(table, scenario, columns, truth)
    chosen = search.affordable(people, distinct(people)) if wanted is None else wanted
    targets = np.flatnonzero(among(people, chosen))
    picked = search.picks(people, targets)
    return distinct(picked[picked >= 0]), chosen


def recognised(parts: Sequence[tuple[Search, Ints]], people: Ints, wanted: Ints) -> Ints:
    """Return for which of the wanted people the intruder's best match is right.

    Each dataset gives one vote: its single nearest compatible person. The person with most votes
    is picked; without a single one, nobody is.

    Parameters
    ----------
    parts
        Each dataset, with the original row of each of its rows.
    people
        The person of each original row.
    """
    votes = np.full((len(parts), people.size), -1, dtype=np.int64)
    for vote, (search, link) in zip(votes, parts, strict=True):
        targets = np.flatnonzero(among(people[link], wanted))
        vote[link[targets]] = search.picks(people[link], targets)
    own = (votes == people).sum(axis=0)
    most = np.zeros(people.size, dtype=np.int64)
    for vote in votes:
        other = np.where((vote >= 0) & (vote != people), (votes == vote).sum(axis=0), 0)
        most = np.maximum(most, other)
    return distinct(people[(own > 0) & (own > most)])
