"""Synthetic geography fitted to a table: posterior draws of the map, and datasets from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.context import Context
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial
from veladura.errors import PlanError
from veladura.methods.geography.claims import drawn_promise, inside_promise
from veladura.methods.geography.combinations import Combinations, advise, combinations_of
from veladura.methods.geography.continuous import Surface, surface_of
from veladura.methods.geography.geography import Geography
from veladura.methods.geography.grid import Grid, grid_over
from veladura.methods.geography.icar import Draws, sample
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.isolation import hidden_places
from veladura.methods.geography.laplace import Approximation, approximate
from veladura.methods.geography.located import Located, Places, check_coordinates, places_of
from veladura.methods.geography.place import Writing, draw_points, written
from veladura.methods.geography.snap import Addresses, addresses_of
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.codes import Codes, Column
    from veladura.table.table import Table


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

    grid: Grid
    places: Places
    cell: Ints
    groups: Combinations
    surfaces: Mapping[str, Surface]

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

    def draw(self, context: Context) -> Drawn:
        """Return m datasets with new places, each from its own draw of the intensities.

        Maps of original places are for the custodian only.
        """
        from veladura.methods.geography import maps

        recipe, grid = self.recipe, self.ground.grid
        settings = {**recipe.settings(), "grid": list(grid.shape), "cells": grid.cells}
        if self.addresses is not None:
            settings["addresses"] = self.addresses.size
        settings["bayesian_analyses"] = "fit each dataset, stack the posterior draws"
        promises = [inside_promise(recipe.x, recipe.y, grid.region)]
        if self.addresses is None:  # beside an address there may be none to compare it with
            promises.append(drawn_promise(recipe.x, recipe.y))
        return Drawn(
            datasets=context.map(
                "drawing datasets", lambda number: self._dataset(number, context), range(recipe.m)
            ),
            changed=(recipe.x, recipe.y, *recipe.continuous),
            rule=Partial(),
            settings=settings,
            promises=tuple(promises),
            pictures=lambda release: maps.custodian(maps.Shown.of(self, release)),
            public_pictures=lambda release: maps.public(maps.Shown.of(self, release)),
        )

    def _dataset(self, number: int, context: Context) -> Draw:
        """Draw a cell, a point and the continuous values of every row."""
        ground, intensity = self.ground, self.posterior.intensity[number]
        rng = context.streams("geography", "cell", number)
        cell = ground.draw_cells(rng, intensity, np.arange(ground.cell.size))

        def another(rows: Ints) -> Ints:
            cell[rows] = ground.draw_cells(rng, intensity, rows)
            return cell[rows]

        x, y = draw_points(
            context.streams("geography", "point", number), ground.grid, cell, self.writing, another
        )
        if self.addresses is not None:
            x, y = self.addresses.nearest(x, y)
        columns = written(
            self.codes[self.recipe.x], self.codes[self.recipe.y], ground.places.placed, x, y
        )
        for name, surface in ground.surfaces.items():
            stream = context.streams("geography", "value", name, number)
            values = surface.draw(stream, ground.groups.of_row, cell)
            columns[name] = _redrawn(self.codes[name], ground.places.placed, values)
        return Draw(columns)


def _redrawn(column: Column, placed: Mask, new: Floats) -> Column:
    """Return a column with new values for rows that have a place; missing ones stay missing."""
    values = column.numbers()
    values[placed] = new
    values[column.missing] = np.nan
    return column.rounded(values)


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
    return FittedGeography(recipe, table, codes, ground, posterior, writing, addresses)


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
    codes = table.codes([recipe.x, recipe.y, *recipe.attributes, *recipe.continuous])
    region, plane = recipe.region_and_plane(codes)
    places = places_of(recipe, codes, region)
    groups = combinations_of(codes, recipe.attributes, places.placed)
    advise(groups, recipe.attributes)
    grid = grid_over(region, plane, recipe.grid)
    located = Located(region, plane, places, Writing.of(codes[recipe.x], codes[recipe.y]))
    rng = context.streams("geography", "isolated")
    cell = grid.locate(*hidden_places(rng, located, recipe.grid, recipe.k))
    shape = (len(groups.levels), grid.cells)
    surfaces = {
        name: surface_of(codes[name].numbers()[places.placed], groups.of_row, cell, shape)
        for name in recipe.continuous
    }
    return GriddedRows(grid, places, cell, groups, surfaces), codes


__all__ = ["FittedGeography", "GriddedRows", "fit", "settle"]
