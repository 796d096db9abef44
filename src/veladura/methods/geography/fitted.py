"""Datasets of synthetic places, drawn from the posterior of a map that was fitted to a table."""

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
from veladura.methods.geography.claims import (
    centres_promise,
    drawn_promise,
    inside_promise,
    tracts_promise,
)
from veladura.methods.geography.geography import Geography
from veladura.methods.geography.grid import Grid
from veladura.methods.geography.gridded import GriddedRows
from veladura.methods.geography.icar import Draws
from veladura.methods.geography.laplace import Approximation
from veladura.methods.geography.passing import passing_places
from veladura.methods.geography.place import Writing, draw_points, written
from veladura.methods.geography.snap import Addresses
from veladura.methods.geography.tracts import Tracts

if TYPE_CHECKING:
    from veladura.table.codes import Column


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
