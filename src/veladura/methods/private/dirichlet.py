"""Artificial categories from a Dirichlet-multinomial: differentially private, drawn exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from veladura.base.checks import MOST_DATASETS
from veladura.base.context import Context
from veladura.core.recipe import Recipe, no_codes
from veladura.errors import PlanError
from veladura.methods.private import exact, propose, urn
from veladura.methods.private.contribution import random_bits
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import Event
from veladura.methods.private.expected import best_size
from veladura.methods.private.model import Rehearsal, ReleaseModel, positive_number
from veladura.methods.private.numbers import check_list
from veladura.methods.private.private import CellRecipe, FittedPrivate, Outcome, check_count
from veladura.methods.private.proof import DOMAIN, RATIO, stated

if TYPE_CHECKING:
    from veladura.base.arrays import Ints
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
    whole numbers and from the system's entropy. `veladura.posterior` gives valid inference from the
    release.

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
    neighbours
        "replace-one": the number of rows is public, and the release hardly changes when one person
        is replaced. "add-remove": it hardly changes when one is added or removed, and the number
        of rows is stated with noise.
    fraction
        The share of the people that is counted, drawn at random and in secret: less privacy loss,
        and a smaller table. All of them, unless given.
    structural_zeros
        Combinations that cannot occur: ``[{"age": ["0-14"], "marital": ["married", "widowed"]}]``.
    alpha
        Proportions of the prior counts, one number a cell that can occur, in product order: cells
        that are known to be common get more. The same for all, unless given.

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
    alpha: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("m", self.m, MOST_DATASETS, "the number of datasets to release")
        if self.alpha is not None:
            check_list("alpha", self.alpha, "alpha=[1, 2], a number for each cell")
            shape = [exact.positive(value, "alpha") for value in self.alpha]
            if not isinstance(self.domain, str):
                self._check_alpha(len(shape), int(self.declared().possible.sum()))

    def _check_alpha(self, given: int, cells: int) -> None:
        if given != cells:
            msg = (
                f"alpha has {given} numbers, and the domain has {cells} cells that can occur.\n\n"
                "Hint: one number a cell, in product order, the last column fastest; leave out"
                " structural zeros."
            )
            raise PlanError(msg)

    def alphas(self, epsilon: Fraction, size: int, cells: int) -> tuple[Fraction, ...]:
        """Return the prior count of each cell: the smallest in the given proportions.

        The guarantee rests on the smallest of them: (size + alpha) / alpha is largest there.
        """
        least = exact.smallest_alpha(epsilon / self.m, size)  # worst cases of m datasets add up
        if self.alpha is None:
            return (least,) * cells
        self._check_alpha(len(self.alpha), cells)
        shape = [exact.fraction(value, "alpha") for value in self.alpha]
        return tuple(least * value / min(shape) for value in shape)

    def apply(self, table: Table, context: Context) -> FittedDirichlet:
        """Count the rows of each cell."""
        chosen, domain = self.prepare(table, context)
        counts = domain.count(self.contributed(chosen, context))
        return FittedDirichlet(self, chosen, no_codes(), domain, counts)

    def rehearsal(self, counts: Ints, rng: np.random.Generator) -> Rehearsal:
        """Release invented counts, to see what the design gives."""
        size = self.size or int(counts.sum())
        epsilon = self.contribution.for_counts(self.cost()[0])
        alpha = np.array(self.alphas(epsilon, size, counts.size), dtype=np.float64)
        rows = rng.multinomial(size, rng.dirichlet(alpha + counts)).astype(np.float64)
        return Rehearsal(rows, rows, alpha=alpha)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest a few columns of few values, and as many rows as give the least error."""
        settings = propose.settings(table, facts, cells=40, columns=3)
        recipe, people = cls(**settings), table.people if settings.get("rows_per_person") else 0
        size = best_size(recipe, people or table.rows, int(recipe.declared().possible.sum()))
        return cls(**settings, size=size)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises: alpha and size keep epsilon, and every row is in a declared cell."""
        return stated("dp-ratio", RATIO, settings), stated("dp-domain", DOMAIN, settings)

    @classmethod
    def read_model(cls, settings: Mapping[str, Any], release: Release) -> ReleaseModel:
        """Return the Dirichlet-multinomial of a release: its alpha, and the counts of its rows."""
        domain = Domain.from_json(settings)
        counts = [domain.count(dataset.table) for dataset in release.tables]
        n, given = positive_number(settings["n"]), settings["alpha"]
        each = given if isinstance(given, list) else [given] * int(domain.possible.sum())
        alpha = np.zeros(domain.cells)
        alpha[domain.possible] = [float(positive_number(value)) for value in each]
        told = settings.get("n_scale")
        n_scale = None if told is None else float(positive_number(told))
        released = np.array(counts, dtype=np.float64)
        return ReleaseModel(domain, int(n), released, alpha=alpha, n_scale=n_scale)


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
    neighbours
        "replace-one": the number of rows is public, and the release hardly changes when one person
        is replaced. "add-remove": it hardly changes when one is added or removed, and the number
        of rows is stated with noise.
    fraction
        The share of the people that is counted, drawn at random and in secret: less privacy loss,
        and a smaller table. All of them, unless given.
    structural_zeros
        Not used: a column of two categories has none.
    alpha
        Proportions of the two prior counts.

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
    """The counts of the cells. Holds original counts."""

    def mechanism(self, context: Context, event: Event) -> Outcome:
        """Draw each dataset from an urn of its own; alpha and size prove epsilon."""
        recipe, people = self.recipe, self.recipe.contribution
        epsilon = recipe.cost()[0]
        n = people.noisy_total(
            self.counted_rows(), epsilon, random_bits(context, recipe.method, "number of rows")
        )
        size = recipe.size or n
        alpha = recipe.alphas(people.for_counts(epsilon), size, int(self.domain.possible.sum()))
        noisy = {"n_scale": exact.text(people.total_scale(epsilon))}
        parameters = {
            "epsilon": exact.text(event.epsilon),
            "delta": "0",
            "alpha": exact.text(alpha[0]) if len(set(alpha)) == 1 else list(map(exact.text, alpha)),
            "size": size,
            "m": recipe.m,
            "n": n,
            **(noisy if people.total_sensitivity else {}),
        }
        return Outcome(
            [self._dataset(context, number, alpha, size) for number in range(recipe.m)], parameters
        )

    def _dataset(
        self, context: Context, number: int, alpha: Sequence[Fraction], size: int
    ) -> dict[str, Column]:
        """Draw the rows of one dataset, from the system's entropy unless the run is a test."""
        bits = random_bits(context, "dirichlet-multinomial", number)
        cells = np.flatnonzero(self.domain.possible)
        drawn = urn.draw(bits, alpha, self.counts[cells].tolist(), size)
        return self.domain.columns(self.table, np.repeat(cells, drawn))
