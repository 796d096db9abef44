"""Synthetic geography fitted to a table: draws of the intensities, and the datasets made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial
from veladura.errors import PlanError
from veladura.methods.geography.claims import inside_promise, moved_promise, new_places_promise
from veladura.methods.geography.combinations import Combinations, advise, combinations_of
from veladura.methods.geography.continuous import Surface, surface_of
from veladura.methods.geography.donut import written
from veladura.methods.geography.geography import Geography
from veladura.methods.geography.grid import Grid, grid_over
from veladura.methods.geography.icar import Draws, sample
from veladura.methods.geography.icar_model import Counts, Design, Graph
from veladura.methods.geography.laplace import Approximation, approximate
from veladura.methods.geography.located import Places, check_coordinates, places_of
from veladura.methods.geography.place import Writing, draw_points
from veladura.methods.geography.snap import Addresses, addresses_of
from veladura.methods.masks.common import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.codes import Codes, Column
    from veladura.table.table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ground:
    """A table's rows on a grid. Holds original values: never released.

    Attributes
    ----------
    cell
        The cell of each row that has a place.
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

    def model(self) -> tuple[Counts, Graph, Design]:
        """Return the data of the model; areas are told as shares of the mean cell, so that the intercept stays near nought."""
        offset = np.log(self.grid.area / self.grid.area.mean())
        stacked = [surface.covariate for surface in self.surfaces.values()]
        design = (
            Design(self.groups.levels, np.stack(stacked)) if stacked else Design(self.groups.levels)
        )
        return Counts(self.counts, offset), Graph.of_pairs(self.grid.cells, self.grid.pairs), design

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
    """The map of each combination, as draws from its posterior. Holds original values: never released."""

    ground: Ground
    posterior: Draws | Approximation
    writing: Writing
    addresses: Addresses | None

    def draw(self, context: Context) -> Drawn:
        """Return m datasets with new places; maps of the original are the custodian's."""
        from veladura.methods.geography import maps

        return Drawn(
            datasets=self._datasets(context),
            changed=self.changed(),
            rule=Partial(),
            settings=self.told(),
            promises=self.promises(),
            pictures=lambda release: maps.custodian(maps.Shown.of(self, release)),
            public_pictures=lambda release: maps.public(maps.Shown.of(self, release)),
        )

    def _datasets(self, context: Context) -> Sequence[Draw]:
        """Draw the m datasets, each from its own draw of the intensities and its own stream."""
        return context.map(
            "drawing datasets", lambda r: self._dataset(r, context), range(self.recipe.m)
        )

    def _dataset(self, number: int, context: Context) -> Draw:
        ground, intensity = self.ground, self.posterior.intensity[number]
        rng = context.streams("geography", "cell", number)
        every = np.arange(ground.cell.size)
        cell = ground.draw_cells(rng, intensity, every)

        def another(rows: Ints) -> Ints:
            cell[rows] = ground.draw_cells(rng, intensity, rows)
            return cell[rows]

        x, y = draw_points(
            context.streams("geography", "point", number), ground.grid, cell, self.writing, another
        )
        if self.addresses is not None:
            x, y = self.addresses.nearest(x, y, ground.places)
        columns = written(
            self.codes[self.recipe.x], self.codes[self.recipe.y], ground.places.known, x, y
        )
        for name, surface in ground.surfaces.items():
            rng = context.streams("geography", "value", name, number)
            columns[name] = self._redrawn(
                self.codes[name], surface.draw(rng, ground.groups.of_row, cell)
            )
        return Draw(columns)

    def _redrawn(self, column: Column, new: Floats) -> Column:
        """Return a continuous column with new values for the rows that have a place; missing ones stay missing."""
        values = column.numbers()
        values[self.ground.places.known] = new
        values[column.missing] = np.nan
        return column.rounded(values)

    def changed(self) -> tuple[str, ...]:
        """Return the replaced columns."""
        return (self.recipe.x, self.recipe.y, *self.recipe.continuous)

    def told(self) -> dict[str, Any]:
        """Return the public settings, the number of cells, and how Bayesian analyses are combined."""
        told = {
            **self.recipe.settings(),
            "grid": list(self.ground.grid.shape),
            "cells": self.ground.grid.cells,
        }
        if self.addresses is not None:
            told["addresses"] = self.addresses.size
        return {
            **told,
            "bayesian_analyses": "fit each dataset, stack the posterior draws",
        }

    def promises(self) -> tuple[Promise, ...]:
        """Promise usable places, none of them original; at valid addresses, that no row keeps its own."""
        new = new_places_promise if self.addresses is None else moved_promise
        return inside_promise(self.recipe.x, self.recipe.y, self.ground.grid.region), new(
            self.recipe.x, self.recipe.y
        )


def fit(recipe: Geography, table: Table, context: Context) -> FittedGeography:
    """Return the recipe fitted to a prepared table."""
    if recipe.grid == "choose":
        from veladura.methods.geography.choose import choose_grid

        recipe = replace(recipe, grid=choose_grid(recipe, table, context=context).recommended)
    ground, codes = settle(recipe, table)
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
    """Return the recipe fitted by Laplace's approximation: good enough to compare grids, not to release."""
    ground, codes = settle(recipe, table)
    posterior = approximate(
        *ground.model(), recipe.priors, m=recipe.m, rng=context.streams("geography", "approximate")
    )
    return _assembled(recipe, table, codes, ground, posterior)


def _assembled(
    recipe: Geography, table: Table, codes: Codes, ground: Ground, posterior: Draws | Approximation
) -> FittedGeography:
    writing = Writing.of(codes[recipe.x], codes[recipe.y], ground.places.known)
    addresses = None
    if recipe.addresses is not None:
        addresses = addresses_of(recipe.addresses, (recipe.x, recipe.y), ground.grid, writing)
        writing = replace(
            writing, taken=writing.taken[:0]
        )  # valid addresses may well be others' own
    return FittedGeography(recipe, table, codes, ground, posterior, writing, addresses)


def settle(recipe: Geography, table: Table) -> tuple[Ground, Codes]:
    """Return the rows of a table on the grid of the recipe."""
    check_coordinates(recipe, table.schema)
    table.schema.check("attributes", recipe.attributes)
    if recipe.continuous:
        check_kinds(
            table.schema,
            recipe.continuous,
            NUMERIC,
            "continuous names number columns; categories belong to attributes.",
        )
    if isinstance(recipe.grid, str):
        msg = "grid must be chosen first."
        raise PlanError(msg)
    region, plane = recipe.ground()
    codes = table.codes([recipe.x, recipe.y, *recipe.attributes, *recipe.continuous])
    places = places_of(recipe, codes, region)
    groups = combinations_of(codes, recipe.attributes, places.known)
    advise(groups, recipe.attributes)
    grid = grid_over(region, plane, recipe.grid)
    cell = grid.locate(places.x, places.y)
    shape = (len(groups.levels), grid.cells)
    surfaces = {
        name: surface_of(codes[name].numbers()[places.known], groups.of_row, cell, shape)
        for name in recipe.continuous
    }
    return Ground(grid, places, cell, groups, surfaces), codes


__all__ = ["FittedGeography", "Ground", "fit", "settle"]
