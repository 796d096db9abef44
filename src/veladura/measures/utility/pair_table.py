"""The pairs of columns that moved most: a table with cells, a heat map, a list for recipients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.drawing import Axis, Drawing, Panel, colour_key, fill_cells, number_axis
from veladura.measures.measure import Detail

if TYPE_CHECKING:
    from veladura.measures.utility.two_way import Pair

CELLS_LISTED, NAMED = 3, 10
MOST_COLUMNS = 40  # of a heat map that can be read
NOTABLE = 3.0  # times the score of a correct synthesis: named to recipients
SIDE, MARGIN, KEY = 17.0, 110.0, 60.0  # of a square, for names, for the colours: in points


@dataclass(frozen=True)
class Cell:
    """One cell of the table of two columns: its rows in the original and in the release."""

    name: str
    original: float
    released: float


@dataclass(frozen=True)
class PairTable(Detail):
    """The table behind `utility.pairs`, with the score of every pair and column.

    Attributes
    ----------
    expected
        The score of a correct synthesis of this kind.
    """

    scores: Mapping[Pair, float] = field(default_factory=dict, repr=False)
    columns: Mapping[str, float] = field(default_factory=dict, repr=False)
    expected: float = 1.0

    @property
    def notable(self) -> list[tuple[Pair, float]]:
        """The pairs that moved most, with their score over that of a correct synthesis."""
        apart = [(pair, score / self.expected) for pair, score in ranked(self.scores)]
        return [(pair, ratio) for pair, ratio in apart if ratio >= NOTABLE]

    def public(self) -> Detail:
        """Return the relations that an analyst should not build on: names and scores only."""
        moved = [(" and ".join(pair), f"{ratio:.3g} times") for pair, ratio in self.notable]
        title = (
            f"Relations that moved most: {len(moved)} of {len(self.scores)} pairs of columns. Do"
            " not rely on a result about these columns together without asking the holder"
            if moved
            else f"No relation of two columns moved much, of {len(self.scores)} pairs"
        )
        head = ("Columns", "Difference of their two-way table, over that of a correct synthesis")
        return Detail(title, head if moved else (), tuple(moved[:NAMED]))

    def pictures(self) -> dict[str, bytes]:
        """Return the heat map of all pairs."""
        names = shown_columns(self.scores, self.columns)
        if len(names) < 2:  # noqa: PLR2004
            return {}
        title = "S_pMSE of pairs of columns (diagonal: columns by themselves)"
        return {title: heat_map(self, names)}


def ranked(scores: Mapping[Pair, float]) -> list[tuple[Pair, float]]:
    """Return pairs and scores, the largest first."""
    return sorted(scores.items(), key=lambda item: -item[1])


def listed(
    scores: Mapping[Pair, float], cells: Mapping[Pair, Sequence[Cell]]
) -> tuple[tuple[str, str, str], ...]:
    """Return the rows of the table: the pairs whose cells are known, with their worst cells."""
    return tuple(
        (
            " and ".join(columns),
            f"{score:.3g}",
            "; ".join(
                f"{cell.name}: {cell.original:,.0f}, {cell.released:,.0f}"
                for cell in cells[columns][:CELLS_LISTED]
            ),
        )
        for columns, score in ranked({pair: scores[pair] for pair in cells})
    )


def shown_columns(scores: Mapping[Pair, float], columns: Mapping[str, float]) -> list[str]:
    """Return the columns of the heat map: all, or the forty with the largest scores, in order."""
    total = dict.fromkeys(columns, 0.0)
    for pair, score in scores.items():
        for name in pair:
            total[name] += score
    kept = sorted(columns, key=lambda name: -total[name])[:MOST_COLUMNS]
    return [name for name in columns if name in kept]


def heat_map(table: PairTable, names: Sequence[str]) -> bytes:
    """Return the heat map: one square a pair, on a scale that ends at ten times the ideal."""
    place = {name: i for i, name in enumerate(names)}
    grid: Floats = np.full((len(names), len(names)), np.nan)
    for (a, b), score in table.scores.items():
        if a in place and b in place:
            grid[place[b], place[a]] = score
    for name, score in table.columns.items():
        if name in place:
            grid[place[name], place[name]] = score
    size, top = MARGIN + SIDE * len(names), 10 * table.expected
    drawing = Drawing(size + KEY, size)
    ends, middle = (-0.5, len(names) - 0.5), range(len(names))
    panel = Panel(
        drawing,
        (0.0, 0.0, size, size),
        Axis(*ends, middle, names, slanted=True),
        Axis(*ends, middle, names[::-1]),
    )
    fill_cells(panel, grid[::-1], top)  # the first column on top
    panel.frame()
    colour_key(drawing, (size, panel.top, 12.0, panel.bottom - panel.top), number_axis(top))
    drawing.text(size + 6, panel.top - 6, "S_pMSE", anchor="middle")
    return drawing.svg()
