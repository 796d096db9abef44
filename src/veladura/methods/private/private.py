"""What every private method shares: a declared domain, a charge before the noise, and no seed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from veladura.base.checks import check_columns
from veladura.base.context import Context
from veladura.core.promise import Check, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.core.rules import ExactPosterior, Rule
from veladura.errors import DataError, PlanError
from veladura.methods.private import propose
from veladura.methods.private.contribution import contributed
from veladura.methods.private.domain import (
    KINDS,
    MOST_CELLS,
    Domain,
    Zero,
    checked_values,
    declare,
    listed,
)
from veladura.methods.private.events import REPLACE_ONE, REPLACE_PERSON, Event
from veladura.methods.private.exact import positive
from veladura.methods.private.proof import CHECKS, DOMAIN, LOSS, stated
from veladura.table.schema import check_kinds

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.methods.private.model import ReleaseModel
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

P = TypeVar("P", bound="PrivateRecipe")
MOST_ROWS = 50_000_000
MOST_EACH = 1000


@dataclass(frozen=True, kw_only=True)
class PrivateRecipe(Recipe):
    """A differentially private recipe: artificial rows of some columns of a declared domain."""

    synthesizes: ClassVar[bool] = True
    checks: ClassVar[Mapping[str, Check]] = CHECKS
    private: ClassVar[bool] = True
    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain",)
    proposed: ClassVar[tuple[str, ...]] = ("columns", "missing")
    most_cells: ClassVar[int | None] = MOST_CELLS
    rule: ClassVar[Rule] = ExactPosterior()
    posterior_needs: ClassVar[tuple[str, ...]] = ()  # settings of the manifest; () : no posterior

    columns: Sequence[str]
    domain: Mapping[str, Sequence[str | int | bool]] | str | None = field(
        default=None, repr=False, metadata={"path": True}
    )
    epsilon: float
    size: int | None = None
    missing: Sequence[str] = ()
    rows_per_person: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the columns to release")
        positive(self.epsilon, "epsilon")
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

    @property
    def rows_each(self) -> int:
        """The most rows that one person contributes."""
        return self.rows_per_person or 1

    @property
    def neighbours(self) -> str:
        """Which tables count as neighbouring: one row or one person replaced."""
        return REPLACE_ONE if self.rows_per_person is None else REPLACE_PERSON

    def cost(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a row."""
        return positive(self.epsilon, "epsilon"), Fraction(0)

    def loss(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a person.

        Group privacy: the epsilon of r rows is r times that of one (Dwork and Roth 2014, theorem
        2.2); all tables between have the same number of rows.
        """
        epsilon, delta = self.cost()
        return epsilon * self.rows_each, delta

    def event(self) -> Event:
        """Return the privacy loss of one release, as the ledger is charged with it."""
        about, epsilon = ", ".join(self.columns), self.loss()[0]
        return Event(self.method, about, epsilon=epsilon, neighbours=self.neighbours)

    def zeros(self) -> tuple[Zero, ...]:
        """Return the structural zeros: combinations that cannot occur."""
        return ()

    def declared(self) -> Domain:
        """Return the domain of the released columns, from the settings or their file."""
        return declare(self.columns, self.domain, self.missing, self.zeros(), self.most_cells)

    def prepare(self, table: Table, context: Context) -> tuple[Table, Domain]:
        """Return the released columns and their domain; refuse a seed before rows are counted."""
        refuse_seed(context, seedable=self.seedable)
        hint = "recode numbers and dates into groups first."
        check_kinds(table.schema, self.columns, KINDS, hint)
        if not table.rows:
            msg = "the table has no rows."
            raise DataError(msg)
        return table.select(self.columns), self.declared()

    def clipping(self) -> dict[str, int]:
        """Return what the manifest says of the rows of a person; nothing where rows are people."""
        return {} if self.rows_per_person is None else {"rows_per_person": self.rows_per_person}

    def contributed(self, table: Table, context: Context) -> Table:
        """Return the rows that are counted: at most ``rows_per_person`` of each person."""
        return contributed(table, self.rows_per_person, context)

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
    def read_model(cls, settings: Mapping[str, Any], release: Release) -> ReleaseModel:
        """Return the model of a release from the settings that its manifest states.

        A method with an exact posterior names these settings in ``posterior_needs``.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CellRecipe(PrivateRecipe):
    """A private recipe that counts every cell of the product of its columns."""

    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain", "structural_zeros")

    structural_zeros: Sequence[Mapping[str, Sequence[str | int | bool]]] = ()

    def __post_init__(self) -> None:
        if isinstance(self.structural_zeros, (list, tuple)):
            zeros = tuple(map(_as_lists, self.structural_zeros))
            object.__setattr__(self, "structural_zeros", zeros)
        super().__post_init__()

    def zeros(self) -> tuple[Zero, ...]:
        """Return the structural zeros: combinations that cannot occur."""
        return tuple(self.structural_zeros)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest a few columns of few values; the holder must confirm the proposed domain."""
        return cls(**propose.settings(table, facts, cells=400, columns=3))


def _as_lists(zero: object) -> object:
    """Return a structural zero with a tuple of values for each column."""
    if not isinstance(zero, Mapping):
        return zero
    return {name: listed(value) for name, value in zero.items()}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a private mechanism drew.

    Attributes
    ----------
    datasets
        The columns of each dataset; their rows are artificial.
    settings
        The parameters of the mechanism, as the manifest states them.
    """

    datasets: Sequence[Mapping[str, Column]] = field(repr=False)
    settings: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class FittedPrivate(Fitted[P]):
    """Counts of a table over a declared domain, ready for a private mechanism."""

    domain: Domain

    def draw(self, context: Context) -> Drawn:
        """Refuse a seed, charge the ledger, draw, and describe what was drawn: in this order."""
        recipe = self.recipe
        refuse_seed(context, seedable=recipe.seedable)
        event = recipe.event()
        if context.ledger is not None:
            context.ledger.charge(event)
        outcome = self.mechanism(context, event)
        settings = {
            "columns": list(recipe.columns),
            **self.domain.to_json(),
            "neighbours": recipe.neighbours,
            **recipe.clipping(),
            "events": [event.to_json()],
            "repeatable": context.seeded,
            **outcome.settings,
        }
        return Drawn(
            datasets=[Draw(columns, linked=False) for columns in outcome.datasets],
            changed=recipe.columns,
            rule=recipe.rule,
            settings=settings,
            promises=recipe.implied(settings, None),
        )

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


def check_count(setting: str, value: object, most: int, what: str) -> None:
    """Refuse a setting that is not a whole number from 1 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        msg = f"{setting} ({value}) must be a whole number from 1 to {most}: {what}."
        raise PlanError(msg)
