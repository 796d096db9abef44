"""A release of places as its measures see it: places, cells and combinations of original and released rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.measures.measure import NotApplicable, Subject
from veladura.methods.geography.combinations import combinations_of
from veladura.methods.geography.grid import Grid, grid_over
from veladura.methods.geography.projection import Plane, plane_of
from veladura.methods.geography.region import Region, region_of
from veladura.table.codes import Codes, encode

if TYPE_CHECKING:
    from veladura.core.recipe import Step
    from veladura.table.table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
METHODS = ("geography", "naive-geography", "donut")
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


@dataclass(frozen=True, eq=False)
class PlacedRelease:
    """Original and released places on the grid of the release.

    Attributes
    ----------
    attributes
        The columns that combinations are made of.
    """

    subject: Subject
    step: Step
    region: Region
    plane: Plane
    grid: Grid
    attributes: tuple[str, ...]

    @cached_property
    def group(self) -> Ints:
        """The combination of each row of the original; attributes are released as they are."""
        everything = np.ones(self.subject.original.rows, dtype=bool)
        return combinations_of(
            _columns(self.subject.original, self.attributes), self.attributes, everything
        ).of_row

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The columns whose map is compared: the attributes or, for a mask without any, the kept columns of few categories."""
        original = self.subject.original
        if self.attributes:
            return self.attributes
        kept = [
            f.name
            for f in original.schema
            if f.kind in ("category", "ordered") and f.name not in self.subject.changed
        ]
        return tuple(
            name for name in kept if 1 < len(original.arrow.column(name).unique()) <= MOST_LEVELS
        )[:MOST_COLUMNS]

    @cached_property
    def before(self) -> Scene:
        """The original."""
        return self._scene(self.subject.original)

    @cached_property
    def after(self) -> list[Scene]:
        """The datasets, in the order of their own rows."""
        return [self._scene(table) for table in self.subject.tables]

    def released_group(self, number: int) -> Ints:
        """Return the combination of each row of a dataset, numbered as in the original."""
        link = self.subject.release.tables[number].rows
        if link is not None:
            return self.group[link]
        both = [
            _columns(table, self.attributes)
            for table in (self.subject.original, self.subject.tables[number])
        ]
        return _matched(both[0], both[1], self.attributes, self.group)

    def _scene(self, table: Table) -> Scene:
        x, y = (
            encode(
                table.arrow.column(self.step.settings[name]), table.schema[self.step.settings[name]]
            )
            for name in ("x", "y")
        )
        known = np.flatnonzero(~x.missing & ~y.missing)
        at_x, at_y = x.numbers()[known], y.numbers()[known]
        return Scene(*self.plane.forward(at_x, at_y), self.grid.locate(at_x, at_y), known)


def placed(subject: Subject) -> PlacedRelease:
    """Return a release of places as its measures see it, or say that it is none."""
    step = next((step for step in subject.release.steps if step.method in METHODS), None)
    promise = next((p for p in subject.release.promises if p.name == "inside-region"), None)
    if step is None or promise is None or "x" not in step.settings:
        msg = "the release has no new places."
        raise NotApplicable(msg)
    region = region_of(promise.settings["region"], promise.settings.get("exclude"))
    plane = plane_of(region.bounds, step.settings["coordinates"])
    across, up = step.settings.get("grid", DEFAULT_GRID)
    names = subject.tables[0].names
    attributes = tuple(
        name
        for name in step.settings.get("attributes", ())
        if name in names and name not in subject.changed
    )
    return PlacedRelease(
        subject, step, region, plane, grid_over(region, plane, (across, up)), attributes
    )


def _columns(table: Table, names: tuple[str, ...]) -> Codes:
    return Codes(
        {name: encode(table.arrow.column(name), table.schema[name]) for name in names},
        np.arange(table.rows),
    )


def _matched(
    before: Mapping[str, Any], after: Mapping[str, Any], attributes: tuple[str, ...], group: Ints
) -> Ints:
    """Return the combinations of a table without link, by what its rows hold."""
    if not attributes:
        return np.zeros(next(iter(after.values())).size if after else group.size, dtype=np.int64)
    texts = [[_texts(columns[name]) for name in attributes] for columns in (before, after)]
    number = dict(zip(zip(*texts[0], strict=True), group.tolist(), strict=True))
    return np.array([number.get(row, -1) for row in zip(*texts[1], strict=True)], dtype=np.int64)


def _texts(column: Any) -> list[Any]:
    return [value.as_py() for value in column.to_arrow()]
