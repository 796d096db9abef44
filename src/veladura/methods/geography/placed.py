"""A release of new places beside its original: places, cells and combinations of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import NotApplicable
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.combinations import Combinations, combinations_of
from veladura.methods.geography.grid import grid_over
from veladura.methods.geography.homes import Homes
from veladura.methods.geography.located import LocationRecipe
from veladura.methods.geography.projection import Plane, plane_of
from veladura.methods.geography.region import Region, region_of
from veladura.methods.geography.tracts import read_tracts, tracts_over
from veladura.table.codes import Codes, encode
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.core.release import Release, Step
    from veladura.table.table import Table

DEFAULT_GRID = (20, 20)  # for masks that have none of their own
MOST_LEVELS = 12
MOST_COLUMNS = 3


@dataclass(frozen=True, eq=False)
class Scene:
    """Places of one table, in the plane, of rows that have one."""

    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    cell: Ints = field(repr=False)
    rows: Ints = field(repr=False)

    @property
    def points(self) -> Floats:
        """The places as rows of two numbers."""
        return np.column_stack([self.x, self.y])

    def take(self, chosen: Ints) -> Scene:
        """Return some of these places, in the order of the rows."""
        kept = np.sort(chosen)
        return Scene(self.x[kept], self.y[kept], self.cell[kept], self.rows[kept])


@dataclass(frozen=True, eq=False)
class PlacedRelease:
    """Original and released places on the grid of the release.

    Attributes
    ----------
    attributes
        The columns that combinations are made of.
    """

    original: Table
    release: Release
    step: Step
    region: Region
    plane: Plane
    grid: Cells
    attributes: tuple[str, ...]

    @property
    def tables(self) -> list[Table]:
        """The released tables."""
        return [dataset.table for dataset in self.release.tables]

    @property
    def changed(self) -> list[str]:
        """The released columns whose values a step replaced."""
        return changed_columns(self.release)

    @property
    def links(self) -> list[Ints]:
        """The original row of each released row, by dataset."""
        links = [dataset.rows for dataset in self.release.tables if dataset.rows is not None]
        if len(links) < len(self.release.tables):
            msg = "the released rows are not linked to rows of the original."
            raise NotApplicable(msg)
        return [np.asarray(link) for link in links]

    @cached_property
    def combinations(self) -> Combinations:
        """The combinations of the original; attributes are released unchanged."""
        everything = np.ones(self.original.rows, dtype=bool)
        return combinations_of(
            _columns(self.original, self.attributes), self.attributes, everything
        )

    @property
    def group(self) -> Ints:
        """The combination of each row of the original."""
        return self.combinations.of_row

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The columns whose map is compared.

        The attributes or, for a mask without any, the unchanged columns of few categories.
        """
        original = self.original
        if self.attributes:
            return self.attributes
        kept = [
            f.name
            for f in original.schema
            if f.kind in ("category", "ordered") and f.name not in self.changed
        ]
        return tuple(
            name for name in kept if 1 < len(original.arrow.column(name).unique()) <= MOST_LEVELS
        )[:MOST_COLUMNS]

    @cached_property
    def before(self) -> Scene:
        """The original; of a person's rows at one place the first."""
        scene = self._scene(self.original)
        if self.original.people == self.original.rows:
            return scene
        people = person_numbers(self.original)[scene.rows]
        return scene.take(Homes.of_people(people, scene.x, scene.y, scene.rows).first)

    @cached_property
    def after(self) -> list[Scene]:
        """The datasets, in the order of their own rows; of the rows that `before` has."""
        scenes = [self._scene(table) for table in self.tables]
        if self.original.people == self.original.rows:
            return scenes
        seen = np.zeros(self.original.rows, dtype=bool)
        seen[self.before.rows] = True
        return [
            scene.take(np.flatnonzero(seen[link[scene.rows]]))
            for scene, link in zip(scenes, self.links, strict=True)
        ]

    @property
    def people(self) -> list[Ints]:
        """Whose place each released one is, as a number in the original scene, by dataset."""
        number = np.full(self.original.rows, -1, dtype=np.int64)
        number[self.before.rows] = np.arange(self.before.rows.size)
        return [
            number[link[scene.rows]] for scene, link in zip(self.after, self.links, strict=True)
        ]

    def released_group(self, number: int) -> Ints:
        """Return the combination of each row of a dataset, numbered as in the original."""
        link = self.release.tables[number].rows
        if link is not None:
            return self.group[link]
        both = [_columns(table, self.attributes) for table in (self.original, self.tables[number])]
        return _matched(both[0], both[1], self.attributes, self.group)

    def _scene(self, table: Table) -> Scene:
        x, y = (
            encode(
                table.arrow.column(self.step.settings[name]), table.schema[self.step.settings[name]]
            )
            for name in ("x", "y")
        )
        present = np.flatnonzero(~x.missing & ~y.missing)
        at_x, at_y = x.numbers()[present], y.numbers()[present]
        return Scene(*self.plane.forward(at_x, at_y), self.grid.locate(at_x, at_y), present)


def _moves_places(step: Step) -> bool:
    return step.recipe is not None and issubclass(step.recipe, LocationRecipe)


def step_of_places(release: Release) -> Step | None:
    """Return the step of a release that gave new places; None without one."""
    return next((step for step in release.steps if _moves_places(step)), None)


def changed_columns(release: Release) -> list[str]:
    """Return the released columns whose values a step replaced."""
    changed = {name for step in release.steps for name in step.changed}
    return [name for name in release.tables[0].table.names if name in changed]


def placed(original: Table, release: Release) -> PlacedRelease:
    """Return the places of a release beside those of its original.

    A release without new places is refused: its figures do not apply.
    """
    step = step_of_places(release)
    promise = next((p for p in release.promises if p.name == "inside-region"), None)
    if step is None or promise is None or "x" not in step.settings:
        msg = "the release has no new places."
        raise NotApplicable(msg)
    region = region_of(promise.settings["region"], promise.settings.get("exclude"))
    plane = plane_of(region.bounds, step.settings["coordinates"])
    names, changed = release.tables[0].table.names, changed_columns(release)
    attributes = tuple(
        name
        for name in step.settings.get("attributes", ())
        if name in names and name not in changed
    )
    cells = _cells_of(release, step, region, plane)
    return PlacedRelease(original, release, step, region, plane, cells, attributes)


def _cells_of(release: Release, step: Step, region: Region, plane: Plane) -> Cells:
    """Return the cells of a release: those it declares, or squares."""
    declared = next((p for p in release.promises if p.name == "in-cells"), None)
    if declared is not None:
        return tracts_over(region, plane, read_tracts(declared.settings["cells"], "name"))
    across, up = step.settings.get("grid", DEFAULT_GRID)
    return grid_over(region, plane, (across, up))


def _columns(table: Table, names: tuple[str, ...]) -> Codes:
    return Codes(
        {name: table.column(name) for name in names},
        np.arange(table.rows),
    )


def _matched(
    before: Mapping[str, Any], after: Mapping[str, Any], attributes: tuple[str, ...], group: Ints
) -> Ints:
    """Return the combinations of a table whose rows are not linked, by their values."""
    if not attributes:
        return np.zeros(next(iter(after.values())).size if after else group.size, dtype=np.int64)
    texts = [[_texts(columns[name]) for name in attributes] for columns in (before, after)]
    number = dict(zip(zip(*texts[0], strict=True), group.tolist(), strict=True))
    return np.array([number.get(row, -1) for row in zip(*texts[1], strict=True)], dtype=np.int64)


def _texts(column: Any) -> list[Any]:
    return [value.as_py() for value in column.to_arrow()]
