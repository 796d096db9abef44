"""Maps as SVG: synthetic places and intensities are public, original places are private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.panels import (
    DARK,
    INK,
    NEW,
    dots,
    key_of_shades,
    map_figure,
    map_panel,
    name_dots,
    pages,
    shade,
    svg,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.core.release import Release
    from veladura.methods.geography.fitted import FittedGeography

FEWEST_ROWS = 10  # combinations with fewer people get no public map
ON_A_PAGE = 12
WIDEST = 4
MOST_PAGES = 4
MOST_SETS = 5
Points = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Shown:
    """What maps are drawn from. Holds original places, which only `custodian` shows.

    Attributes
    ----------
    synthetic
        The places of each dataset.
    values
        By continuous variable, its original values and those of each dataset; rows with a place.
    """

    grid: Cells
    names: tuple[str, ...] = field(repr=False)
    rows: Ints = field(repr=False)
    intensity: Floats = field(repr=False)
    group: Ints = field(repr=False)
    original: Points = field(repr=False)
    synthetic: Sequence[Points] = field(repr=False)
    values: Mapping[str, tuple[Floats, Sequence[Floats]]] = field(repr=False, default_factory=dict)
    axes: tuple[str, str] = ("x", "y")

    @classmethod
    def of(cls, fitted: FittedGeography, release: Release) -> Shown:
        """Return the datasets and their original, without rows that have no place."""
        ground, recipe = fitted.ground, fitted.recipe
        placed = np.flatnonzero(ground.places.placed)

        def column(number: int, name: str) -> Floats:
            dataset = release.tables[number]
            values = dataset.table.column(name).numbers()
            return np.asarray(values[np.asarray(dataset.order)[placed]])

        sets = range(len(release.tables))
        return cls(
            ground.grid,
            ground.groups.names,
            ground.groups.rows,
            fitted.posterior.mean,
            ground.groups.of_row,
            (ground.places.x, ground.places.y),
            [(column(number, recipe.x), column(number, recipe.y)) for number in sets],
            {
                name: (
                    fitted.codes[name].numbers()[placed],
                    [column(number, name) for number in sets],
                )
                for name in recipe.continuous
            },
            _axis_labels(fitted),
        )

    @property
    def largest(self) -> list[int]:
        """The combinations with enough people for a map, the largest first."""
        order = np.argsort(-self.rows, kind="stable")
        return [int(b) for b in order if self.rows[b] >= FEWEST_ROWS]


def public(shown: Shown) -> dict[str, bytes]:
    """Return the maps that anyone may see."""
    around = "" if shown.grid.region.excluded is None else " and excluded areas"
    pictures = {f"Synthetic places{around} (first dataset)": svg(lambda: _places(shown))}
    return pictures | _by_page(
        shown, "People per area, posterior mean, for every combination of attributes", points=False
    )


def custodian(shown: Shown) -> dict[str, bytes]:
    """Return the private maps: the original places beside the synthetic ones."""
    from veladura.methods.geography.value_pictures import value_pictures

    pictures = {
        "Original and synthetic places (first dataset): everyone and the largest combinations": (
            svg(lambda: _compared(shown))
        )
    }
    if shown.largest and len(shown.synthetic) > 1:
        sets = min(len(shown.synthetic), MOST_SETS)
        title = f"Original places beside {sets} datasets, for the largest combinations"
        pictures[title] = svg(lambda: _all_sets(shown))
    sized = f" (size of a dot by {next(iter(shown.values))})" if shown.values else ""
    pictures |= _by_page(
        shown, f"Original places over people per area, posterior mean{sized}", points=True
    )
    return pictures | value_pictures(shown)


def _by_page(shown: Shown, title: str, *, points: bool) -> dict[str, bytes]:
    """Return the intensities of all combinations that are large enough, some on a page."""
    if not shown.largest:
        return {}
    every = pages(shown.largest, ON_A_PAGE)
    small = len(shown.rows) - len(shown.largest)
    left = f"; {small} with fewer than {FEWEST_ROWS} people left out" if small else ""
    if len(every) > MOST_PAGES:
        left = f"; the largest {ON_A_PAGE * MOST_PAGES} of {len(shown.rows)}"
        every = pages(shown.largest[: ON_A_PAGE * MOST_PAGES], ON_A_PAGE)
    return {
        title + left + (f" (page {number} of {len(every)})" if len(every) > 1 else ""): svg(
            lambda page=page: _intensities(shown, page, points=points)  # type: ignore[misc]
        )
        for number, page in enumerate(every, start=1)
    }


def _places(shown: Shown) -> Figure:
    figure = map_figure(1, 1, shown.grid, 5.2)
    dots(map_panel(figure, (1, 1, 1), shown.grid, shown.axes), shown.synthetic[0], NEW)
    name_dots(figure, shown.grid, {"one synthetic person": NEW}, _together(shown))
    return figure


def _intensities(shown: Shown, chosen: Sequence[int], *, points: bool) -> Figure:
    """Draw a panel for each combination: people per area, on one scale."""
    wide = next((side for side in (4, 3, 2) if len(chosen) % side == 0), 3)
    wide = min(wide, len(chosen)) if len(chosen) > 1 else 1
    rows = -(-len(chosen) // wide)
    figure = map_figure(rows, wide, shown.grid, 3.0 if wide < WIDEST else 2.6)
    sizes = _sizes(shown)
    for i, b in enumerate(chosen, start=1):
        panel = map_panel(figure, (rows, wide, i), shown.grid, shown.axes, len(chosen))
        titled(panel, shown.names[b], 8)
        shade(panel, shown.grid, shown.intensity[b])
        if points:
            mine = shown.group == b
            size = None if sizes is None else sizes[mine]
            where = (shown.original[0][mine], shown.original[1][mine])
            dots(panel, where, DARK, size, shaded=True)
    key_of_shades(figure)
    if points:
        note = "larger: a higher value" if sizes is not None else ""
        name_dots(figure, shown.grid, {"one person": DARK}, note)
    return figure


def _sizes(shown: Shown) -> Floats | None:
    """Return the first continuous variable between its 5th and 95th percentile, from 0 to 1."""
    if not shown.values:
        return None
    values = next(iter(shown.values.values()))[0]
    if np.isnan(values).all():
        return None
    low, high = np.nanquantile(values, [0.05, 0.95])
    share = (values - low) / (high - low) if high > low else np.full(values.size, 0.5)
    return np.asarray(np.clip(np.nan_to_num(share), 0.0, 1.0))


def _compared(shown: Shown) -> Figure:
    chosen: Sequence[int | None] = [None, *shown.largest[:3]]
    figure = map_figure(2, len(chosen), shown.grid, 2.9)
    for i, b in enumerate(chosen, start=1):
        mine = slice(None) if b is None else shown.group == b
        for row, (word, (x, y), colour) in enumerate(
            (("original", shown.original, INK), ("synthetic", shown.synthetic[0], NEW))
        ):
            place = (2, len(chosen), i + row * len(chosen))
            panel = map_panel(figure, place, shown.grid, shown.axes)
            titled(panel, f"{word}: {'everyone' if b is None else shown.names[b]}")
            dots(panel, (x[mine], y[mine]), colour)
    named = {"one person": INK, "one synthetic person": NEW}
    name_dots(figure, shown.grid, named, _together(shown))
    return figure


def _all_sets(shown: Shown) -> Figure:
    """Draw the original and each dataset over the intensity, a row for a combination."""
    chosen, sets = shown.largest[:3], shown.synthetic[:MOST_SETS]
    wide = len(sets) + 1
    figure = map_figure(len(chosen), wide, shown.grid, 2.3)
    for row, b in enumerate(chosen):
        mine = shown.group == b
        for at, (x, y) in enumerate((shown.original, *sets)):
            place = (len(chosen), wide, row * wide + at + 1)
            panel = map_panel(figure, place, shown.grid, shown.axes)
            titled(panel, shown.names[b] if at == 0 else f"dataset {at}")
            shade(panel, shown.grid, shown.intensity[b])
            dots(panel, (x[mine], y[mine]), DARK if at == 0 else NEW, shaded=True)
    key_of_shades(figure)
    named = {"one person": DARK, "one synthetic person": NEW}
    name_dots(figure, shown.grid, named, _together(shown))
    return figure


def _together(shown: Shown) -> str:
    """Return what larger dots are, where people share a place such as the centre of a cell."""
    places = np.column_stack(shown.synthetic[0])
    shared = len(np.unique(places, axis=0)) < len(places)
    return "larger: several people at one place" if shared else ""


def _axis_labels(fitted: FittedGeography) -> tuple[str, str]:
    """Return the columns of the coordinates with their units."""
    recipe = fitted.recipe
    if recipe.coordinates == "degrees":
        return f"{recipe.x} (degrees of longitude)", f"{recipe.y} (degrees of latitude)"
    return f"{recipe.x} (units of the source)", f"{recipe.y} (units of the source)"
