"""Places of rows that pass in chunks, checked against the declared region as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import DataError, PlanError
from veladura.methods.geography.hull import is_hull
from veladura.methods.geography.located import LocationRecipe, Places
from veladura.table.whole import number_facts

if TYPE_CHECKING:
    from veladura.methods.geography.circles import Circles
    from veladura.methods.geography.region import Region
    from veladura.table.codes import Codes, Column
    from veladura.table.table import Table


def refuse_hull(recipe: LocationRecipe) -> None:
    """Refuse a region around the data: a sample does not know the outermost places."""
    if is_hull(recipe.region):
        msg = (
            'region = "hull" is drawn around all places, and rows of this table pass in chunks'
            " (fit_rows, or the memory of the run).\n\nHint: declare the region: a file, geometry,"
            " or [west, south, east, north]."
        )
        raise PlanError(msg)


def passing_places(recipe: LocationRecipe, columns: Mapping[str, Column], region: Region) -> Places:
    """Return the places of some rows, checked against the region."""
    x, y = (columns[name].numbers() for name in (recipe.x, recipe.y))
    missing = np.isnan(x) | np.isnan(y)
    places = Places(~missing, x[~missing], y[~missing])
    without = int(np.count_nonzero(missing))
    if without and recipe.missing == "refuse":
        msg = (
            f"rows have no {recipe.x} or no {recipe.y}, {without} of them among"
            f' {missing.size}.\n\nHint: missing="keep" releases such rows without a place; or'
            " remove them from the table."
        )
        raise DataError(msg)
    astray = int(np.count_nonzero(~region.beside(places.x, places.y)))
    if astray and recipe.stray == "refuse":
        msg = (
            f"places lie outside the usable region, {astray} of them among"
            f" {places.x.size}.\n\nHint: check that region and exclude cover the right area;"
            ' stray="nearest" counts a few such places in the nearest cell.'
        )
        raise DataError(msg)
    return places


def with_decimals_of_all(codes: Codes, table: Table, names: Sequence[str]) -> Codes:
    """Return number columns of a sample with the decimals of all rows of a table."""
    facts = number_facts(table, names)
    columns = {
        name: codes[name].with_decimals(decimals)
        for name, decimals in zip(names, facts.decimals, strict=True)
    }
    return replace(codes, columns={**codes.columns, **columns})


@dataclass(frozen=True, eq=False, repr=False)
class KnownCircles:
    """The circle that each of all places is drawn from. Holds original places: never released.

    Attributes
    ----------
    places
        The distinct places in the plane, as complex numbers in order.
    circles
        The circle of each.
    """

    places: np.ndarray[tuple[int], np.dtype[np.complex128]]
    circles: Circles

    @classmethod
    def of(cls, x: Floats, y: Floats, circles: Circles) -> KnownCircles:
        """Return the circles of places, of which several may be the same."""
        places, first = np.unique(x + 1j * y, return_index=True)
        return cls(places, circles.take(first))

    def at(self, x: Floats, y: Floats) -> Circles:
        """Return the circles of some of the places."""
        wanted = x + 1j * y
        found = np.minimum(np.searchsorted(self.places, wanted), self.places.size - 1)
        if not np.array_equal(self.places[found], wanted):
            msg = (
                "the table changed while it was read: there are places that were not counted"
                " before.\n\nHint: give a table that nobody writes to meanwhile."
            )
            raise DataError(msg)
        return self.circles.take(found)
