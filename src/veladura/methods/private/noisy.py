"""Counts with two-sided geometric noise from OpenDP: the baseline of private tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import no_codes
from veladura.core.rules import Posterior, Rule
from veladura.errors import PlanError
from veladura.methods.private import exact
from veladura.methods.private.events import Event
from veladura.methods.private.libraries import geometric, opendp
from veladura.methods.private.private import CellRecipe, FittedPrivate

if TYPE_CHECKING:
    from veladura.table.table import Table

SENSITIVITY = 2  # one row replaced takes one from a cell and adds one to another


@dataclass(frozen=True, kw_only=True)
class NoisyCounts(CellRecipe):
    """Add two-sided geometric noise to the count of every cell, and release rows that fit: differentially private with epsilon.

    The noise comes from OpenDP (``pip install 'veladura[dp]'``). The rows are the noisy counts
    brought to the nearest ones that are not negative and add up; the manifest has the noisy counts
    themselves, and `veladura.posterior` uses them.

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
        "The rows are artificial. Noise was added to the number of rows of each kind, so that"
        " the release hardly depends on any one person."
    )
    seedable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("opendp",)

    def apply(self, table: Table, context: Context) -> FittedNoisyCounts:
        """Count the cells."""
        opendp()
        chosen, space = self.prepare(table, context)
        counts = space.count(chosen)
        return FittedNoisyCounts(
            self,
            chosen,
            no_codes(),
            space,
            counts=counts,
            scale=SENSITIVITY / exact.fraction(self.epsilon),
        )


@dataclass(frozen=True, eq=False, repr=False)
class FittedNoisyCounts(FittedPrivate[NoisyCounts]):
    """The counts of the cells, and once drawn what the noise made of them."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scale: Fraction = Fraction(1)
    noisy: tuple[int, ...] = ()

    def drawn(self, context: Context) -> FittedNoisyCounts:
        """Charge epsilon, add the noise, and bring the counts to ones that rows can have."""
        noise, cost = geometric(self.scale, SENSITIVITY)
        if cost > exact.fraction(self.recipe.epsilon) * (1 + Fraction(1, 10**9)):
            msg = "OpenDP says that its noise costs more than epsilon: nothing was drawn."
            raise PlanError(msg)
        event = self.charge(
            context,
            Event(self.recipe.method, self.about(), epsilon=exact.fraction(self.recipe.epsilon)),
        )
        cells = np.flatnonzero(self.space.possible)
        noisy = noise(self.counts[cells].tolist())
        rows = whole_numbers(
            nearest(np.array(noisy, dtype=np.float64), float(self.counts.sum())),
            self.recipe.size or int(self.counts.sum()),
        )
        return replace(
            self, outcome=(np.repeat(cells, rows),), noted=(event,), noisy=tuple(map(int, noisy))
        )

    def told(self) -> dict[str, Any]:
        """Return all that the posterior needs."""
        size = self.recipe.size or int(self.counts.sum())
        law = {
            "epsilon": exact.text(exact.fraction(self.recipe.epsilon)),
            "delta": "0",
            "scale": exact.text(self.scale),
        }
        return {
            **self.common(),
            **law,
            "noisy": list(self.noisy),
            "n": int(self.counts.sum()),
            "size": size,
            "m": 1,
        }

    def promises(self) -> tuple[Promise, ...]:
        """Promise what the events cost together, and the declared domain."""
        return spending(self), self.in_domain()

    def rule(self) -> Rule:
        """Return the rule: the exact posterior."""
        return Posterior()


def spending(fitted: FittedPrivate[Any]) -> Promise:
    """Return the promise that the events told cost no more than what is told."""
    epsilon, delta = fitted.recipe.cost()
    within = f"exp({exact.text(epsilon)})" + (
        f", but for a chance of {exact.text(delta)}" if delta else ""
    )
    claim = (
        f"The noise told changes the chance of this release by a factor of at most {within} when"
        " any one row is replaced."
    )
    told = {
        "columns": list(fitted.recipe.columns),
        "epsilon": exact.text(epsilon),
        "delta": exact.text(delta),
    }
    return Promise(
        "dp-events",
        claim,
        "package",
        {**told, "events": [event.to_json() for event in fitted.noted]},
    )


def nearest(counts: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the nearest numbers (in squares) that are not negative and add up to a total.

    Examples
    --------
    >>> nearest(np.array([5.0, -3.0, 8.0]), 10.0).tolist()
    [3.5, 0.0, 6.5]
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    cut = excess[np.flatnonzero(ordered - excess > 0)[-1]]
    near: NDArray[np.float64] = np.maximum(counts - cut, 0.0)
    return near


def whole_numbers(counts: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return whole numbers in proportion that add up to ``size``, by largest remainders.

    Examples
    --------
    >>> whole_numbers(np.array([3.5, 0.0, 6.5]), 10).tolist()
    [4, 0, 6]
    """
    exactly = counts * (size / counts.sum())
    floor: NDArray[np.int64] = np.floor(exactly).astype(np.int64)
    order = np.argsort(-(exactly - floor), kind="stable")
    floor[order[: size - int(floor.sum())]] += 1
    return floor
