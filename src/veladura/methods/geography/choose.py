"""Which cell size: risk and usefulness over candidate grids, and the one to take, with the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.context import Context, thread_count
from veladura.base.pictures import new_figure
from veladura.base.streams import Streams
from veladura.core.release import released
from veladura.errors import NotApplicable, PlanError
from veladura.methods.geography.fidelity import intensity_correlations, rectangle_overlap
from veladura.methods.geography.fitted import FittedGeography, fit_quickly
from veladura.methods.geography.matching import matched_distances, near_by_attributes
from veladura.methods.geography.placed import placed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.methods.geography.geography import Geography
    from veladura.table.table import Table

SIDES = (5, 10, 15, 20)
KEPT = 0.95  # share of the best usefulness that a recommended grid must keep


@dataclass(frozen=True)
class Candidate:
    """One grid and what its release would be like.

    Attributes
    ----------
    grid, cells
        Squares from west to east and from south to north; usable cells.
    utility
        Mean overlap of intervals in rectangles; without attributes, correlation of the smoothed
        maps.
    distance
        Mean distance of matched places: further is safer.
    near
        Probability that an intruder who knows the attributes names a place near the true one.
    """

    grid: tuple[int, int]
    cells: int
    utility: float
    distance: float
    near: float


@dataclass(frozen=True)
class Choice:
    """The risk-utility curve over grids. Its figures are of the original: for the holder."""

    candidates: tuple[Candidate, ...]
    recommended: tuple[int, int]
    reason: str

    def __str__(self) -> str:
        head = f"{'grid':>9}  {'cells':>6}  {'utility':>8}  {'distance':>9}  {'near':>7}"
        rows = [
            f"{'x'.join(map(str, one.grid)):>9}  {one.cells:>6}  {one.utility:>8.3f} "
            f" {one.distance:>9.4g}  {one.near:>7.3f}"
            + ("  <- recommended" if one.grid == self.recommended else "")
            for one in self.candidates
        ]
        return "\n".join([head, *rows, "", self.reason])

    def picture(self) -> Figure:
        """Return the curve as a figure: usefulness against the distance of matched places."""
        figure = new_figure(5.2, 3.6)
        panel = figure.add_subplot()
        panel.plot(
            [one.distance for one in self.candidates],
            [one.utility for one in self.candidates],
            "-o",
            color="#1f5f8b",
            lw=1,
        )
        for one in self.candidates:
            chosen = one.grid == self.recommended
            label = "x".join(map(str, one.grid)) + (" (recommended)" if chosen else "")
            panel.annotate(
                label,
                (one.distance, one.utility),
                (5, 5),
                textcoords="offset points",
                fontsize=8,
                weight="bold" if chosen else None,
            )
        panel.set(
            xlabel="mean distance of matched places (safer to the right)",
            ylabel="usefulness (better above)",
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
    """Return risk and usefulness over candidate grids, each fitted approximately, and the grid to take.

    Among the grids that keep 95 % of the best usefulness the one with the largest distance between
    original and synthetic places is recommended.

    Parameters
    ----------
    recipe
        The recipe; its grid is not looked at.
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
        for grid in grids or default_grids(recipe)
    )
    if not candidates:
        msg = "grids is empty: name at least one grid to look at."
        raise PlanError(msg)
    return _decide(candidates)


def default_grids(recipe: Geography) -> list[tuple[int, int]]:
    """Return grids of nearly square cells over the bounds of the region."""
    region, plane = recipe.ground()
    x, y = plane.forward(*np.array(region.bounds).reshape(2, 2).T)
    wide, high = float(np.ptp(x)), float(np.ptp(y))
    shapes = [(side * min(wide / high, 1.0), side * min(high / wide, 1.0)) for side in SIDES]
    return [(max(round(across), 1), max(round(up), 1)) for across, up in shapes]


def _candidate(recipe: Geography, table: Table, context: Context) -> Candidate:
    fitted: FittedGeography = fit_quickly(recipe, table, context)
    release = placed(table, released(fitted, context))
    try:
        utility = rectangle_overlap(release)
    except NotApplicable:
        utility = float(np.mean(intensity_correlations(release)))
    distances = [np.concatenate(list(d.values())).mean() for d in matched_distances(release)]
    across, up = release.grid.shape
    return Candidate(
        (across, up),
        release.grid.cells,
        utility,
        float(np.mean(distances)),
        near_by_attributes(release),
    )


def _decide(candidates: tuple[Candidate, ...]) -> Choice:
    best = max(candidates, key=lambda one: (one.utility, one.distance))
    good = [one for one in candidates if one.utility >= KEPT * best.utility]
    chosen = max(good, key=lambda one: (one.distance, -math.prod(one.grid)))
    name, top = ("x".join(map(str, one.grid)) for one in (chosen, best))
    reason = (
        f"{name} keeps {chosen.utility / best.utility:.0%} of the best usefulness"
        f" ({chosen.utility:.3f}; {top} has {best.utility:.3f}), and of the {len(good)} of"
        f" {len(candidates)} grids that keep at least {KEPT:.0%} it moves places furthest"
        f" ({chosen.distance:.4g} on average)."
    )
    return Choice(candidates, chosen.grid, reason)
