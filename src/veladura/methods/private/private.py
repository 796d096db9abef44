"""What the private recipes share: a declared domain, a charge before every draw, and no seed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from veladura.base.checks import check_columns
from veladura.base.context import Context
from veladura.core.promise import Check, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.core.rules import Rule
from veladura.errors import DataError, PlanError
from veladura.methods.private import propose
from veladura.methods.private.domain import (
    KINDS,
    MOST_CELLS,
    Domain,
    Value,
    Zero,
    checked_values,
    declare,
    listed,
)
from veladura.methods.private.events import REPLACE_ONE, Event
from veladura.methods.private.exact import positive
from veladura.methods.private.proof import CHECKS
from veladura.table.schema import check_kinds

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

P = TypeVar("P", bound="PrivateRecipe")
MOST_ROWS = 50_000_000


@dataclass(frozen=True, kw_only=True)
class PrivateRecipe(Recipe):
    """A recipe that looks at some columns of a declared domain and releases artificial rows."""

    synthesizes: ClassVar[bool] = True
    checks: ClassVar[Mapping[str, Check]] = CHECKS
    private: ClassVar[bool] = True
    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain",)
    most_cells: ClassVar[int | None] = MOST_CELLS

    columns: tuple[str, ...]
    domain: Mapping[str, tuple[str | int | bool, ...]] | str | None = field(
        default=None, repr=False, metadata={"path": True}
    )
    epsilon: float
    size: int | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the columns to release")
        positive(self.epsilon, "epsilon")
        if isinstance(self.domain, Mapping):
            object.__setattr__(
                self,
                "domain",
                {name: checked_values(name, values) for name, values in self.domain.items()},
            )
        if self.size is not None and (
            isinstance(self.size, bool)
            or not isinstance(self.size, int)
            or not 1 <= self.size <= MOST_ROWS
        ):
            msg = (
                f"size ({self.size}) must be a whole number from 1 to {MOST_ROWS}: the rows to"
                " release."
            )
            raise PlanError(msg)
        if not isinstance(self.domain, str):
            self.declared()

    def cost(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release."""
        return positive(self.epsilon, "epsilon"), Fraction(0)

    def zeros(self) -> tuple[Zero, ...]:
        """Return the combinations that cannot occur."""
        return ()

    def declared(self) -> Domain:
        """Return the domain of the released columns, from the settings or their file."""
        return declare(self.columns, self.domain, self.missing, self.zeros(), self.most_cells)

    def prepare(self, table: Table, context: Context) -> tuple[Table, Domain]:
        """Return the columns to look at and their domain; refuse a seed before anything is counted."""
        refuse_seed(context, seedable=self.seedable)
        check_kinds(
            table.schema, self.columns, KINDS, "recode numbers and dates into groups first."
        )
        if not table.rows:
            msg = "the table has no rows."
            raise DataError(msg)
        return table.select(self.columns), self.declared()

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Recipe:  # noqa: ARG003
        """Refuse: a domain needs values, which `suggest_for` proposes from an opened table."""
        msg = f"{cls.method} needs a declared domain: counts about the columns do not tell it."
        raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class CellRecipe(PrivateRecipe):
    """A private recipe that looks at every cell of the product of its columns, but for those that cannot occur."""

    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain", "structural_zeros")

    structural_zeros: tuple[Mapping[str, tuple[str | int | bool, ...]], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.structural_zeros, (list, tuple)):
            object.__setattr__(
                self, "structural_zeros", tuple(map(_as_lists, self.structural_zeros))
            )
        super().__post_init__()

    def zeros(self) -> tuple[Zero, ...]:
        """Return the combinations that cannot occur."""
        return self.structural_zeros

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest a few columns of few values, with the values seen as a domain that the holder must confirm."""
        return cls(**propose.settings(table, facts, cells=400, columns=3))


def _as_lists(zero: object) -> object:
    """Return an impossible combination with a tuple of values for each column."""
    return (
        {name: listed(value) for name, value in zero.items()} if isinstance(zero, Mapping) else zero
    )


@dataclass(frozen=True, eq=False, repr=False)
class FittedPrivate(Fitted[P]):
    """Counts of a table, ready to draw from. Each draw is charged first.

    Attributes
    ----------
    space
        The declared domain.
    outcome
        What was drawn: for each dataset the cell of each row; empty until then.
    """

    space: Domain
    outcome: tuple[NDArray[np.int64], ...] = ()
    noted: tuple[Event, ...] = ()
    repeatable: bool = False

    def draw(self, context: Context) -> Drawn:
        """Refuse a seed, charge the ledger, draw, and only then look at the outcome."""
        refuse_seed(context, seedable=self.recipe.seedable)
        made = replace(self.drawn(context), repeatable=context.seeded)
        return Drawn(
            datasets=made.new_rows(),
            changed=self.recipe.columns,
            rule=made.rule(),
            settings=made.told(),
            promises=made.promises(),
        )

    @abstractmethod
    def drawn(self, context: Context) -> FittedPrivate[P]:
        """Return the fitted method with its outcome and what it cost, charged before it was drawn."""

    def charge(self, context: Context, event: Event) -> Event:
        """Charge an event to the ledger, if there is one."""
        if context.ledger is not None:
            context.ledger.charge(event)
        return event

    def new_rows(self) -> Sequence[Draw]:
        """Return new rows, linked to none of the old ones, by cell."""
        return [
            Draw(self.space.columns(self.table, np.sort(cells)), linked=False)
            for cells in self.outcome
        ]

    @abstractmethod
    def rule(self) -> Rule:
        """Return the combining rule."""

    @abstractmethod
    def told(self) -> dict[str, Any]:
        """Return what the manifest says of the method."""

    @abstractmethod
    def promises(self) -> tuple[Promise, ...]:
        """Return what the release claims."""

    def about(self) -> str:
        """Return what was looked at, for the ledger."""
        return ", ".join(self.recipe.columns)

    def common(self) -> dict[str, Any]:
        """Return what every private method tells: the domain, the neighbours, the events, and whether it can be repeated."""
        return {
            "columns": list(self.recipe.columns),
            **self.space.to_json(),
            "neighbours": REPLACE_ONE,
            "events": [event.to_json() for event in self.noted],
            "repeatable": self.repeatable,
        }

    def in_domain(self) -> Promise:
        """Return the promise that every row is in a cell that was declared."""
        names = ", ".join(self.recipe.columns)
        settings = {"columns": list(self.recipe.columns), **self.space.to_json()}
        return Promise(
            "dp-domain",
            f"Every combination of {names} is in the domain that the holder declared.",
            "package",
            settings,
        )


def refuse_seed(context: Context, *, seedable: bool) -> None:
    """Refuse a seed: whoever knows it can take the noise off again."""
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


def split(epsilon: Fraction, m: int) -> Fraction:
    """Return what each of m datasets may cost; the worst cases of all come together, so nothing is saved."""
    return epsilon / m


__all__ = ["CellRecipe", "FittedPrivate", "PrivateRecipe", "Value", "refuse_seed", "split"]
