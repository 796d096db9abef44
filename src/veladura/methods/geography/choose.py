"""The choice of a grid: disclosure risk and utility of candidates, and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.context import Context, thread_count
from veladura.base.pictures import new_figure
from veladura.base.streams import Streams
from veladura.core.making import released
from veladura.errors import NotApplicable, PlanError
from veladura.methods.geography.fidelity import intensity_correlations, rectangle_overlap
from veladura.methods.geography.fit import fit_quickly
from veladura.methods.geography.fitted import FittedGeography
from veladura.methods.geography.matching import matched_distances, near_by_attributes
from veladura.methods.geography.placed import placed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.methods.geography.geography import Geography
    from veladura.table.table import Table

SIDES = (5, 10, 15, 20)
KEPT = 0.95  # share of the best utility that a recommended grid must keep


@dataclass(frozen=True)
class GridCandidate:
    """One grid, with the disclosure risk and utility of its release.

    Attributes
    ----------
    grid, cells
        Squares from west to east and from south to north; usable cells.
    utility
        Mean confidence interval overlap in random rectangles; without attributes, correlation of
        the smoothed maps.
    distance
        Mean distance between matched original and synthetic places: larger is safer.
    near
        Probability that an intruder who knows a person's attributes names a place near the true
        one.
    """

    grid: tuple[int, int]
    cells: int
    utility: float
    distance: float
    near: float


@dataclass(frozen=True)
class Choice:
    """The risk-utility map of grids. Its figures use the original: private, do not share."""

    candidates: tuple[GridCandidate, ...]
    recommended: tuple[int, int]
    reason: str

    def __str__(self) -> str:
        head = f"{'grid':>9}  {'cells':>6}  {'utility':>8}  {'distance':>9}  {'near':>7}"
        rows = [
            f"{_text(each.grid):>9}  {each.cells:>6}  {each.utility:>8.3f} "
            f" {each.distance:>9.4g}  {each.near:>7.3f}"
            + ("  <- recommended" if each.grid == self.recommended else "")
            for each in self.candidates
        ]
        return "\n".join([head, *rows, "", self.reason])

    def picture(self) -> Figure:
        """Return the risk-utility map: utility against the distance of matched places."""
        figure = new_figure(5.2, 3.6)
        panel = figure.add_subplot()
        panel.plot(
            [each.distance for each in self.candidates],
            [each.utility for each in self.candidates],
            "-o",
            color="#1f5f8b",
            lw=1,
        )
        for each in self.candidates:
            chosen = each.grid == self.recommended
            label = _text(each.grid) + (" (recommended)" if chosen else "")
            panel.annotate(
                label,
                (each.distance, each.utility),
                (5, 5),
                textcoords="offset points",
                fontsize=8,
                weight="bold" if chosen else None,
            )
        panel.set(
            xlabel="mean distance of matched places (safer to the right)",
            ylabel="utility (more useful upwards)",
        )
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(0.15)
        return figure


def choose_grid(
    recipe: Geography,
    table: Any,
    grids: Sequence[tuple[int, int]] | None = None,
    *,
    seed: int | None = None,
    context: Context | None = None,
) -> Choice:
    """Return disclosure risk and utility of candidate grids, and the recommended grid.

    Every candidate is fitted by the Laplace approximation. Among the grids that keep 95 % of the
    best utility the one with the largest distance between original and synthetic places is
    recommended.

    Parameters
    ----------
    recipe
        The recipe; its own grid is not used.
    table
        Anything `veladura.open` takes.
    grids
        The candidates; by default 5, 10, 15 and 20 squares along the longer side of the region.
    """
    from veladura.table.source import open as open_table

    opened = open_table(table).without_identifiers().fetched()
    given = context or Context(Streams.of(seed), thread_count(None))
    candidates = tuple(
        _candidate(replace(recipe, grid=grid), opened, given)
        for grid in grids or default_grids(recipe, opened)
    )
    if not candidates:
        msg = "grids is empty: give at least one grid to compare."
        raise PlanError(msg)
    return _decide(candidates)


def default_grids(recipe: Geography, table: Table) -> list[tuple[int, int]]:
    """Return grids of nearly square cells over the bounds of the region."""
    region, plane = recipe.region_and_plane(table.codes([recipe.x, recipe.y]))
    x, y = plane.forward(*np.array(region.bounds).reshape(2, 2).T)
    wide, high = float(np.ptp(x)), float(np.ptp(y))
    shapes = [(side * min(wide / high, 1.0), side * min(high / wide, 1.0)) for side in SIDES]
    return [(max(round(across), 1), max(round(up), 1)) for across, up in shapes]


def _candidate(recipe: Geography, table: Table, context: Context) -> GridCandidate:
    fitted: FittedGeography = fit_quickly(recipe, table, context)
    release = placed(table, released(fitted, context))
    try:
        utility = rectangle_overlap(release)
    except NotApplicable:
        utility = float(np.mean(intensity_correlations(release)))
    distances = [np.concatenate(list(d.values())).mean() for d in matched_distances(release)]
    return GridCandidate(
        fitted.recipe.grid,  # type: ignore[arg-type]  # a candidate has its own
        release.grid.cells,
        utility,
        float(np.mean(distances)),
        near_by_attributes(release),
    )


def _decide(candidates: tuple[GridCandidate, ...]) -> Choice:
    best = max(candidates, key=lambda each: (each.utility, each.distance))
    good = [each for each in candidates if each.utility >= KEPT * best.utility]
    chosen = max(good, key=lambda each: (each.distance, -math.prod(each.grid)))
    name, top = _text(chosen.grid), _text(best.grid)
    reason = (
        f"{name} keeps {chosen.utility / best.utility:.0%} of the best utility"
        f" ({chosen.utility:.3f}; {top} has {best.utility:.3f}). {len(good)} of {len(candidates)}"
        f" grids keep at least {KEPT:.0%}; of these it moves places furthest"
        f" ({chosen.distance:.4g} on average)."
    )
    return Choice(candidates, chosen.grid, reason)


def _text(grid: tuple[int, int]) -> str:
    return f"{grid[0]}x{grid[1]}"
