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

    def affordable(self, targets: Ints) -> int:
        """Return how many of the targets can be looked for, by the pairs of rows to compare."""
        from veladura.measures.risk.picking_kernels import pairs

        if self.values.shape[0] == 1 and not self.points.shape[1]:
            return targets.size  # the second compatible person ends the search
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
        return targets.size if total <= PAIRS else max(int(targets.size * (PAIRS / total)), 100)

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
        The columns whose values he can look up: he knows them as the table has them.
    truth
        The true values of each row, for columns that a method disturbed.
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
        centre = values.copy()
        for i, name in enumerate(rough):
            if truth is not None and name in changed:
                centre[i] = rough_numbers(truth, [name])[0]
        low, high = windows(centre, rough, intruder, table)
        lead = sharpest(values, low, high)
        values, low, high = values[lead], low[lead], high[lead]
    points = wanted = np.zeros((table.rows, 0))
    if nearest and truth is not None:
        wanted, points = positions([truth, table], nearest, [0])
    return Search(cells, number, values, low, high, points, wanted)


def alone(table: Table, scenario: Scenario, columns: Sequence[str], people: Ints) -> Mask:
    """Return which rows are compatible with one person only, by columns that can be looked up."""
    search = search_of(table, scenario, columns)
    return search.picks(people, np.arange(table.rows)) >= 0


def recognised(
    parts: Sequence[tuple[Search, Ints]], people: Ints, doubtful: Ints
) -> tuple[Mask, Ints]:
    """Return for which people the intruder's best match is right, and who was looked for.

    Each dataset gives one vote: its single nearest compatible person. The person with most votes
    is picked; without a single one, nobody is.

    Parameters
    ----------
    parts
        Each dataset, with the original row of each of its rows.
    people
        The person of each original row.
    doubtful
        The people to look for; a sample of them where there are too many pairs of rows.
    """
    search, link = parts[0]
    wanted = np.flatnonzero(np.isin(people[link], doubtful))
    share = search.affordable(wanted) / max(wanted.size, 1)
    chosen = doubtful[sample_rows(doubtful.size, int(np.ceil(share * doubtful.size)), "intruders")]
    votes = np.full((len(parts), people.size), -1, dtype=np.int64)
    for vote, (search, link) in zip(votes, parts, strict=True):
        targets = np.flatnonzero(np.isin(people[link], chosen))
        vote[link[targets]] = search.picks(people[link], targets)
    own = (votes == people).sum(axis=0)
    most = np.zeros(people.size, dtype=np.int64)
    for vote in votes:
        other = np.where((vote >= 0) & (vote != people), (votes == vote).sum(axis=0), 0)
        most = np.maximum(most, other)
    right = np.unique(people[(own > 0) & (own > most)])
    return np.isin(chosen, right), chosen
