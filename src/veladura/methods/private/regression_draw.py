"""The draw of `PrivateRegression`: noisy sufficient statistics, and coefficients from these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.context import Context
from veladura.core.release import Dataset
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import Event
from veladura.methods.private.numbers import bounds_of
from veladura.methods.private.private import FittedPrivate, Outcome
from veladura.methods.private.queries import Query
from veladura.methods.private.regression_rows import (
    coefficient_rows,
    half_bins,
    linear,
    logistic,
    place_shifts,
)
from veladura.methods.private.statistics_table import OWN, table_of

if TYPE_CHECKING:
    from veladura.methods.private.regression import PrivateRegression  # noqa: F401  # in the base


@dataclass(frozen=True, eq=False, repr=False)
class FittedRegression(FittedPrivate["PrivateRegression"]):
    """The sufficient statistics. Holds original sums."""

    query: Query = field(repr=False)

    def mechanism(self, context: Context, event: Event) -> Outcome:  # noqa: ARG002
        """Add the noise; coefficients and intervals come from the noisy numbers alone."""
        recipe = self.recipe
        (noisy,) = recipe.measured([self.query])
        terms = recipe.terms()
        shifts: Floats | None = np.zeros((0, 4, len(terms)))
        if recipe.family == "linear":
            value, draws = linear(noisy, len(terms))
        else:
            cells = np.array(recipe.cells())
            value, draws = logistic(noisy, cells)
            shifts = place_shifts(noisy, cells, value, half_bins(recipe.terms_by_column()))
        rows = coefficient_rows(terms, value, draws, recipe.back(), recipe.level, shifts)
        epsilon, delta = map(exact.text, recipe.loss())
        numbers = [n for n in recipe.changes(()) if n not in self.domain.names]
        parameters = {
            "epsilon": epsilon,
            "delta": delta,
            "columns": list(OWN),
            "summarised": terms,
            "by": [],
            "outcome": recipe.outcome,
            "explained_by": list(recipe.columns),
            "family": recipe.family,
            "bounds": {name: list(bounds_of(name, recipe.bounds)) for name in numbers},
            "bins": recipe.number_of_bins,
            "statistics": ["coefficient"],
            "level": recipe.level,
            "noisy": [noisy.to_json()],
            "m": 1,
        }
        return Outcome([Dataset(table_of(Domain({}), self.table, rows))], parameters)
