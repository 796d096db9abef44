"""Counts with two-sided geometric noise from OpenDP: the baseline of private tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.context import Context
from veladura.core.recipe import no_codes
from veladura.errors import PlanError
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import ADD_REMOVE, REPLACE_ONE, Event
from veladura.methods.private.libraries import geometric
from veladura.methods.private.model import Rehearsal, ReleaseModel, positive_number
from veladura.methods.private.private import CellRecipe, FittedPrivate, Outcome

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

# One row replaced takes one from a cell and adds one to another; one added changes one cell.
SENSITIVITY = {REPLACE_ONE: 2, ADD_REMOVE: 1}


@dataclass(frozen=True, kw_only=True)
class NoisyCounts(CellRecipe):
    """Add two-sided geometric noise to every count and release rows to match, with epsilon-DP.

    The geometric mechanism for counts, which gives epsilon-differential privacy: of sensitivity 2
    where a row is replaced (two cells change), of 1 where one is added or removed. The noise comes
    from OpenDP (``pip install 'veladura[dp]'``). The rows are the noisy counts brought to the
    nearest ones that are not negative and add up; the manifest has the noisy counts themselves, and
    `veladura.posterior` uses them.

    Parameters
    ----------
    columns
        The columns of categories to release.
    domain
        By column the values that can occur, from public knowledge; or the path of a JSON file that
        holds them.
    epsilon
        The privacy loss of the release.
    size
        Rows of the dataset. As many as the table has, unless given.
    missing
        Columns whose missing values are a category of their own.
    rows_per_person
        With a person column, the most rows of a person that are counted, drawn at random: the
        privacy loss of a person is that many times epsilon, and the ledger is charged with it.
    neighbours
        "replace-one": the number of rows is public, and the release hardly changes when one person
        is replaced. "add-remove": it hardly changes when one is added or removed, and the number
        of rows is stated with noise.
    fraction
        The share of the people that is counted, drawn at random and in secret: less privacy loss,
        and a smaller table. All of them, unless given.
    structural_zeros
        Combinations that cannot occur: ``[{"age": ["0-14"], "marital": ["married", "widowed"]}]``.

    References
    ----------
    Ghosh, A., Roughgarden, T. and Sundararajan, M. (2012). Universally utility-maximizing privacy
    mechanisms.
    SIAM Journal on Computing 41(6), 1673-1693. Hay, M. et al. (2010). Boosting the accuracy of
    differentially private histograms through consistency. PVLDB 3(1).
    """

    method = "noisy-counts"
    sentence = (
        "Differential privacy: all rows are artificial. Random noise was added to the count of each"
        " combination of values, so that the release hardly depends on any one person's row."
    )
    seedable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("opendp",)
    posterior_needs: ClassVar[tuple[str, ...]] = ("domain", "n", "scale", "noisy")

    def apply(self, table: Table, context: Context) -> FittedNoisyCounts:
        """Count the rows of each cell, once OpenDP agrees that its noise keeps epsilon."""
        epsilon, sensitivity = self.cost()[0], SENSITIVITY[self.neighbours]
        scale = sensitivity / epsilon
        if geometric(scale, sensitivity)[1] > epsilon * (1 + Fraction(1, 10**9)):
            msg = (
                f"OpenDP states a privacy loss above epsilon ({self.epsilon}) for its noise:"
                " nothing was drawn.\n\nHint: use another epsilon, or DirichletMultinomial."
            )
            raise PlanError(msg)
        chosen, domain = self.prepare(table, context)
        counts = domain.count(self.contributed(chosen, context))
        return FittedNoisyCounts(self, chosen, no_codes(), domain, counts, scale)

    def rehearsal(self, counts: Ints, rng: np.random.Generator) -> Rehearsal:
        """Release invented counts, to see what the design gives."""
        scale = SENSITIVITY[self.neighbours] / float(self.cost()[0])
        stop = -np.expm1(-1 / scale)
        noise = rng.geometric(stop, counts.size) - rng.geometric(stop, counts.size)
        noisy, total = (counts + noise).astype(np.float64), int(counts.sum())
        rows = whole_numbers(nearest(noisy, float(total)), self.size or total)
        return Rehearsal(rows.astype(np.float64), noisy, scale=scale)

    @classmethod
    def read_model(cls, settings: Mapping[str, Any], release: Release) -> ReleaseModel:  # noqa: ARG003
        """Return the geometric mechanism of a release: its scale, and the noisy counts."""
        domain = Domain.from_json(settings)
        noisy = np.zeros(domain.cells)
        noisy[domain.possible] = np.asarray(settings["noisy"], dtype=np.float64)
        n, scale = positive_number(settings["n"]), float(Fraction(settings["scale"]))
        n_scale = np.inf if settings.get("n_is_noisy") is True else None
        return ReleaseModel(domain, int(n), noisy[None, :], scale=scale, n_scale=n_scale)


@dataclass(frozen=True, eq=False, repr=False)
class FittedNoisyCounts(FittedPrivate[NoisyCounts]):
    """The counts of the cells, and the scale of their noise. Holds original counts."""

    scale: Fraction

    def mechanism(self, context: Context, event: Event) -> Outcome:  # noqa: ARG002
        """Add the noise, and bring the counts to ones that rows can have.

        Where the number of rows is not public, the noisy counts say how many there are.
        """
        recipe = self.recipe
        noise, _ = geometric(self.scale, SENSITIVITY[recipe.neighbours])
        cells = np.flatnonzero(self.domain.possible)
        noisy = noise(self.counts[cells].tolist())
        public = not recipe.contribution.total_sensitivity
        n = self.counted_rows() if public else max(1, sum(noisy))
        size = recipe.size or n
        rows = whole_numbers(nearest(np.array(noisy, dtype=np.float64), float(n)), size)
        parameters = {
            "epsilon": exact.text(event.epsilon),
            "delta": "0",
            "scale": exact.text(self.scale),
            "noisy": list(map(int, noisy)),
            "n": n,
            **({} if public else {"n_is_noisy": True}),
            "size": size,
            "m": 1,
        }
        columns = self.domain.columns(self.table, np.repeat(cells, rows))
        return Outcome([columns], parameters)


def nearest(counts: Floats, total: float) -> Floats:
    """Return the nearest numbers (in squares) that are not negative and add up to a total.

    Examples
    --------
    >>> nearest(np.array([5.0, -3.0, 8.0]), 10.0).tolist()
    [3.5, 0.0, 6.5]
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    cut = excess[np.flatnonzero(ordered - excess > 0)[-1]]
    near: Floats = np.maximum(counts - cut, 0.0)
    return near


def whole_numbers(counts: Floats, size: int) -> Ints:
    """Return whole numbers in proportion that add up to ``size``, by largest remainders.

    Examples
    --------
    >>> whole_numbers(np.array([3.5, 0.0, 6.5]), 10).tolist()
    [4, 0, 6]
    """
    exactly = counts * (size / counts.sum())
    floor: Ints = np.floor(exactly).astype(np.int64)
    order = np.argsort(-(exactly - floor), kind="stable")
    floor[order[: size - int(floor.sum())]] += 1
    return floor
