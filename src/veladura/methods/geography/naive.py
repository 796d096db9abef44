"""Uniform masking within grid cells: every place moves inside the cell it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from numpy.random import Generator

from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.recipe import Draw, Drawn
from veladura.methods.geography.claims import drawn_promise, inside_promise
from veladura.methods.geography.grid import Grid, grid_over
from veladura.methods.geography.located import (
    Located,
    LocationRecipe,
    check_coordinates,
    check_grid,
    locate,
)
from veladura.methods.geography.passing import passing_places, refuse_hull, with_decimals_of_all
from veladura.methods.geography.place import (
    Writing,
    draw_points,
    moved_datasets,
    rule_of_masks,
    written,
)

if TYPE_CHECKING:
    from veladura.base.arrays import Floats
    from veladura.core.chunks import FittedChunks
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class NaiveGeography(LocationRecipe):
    """Move every place to a uniform point of its own grid cell.

    The baseline of Paiva et al. (2014): the release is very useful, and it reveals the cell that
    each person lives in.

    Parameters
    ----------
    x, y
        The columns of the coordinates.
    region
        The declared region: a file (GeoJSON, WKT, shapefile, CSV with rings), geometry, or [west,
        south, east, north]; "hull" for a coarse one around the data, with a caution.
    exclude
        Areas of it where nobody may be placed.
    grid
        Squares from west to east and from south to north.
    coordinates
        "planar", or "degrees" for longitude (x) and latitude (y).
    m
        Number of datasets.
    missing
        What to do with rows that have no place: "refuse" the table, or "keep" them without one.
    stray
        What to do with a few places outside the region: "refuse", or count them in the "nearest"
        cell.
    fit_rows
        Most rows that are held: those of a larger table pass chunk by chunk. By default all rows,
        or those that a quarter of ``[run] memory`` holds where they do not fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> homes = pd.DataFrame({"x": [1.5, 7.25], "y": [2.5, 8.5]})
    >>> recipe = vd.NaiveGeography(x="x", y="y", region=[0, 0, 10, 10], grid=(2, 2))
    >>> masked = recipe.protect(homes, seed=1).datasets[0]
    >>> ((masked // 5).to_numpy() == (homes // 5).to_numpy()).all()
    np.True_
    """

    method = "naive-geography"
    sentence = (
        "Uniform masking: every place was moved at random within its cell of a grid. The cell"
        " itself is the true one."
    )

    grid: tuple[int, int] = (20, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_grid(self.grid)

    def apply(self, table: Table, context: Context) -> FittedNaive:  # noqa: ARG002
        """Find the place of every row, and lay the grid."""
        codes, located = locate(self, table)
        grid = grid_over(located.region, located.plane, self.grid)
        return FittedNaive(self, table, codes, located, grid)

    def apply_to_sample(
        self, table: Table, number: int, context: Context
    ) -> FittedChunks[NaiveGeography]:
        """Lay the grid; places are found as rows pass."""
        from veladura.core.chunks import FittedChunks, fit_to_sample

        refuse_hull(self)
        check_coordinates(self, table.schema)
        near, sample, _ = fit_to_sample(self, table, number, context, ())
        fitted = self.apply(sample, context)
        codes = with_decimals_of_all(fitted.codes, near, [self.x, self.y])
        writing = Writing.of(codes[self.x], codes[self.y])
        located = replace(fitted.located, writing=writing)
        return FittedChunks.of(self, near, replace(fitted, codes=codes, located=located))

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> NaiveGeography:
        """Suggest the coordinates and a rounded box around them, to be confirmed."""
        from veladura.methods.geography.propose import settings

        proposed = settings(table, facts)
        names = ("x", "y", "region", "coordinates", "missing", "grid")
        return cls(**{name: proposed[name] for name in names})


@dataclass(frozen=True, eq=False, repr=False)
class FittedNaive(RowWise[NaiveGeography]):
    """Places and the grid. Holds original values: never released."""

    located: Located
    grid: Grid

    @property
    def kept_beside(self) -> Sequence[str]:
        """The coordinates: that they moved is proved row for row."""
        return (self.recipe.x, self.recipe.y)

    def draw(self, context: Context) -> Drawn:
        """Return the table with moved places, once or m times."""
        homes = self.located.at_homes().places
        cells = self.grid.locate(homes.x, homes.y)

        def points(rng: Generator) -> tuple[Floats, Floats]:
            return draw_points(rng, self.grid, cells, self.located.writing)

        draws = moved_datasets(self.recipe, self.codes, self.located, points, context)
        return self.described(draws, self.codes.rows.size)

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Return new places of some rows."""
        recipe = self.recipe
        places = passing_places(recipe, columns, self.located.region)
        cells = self.grid.locate(places.x, places.y)
        rng = stream(recipe.method, stream.dataset)
        x, y = draw_points(rng, self.grid, cells, self.located.writing)
        return written(columns[recipe.x], columns[recipe.y], places.placed, x, y)

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Promise the region, and that places were drawn."""
        del rows
        recipe = self.recipe
        return Drawn(
            datasets=datasets,
            changed=(recipe.x, recipe.y),
            rule=rule_of_masks(recipe.m),
            promises=(
                inside_promise(recipe.x, recipe.y, self.located.region),
                drawn_promise(recipe.x, recipe.y),
            ),
        )
