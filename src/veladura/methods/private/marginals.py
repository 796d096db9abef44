"""Many columns at once: a graphical model of noisy tables that are chosen one by one.

Adaptive, after AIM (McKenna et al. 2022), with the noise of OpenDP. The noisy tables go into the
manifest, and inference from them is noise-aware, after NAPSU-MQ (Räisä et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Recipe, no_codes
from veladura.core.rules import NoiseAwareRows, Rule
from veladura.errors import PlanError
from veladura.methods.private import exact, numbers, propose, workload
from veladura.methods.private.bins import edges_of
from veladura.methods.private.cuts import SHARE as CUTTING
from veladura.methods.private.cuts import grid_edges
from veladura.methods.private.domain import Domain, Zero, declare
from veladura.methods.private.events import ADD_REMOVE, Event, rho_for, zcdp_epsilon
from veladura.methods.private.expected import Expected
from veladura.methods.private.libraries import opendp
from veladura.methods.private.marginals_draw import FittedMarginals
from veladura.methods.private.marginals_outlook import TableNoise
from veladura.methods.private.measuring import (
    ADDED,
    REPLACED,
    Change,
    Design,
    closure,
    sigma_for,
)
from veladura.methods.private.model import positive_number
from veladura.methods.private.noise_aware import (
    NoiseAware,
    apart_words,
    read_tables,
    unmeasured,
)
from veladura.methods.private.numbers import USUAL_BINS, as_tuples, bounds_of
from veladura.methods.private.private import (
    PrivateRecipe,
    check_count,
    check_effects,
    checked_zeros,
)
from veladura.methods.private.proof import NOISE, stated

if TYPE_CHECKING:
    from veladura.core.release import Release, Step
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

MOST_DATASETS = 200
MOST_ROUNDS = 1000


@dataclass(frozen=True, kw_only=True)
class Marginals(PrivateRecipe):
    """Draw artificial rows of many columns from noisy tables, with (epsilon, delta)-DP.

    (epsilon, delta)-differential privacy, by zero-concentrated privacy. Gaussian noise is added to
    the table of every column. Then, round by round, the table that the model fits worst is chosen
    privately, gets noise too, and the graphical model is fitted anew. Noise and choice come from
    OpenDP (``pip install 'veladura[dp]'``). The noisy tables are in the manifest: from them
    `veladura.posterior` and ``release.analyze`` give intervals that include the noise.

    Parameters
    ----------
    columns
        The columns to release: categories, which ``domain`` declares, and numbers, which have
        ``bounds``.
    domain
        By column of categories the values that can occur, from public knowledge; or the path of a
        JSON file that holds them.
    bounds
        By column of numbers the least and the greatest value that can occur, from public knowledge.
        Numbers beyond are clipped. They are counted in bins, and released as numbers drawn within
        their bin, as the bins on both sides suggest; the manifest tells the bins.
    bins
        The number of bins of equal width of every column of numbers; or by column that number, or
        the inner edges: ``{"age": [18, 65], "income": 20}``. 10 where nothing is said.
    private_cuts
        Columns of numbers whose bins hold about as many people each: the cuts are chosen privately,
        for a tenth of the budget. Zero is a bin of its own where it is the lower bound.
    epsilon
        The privacy loss of the release.
    delta
        The probability by which the bound of epsilon may be exceeded.
    size
        Rows of a dataset. As many as the table has, unless given.
    missing
        Columns whose missing values are a category of their own.
    rows_per_person
        With a person column, the most rows of a person that are counted, drawn at random: the rho
        of a person is its square times that of a row, and the ledger is charged with it.
    neighbours
        "replace-one": the number of rows is public, and the release hardly changes when one person
        is replaced. "add-remove": the number of rows is estimated from the noisy tables, and the
        release hardly changes when one person is added or removed; the noise is smaller by the
        square root of 2.
    fraction
        Not for this method.
    structural_zeros
        Combinations that cannot occur: ``[{"age": ["0-14"], "marital": ["married", "widowed"]}]``.
    rules
        Rules between columns that every person keeps, for example ``'age == "0-14" implies income
        == "none"'``. Combinations that break one are structural zeros. A limit in a rule about a
        number must be an edge of its bins.
    workload
        The tables to keep well, for example ``[["age", "sex"], ["age", "income"]]``; only these
        and parts of them get noise. All pairs of columns, unless given.
    weights
        How much each table of the workload matters; equally, unless given.
    m
        Number of datasets. One is drawn from the model nearest to the noisy tables. Several are
        drawn from the posterior, for software that combines them by itself; they cost no more.
    rounds
        Number of tables to choose, each with the same noise. Unless given, the noise falls from
        round to round until the budget is spent.
    fits
        With ``rounds``, how often the model is fitted anew while choosing; every round, unless
        given.
    model_size
        The largest model, in megabytes. A larger one fits better and takes longer.
    design_effects
        For a survey whose clusters are not released: by figure, the variance under its design
        over that of as many independent draws, from public knowledge such as an earlier round:
        ``{"rent": 13.5, "total rent": 25, "income / rent": 1.2}``. A column stands for its mean and
        for models of it; ``"rent ~ age"`` for one coefficient, as the analysis names it. Without
        them intervals take rows for independent draws.

    References
    ----------
    McKenna, R., Mullins, B., Sheldon, D. and Miklau, G. (2022). AIM: an adaptive and iterative
    mechanism for differentially private synthetic data. PVLDB 15(11), algorithms 2 to 4. McKenna,
    R., Sheldon, D. and Miklau, G. (2019). Graphical-model based estimation and inference for
    differential privacy. ICML. Räisä, O., Jälkö, J., Kaski, S. and Honkela, A. (2023). Noise-aware
    statistical inference with differentially private synthetic data. AISTATS.
    """

    method = "marginals"
    sentence = (
        "Differential privacy: all rows are artificial, drawn from a model of counts with random"
        " noise, so that the release hardly depends on any one person's row."
    )
    rule: ClassVar[Rule] = NoiseAwareRows()
    seedable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("opendp",)
    most_cells: ClassVar[int | None] = None
    posterior_needs: ClassVar[tuple[str, ...]] = ("domain", "n", "measured", "noisy")
    declared_by_holder: ClassVar[tuple[str, ...]] = (
        "domain",
        "bounds",
        "structural_zeros",
        "rules",
    )

    delta: float = 1e-9
    bounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bins: int | Mapping[str, int | Sequence[float]] = USUAL_BINS
    private_cuts: Sequence[str] = ()
    structural_zeros: Sequence[Mapping[str, Sequence[str | int | bool]]] = ()
    rules: Sequence[str] = ()
    workload: Sequence[Sequence[str]] | None = None
    weights: Sequence[float] | None = None
    m: int = 1
    rounds: int | None = None
    fits: int | None = None
    model_size: float = 4.0
    design_effects: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "structural_zeros", checked_zeros(self.structural_zeros))
        numbers.check_bounds(self.bounds)
        object.__setattr__(self, "bounds", as_tuples(self.bounds))
        object.__setattr__(self, "bins", as_tuples(self.bins))
        super().__post_init__()
        numbers.check(self.columns, self.bounds, self.bins, self.private_cuts)
        if not exact.share(self.delta):
            msg = "delta must be above 0: Gaussian noise has no epsilon without one."
            raise PlanError(msg)
        if self.rounds is not None and (
            isinstance(self.rounds, bool)
            or not isinstance(self.rounds, int)
            or not 0 <= self.rounds <= MOST_ROUNDS
        ):
            msg = (
                f"rounds ({self.rounds}) must be a whole number from 0 to {MOST_ROUNDS}: the number"
                " of tables to choose."
            )
            raise PlanError(msg)
        if self.fits is not None:
            check_count("fits", self.fits, 10_000, "how often the model is fitted while choosing")
        check_count("m", self.m, MOST_DATASETS, "the number of datasets")
        size = self.model_size
        if isinstance(size, bool) or not isinstance(size, (int, float)) or not size > 0:
            msg = f"model_size ({size}) must be a number above 0, in megabytes."
            raise PlanError(msg)
        numbers.check_rules(self.rules)
        check_effects(self.design_effects)
        object.__setattr__(self, "design_effects", dict(self.design_effects))
        workload.check_workload(self.columns, self.workload, self.weights)
        if not isinstance(self.domain, str):
            self.design(self.declared(), 1)

    def rule_of_release(self) -> Rule:
        """Return the combining rule, with the design effects that are declared."""
        return NoiseAwareRows(design_effects=self.design_effects)

    def zeros(self) -> tuple[Zero, ...]:
        """Return the structural zeros: combinations that cannot occur."""
        return tuple(self.structural_zeros)

    def declared(self) -> Domain:
        """Return the domain of the released columns: declared values, and bins of numbers.

        Private cuts are not known before they are paid for: bins of equal width stand for them.
        """
        edges = {
            name: edges_of(name, self.bounds, self.bins, USUAL_BINS)
            for name in self.columns
            if name in self.bounds
        }
        return declare(self.columns, self.domain, self.missing, self.zeros(), None, edges)

    def check_columns(self, table: Table) -> None:
        """Refuse columns that are neither categories nor numbers with bounds."""
        numbers.check_table(table.schema, self.columns, self.declared().edges, self.private_cuts)

    def design(self, domain: Domain, n: int | None) -> Design:
        """Return what may be measured, or refuse a domain that is too large: no row decides it."""
        workload.check_size(domain, self.model_size, self.workload)
        return Design(
            domain.shape,
            closure(workload.compiled(domain, self.workload, self.weights)),
            n,
            tuple(domain.zero_tables()),
            self.model_size,
            self.rounds,
            self.fits,
            self.change,
        )

    def warn_of_size(self, domain: Domain) -> None:
        """Warn of tables that the model cannot hold: no row decides it."""
        workload.warn_of_dropped(domain, self.model_size, self.workload)

    @property
    def change(self) -> Change:
        """By how much one row changes a table of counts."""
        return ADDED if self.neighbours == ADD_REMOVE else REPLACED

    def cost(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a row."""
        return exact.positive(self.epsilon), exact.share(self.delta)

    def event(self) -> Event:
        """Return the privacy loss of one release: the rho that keeps epsilon with delta.

        The rho of r rows is r^2 times that of one (Bun and Steinke 2016, proposition 1.9).
        """
        about, rho = ", ".join(self.columns), rho_for(*self.cost()) * self.rows_each**2
        if self.private_cuts:
            about += f"; cuts of {', '.join(self.private_cuts)}"
        return Event(self.method, about, rho=rho, neighbours=self.relation)

    def loss(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a person."""
        epsilon, delta = self.cost()
        if self.rows_each == 1:
            return epsilon, delta
        bound = zcdp_epsilon(self.event().rho, delta)
        return Fraction(math.ceil(bound * 10**6), 10**6), delta

    def apply(self, table: Table, context: Context) -> FittedMarginals:
        """Count the distinct rows."""
        opendp()
        chosen, domain = self.prepare(table, context)
        if self.rules:
            numbers.refuse_private_rules(self.rules, self.private_cuts)
            domain = domain.with_zeros(workload.rule_zeros(chosen, domain, self.rules))
        self.design(domain, 1)  # refuses before anything is charged
        self.warn_of_size(domain)
        grids = {
            name: grid_edges(
                *bounds_of(name, self.bounds), whole=chosen.schema[name].kind == "integer"
            )
            for name in self.private_cuts
        }
        domain = domain.rebinned(grids) if grids else domain
        codes, counts = domain.tuples(self.contributed(chosen, context), clip=True)
        return FittedMarginals(self, chosen, no_codes(), domain, counts, distinct=tuple(codes))

    def tables(self) -> dict[tuple[str, ...], int]:
        """Return the tables to keep well, with the cells of each; columns where there is none."""
        domain = self.declared()
        listed = workload.compiled(domain, self.workload, self.weights)
        alone = [(column,) for column in range(len(domain.names))]
        return {
            tuple(domain.names[column] for column in columns): workload.cells_of(domain, columns)
            for columns in (listed or alone)
        }

    def table_cells(self) -> int:
        """Return the cells of the largest table of the workload; of all pairs, of the middle one.

        The largest has most noise: a workload is as good as its worst table. Without one nobody
        asked for any pair in particular.
        """
        sizes = sorted(self.tables().values())
        return sizes[-1] if self.workload is not None else sizes[len(sizes) // 2]

    def expected(self, n: int) -> Expected:
        """Return the expected error of the table that `table_cells` is about, for n rows."""
        return self.outlook().expected(n, self.table_cells())

    def half_width(self, n: int) -> float:
        """Return half the average width of 95 % intervals of the cells of such a table."""
        return self.outlook().half_width(n, self.table_cells())

    def outlook(self) -> TableNoise:
        """Return the noise of a table, as if rho were spent evenly on columns and as many tables.

        The choice of tables by the data, and what the model adds to each, cannot be told before.
        Private cuts have their share first.
        """
        rho = float(rho_for(*self.cost())) * (1 - CUTTING if self.private_cuts else 1)
        return TableNoise(sigma_for(rho / (2 * len(self.columns)), self.change))

    @classmethod
    def cautions(
        cls, release: Release, step: Step, columns: Sequence[str], formula: str
    ) -> list[str]:
        """Say which columns of a model were never measured together."""
        said = super().cautions(release, step, columns, formula)
        tables = [table["columns"] for table in step.settings.get("measured", ())]
        apart = unmeasured(tables, columns) if formula else []
        return [*said, apart_words(apart)] if apart else said

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:
        """Return the promises: privacy loss, declared cells, and noise that is paid for."""
        return *super().implied(settings, person), stated("dp-noise", NOISE, settings)

    @classmethod
    def read_model(cls, settings: Mapping[str, Any], release: Release) -> NoiseAware:  # noqa: ARG003
        """Return the noisy tables of a release, from which the posterior is computed."""
        domain = Domain.from_json(settings)
        n = int(positive_number(settings["n"]))
        hidden = settings.get("n_is_noisy") is True
        return NoiseAware(domain, n, read_tables(domain, settings), hidden=hidden)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest columns of few values, numbers and the weight, all to be confirmed.

        As many as noise leaves room for: a plan that its own run refuses helps nobody. The weight
        stays longest, since without it a survey has no estimates of its population.
        """
        settings = propose.table_settings(table, facts)
        recipe, weights = cls(**settings), table.schema.of_role("weight")
        people = table.people if recipe.rows_per_person else table.rows
        while len(recipe.columns) > 1 and recipe.expected(people).verdict == "hopeless":
            domain = recipe.declared()
            cells = dict(zip(domain.names, domain.shape, strict=True))
            widest = max(cells, key=lambda name: (name not in weights, cells[name]))
            settings = propose.without(settings, widest)
            recipe = cls(**settings)
        return recipe
