"""The rows of a table on a grid, isolated ones moved first: what the model is fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.context import Context
from veladura.errors import PlanError
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.combinations import Combinations, advise, combinations_of
from veladura.methods.geography.continuous import Redrawn
from veladura.methods.geography.geography import Geography
from veladura.methods.geography.grid import grid_over
from veladura.methods.geography.homes import Homes, homes_of
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.isolation import hidden_places
from veladura.methods.geography.located import Located, Places, check_coordinates, places_of
from veladura.methods.geography.moves import Moves
from veladura.methods.geography.passing import with_decimals_of_all
from veladura.methods.geography.place import Writing
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region
from veladura.methods.geography.tracts import read_tracts, tell_of_islands, tracts_over
from veladura.table.codes import Codes
from veladura.table.schema import NUMERIC, check_kinds
from veladura.table.units import first_of_pairs, person_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table
    from veladura.table.whole import Whole


TIMES = (*NUMERIC, "date", "ordered")


@dataclass(frozen=True, eq=False)
class GriddedRows:
    """A table's rows on a grid. Holds original values: never released.

    Attributes
    ----------
    cell
        The cell that each row with a place is counted in: its own, unless it is isolated.
    surfaces
        The continuous variables, by name.
    homes
        Which of these rows are of one person at one place.
    """

    grid: Cells
    places: Places
    cell: Ints
    groups: Combinations
    surfaces: Mapping[str, Redrawn]
    homes: Homes

    @property
    def counts(self) -> Ints:
        """Homes by combination and cell: rows, where nobody has two."""
        shape = (len(self.groups.levels), self.grid.cells)
        rows = first_of_pairs(self.homes.of_row, self.groups.of_row)
        return np.bincount(
            self.groups.of_row[rows] * shape[1] + self.cell[rows], minlength=shape[0] * shape[1]
        ).reshape(shape)

    @property
    def home_group(self) -> Ints:
        """The combination of each home: that of its first row."""
        return np.asarray(self.groups.of_row[self.homes.first])

    def moves(self) -> Moves:
        """Return the moves of people from one home to the next."""
        homes = self.homes
        later = np.flatnonzero(homes.before >= 0)
        cell = self.cell[homes.first]
        return Moves(self.grid, cell[homes.before[later]], cell[later], self.home_group[later])

    def model(self) -> tuple[CellCounts, Graph, EffectDesign]:
        """Return the data of the model.

        Areas are divided by that of the mean cell, so that the intercept stays near 0.
        """
        offset = np.log(self.grid.area / self.grid.area.mean())
        stacked = [surface.covariate for surface in self.surfaces.values()]
        covariates = {"covariates": np.stack(stacked)} if stacked else {}
        return (
            CellCounts(self.counts, offset),
            Graph.of_pairs(self.grid.cells, self.grid.pairs),
            EffectDesign(self.groups.levels, **covariates),
        )


def settle(
    recipe: Geography, table: Table, context: Context, whole: Whole | None = None
) -> tuple[GriddedRows, Codes]:
    """Return the rows of a table on the grid of the recipe, isolated ones moved first."""
    check_coordinates(recipe, table.schema)
    table.schema.check("attributes", recipe.attributes)
    if recipe.continuous:
        check_kinds(
            table.schema,
            recipe.continuous,
            NUMERIC,
            "continuous takes number columns; categories belong to attributes.",
        )
    if isinstance(recipe.grid, str):
        msg = "grid must be chosen first.\n\nHint: choose_grid(...).recommended."
        raise PlanError(msg)
    named = [recipe.cell_column] if recipe.cell_column else []
    timed = [recipe.time] if recipe.time else []
    check_kinds(table.schema, timed, TIMES, "time orders the rows of a person.")
    check_kinds(table.schema, named, ("category",), "cell_column names cells: declare a category.")
    codes = table.codes(
        [recipe.x, recipe.y, *named, *recipe.attributes, *recipe.continuous, *timed]
    )
    if whole is not None:
        numbers = [recipe.x, recipe.y, *recipe.continuous]
        codes = with_decimals_of_all(whole.relabelled(codes), whole.table, numbers)
    region, plane = recipe.region_and_plane(codes)
    places = places_of(recipe, codes, region)
    groups = combinations_of(codes, recipe.attributes, places.placed)
    if whole is not None and recipe.attributes:
        groups = _of_all(whole, recipe.attributes, codes, places.placed)
    advise(groups, recipe.attributes)
    grid = _cells(recipe, region, plane)
    homes = homes_of(table, codes, places, recipe.time)
    writing = Writing.of(codes[recipe.x], codes[recipe.y])
    located = Located(region, plane, places, writing, homes).at_homes()
    rng = context.streams("geography", "isolated")
    cell = grid.locate(*hidden_places(rng, located, grid, recipe.k))[homes.of_row]
    shape = (len(groups.levels), grid.cells)
    people = person_numbers(table)[codes.rows] if table.people < codes.rows.size else None
    surfaces = {
        name: _redrawn(recipe, people, codes[name], places.placed, groups.of_row, cell, shape)
        for name in recipe.continuous
    }
    return GriddedRows(grid, places, cell, groups, surfaces, homes), codes


def _cells(recipe: Geography, region: Region, plane: Plane) -> Cells:
    """Return the declared cells, or the squares of the grid."""
    if recipe.cells is None:
        return grid_over(region, plane, recipe.grid)  # type: ignore[arg-type]  # `settle` refuses "choose"
    tracts = tracts_over(region, plane, read_tracts(recipe.cells, recipe.cell_name))
    tell_of_islands(tracts)
    return tracts


def _of_all(whole: Whole, attributes: Sequence[str], codes: Codes, placed: Mask) -> Combinations:
    """Return the combinations that occur in all rows, and which of them rows of a sample have."""
    counted = whole.table.counts(list(attributes))
    columns = {column.name: column for column in counted.columns}
    tuples = whole.relabelled(Codes(columns, np.arange(counted.size.size)))
    groups = combinations_of(tuples, attributes, np.ones(counted.size.size, dtype=bool))
    return replace(groups, of_row=groups.find([codes[name] for name in attributes], placed))


def _redrawn(
    recipe: Geography,
    people: Ints | None,
    column: Column,
    placed: Mask,
    combination: Ints,
    cell: Ints,
    shape: tuple[int, int],
) -> Redrawn:
    """Return how the values of a continuous column are drawn."""
    if recipe.continuous_draw == "normal":
        return Redrawn.normal(column, placed, combination, cell, shape)
    return Redrawn.quantile(
        column,
        placed,
        combination,
        cell,
        shape,
        people=people,
        bounds=recipe.limits.get(column.name),
    )
