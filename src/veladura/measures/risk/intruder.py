"""What an intruder knows of the person he looks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Intruder:
    """What someone who looks for a person in a release knows.

    Parameters
    ----------
    known
        Columns he knows exactly, and finds in the release as he knows them.
    sensitive
        Columns he knows roughly: categories exactly, numbers and dates within the radius.
    radius
        How far off he may be: one number, or one for each such column; days for dates.
    relative
        Whether the radius is a share of the value; or the columns for which it is.
    population
        A table of everyone the target could be, for someone who does not know that the target is in
        the data; without it he knows.
    decline
        Whether he picks no one when it is most likely that the target is not in the data.
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
            msg = "an intruder who knows nothing finds no one: name columns in known or sensitive."
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
        if not all(one is None or 0 <= one < np.inf for one in radii.values()):
            msg = "radius must be at least 0 and finite."
            raise PlanError(msg)
        if any(
            one is not None and one > 1 and self.is_relative(name) for name, one in radii.items()
        ):
            msg = "a relative radius is a share of the value: it must be at most 1."
            raise PlanError(msg)

    def reach(self, name: str) -> float:
        """Return the radius of a column."""
        radius = self.radius.get(name) if isinstance(self.radius, Mapping) else self.radius
        if radius is None:
            msg = (
                f"sensitive column {name!r} holds numbers or dates: it needs a radius.\n\nHint:"
                " radius=0 for someone who knows it exactly."
            )
            raise PlanError(msg)
        return float(radius)

    def is_relative(self, name: str) -> bool:
        """Whether the radius of a column is a share of its value."""
        return self.relative if isinstance(self.relative, bool) else name in self.relative
