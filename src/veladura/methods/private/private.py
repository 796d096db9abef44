"""What every private method shares: a declared domain, a charge before the noise, and no seed."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from veladura.base.arrays import Ints
from veladura.base.checks import check_choice, check_columns
from veladura.base.context import Context
from veladura.core.linking import refuse_linked
from veladura.core.promise import Check, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.core.release import Dataset
from veladura.core.rules import ExactPosterior, Rule
from veladura.errors import DataError, PlanError, VeladuraWarning
from veladura.methods.private import exact, propose
from veladura.methods.private.contribution import Contribution
from veladura.methods.private.domain import (
    KINDS,
    MOST_CELLS,
    Domain,
    Zero,
    checked_values,
    declare,
    listed,
)
from veladura.methods.private.events import RELATIONS, REPLACE_ONE, Event
from veladura.methods.private.expected import Expected, expected
from veladura.methods.private.numbers import check_list
from veladura.methods.private.proof import CHECKS, DOMAIN, LOSS, stated
from veladura.table.schema import UNITS, check_kinds

if TYPE_CHECKING:
    import numpy as np

    from veladura.core.release import Release
    from veladura.methods.private.model import Rehearsal, ReleaseModel
    from veladura.methods.private.noise_aware import NoiseAware
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

P = TypeVar("P", bound="PrivateRecipe")
MOST_ROWS = 50_000_000
MOST_EACH = 1000
FINEST = 10**18  # denominator of a share of the people: a coin with as many sides is thrown


@dataclass(frozen=True, kw_only=True)
class PrivateRecipe(Recipe):
    """A differentially private recipe: artificial rows of some columns of a declared domain."""

    linked_tables: ClassVar[str] = "releases no keys: rows are drawn as if each were a person"
    synthesizes: ClassVar[bool] = True
    checks: ClassVar[Mapping[str, Check]] = CHECKS
    private: ClassVar[bool] = True
    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain",)
    proposed: ClassVar[tuple[str, ...]] = ("columns", "missing")
    most_cells: ClassVar[int | None] = MOST_CELLS
    rule: ClassVar[Rule] = ExactPosterior()
    posterior_needs: ClassVar[tuple[str, ...]] = ()  # settings of the manifest; () : no posterior
    relations: ClassVar[tuple[str, ...]] = RELATIONS  # which tables may count as neighbouring
    subsamples: ClassVar[bool] = False  # whether a secret sample may come before the noise

    columns: Sequence[str]
    domain: Mapping[str, Sequence[str | int | bool]] | str | None = field(
        default=None, repr=False, metadata={"path": True}
    )
    epsilon: float
    size: int | None = None
    missing: Sequence[str] = ()
    rows_per_person: int | None = None
    neighbours: str = REPLACE_ONE
    fraction: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the columns to release")
        check_choice("neighbours", self.neighbours, self.relations)
        self._check_fraction()
        exact.positive(self.epsilon, "epsilon")
        check_domain(self.domain)
        check_list("missing", self.missing, "missing=['income']")
        if isinstance(self.domain, Mapping):
            values = {name: checked_values(name, given) for name, given in self.domain.items()}
            object.__setattr__(self, "domain", values)
        if self.size is not None:
            check_count("size", self.size, MOST_ROWS, "the number of rows to release")
        if self.rows_per_person is not None:
            what = "the most rows of a person that are counted"
            check_count("rows_per_person", self.rows_per_person, MOST_EACH, what)
        if not isinstance(self.domain, str):
            self.declared()

    def rule_of_release(self) -> Rule:
        """Return the combining rule, with what the recipe says of it."""
        return self.rule

    def _check_fraction(self) -> None:
        if self.fraction is None:
            return
        if not self.subsamples:
            msg = (
                f"fraction was given, and {self.method} does not count less for a sample.\n\nHint:"
                " leave it out, or use NoisyCounts or DirichletMultinomial."
            )
            raise PlanError(msg)
        share = exact.fraction(self.fraction, "fraction")
        if not 0 < share <= 1 or share.denominator > FINEST:
            msg = (
                f"fraction ({self.fraction}) must be above 0 and at most 1, with at most 18"
                " decimals: the share of the people that is counted."
            )
            raise PlanError(msg)

    @property
    def contribution(self) -> Contribution:
        """Whose data the release may depend on, and by how many rows."""
        share = None if self.fraction is None else exact.fraction(self.fraction, "fraction")
        return Contribution(self.neighbours, self.rows_per_person, share)

    @property
    def rows_each(self) -> int:
        """The most rows that one person contributes."""
        return self.contribution.rows_each

    @property
    def relation(self) -> str:
        """Which tables count as neighbouring, as manifest and ledger say it."""
        return self.contribution.relation

    def counts_rows_openly(self) -> bool:
        """Whether the number of rows is public: where people are replaced, not added."""
        return self.neighbours == REPLACE_ONE

    def cost(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a row."""
        return exact.positive(self.epsilon, "epsilon"), Fraction(0)

    def loss(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a person."""
        epsilon, delta = self.cost()
        return self.contribution.loss(epsilon), delta

    def event(self) -> Event:
        """Return the privacy loss of one release, as the ledger is charged with it."""
        about, epsilon = ", ".join(self.columns), self.loss()[0]
        return Event(self.method, about, epsilon=epsilon, neighbours=self.relation)

    def leaves_out_units(self, table: Table) -> tuple[str, ...]:
        """Return every number of people and households: rows are artificial."""
        return tuple(table.units.schema.of_role(*UNITS))

    def zeros(self) -> tuple[Zero, ...]:
        """Return the structural zeros: combinations that cannot occur."""
        return ()

    def declared(self) -> Domain:
        """Return the domain of the released columns, from the settings or their file."""
        return declare(self.columns, self.domain, self.missing, self.zeros(), self.most_cells)

    def prepare(self, table: Table, context: Context) -> tuple[Table, Domain]:
        """Return the released columns and their domain; refuse a seed before rows are counted."""
        refuse_seed(context, seedable=self.seedable)
        self.check_columns(table)
        if self.counts_rows_openly() and not table.rows:  # else a refusal would tell of a person
            msg = "the table has no rows."
            raise DataError(msg)
        return table.select(self.columns), self.declared()

    def check_columns(self, table: Table) -> None:
        """Refuse columns that are not categories."""
        hint = (
            "recode numbers and dates into groups first; Marginals takes numbers with declared"
            " bounds."
        )
        check_kinds(table.schema, self.columns, KINDS, hint)

    def contributed(self, table: Table, context: Context) -> Table:
        """Return the rows that are counted: at most ``rows_per_person`` of each person."""
        return self.contribution.counted(table, context)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises: the privacy loss, and that every row is in a declared cell."""
        return stated("dp-events", LOSS, settings), stated("dp-domain", DOMAIN, settings)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Recipe:  # noqa: ARG003
        """Refuse: a domain needs values, which `suggest_for` proposes from an opened table."""
        msg = f"{cls.method} needs a declared domain, which counts about the columns do not give."
        raise PlanError(msg)

    @classmethod
    def read_model(cls, settings: Mapping[str, Any], release: Release) -> ReleaseModel | NoiseAware:
        """Return the model of a release from the settings that its manifest states.

        A method with an exact posterior names these settings in ``posterior_needs``.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CellRecipe(PrivateRecipe):
    """A private recipe that counts every cell of the product of its columns."""

    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain", "structural_zeros")
    subsamples: ClassVar[bool] = True

    structural_zeros: Sequence[Mapping[str, Sequence[str | int | bool]]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "structural_zeros", checked_zeros(self.structural_zeros))
        super().__post_init__()

    def zeros(self) -> tuple[Zero, ...]:
        """Return the structural zeros: combinations that cannot occur."""
        return tuple(self.structural_zeros)

    def rehearsal(self, counts: Ints, rng: np.random.Generator) -> Rehearsal:
        """Release invented counts of the possible cells, to see what the design gives."""
        raise NotImplementedError

    def table_cells(self) -> int:
        """Return the number of cells that can occur."""
        return int(self.declared().possible.sum())

    def expected(self, n: int) -> Expected:
        """Return the expected error of a release of n rows: from public quantities only."""
        return expected(self, n, int(self.declared().possible.sum()))

    def prepare(self, table: Table, context: Context) -> tuple[Table, Domain]:
        """Return the released columns and their domain; say when the design says little."""
        chosen, domain = super().prepare(table, context)
        n = table.rows if self.rows_per_person is None else table.people
        self._advise(n, int(domain.possible.sum()))
        return chosen, domain

    def _advise(self, n: int, cells: int) -> None:
        """Warn when noise is expected to outweigh the data.

        Where the number of rows is not public, of tables of 1,000 rows: a warning would tell it.
        """
        rows = self.size or 1000 if self.contribution.total_sensitivity else n
        if (gives := expected(self, rows, cells)).verdict != "useful":
            warnings.warn(
                f"the release says little: at epsilon = {self.epsilon} over {cells} cells its"
                f" expected error is {gives.error:.2f}, where a table that ignores the data has"
                f" {gives.ignorance:.2f}.\n\nHint: fewer or coarser columns, a larger epsilon,"
                " NoisyCounts, or fewer released rows (size); veladura budget --what-if"
                " plan.toml compares designs.",
                VeladuraWarning,
                stacklevel=2,
            )

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest a few columns of few values; the holder must confirm the proposed domain."""
        return cls(**propose.settings(table, facts, cells=40, columns=3))


def checked_zeros(zeros: Any) -> tuple[Any, ...]:
    """Return structural zeros with a tuple of values for each column; refuse what is no list."""
    hint = "structural_zeros=[{'age': ['0-14'], 'marital': ['married']}]"
    check_list("structural_zeros", zeros, hint)
    return tuple(
        {name: listed(value) for name, value in zero.items()} if isinstance(zero, Mapping) else zero
        for zero in zeros
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a private mechanism drew.

    Attributes
    ----------
    datasets
        The columns of each dataset, whose rows are artificial; or a whole table of statistics.
    settings
        The parameters of the mechanism, as the manifest states them.
    """

    datasets: Sequence[Mapping[str, Column] | Dataset] = field(repr=False)
    settings: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class FittedPrivate(Fitted[P]):
    """Counts of a table over a declared domain, ready for a private mechanism."""

    domain: Domain
    counts: Ints = field(repr=False)

    def draw(self, context: Context) -> Drawn:
        """Refuse a seed, charge the ledger, draw, and describe what was drawn: in this order."""
        recipe = self.recipe
        refuse_seed(context, seedable=recipe.seedable)
        refuse_linked(recipe, self.table)  # before the charge: a refused draw costs nothing
        event = recipe.event()
        if context.ledger is not None:
            context.ledger.charge(event)
        outcome = self.mechanism(context, event)
        settings = {
            "columns": list(recipe.columns),
            **self.domain.to_json(),
            "neighbours": recipe.relation,
            **recipe.contribution.settings(),
            "events": [event.to_json()],
            "repeatable": context.seeded,
            **outcome.settings,
        }
        return Drawn(
            datasets=[
                drawn if isinstance(drawn, Dataset) else Draw(drawn, linked=False)
                for drawn in outcome.datasets
            ],
            changed=tuple(settings["columns"]),
            rule=recipe.rule_of_release(),
            settings=settings,
            promises=tuple(map(self._for_the_record, recipe.implied(settings, None))),
        )

    def _for_the_record(self, promise: Promise) -> Promise:
        """Return a promise with what only the custodian's record says of it: the rows left out."""
        return replace(promise, private={"rows_left_out": self.table.rows - self.counted_rows()})

    def counted_rows(self) -> int:
        """Return how many rows were counted."""
        return int(self.counts.sum())

    @abstractmethod
    def mechanism(self, context: Context, event: Event) -> Outcome:
        """Draw artificial rows; the event is what the ledger was charged with for them."""


def refuse_seed(context: Context, *, seedable: bool) -> None:
    """Refuse a seed: whoever knows it can subtract the noise."""
    if context.seeded and not seedable:
        msg = (
            "a seed was given, and this method takes none: its noise comes from OpenDP.\n\nHint:"
            " leave the seed out."
        )
        raise PlanError(msg)
    if context.seeded and not context.unsafe_repeatable:
        msg = (
            "a seed was given for a differentially private draw: whoever knows it can undo the"
            " protection.\n\nHint: leave the seed out. For a test that is never released:"
            " unsafe_repeatable=True, or --unsafe-repeatable."
        )
        raise PlanError(msg)


def check_domain(domain: object) -> None:
    """Refuse a domain that is neither values by column nor the name of a file."""
    if domain is not None and not isinstance(domain, (Mapping, str)):
        msg = (
            f"domain must give each column its values, got {type(domain).__name__}.\n\nHint:"
            " domain={'sex': ['f', 'm'], ...}, or the path of a JSON file."
        )
        raise PlanError(msg)


def check_effects(effects: object) -> None:
    """Refuse design effects that are no numbers of at least 1."""
    if not isinstance(effects, Mapping):
        msg = (
            f"design_effects must give figures their design effect, got {type(effects).__name__}."
            "\n\nHint: design_effects={'rent': 13.5}."
        )
        raise PlanError(msg)
    for figure, effect in effects.items():
        number = isinstance(effect, (int, float)) and not isinstance(effect, bool)
        if not number or not 1 <= effect < math.inf:
            msg = (
                f"design_effects: {figure!r} must be a number of at least 1, got {effect!r}.\n\n"
                "Hint: leave out figures whose design effect is below 1; their intervals are wide"
                " enough."
            )
            raise PlanError(msg)


def check_count(setting: str, value: object, most: int, what: str) -> None:
    """Refuse a setting that is not a whole number from 1 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        msg = f"{setting} ({value}) must be a whole number from 1 to {most}: {what}."
        raise PlanError(msg)
