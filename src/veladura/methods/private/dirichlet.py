"""Synthetic categories from a Dirichlet-multinomial: differentially private, drawn exactly, provable from the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Recipe, no_codes
from veladura.core.rules import Posterior, Rule
from veladura.errors import PlanError
from veladura.methods.private import exact, propose, urn
from veladura.methods.private.events import Event
from veladura.methods.private.private import CellRecipe, FittedPrivate, split

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

MOST_SETS = 1000


@dataclass(frozen=True, kw_only=True)
class DirichletMultinomial(CellRecipe):
    """Draw artificial rows from a Dirichlet-multinomial around the counts, differentially private with epsilon.

    Only the named columns are released. Each cell of the declared domain gets the smallest alpha
    that keeps epsilon; the rows are drawn on whole numbers from the system's entropy.
    `veladura.posterior` gives valid inference from the release.

    Parameters
    ----------
    columns
        The columns of categories to release.
    domain
        By column the values that can occur, from public knowledge; or the path of a JSON file that
        holds them.
    epsilon
        The privacy loss of the whole release, all datasets together.
    size
        Rows of each dataset. As many as the table has, unless given.
    m
        Number of datasets; each gets epsilon / m, and one is best.
    missing
        Columns whose missing values are a category of their own.
    structural_zeros
        Combinations that cannot occur: ``[{"age": ["0-14"], "marital": ["married", "widowed"]}]``.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"sex": ["f", "m"] * 50})
    >>> release = vd.DirichletMultinomial(columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=2).protect(table)
    >>> release.steps[0].settings["alpha"], len(release.datasets[0])
    ('15.6517642749666', 100)

    References
    ----------
    Abowd, J. M. and Vilhuber, L. (2008). How protective are synthetic data? Privacy in Statistical
    Databases, LNCS 5262, 239-246. Charest, A.-S. (2011). How can we analyze differentially-private
    synthetic datasets? Journal of Privacy and Confidentiality 2(2). Marcolin (2018), chapter 3.
    """

    method = "dirichlet-multinomial"
    sentence = (
        "The rows are artificial. They were drawn from noisy counts, so that the release "
        "hardly depends on any one person."
    )

    m: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.m, bool) or not isinstance(self.m, int) or not 1 <= self.m <= MOST_SETS:
            msg = (
                f"m ({self.m}) must be a whole number from 1 to {MOST_SETS}: the datasets to"
                " release."
            )
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedDirichlet:
        """Count the cells."""
        chosen, space = self.prepare(table, context)
        size = self.size or chosen.rows
        alpha = exact.smallest_alpha(split(exact.fraction(self.epsilon), self.m), size)
        return FittedDirichlet(
            self, chosen, no_codes(), space, counts=space.count(chosen), alpha=alpha, size=size
        )


@dataclass(frozen=True, kw_only=True)
class BetaBinomial(DirichletMultinomial):
    """Draw an artificial column of two categories from a beta-binomial, differentially private with epsilon.

    The two-category case of `DirichletMultinomial`.

    Parameters
    ----------
    columns
        The one column to release.
    domain
        Its two values.
    epsilon
        The privacy loss of the whole release, all datasets together.
    size
        Rows of each dataset. As many as the table has, unless given.
    m
        Number of datasets; each gets epsilon / m, and one is best.
    missing
        The column, if missing is one of its two categories.
    structural_zeros
        Not used: a column of two categories has none.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"smokes": ["yes"] * 30 + ["no"] * 70})
    >>> release = vd.BetaBinomial(columns=["smokes"], domain={"smokes": ["yes", "no"]}, epsilon=2).protect(table)
    >>> vd.posterior(release, prior=1).mean.sum().round(9)
    np.float64(1.0)

    References
    ----------
    Charest, A.-S. (2011). How can we analyze differentially-private synthetic datasets? Journal of
    Privacy and Confidentiality 2(2). Marcolin (2018), section 3.2.
    """

    method = "beta-binomial"
    sentence = (
        "The rows are artificial. They were drawn from noisy counts, so that the release "
        "hardly depends on any one person."
    )
    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain",)

    def declared(self) -> Any:
        """Return the domain, which must have two cells."""
        space = super().declared()
        if int(space.possible.sum()) != 2:  # noqa: PLR2004
            msg = (
                "a beta-binomial has two categories, the domain"
                f" {int(space.possible.sum())}.\n\nHint: use DirichletMultinomial."
            )
            raise PlanError(msg)
        return space

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest the first column of two categories."""
        return cls(**propose.settings(table, facts, cells=2, columns=1))


@dataclass(frozen=True, eq=False, repr=False)
class FittedDirichlet(FittedPrivate[DirichletMultinomial]):
    """The counts of the cells and the alpha that keeps epsilon."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    alpha: Fraction = Fraction(1)
    size: int = 0

    def drawn(self, context: Context) -> FittedDirichlet:
        """Charge epsilon, then draw each dataset from an urn of its own."""
        event = self.charge(
            context,
            Event(self.recipe.method, self.about(), epsilon=exact.fraction(self.recipe.epsilon)),
        )
        return replace(
            self, outcome=tuple(self._urn(context, i) for i in range(self.recipe.m)), noted=(event,)
        )

    def _urn(self, context: Context, dataset: int) -> NDArray[np.int64]:
        """Return the cell of each row of one dataset, from the system's entropy unless the run is a test."""
        bits = (
            urn.Bits(context.streams("dirichlet-multinomial", dataset).bytes)
            if context.seeded
            else urn.Bits()
        )
        cells = np.flatnonzero(self.space.possible)
        drawn = urn.draw(bits, [self.alpha] * cells.size, self.counts[cells].tolist(), self.size)
        return np.repeat(cells, drawn)

    def told(self) -> dict[str, Any]:
        """Return all that the posterior needs, and the proof of epsilon."""
        return {**self.common(), **self._law(), "n": int(self.counts.sum())}

    def _law(self) -> dict[str, Any]:
        return {
            "epsilon": exact.text(exact.fraction(self.recipe.epsilon)),
            "delta": "0",
            "alpha": exact.text(self.alpha),
            "size": self.size,
            "m": self.recipe.m,
        }

    def promises(self) -> tuple[Promise, ...]:
        """Promise epsilon, which alpha and size prove, and the declared domain."""
        law = self._law()
        claim = (
            "Replacing any one row of the original changes the chance of this release by a factor"
            f" of at most exp({law['epsilon']})."
        )
        return (
            Promise("dp-ratio", claim, "package", {"columns": list(self.recipe.columns), **law}),
            self.in_domain(),
        )

    def rule(self) -> Rule:
        """Return the rule: the exact posterior."""
        return Posterior()
