"""Artificial categories from a Dirichlet-multinomial: differentially private, drawn exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.checks import MOST_DATASETS
from veladura.base.context import Context
from veladura.core.recipe import Recipe, no_codes
from veladura.errors import PlanError
from veladura.methods.private import exact, propose, urn
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import Event
from veladura.methods.private.model import ReleaseModel, positive_number
from veladura.methods.private.private import CellRecipe, FittedPrivate, Outcome, check_count
from veladura.methods.private.proof import DOMAIN, RATIO, stated

if TYPE_CHECKING:
    from veladura.core.promise import Promise
    from veladura.core.release import Release
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class DirichletMultinomial(CellRecipe):
    """Draw artificial rows from a Dirichlet-multinomial with epsilon-differential privacy.

    Only the named columns are released. Every cell of the declared domain gets the same prior count
    alpha, the smallest that keeps epsilon; the rows are then drawn from the counts plus alpha, on
    whole numbers and from the system's entropy. Neighbouring tables differ in one replaced row; the
    number of rows is public. `veladura.posterior` gives valid inference from the release.

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
    rows_per_person
        With a person column, the most rows of a person that are counted, drawn at random: the
        privacy loss of a person is that many times epsilon, and the ledger is charged with it.
    structural_zeros
        Combinations that cannot occur: ``[{"age": ["0-14"], "marital": ["married", "widowed"]}]``.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"sex": ["f", "m"] * 50})
    >>> recipe = vd.DirichletMultinomial(columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=2)
    >>> release = recipe.protect(table)
    >>> release.steps[0].settings["alpha"], len(release.datasets[0])
    ('15.6517642749666', 100)

    References
    ----------
    Abowd, J. M. and Vilhuber, L. (2008). How protective are synthetic data? Privacy in Statistical
    Databases, LNCS 5262, 239-246. Charest, A.-S. (2011). How can we analyze differentially-private
    synthetic datasets? Journal of Privacy and Confidentiality 2(2). Marcolin (2018), chapter 3.
    """

    method = "dirichlet-multinomial"
    decisive = ("m",)
    sentence = (
        "Differential privacy: all rows are artificial, drawn from a Dirichlet-multinomial model of"
        " the counts, so that the release hardly depends on any one person's row."
    )
    posterior_needs: ClassVar[tuple[str, ...]] = ("domain", "n", "alpha", "size", "m")

    m: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("m", self.m, MOST_DATASETS, "the number of datasets to release")

    def apply(self, table: Table, context: Context) -> FittedDirichlet:
        """Count the rows of each cell."""
        chosen, domain = self.prepare(table, context)
        counted = self.contributed(chosen, context)
        size = self.size or counted.rows
        epsilon = self.cost()[0] / self.m  # the worst cases of all datasets come together
        return FittedDirichlet(
            self,
            chosen,
            no_codes(),
            domain,
            counts=domain.count(counted),
            alpha=exact.smallest_alpha(epsilon, size),
            size=size,
        )

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises: alpha and size keep epsilon, and every row is in a declared cell."""
        return stated("dp-ratio", RATIO, settings), stated("dp-domain", DOMAIN, settings)

    @classmethod
    def read_model(cls, settings: Mapping[str, Any], release: Release) -> ReleaseModel:
        """Return the Dirichlet-multinomial of a release: its alpha, and the counts of its rows."""
        domain = Domain.from_json(settings)
        counts = [domain.count(dataset.table) for dataset in release.tables]
        n, alpha = positive_number(settings["n"]), positive_number(settings["alpha"])
        return ReleaseModel(domain, int(n), np.array(counts, dtype=np.float64), alpha=alpha)


@dataclass(frozen=True, kw_only=True)
class BetaBinomial(DirichletMultinomial):
    """Draw an artificial column of two categories from a beta-binomial, with epsilon-DP.

    The case of `DirichletMultinomial` with two categories: epsilon-differential privacy.

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
    rows_per_person
        With a person column, the most rows of a person that are counted, drawn at random: the
        privacy loss of a person is that many times epsilon, and the ledger is charged with it.
    structural_zeros
        Not used: a column of two categories has none.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"smokes": ["yes"] * 30 + ["no"] * 70})
    >>> recipe = vd.BetaBinomial(columns=["smokes"], domain={"smokes": ["yes", "no"]}, epsilon=2)
    >>> vd.posterior(recipe.protect(table), prior=1).mean.sum().round(9)
    np.float64(1.0)

    References
    ----------
    Charest, A.-S. (2011). How can we analyze differentially-private synthetic datasets? Journal of
    Privacy and Confidentiality 2(2). Marcolin (2018), section 3.2.
    """

    method = "beta-binomial"
    sentence = (
        "Differential privacy: all rows are artificial, drawn from a beta-binomial model of the"
        " counts, so that the release hardly depends on any one person's row."
    )
    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain",)

    def declared(self) -> Domain:
        """Return the domain, which must have two cells."""
        domain = super().declared()
        if int(domain.possible.sum()) != 2:  # noqa: PLR2004
            msg = (
                "a beta-binomial needs two categories, the domain has"
                f" {int(domain.possible.sum())}.\n\nHint: use DirichletMultinomial."
            )
            raise PlanError(msg)
        return domain

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest the first column of two categories."""
        return cls(**propose.settings(table, facts, cells=2, columns=1))


@dataclass(frozen=True, eq=False, repr=False)
class FittedDirichlet(FittedPrivate[DirichletMultinomial]):
    """The counts of the cells and the alpha that keeps epsilon. Holds original counts."""

    counts: Ints = field(repr=False)
    alpha: Fraction
    size: int

    def mechanism(self, context: Context, event: Event) -> Outcome:
        """Draw each dataset from an urn of its own; alpha and size prove epsilon."""
        recipe = self.recipe
        parameters = {
            "epsilon": exact.text(event.epsilon),
            "delta": "0",
            "alpha": exact.text(self.alpha),
            "size": self.size,
            "m": recipe.m,
        }
        return Outcome(
            [self._dataset(context, number) for number in range(recipe.m)],
            {**parameters, "n": int(self.counts.sum())},
        )

    def _dataset(self, context: Context, number: int) -> dict[str, Column]:
        """Draw the rows of one dataset, from the system's entropy unless the run is a test."""
        stream = context.streams("dirichlet-multinomial", number) if context.seeded else None
        bits = urn.Bits() if stream is None else urn.Bits(stream.bytes)
        cells = np.flatnonzero(self.domain.possible)
        drawn = urn.draw(bits, [self.alpha] * cells.size, self.counts[cells].tolist(), self.size)
        return self.domain.columns(self.table, np.repeat(cells, drawn))
