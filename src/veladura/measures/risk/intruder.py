"""The intruder of match risk: what someone who looks for a person knows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from veladura.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Intruder:
    """What an intruder who looks for a person in a release knows.

    Parameters
    ----------
    known
        Columns that the intruder knows exactly.
    sensitive
        Columns that the intruder knows roughly: categories exactly, numbers and dates within the
        radius.
    radius
        How far off that knowledge may be: one number, or one for each such column; days for dates.
    relative
        Whether the radius is a share of the value; or the columns for which it is.
    population
        A table of everybody the target could be, for an intruder who does not know that the target
        is in the data. Without it the intruder knows.
    decline
        Whether nobody is picked when the target is most likely not in the data.
    """

    known: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    radius: float | Mapping[str, float] | None = None
    relative: bool | tuple[str, ...] = False
    population: Any = field(default=None, repr=False)
    decline: bool = False

    def __post_init__(self) -> None:
        for name in ("known", "sensitive"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        if not (*self.known, *self.sensitive):
            msg = "an intruder needs to know something: name columns in known or sensitive."
            raise PlanError(msg)
        if twice := sorted(set(self.known) & set(self.sensitive)):
            msg = (
                f"columns both known and sensitive: {twice}.\n\nHint: a column is known exactly or"
                " within a radius."
            )
            raise PlanError(msg)
        if not isinstance(self.relative, bool):
            object.__setattr__(
                self,
                "relative",
                (self.relative,) if isinstance(self.relative, str) else tuple(self.relative),
            )
        radii = (
            dict(self.radius)
            if isinstance(self.radius, Mapping)
            else dict.fromkeys(self.sensitive, self.radius)
        )
        if lost := sorted({*radii, *_listed(self.relative)} - {*self.sensitive}):
            msg = (
                f"columns have a radius, but are not sensitive: {lost}.\n\nHint: name them in"
                " sensitive; columns in known are compared exactly."
            )
            raise PlanError(msg)
        if not all(radius is None or 0 <= radius < math.inf for radius in radii.values()):
            msg = "radius must be at least 0 and finite."
            raise PlanError(msg)
        if any(
            radius is not None and radius > 1 and self.is_relative(name)
            for name, radius in radii.items()
        ):
            msg = "a relative radius is a share of the value: it must be at most 1."
            raise PlanError(msg)

    def reach(self, name: str) -> float:
        """Return the radius of a column."""
        radius = self.radius.get(name) if isinstance(self.radius, Mapping) else self.radius
        if radius is None:
            msg = (
                f"sensitive column {name!r} holds numbers or dates: it needs a radius.\n\nHint:"
                " radius=0 for an intruder who knows it exactly."
            )
            raise PlanError(msg)
        return float(radius)

    def is_relative(self, name: str) -> bool:
        """Whether the radius of a column is a share of its value."""
        return self.relative if isinstance(self.relative, bool) else name in self.relative

    def widened(self, factor: float) -> Intruder:
        """Return an intruder whose radius is multiplied by a factor; a relative one is cut at 1."""
        radii = (
            self.radius
            if isinstance(self.radius, Mapping)
            else dict.fromkeys(self.sensitive, self.radius or 0.0)
        )
        wider = {
            name: min(radius * factor, 1.0) if self.is_relative(name) else radius * factor
            for name, radius in radii.items()
        }
        return replace(self, radius=wider)


def _listed(names: bool | tuple[str, ...]) -> tuple[str, ...]:  # noqa: FBT001
    return () if isinstance(names, bool) else names
