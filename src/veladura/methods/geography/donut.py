"""Donut geomasking: every place moves by a random distance between two limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.checks import is_number
from veladura.base.context import Context
from veladura.core.recipe import Drawn, Fitted
from veladura.errors import DataError, PlanError
from veladura.methods.geography.claims import inside_promise, new_places_promise, ring_promise
from veladura.methods.geography.located import Located, LocationRecipe, locate
from veladura.methods.geography.place import moved_datasets, rule_of_masks

if TYPE_CHECKING:
    from veladura.base.arrays import Floats
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

MOST_TRIES = 4096


@dataclass(frozen=True, kw_only=True)
class Donut(LocationRecipe):
    """Donut geomasking: move every place to a random point of a ring around it.

    Uniform over the part of the ring that is usable (donut geomasking, Hampton et al. 2010).

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
    coordinates
        "planar", or "degrees" for longitude (x) and latitude (y).
    m
        Number of datasets. One is safest: the mean of a person's places over several datasets
        approaches the true place.
    missing
        What to do with rows that have no place: "refuse" the table, or "keep" them without one.
    stray
        What to do with a few places outside the region: "refuse", or start from them as they are
        ("nearest").

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
        " largest one."
    )

    inner: float
    outer: float

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = is_number(self.inner) and is_number(self.outer)
        if not numbers or not 0 <= self.inner < self.outer:
            msg = (
                f"inner ({self.inner}) and outer ({self.outer}) must be distances with 0 <= inner <"
                " outer."
            )
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedDonut:  # noqa: ARG002
        """Find the place of every row."""
        codes, located = locate(self, table)
        return FittedDonut(self, table, codes, located)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Donut:
        """Suggest a ring of one to five per cent of the proposed region's size."""
        from veladura.methods.geography.projection import plane_of
        from veladura.methods.geography.propose import settings

        proposed = settings(table, facts)
        bounds = np.array(proposed["region"])
        plane = plane_of(proposed["region"], proposed["coordinates"])
        x, y = plane.forward(bounds[0::2], bounds[1::2])
        size = float(np.hypot(np.ptp(x), np.ptp(y)))
        inner, outer = (float(f"{share * size:.1g}") for share in (0.01, 0.05))
        names = ("x", "y", "region", "coordinates", "missing")
        return cls(**{name: proposed[name] for name in names}, inner=inner, outer=outer)


@dataclass(frozen=True, eq=False, repr=False)
class FittedDonut(Fitted[Donut]):
    """The places to start from. Holds original values: never released."""

    located: Located

    def draw(self, context: Context) -> Drawn:
        """Return the table with moved places, once or m times."""
        recipe, region = self.recipe, self.located.region
        x, y = recipe.x, recipe.y
        ring = (float(recipe.inner), float(recipe.outer))
        return Drawn(
            datasets=moved_datasets(recipe, self.codes, self.located, self._points, context),
            changed=(x, y),
            rule=rule_of_masks(recipe.m),
            promises=(
                inside_promise(x, y, region),
                new_places_promise(x, y),
                ring_promise(x, y, region, recipe.coordinates, ring),
            ),
        )

    def _points(self, rng: Generator) -> tuple[Floats, Floats]:
        """Return points uniform in the usable part of the ring around each place."""
        plane, writing = self.located.plane, self.located.writing
        from_x, from_y = plane.forward(self.located.places.x, self.located.places.y)
        inner, outer = self.recipe.inner, self.recipe.outer
        x, y = np.empty(from_x.size), np.empty(from_x.size)
        waiting = np.arange(from_x.size)
        for _ in range(MOST_TRIES):
            radius = np.sqrt(inner**2 + rng.random(waiting.size) * (outer**2 - inner**2))
            angle = 2 * np.pi * rng.random(waiting.size)
            ends = plane.back(
                from_x[waiting] + radius * np.cos(angle), from_y[waiting] + radius * np.sin(angle)
            )
            new_x, new_y = writing.written(*ends)
            to_x, to_y = plane.forward(new_x, new_y)
            distance = np.hypot(to_x - from_x[waiting], to_y - from_y[waiting])
            good = (distance >= inner) & (distance <= outer)
            good &= self.located.region.usable(new_x, new_y) & writing.free(new_x, new_y)
            x[waiting[good]], y[waiting[good]] = new_x[good], new_y[good]
            waiting = waiting[~good]
            if not waiting.size:
                return x, y
        msg = (
            f"{waiting.size} places have no usable point in the ring around them.\n\nHint: make"
            " outer larger."
        )
        raise DataError(msg)
