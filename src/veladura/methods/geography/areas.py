"""Aggregation of places: coordinates become the name of the area that they lie in."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base import shapes
from veladura.base.context import Context
from veladura.core.gates import PROSECUTOR
from veladura.core.making import as_dataset
from veladura.core.promise import Check, Promise, listed
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.core.release import Release
from veladura.core.violations import outside_categories
from veladura.errors import PlanError, VeladuraWarning
from veladura.methods.geography.area_files import NamedAreas, read_areas
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.base.arrays import Ints
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


class OutsideWarning(VeladuraWarning):
    """Places that lie in none of the areas."""


def _sentence(settings: Mapping[str, Any]) -> str:
    return f"Aggregation: every value of {listed(settings)} is one of the areas in the manifest."


AREAS = Check(
    outside_categories,
    _sentence,
    shapes.table(
        {"columns": shapes.mapped(shapes.listed(shapes.text, least=1), 1, keys=shapes.name)}
    ),
    untouched=True,
)


@dataclass(frozen=True, kw_only=True)
class Areas(Recipe):
    """Aggregation of places: the column x holds the name of the area, y is not released.

    Parameters
    ----------
    x, y
        The columns of the coordinates.
    areas
        A GeoJSON file with a polygon for each area, in the coordinates of the table; or boxes by
        name, as in ``{"north": [west, south, east, north]}``. Names are in the manifest, so areas
        must come from public knowledge. A place on a border, or in two areas, is in the one given
        first.
    name
        The property of the file that holds the name of an area. Polygons of one name are one area.
    outside
        What places that lie in no area are called. A warning tells the holder how many they are.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> homes = pd.DataFrame({"lon": [0.2, 1.7], "lat": [0.4, 0.6], "sex": ["f", "m"]})
    >>> halves = {"west": [0, 0, 1, 1], "east": [1, 0, 2, 1]}
    >>> recipe = vd.Areas(x="lon", y="lat", areas=halves)
    >>> recipe.protect(homes).datasets[0].to_numpy().tolist()
    [['west', 'f'], ['east', 'm']]
    """

    method = "areas"
    sentence = "Aggregation: coordinates were replaced by the name of the area they lie in."
    caution = "places are known by area only; distances and anything within an area are lost"
    checks = {"areas": AREAS}
    gate = PROSECUTOR
    random = False
    coarsens = True
    proposed = ("areas",)

    x: str
    y: str
    areas: Path | Mapping[str, Any] = field(metadata={"private": True})
    name: str = "name"
    outside: str = "outside"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.x == self.y:
            msg = "x and y must be two columns."
            raise PlanError(msg)
        if isinstance(self.areas, str):
            object.__setattr__(self, "areas", Path(self.areas))
        if not isinstance(self.areas, (Path, Mapping)) or not self.areas:
            msg = (
                "areas must be the path of a GeoJSON file, or boxes by name.\n\nHint: write"
                ' areas = "districts.geojson".'
            )
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedAreas:  # noqa: ARG002
        """Find the area of every place."""
        check_kinds(table.schema, (self.x, self.y), NUMERIC, "coordinates are numbers.")
        areas = read_areas(self.areas, self.name)
        if self.outside in areas.names:
            msg = "outside has the name of an area.\n\nHint: choose another word in outside."
            raise PlanError(msg)
        codes = table.codes((self.x, self.y))
        x, y = (codes[name].numbers() for name in (self.x, self.y))
        fitted = FittedAreas(self, table, codes, areas, areas.containing(x, y))
        if strays := fitted.strays:
            warnings.warn(
                f"{strays:,} of {x.size:,} places lie in none of the areas: they are called"
                f" {self.outside!r}.\n\nHint: check that areas and table have the same"
                " coordinates.",
                OutsideWarning,
                stacklevel=2,
            )
        return fitted

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return both coordinates."""
        return self.x, self.y

    def leaves_out(self) -> tuple[str, ...]:
        """Return the second coordinate: one column holds the area."""
        return (self.y,)

    def treats_rows_alone(self) -> bool:
        """Yes: a place needs no other, and the areas are declared."""
        return True

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise that every place is an area's name."""
        names = [*settings["names"], settings["outside"]]
        return (Promise("areas", "package", {"columns": {settings["x"]: names}}),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Areas:  # noqa: ARG003
        """Refuse: areas are proposed from the places of a table."""
        msg = "areas are proposed from the places of a table: open it first."
        raise PlanError(msg)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Areas:
        """Suggest the quarters of a rounded box around the places, until there is a file."""
        from veladura.methods.geography.propose import quarters, settings

        proposed = settings(table, facts)
        return cls(x=proposed["x"], y=proposed["y"], areas=quarters(proposed["region"]))


@dataclass(frozen=True, eq=False, repr=False)
class FittedAreas(Fitted[Areas]):
    """The areas, and that of each place (-1 for none)."""

    areas: NamedAreas
    place: Ints

    @property
    def strays(self) -> int:
        """Places that lie in none of the areas."""
        return int(np.count_nonzero((self.place < 0) & ~self._unplaced))

    @property
    def _unplaced(self) -> Any:
        return self.codes[self.recipe.x].missing | self.codes[self.recipe.y].missing

    def draw(self, context: Context) -> Drawn:
        """Replace the first coordinate, leave out the second."""
        del context  # nothing is random
        recipe = self.recipe
        left = self.table.select([name for name in self.table.names if name != recipe.y])
        settings = {**recipe.settings(), "names": list(self.areas.names)}
        return Drawn(
            datasets=[as_dataset(left, self.codes, Draw({recipe.x: self._named()}))],
            changed=(recipe.x,),
            settings=settings,
            promises=recipe.implied(settings, None),
            pictures=self._counted,
        )

    def _named(self) -> Column:
        column, number = self.codes[self.recipe.x], len(self.areas.names)
        labels = [*self.areas.names, self.recipe.outside]
        order = np.argsort(np.array(labels, dtype=object), kind="stable")  # as columns hold them
        rank = np.empty(number + 1, dtype=np.int64)
        rank[order] = np.arange(number + 1)
        codes = rank[np.where(self.place < 0, number, self.place)]
        field_ = replace(column.field, kind="category", type=pa.string(), order=(), labels={})
        return replace(
            column,
            field=field_,
            values=np.where(self._unplaced, 0, codes),
            missing=self._unplaced,
            labels=pa.array([labels[i] for i in order], pa.string()),
        )

    def _counted(self, release: Release) -> Mapping[str, str]:
        del release
        text = (
            f"{self.place.size:,} rows in {len(self.areas.names):,} areas. {self.strays:,} places"
            f" lie in none of them, {int(self._unplaced.sum()):,} rows have no place."
        )
        return {"Aggregation: places outside the areas": text}
