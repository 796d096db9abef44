"""Synthetic geography fitted to a table: posterior draws of the map, and datasets from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Fitted
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
from veladura.methods.geography.icar import Draws, sample
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.isolation import hidden_places
from veladura.methods.geography.laplace import Approximation, approximate
from veladura.methods.geography.located import Located, Places, check_coordinates, places_of
from veladura.methods.geography.place import Writing, draw_points, written
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region
from veladura.methods.geography.snap import Addresses, addresses_of
from veladura.methods.geography.tracts import Tracts, read_tracts, tell_of_islands, tracts_over
from veladura.table.schema import NUMERIC, check_kinds
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Codes, Column
    from veladura.table.table import Table


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
    """

    grid: Cells
    places: Places
    cell: Ints
    groups: Combinations
    surfaces: Mapping[str, Redrawn]

    @property
    def counts(self) -> Ints:
        """Rows by combination and cell."""
        shape = (len(self.groups.levels), self.grid.cells)
        return np.bincount(
            self.groups.of_row * shape[1] + self.cell, minlength=shape[0] * shape[1]
        ).reshape(shape)

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

    def draw_cells(self, rng: Generator, intensity: Floats, rows: Ints) -> Ints:
        """Draw a cell for some rows, each by the intensities of its combination."""
        cells = np.empty(rows.size, dtype=np.int64)
        group, u = self.groups.of_row[rows], rng.random(rows.size)
        for b in np.unique(group).tolist():
            ladder = np.cumsum(intensity[b])
            mine = group == b
            cells[mine] = np.minimum(
                np.searchsorted(ladder, u[mine] * ladder[-1], side="right"), ladder.size - 1
            )
        return cells


@dataclass(frozen=True, eq=False, repr=False)
class FittedGeography(Fitted[Geography]):
    """Posterior draws of the map of each combination. Holds original values: never released."""

    ground: GriddedRows
    posterior: Draws | Approximation
    writing: Writing
    addresses: Addresses | None
    centres: tuple[Floats, Floats] | None = None

    def draw(self, context: Context) -> Drawn:
        """Return m datasets with new places, each from its own draw of the intensities.

        Maps of original places are for the custodian only.
        """
        from veladura.methods.geography import maps

        recipe = self.recipe
        named = (recipe.cell_column,) if recipe.cell_column else ()
        return Drawn(
            datasets=context.map(
                "drawing datasets", lambda number: self._dataset(number, context), range(recipe.m)
            ),
            changed=(recipe.x, recipe.y, *named, *recipe.continuous),
            rule=Partial(),
            settings=self._settings(),
            promises=self._promises(),
            pictures=lambda release: maps.custodian(maps.Shown.of(self, release)) | self._traces(),
            public_pictures=lambda release: maps.public(maps.Shown.of(self, release)),
        )

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

    def _dataset(self, number: int, context: Context) -> Draw:
        """Draw a cell, a point and the continuous values of every row."""
        ground, intensity = self.ground, self.posterior.intensity[number]
        rng = context.streams("geography", "cell", number)
        cell = ground.draw_cells(rng, intensity, np.arange(ground.cell.size))

        def another(rows: Ints) -> Ints:
            cell[rows] = ground.draw_cells(rng, intensity, rows)
            return cell[rows]

        if self.centres is not None:
            x, y = self.centres[0][cell], self.centres[1][cell]
        else:
            x, y = draw_points(
                context.streams("geography", "point", number),
                ground.grid,
                cell,
                self.writing,
                another,
            )
        if self.addresses is not None:
            x, y = self.addresses.nearest(x, y)
        columns = written(
            self.codes[self.recipe.x], self.codes[self.recipe.y], ground.places.placed, x, y
        )
        if self.recipe.cell_column is not None:
            column = self.codes[self.recipe.cell_column]
            columns[column.name] = _named(column, ground.places.placed, ground.grid.names, cell)
        for name, surface in ground.surfaces.items():
            stream = context.streams("geography", "value", name, number)
            columns[name] = surface.draw(stream, ground.groups.of_row, cell)
        return Draw(columns)


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


def fit(recipe: Geography, table: Table, context: Context) -> FittedGeography:
    """Return the recipe fitted to a prepared table."""
    if recipe.grid == "choose":
        from veladura.methods.geography.choose import choose_grid

        recipe = replace(recipe, grid=choose_grid(recipe, table, context=context).recommended)
    ground, codes = settle(recipe, table, context)
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


def settle(recipe: Geography, table: Table, context: Context) -> tuple[GriddedRows, Codes]:
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
    check_kinds(table.schema, named, ("category",), "cell_column names cells: declare a category.")
    codes = table.codes([recipe.x, recipe.y, *named, *recipe.attributes, *recipe.continuous])
    region, plane = recipe.region_and_plane(codes)
    places = places_of(recipe, codes, region)
    groups = combinations_of(codes, recipe.attributes, places.placed)
    advise(groups, recipe.attributes)
    grid = _cells(recipe, region, plane)
    located = Located(region, plane, places, Writing.of(codes[recipe.x], codes[recipe.y]))
    rng = context.streams("geography", "isolated")
    cell = grid.locate(*hidden_places(rng, located, grid, recipe.k))
    shape = (len(groups.levels), grid.cells)
    people = person_numbers(table)[codes.rows] if table.people < codes.rows.size else None
    surfaces = {
        name: _redrawn(recipe, people, codes[name], places.placed, groups.of_row, cell, shape)
        for name in recipe.continuous
    }
    return GriddedRows(grid, places, cell, groups, surfaces), codes


__all__ = ["FittedGeography", "GriddedRows", "fit", "settle"]
