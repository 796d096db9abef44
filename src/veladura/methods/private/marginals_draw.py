"""The draw of `Marginals`: cut, measure, choose and fit under the budget; then artificial rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.blas import one_thread
from veladura.base.context import Context
from veladura.methods.private import exact
from veladura.methods.private.bins import Within, edges_of
from veladura.methods.private.cuts import SHARE as CUTTING
from veladura.methods.private.cuts import quantile_cuts
from veladura.methods.private.events import Event
from veladura.methods.private.libraries import gaussian, noisy_maximum
from veladura.methods.private.measuring import Measurements, Noise, measure
from veladura.methods.private.noise_aware import NoiseAware
from veladura.methods.private.numbers import USUAL_BINS
from veladura.methods.private.private import FittedPrivate, Outcome
from veladura.numeric.graphical.junction import Columns
from veladura.numeric.graphical.model import Beliefs
from veladura.numeric.graphical.rows import draw_rows

if TYPE_CHECKING:
    from veladura.base.streams import Streams
    from veladura.methods.private.marginals import Marginals  # noqa: F401  # in the base class
    from veladura.table.codes import Column


@dataclass(frozen=True, eq=False, repr=False)
class FittedMarginals(FittedPrivate["Marginals"]):
    """The distinct rows and how often each occurs. Holds original values: never released."""

    distinct: tuple[Ints, ...] = field(repr=False)

    def mechanism(self, context: Context, event: Event) -> Outcome:
        """Cut, measure, choose and fit; then draw rows from the model, or from the posterior."""
        rho = float(event.rho / self.recipe.rows_each**2)
        cutting = CUTTING * rho if self.recipe.private_cuts else 0.0
        outcome = self._cut(cutting).release(context, rho - cutting)
        if not cutting:
            return outcome
        return replace(
            outcome, settings={**outcome.settings, "cutting": exact.text(Fraction(cutting))}
        )

    def _cut(self, rho: float) -> FittedMarginals:
        """Return the counts over bins whose cuts were chosen privately, at a cost of rho."""
        columns = list(self.recipe.private_cuts)
        distinct, edges = list(self.distinct), {}
        for name in columns:
            place = self.domain.names.index(name)
            grid, codes = self.domain.edges[name], distinct[place]
            cells = len(grid) - 1
            held = np.bincount(codes, weights=self.counts, minlength=cells + 1)[:cells]
            bins = len(edges_of(name, self.recipe.bounds, self.recipe.bins, USUAL_BINS)) - 1
            cuts = quantile_cuts(
                held.astype(np.int64),
                bins,
                rho / len(columns),
                noisy_maximum,
                zero=grid[0] == 0,
            )
            edges[name] = (grid[0], *(grid[cut] for cut in cuts), grid[-1])
            bin_of = np.searchsorted(np.array(cuts), np.arange(cells), side="right")
            distinct[place] = np.append(bin_of, len(cuts) + 1)[codes]
        if not edges:
            return self
        return replace(self, domain=self.domain.rebinned(edges), distinct=tuple(distinct))

    def release(self, context: Context, rho: float) -> Outcome:
        """Measure, choose and fit at a cost of rho, and draw the datasets."""
        recipe = self.recipe
        # where one person decides the number of rows, it is estimated from the noisy tables
        hidden = recipe.contribution.total_sensitivity
        public = None if hidden else int(self.counts.sum())
        noise = Noise(lambda counts, s: gaussian(counts.astype(np.int64), s), noisy_maximum)
        # the matrices are small: threads of BLAS would only wait for each other
        with (
            context.progress("choosing and measuring tables", 0) as advance,
            one_thread(),
        ):
            measured = measure(
                recipe.design(self.domain, public), self.table_of, rho, noise, advance
            )
        n = round(measured.n)
        size = recipe.size or n
        streams = context.streams
        datasets = [
            self._columns(beliefs, size, streams, number)
            for number, beliefs in enumerate(self._models(measured, n, context))
        ]
        epsilon, delta = map(exact.text, recipe.loss())
        names = self.domain.names
        parameters = {
            **self.domain.to_json(),
            "epsilon": epsilon,
            "delta": delta,
            "n": n,
            **({"n_is_noisy": True} if hidden else {}),
            "size": size,
            "m": recipe.m,
            "measured": [
                {"columns": [names[column] for column in table.columns], "sigma": table.sigma}
                for table in measured.tables
            ],
            "choosing": exact.text(Fraction(measured.spending.choosing)),
            "noisy": [table.noisy.astype(np.int64).tolist() for table in measured.tables],
        }
        return Outcome(datasets, parameters)

    def _models(self, measured: Measurements, n: int, context: Context) -> list[Beliefs]:
        """Return what each dataset is drawn from: the nearest model, or draws of the posterior."""
        m = self.recipe.m
        if m == 1:
            assert measured.fitted is not None  # noqa: S101  # measure fits at the end
            return [measured.fitted.beliefs]
        hidden = bool(self.recipe.contribution.total_sensitivity)
        model = NoiseAware(self.domain, n, measured.tables, hidden=hidden)
        protected = model.protected(context.streams("private", "posterior"), m)
        apart = np.linspace(0, len(protected.draws) - 1, m).astype(int)
        rng = context.streams("private", "population")
        return [protected.one_population(int(place), rng) for place in apart]

    def _columns(
        self, beliefs: Beliefs, size: int, streams: Streams, number: int
    ) -> Mapping[str, Column]:
        rows = draw_rows(beliefs, size, streams("private", "rows", number))
        order = np.lexsort(rows[::-1])
        within = Within(streams("private", "numbers", number))
        return self.domain.columns_of(self.table, [row[order] for row in rows], within)

    def table_of(self, columns: Columns) -> Floats:
        """Return the counts of a table of some columns, flat."""
        shape = tuple(self.domain.shape[column] for column in columns)
        flat = np.ravel_multi_index([self.distinct[column] for column in columns], shape)
        weights = self.counts.astype(np.float64)
        return np.bincount(flat, weights=weights, minlength=math.prod(shape)).astype(np.float64)
