"""Donut geomasking: every place moves by a random distance between two limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from veladura.base.checks import check_whole, is_number
from veladura.base.context import Context
from veladura.core.recipe import Drawn, Fitted
from veladura.errors import PlanError
from veladura.methods.geography.claims import drawn_promise, inside_promise, ring_promise
from veladura.methods.geography.isolation import reach_of, ring_points
from veladura.methods.geography.located import Located, LocationRecipe, locate
from veladura.methods.geography.place import moved_datasets, rule_of_masks
from veladura.methods.geography.projection import diagonal, plane_of

if TYPE_CHECKING:
    from veladura.base.arrays import Floats
    from veladura.core.promise import Promise
    from veladura.table.inspect import Facts
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Donut(LocationRecipe):
    """Donut geomasking: move every place to a random point of a ring around it.

    Uniform over the part of the ring that is usable (donut geomasking, Hampton et al. 2010). Where
    people live far apart the ring is larger, so that a lonely home cannot be found again by its
    distance from all others.

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
        Other places that each one is hidden among. A place whose k-th nearest other place is d away
        moves by up to sqrt(k + 1) d where that is more than ``outer``, and so do these k places; 0
        moves isolated homes no further than others, which does not hide them.
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
        " largest one; further where people live far apart."
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

    def apply(self, table: Table, context: Context) -> FittedDonut:  # noqa: ARG002
        """Find the place of every row."""
        codes, located = locate(self, table)
        return FittedDonut(self, table, codes, located)

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
class FittedDonut(Fitted[Donut]):
    """The places to start from. Holds original values: never released."""

    located: Located

    def draw(self, context: Context) -> Drawn:
        """Return the table with moved places, once or m times."""
        recipe, region = self.recipe, self.located.region
        x, y = recipe.x, recipe.y
        moved = ring_promise(recipe.settings())
        return Drawn(
            datasets=moved_datasets(recipe, self.codes, self.located, self._points, context),
            changed=(x, y),
            rule=rule_of_masks(recipe.m),
            promises=(
                inside_promise(x, y, region),
                drawn_promise(x, y),
                replace(moved, settings={**moved.settings, "bounds": list(region.bounds)}),
            ),
        )

    def _points(self, rng: Generator) -> tuple[Floats, Floats]:
        return ring_points(rng, self.located, float(self.recipe.inner), self.reach)

    @cached_property
    def reach(self) -> Floats:
        """The largest distance that each place may move."""
        located = self.located
        points = np.column_stack(located.plane.forward(located.places.x, located.places.y))
        size = diagonal(located.plane, located.region.bounds)
        return reach_of(points, float(self.recipe.outer), self.recipe.k, size)
