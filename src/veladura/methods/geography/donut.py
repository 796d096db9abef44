"""Donut geomasking: every place moves by a random distance between two limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from veladura.base.checks import check_whole, is_number
from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.recipe import Draw, Drawn
from veladura.errors import PlanError
from veladura.methods.geography.claims import drawn_promise, inside_promise, ring_promise
from veladura.methods.geography.homes import Homes
from veladura.methods.geography.isolation import circles_of_homes, ring_points
from veladura.methods.geography.located import Located, LocationRecipe, check_coordinates, locate
from veladura.methods.geography.passing import KnownCircles, passing_places, refuse_hull
from veladura.methods.geography.place import moved_datasets, rule_of_masks, written
from veladura.methods.geography.projection import diagonal, plane_of

if TYPE_CHECKING:
    from veladura.base.arrays import Floats
    from veladura.core.chunks import FittedChunks
    from veladura.core.promise import Promise
    from veladura.methods.geography.circles import Circles
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Donut(LocationRecipe):
    """Donut geomasking: move every place to a random point of a ring around it.

    Uniform over the part of the ring that is usable (donut geomasking, Hampton et al. 2010). Where
    people live far apart several of them share one circle, so that a lonely home cannot be found
    again by its distance from all others.

    Parameters
    ----------
    x, y
        The columns of the coordinates.
    region
        The declared region: a file (GeoJSON, WKT, shapefile, CSV with rings), geometry, or [west,
        south, east, north]; "hull" for a coarse one around the data, with a caution.
    exclude
        Areas of it where nobody may be placed.
    inner, outer
        The smallest and the largest distance of a move: in metres for degrees, else in the unit of
        the coordinates.
    k
        Other places that each one is hidden among. A place is isolated if its k-th nearest other
        place is further away than ``outer`` / sqrt(k + 1): it is drawn from a circle that it shares
        with k others or more, and which of them a released place belongs to is left to chance. 0
        moves isolated homes no further than others, which does not hide them.
    coordinates
        "planar", or "degrees" for longitude (x) and latitude (y).
    m
        Number of datasets. One is safest: the mean of a person's places over several datasets
        approaches the true place. Rows of one person at one place move together, where a column
        has the role "person".
    missing
        What to do with rows that have no place: "refuse" the table, or "keep" them without one.
    stray
        What to do with a few places outside the region: "refuse", or start from them as they are
        ("nearest").
    fit_rows
        Most rows that are held: of a larger table the coordinates are held only, and its rows
        pass chunk by chunk. By default all rows, or those that a
        quarter of ``[run] memory`` holds where they do not fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> homes = pd.DataFrame({"x": [1.5, 7.25], "y": [2.5, 8.5]})
    >>> recipe = vd.Donut(x="x", y="y", region=[0, 0, 10, 10], inner=0.5, outer=2)
    >>> recipe.protect(homes, seed=1).datasets[0].shape
    (2, 2)

    References
    ----------
    Hampton, K. H. et al. (2010). Mapping health data: improved privacy protection with donut
    method geomasking. American Journal of Epidemiology 172(9), 1062-1069.
    """

    method = "donut"
    sentence = (
        "Donut geomasking: every place was moved at random, by a distance between a smallest and a"
        " largest one; further where people live far apart."
    )

    linked_tables = (
        "keeps the rows of linked tables under new keys, and moves each place of a person once;"
        " keys of households are not released"
    )

    inner: float
    outer: float
    k: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = is_number(self.inner) and is_number(self.outer)
        if not numbers or not 0 <= self.inner < self.outer:
            msg = (
                f"inner ({self.inner}) and outer ({self.outer}) must be distances with 0 <= inner <"
                " outer."
            )
            raise PlanError(msg)
        check_whole("k", self.k, 0)

    def leaves_out_units(self, table: Table) -> tuple[str, ...]:
        """Return the number of the household, which would link people who live far apart."""
        return tuple(table.units.schema.of_role("household"))

    def apply(self, table: Table, context: Context) -> FittedDonut:  # noqa: ARG002
        """Find the place of every row."""
        codes, located = locate(self, table)
        return FittedDonut(self, table, codes, located)

    def apply_to_sample(self, table: Table, number: int, context: Context) -> FittedChunks[Donut]:
        """Find the place of every row; the coordinates are held, all other columns pass."""
        from veladura.core.chunks import FittedChunks, fit_to_sample

        refuse_hull(self)
        check_coordinates(self, table.schema)
        near, sample, _ = fit_to_sample(self, table, number, context, ())
        every = self.apply(near.select([self.x, self.y]).fetched(), context)
        located, homes = every.located, every.located.at_homes().places
        nobody = replace(
            located, places=homes.take(np.empty(0, dtype=np.int64)), homes=Homes.of_rows(0)
        )
        codes = sample.codes([self.x, self.y])
        fitted = FittedDonut(self, sample, codes, nobody, every.known_circles())
        return FittedChunks.of(self, near, fitted)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:
        """Return the promises about places, and that of the distances."""
        return (*super().implied(settings, person), ring_promise(settings))

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Donut:
        """Suggest a ring of one to five per cent of the proposed region's size."""
        from veladura.methods.geography.propose import settings

        proposed = settings(table, facts)
        plane = plane_of(proposed["region"], proposed["coordinates"])
        size = diagonal(plane, proposed["region"])
        inner, outer = (float(f"{share * size:.1g}") for share in (0.01, 0.05))
        names = ("x", "y", "region", "coordinates", "missing")
        return cls(**{name: proposed[name] for name in names}, inner=inner, outer=outer)


