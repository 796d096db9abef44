"""Synthetic geography fitted to a table: posterior draws of the map, and datasets from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn
from veladura.core.rules import Partial
from veladura.errors import PlanError
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.centres import written_centres
from veladura.methods.geography.claims import (
    centres_promise,
    drawn_promise,
    inside_promise,
    tracts_promise,
)
from veladura.methods.geography.combinations import Combinations, advise, combinations_of
from veladura.methods.geography.continuous import Redrawn
from veladura.methods.geography.geography import Geography
from veladura.methods.geography.grid import Grid, grid_over
from veladura.methods.geography.homes import Homes, homes_of
from veladura.methods.geography.icar import Draws, sample
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.isolation import hidden_places
from veladura.methods.geography.laplace import Approximation, approximate
from veladura.methods.geography.located import Located, Places, check_coordinates, places_of
from veladura.methods.geography.moves import Moves
from veladura.methods.geography.passing import passing_places, with_decimals_of_all
from veladura.methods.geography.place import Writing, draw_points, written
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region
from veladura.methods.geography.snap import Addresses, addresses_of
from veladura.methods.geography.tracts import Tracts, read_tracts, tell_of_islands, tracts_over
from veladura.table.codes import Codes
from veladura.table.schema import NUMERIC, check_kinds
from veladura.table.units import first_of_pairs, person_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table
    from veladura.table.whole import Whole


TIMES = (*NUMERIC, "date", "ordered")
MORE_SWEEPS = 8  # times the sweeps that chains may take until they have settled


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


def draw_cells(rng: Generator, intensity: Floats, group: Ints) -> Ints:
    """Draw a cell for some homes, each by the intensities of its combination."""
    cells = np.empty(group.size, dtype=np.int64)
    u = rng.random(group.size)
    for b in np.unique(group).tolist():
        ladder = np.cumsum(intensity[b])
        mine = group == b
        cells[mine] = np.minimum(
            np.searchsorted(ladder, u[mine] * ladder[-1], side="right"), ladder.size - 1
        )
    return cells


@dataclass(frozen=True, eq=False, repr=False)
class FittedGeography(RowWise[Geography]):
    """Posterior draws of the map of each combination. Holds original values: never released."""

    ground: GriddedRows
    posterior: Draws | Approximation
    writing: Writing
    addresses: Addresses | None
    centres: tuple[Floats, Floats] | None = None

    @property
    def kept_beside(self) -> Sequence[str]:
        """The coordinates: that they were drawn is proved row for row."""
        return (self.recipe.x, self.recipe.y)

    def draw(self, context: Context) -> Drawn:
        """Return m datasets with new places, each from its own draw of the intensities."""
        draws = context.map(
            "drawing datasets",
            lambda number: self._dataset(ChunkStream(context.streams, number)),
            range(self.recipe.m),
        )
        return self.described(draws, self.codes.rows.size)

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Promise the region and the cells. Maps of original places are for the custodian only."""
        from veladura.methods.geography import maps

        recipe, known = self.recipe, self.codes.rows.size
        named = (recipe.cell_column,) if recipe.cell_column else ()
        return Drawn(
            datasets=datasets,
            changed=(recipe.x, recipe.y, *named, *recipe.continuous),
            rule=Partial() if rows == known else Partial(rows=rows, original_rows=known),
            settings=self._settings(),
            promises=self._promises(),
            pictures=lambda release: maps.custodian(maps.Shown.of(self, release)) | self._traces(),
            public_pictures=lambda release: maps.public(maps.Shown.of(self, release)),
        )

    def model_pictures(self) -> Mapping[str, bytes | str]:
        """Return the pictures of the Markov chains."""
        return self._traces()

    def _traces(self) -> dict[str, bytes]:
        """Return pictures of the Markov chains; an approximation has none."""
        from veladura.methods.geography.traces import trace_pictures

        if not isinstance(self.posterior, Draws):
            return {}
        recipe = self.recipe
        return trace_pictures(
            self.posterior, self.ground.groups, recipe.attributes, recipe.continuous
        )

    def _settings(self) -> dict[str, Any]:
        """Return what the manifest says: the settings, and the cells that were made of them."""
        recipe, grid = self.recipe, self.ground.grid
        settings = {**recipe.settings(), "cells": grid.cells}
        if isinstance(grid, Grid):
            settings["grid"] = list(grid.shape)
        else:
            del settings["grid"]
        if self.addresses is not None:
            settings["addresses"] = self.addresses.size
        if self.ground.homes.shared:
            settings["homes"] = "one new place for each place of a person"
        settings["bayesian_analyses"] = "fit each dataset, stack the posterior draws"
        return settings

    def _promises(self) -> tuple[Promise, ...]:
        recipe, grid = self.recipe, self.ground.grid
        promises = [inside_promise(recipe.x, recipe.y, grid.region)]
        if isinstance(grid, Tracts):
            promises.append(tracts_promise(recipe.x, recipe.y, grid, recipe.cell_column))
        if self.centres is not None:
            promises.append(
                centres_promise(recipe.x, recipe.y, self.centres, recipe.cell_column, grid.names)
            )
        elif self.addresses is None:  # beside an address there may be none to compare it with
            promises.append(drawn_promise(recipe.x, recipe.y))
        return tuple(promises)

    def _dataset(self, stream: ChunkStream) -> Draw:
        """Draw a cell, a point and the continuous values of every row that is held."""
        ground, number = self.ground, stream.dataset
        intensity = self.posterior.intensity[number]
        rng = stream("geography", "cell", number)
        home_cell = draw_cells(rng, intensity, ground.home_group)
        self._draw_later(stream("geography", "move", number), intensity, home_cell)
        x, y = self._points(rng, stream, ground.home_group, home_cell)
        of_row, placed = ground.homes.of_row, ground.places.placed
        columns = self._written(self.codes, placed, x[of_row], y[of_row], home_cell[of_row])
        for name, surface in ground.surfaces.items():
            values = stream("geography", "value", name, number)
            columns[name] = surface.draw(values, ground.groups.of_row, home_cell[of_row])
        return Draw(columns)

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Draw a cell, a point and the continuous values of rows that pass."""
        recipe, number = self.recipe, stream.dataset
        places = passing_places(recipe, columns, self.ground.grid.region)
        attributes = [columns[name] for name in recipe.attributes]
        group = self.ground.groups.find(attributes, places.placed)
        rng = stream("geography", "cell", number)
        cell = draw_cells(rng, self.posterior.intensity[number], group)
        x, y = self._points(rng, stream, group, cell)
        new = self._written(columns, places.placed, x, y, cell)
        for name, surface in self.ground.surfaces.items():
            values = stream("geography", "value", name, number)
            new[name] = surface.draw(values, group, cell, columns[name], places.placed)
        return new

    def _points(
        self, rng: Generator, stream: ChunkStream, group: Ints, cell: Ints
    ) -> tuple[Floats, Floats]:
        """Return a point of the cell of each home; of a cell that has none, in another one."""
        intensity = self.posterior.intensity[stream.dataset]

        def another(homes: Ints) -> Ints:
            cell[homes] = draw_cells(rng, intensity, group[homes])
            return cell[homes]

        if self.centres is not None:
            x, y = self.centres[0][cell], self.centres[1][cell]
        else:
            points = stream("geography", "point", stream.dataset)
            x, y = draw_points(points, self.ground.grid, cell, self.writing, another)
        return (x, y) if self.addresses is None else self.addresses.nearest(x, y)

    def _written(
        self, given: Mapping[str, Column], placed: Mask, x: Floats, y: Floats, cell: Ints
    ) -> dict[str, Column]:
        recipe = self.recipe
        columns = written(given[recipe.x], given[recipe.y], placed, x, y)
        if recipe.cell_column is not None:
            column = given[recipe.cell_column]
            columns[column.name] = _named(column, placed, self.ground.grid.names, cell)
        return columns

    def _draw_later(self, rng: Generator, intensity: Floats, home_cell: Ints) -> None:
        """Give people who moved a later cell, drawn given the new cell that came before."""
        before = self.ground.homes.before
        if not (before >= 0).any():
            return
        moves, group = self.ground.moves(), self.ground.home_group
        reach = moves.draw_reach(rng, intensity)
        ready = before < 0
        while not ready.all():
            now = np.flatnonzero(~ready & ready[before])
            home_cell[now] = moves.draw(rng, intensity, reach, home_cell[before[now]], group[now])
            ready[now] = True


def _named(column: Column, placed: Mask, names: Sequence[str], cell: Ints) -> Column:
    """Return the column with the names of the new cells; without a place the name is missing."""
    import pyarrow as pa

    known = sorted(names)
    rank = {name: i for i, name in enumerate(known)}
    codes = np.zeros(column.size, dtype=np.int64)
    codes[placed] = np.array([rank[name] for name in names], dtype=np.int64)[cell]
    labels = pa.array(known, pa.string())
    return replace(column, values=codes, missing=~placed, labels=labels)


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


def fit(
    recipe: Geography, table: Table, context: Context, whole: Whole | None = None
) -> FittedGeography:
    """Return the recipe fitted to a prepared table.

    Parameters
    ----------
    whole
        All rows, where the table is a sample of them: combinations and decimals are theirs.
    """
    if recipe.grid == "choose":
        from veladura.methods.geography.choose import choose_grid

        recipe = replace(recipe, grid=choose_grid(recipe, table, context=context).recommended)
    ground, codes = settle(recipe, table, context, whole)
    posterior = sample(
        *ground.model(),
        recipe.priors,
        m=recipe.m,
        context=context.within("geography"),
        sweeps=recipe.sweeps,
        burn=recipe.burn,
        chains=recipe.chains,
        most_sweeps=recipe.most_sweeps or MORE_SWEEPS * recipe.sweeps,
    )
    return _assembled(recipe, table, codes, ground, posterior)


def fit_quickly(recipe: Geography, table: Table, context: Context) -> FittedGeography:
    """Return the recipe fitted by the Laplace approximation: to compare grids, not to release."""
    ground, codes = settle(recipe, table, context)
    posterior = approximate(
        *ground.model(), recipe.priors, m=recipe.m, rng=context.streams("geography", "approximate")
    )
    return _assembled(recipe, table, codes, ground, posterior)


def _assembled(
    recipe: Geography,
    table: Table,
    codes: Codes,
    ground: GriddedRows,
    posterior: Draws | Approximation,
) -> FittedGeography:
    writing = Writing.of(codes[recipe.x], codes[recipe.y])
    addresses = None
    if recipe.addresses is not None:
        addresses = addresses_of(recipe.addresses, (recipe.x, recipe.y), ground.grid, writing)
    centres = written_centres(ground.grid, writing) if recipe.release == "cell" else None
    return FittedGeography(recipe, table, codes, ground, posterior, writing, addresses, centres)


def _cells(recipe: Geography, region: Region, plane: Plane) -> Cells:
    """Return the declared cells, or the squares of the grid."""
    if recipe.cells is None:
        return grid_over(region, plane, recipe.grid)  # type: ignore[arg-type]  # `settle` refuses "choose"
    tracts = tracts_over(region, plane, read_tracts(recipe.cells, recipe.cell_name))
    tell_of_islands(tracts)
    return tracts


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


def _of_all(whole: Whole, attributes: Sequence[str], codes: Codes, placed: Mask) -> Combinations:
    """Return the combinations that occur in all rows, and which of them rows of a sample have."""
    counted = whole.table.counts(list(attributes))
    columns = {column.name: column for column in counted.columns}
    tuples = whole.relabelled(Codes(columns, np.arange(counted.size.size)))
    groups = combinations_of(tuples, attributes, np.ones(counted.size.size, dtype=bool))
    return replace(groups, of_row=groups.find([codes[name] for name in attributes], placed))


__all__ = ["FittedGeography", "GriddedRows", "fit", "settle"]
