"""What private releases of statistics share: bounds, noise by epsilon or rho, no rows of people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from veladura.core.promise import Check, Promise
from veladura.core.rules import PrivateStatistics, Rule
from veladura.errors import PlanError
from veladura.methods.private import exact
from veladura.methods.private.events import Event, rho_for, zcdp_epsilon
from veladura.methods.private.numbers import as_tuples, check_bounds
from veladura.methods.private.private import PrivateRecipe
from veladura.methods.private.proof import CHECKS, LOSS, stated
from veladura.methods.private.queries import Noisy, Query, measured
from veladura.methods.private.statistics_table import TABLE_CHECK


@dataclass(frozen=True, kw_only=True)
class StatisticsRecipe(PrivateRecipe):
    """A private recipe that releases statistics of bounded numbers instead of rows."""

    rule: ClassVar[Rule] = PrivateStatistics()
    seedable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("opendp",)
    checks: ClassVar[Mapping[str, Check]] = {**CHECKS, "private-statistics": TABLE_CHECK}

    bounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    delta: float = 0.0
    level: float = 0.95

    def __post_init__(self) -> None:
        check_bounds(self.bounds)
        object.__setattr__(self, "bounds", as_tuples(self.bounds))
        super().__post_init__()
        if self.size is not None:
            msg = "size was given, and statistics have no rows to release: leave it out."
            raise PlanError(msg)
        exact.share(self.delta)
        if not isinstance(self.level, float) or not 0 < self.level < 1:
            msg = f"level ({self.level}) must be a number above 0 and below 1."
            raise PlanError(msg)

    def cost(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a row."""
        return exact.positive(self.epsilon), exact.share(self.delta)

    def rho(self) -> Fraction | None:
        """Return the rho of a row, where the noise is Gaussian."""
        return rho_for(*self.cost()) if self.delta else None

    def loss(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a person."""
        rho = self.rho()
        if rho is None or self.rows_each == 1:
            return super().loss()
        bound = zcdp_epsilon(rho * self.rows_each**2, self.cost()[1])
        return Fraction(math.ceil(bound * 10**6), 10**6), self.cost()[1]

    def event(self) -> Event:
        """Return the privacy loss of one release, as the ledger is charged with it."""
        about, rho = ", ".join(self.changes(())), self.rho()
        if rho is None:
            return Event(self.method, about, epsilon=self.loss()[0], neighbours=self.relation)
        return Event(self.method, about, rho=rho * self.rows_each**2, neighbours=self.relation)

    def noise_of(self, query: Query, number: int) -> Noisy:
        """Return a query as it is, with the scale of the noise that one of so many would get."""
        amounts, root = query.change(self.neighbours)
        rho, values = self.rho(), query.values.astype(np.float64)
        if rho is None:
            scale = float(amounts * number / self.cost()[0])
        else:
            scale = root / float(2 * rho / number) ** 0.5
        return Noisy(query.kind, query.column, values, scale, rho is not None)

    def measured(self, queries: Sequence[Query]) -> list[Noisy]:
        """Return queries with their noise: each has an equal share of epsilon, or of rho."""
        rho, number = self.rho(), len(queries)
        share = {
            "epsilon": self.cost()[0] / number if rho is None else None,
            "rho": None if rho is None else rho / number,
        }
        return [measured(query, self.neighbours, **share) for query in queries]

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises: the privacy loss, and that nothing but declared rows are there."""
        keys = ("columns", "summarised", "by", "domain", "missing", "statistics", "bounds")
        return (
            stated("dp-events", LOSS, settings),
            Promise("private-statistics", "package", {key: settings[key] for key in keys}),
        )