@dataclass(frozen=True, eq=False, repr=False)
class FittedDonut(RowWise[Donut]):
    """The places to start from. Holds original values: never released.

    Attributes
    ----------
    known
        The circle of each place, where rows pass in chunks.
    """

    located: Located
    known: KnownCircles | None = None

    @property
    def kept_beside(self) -> Sequence[str]:
        """The coordinates: how far they moved is proved row for row."""
        return (self.recipe.x, self.recipe.y)

    def draw(self, context: Context) -> Drawn:
        """Return the table with moved places, once or m times."""
        draws = moved_datasets(self.recipe, self.codes, self.located, self._points, context)
        return self.described(draws, self.codes.rows.size)

    def known_circles(self) -> KnownCircles:
        """Return the circle of each place that is held."""
        homes = self.located.at_homes().places
        return KnownCircles.of(*self.located.plane.forward(homes.x, homes.y), self.circles)

    def by_value(self) -> FittedDonut:
        """Return the method with circles that are looked up by places, not by rows."""
        return self if self.known is not None else replace(self, known=self.known_circles())

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Return new places of some rows."""
        recipe = self.recipe
        places = passing_places(recipe, columns, self.located.region)
        located = replace(self.located, places=places, homes=Homes.of_rows(places.x.size))
        assert self.known is not None  # noqa: S101  # of rows that pass in chunks
        circles = self.known.at(*located.plane.forward(places.x, places.y))
        rng = stream(recipe.method, stream.dataset)
        x, y = ring_points(rng, located, float(recipe.inner), circles)
        return written(columns[recipe.x], columns[recipe.y], places.placed, x, y)

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Promise the region and the distances."""
        del rows
        recipe, region = self.recipe, self.located.region
        x, y = recipe.x, recipe.y
        moved = ring_promise(recipe.settings())
        return Drawn(
            datasets=datasets,
            changed=(x, y),
            rule=rule_of_masks(recipe.m),
            promises=(
                inside_promise(x, y, region),
                drawn_promise(x, y),
                replace(moved, settings={**moved.settings, "bounds": list(region.bounds)}),
            ),
        )

    def _points(self, rng: Generator) -> tuple[Floats, Floats]:
        return ring_points(rng, self.located.at_homes(), float(self.recipe.inner), self.circles)

    @cached_property
    def circles(self) -> Circles:
        """The circle that each home is drawn from."""
        return circles_of_homes(self.located.at_homes(), float(self.recipe.outer), self.recipe.k)
