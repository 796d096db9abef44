"""Random rounding: numbers go up or down to a multiple of a base, so that their mean stays.

A whole method to start from: copy it to ``src/veladura/methods/rounding/rounding.py`` (a mask is
one file in ``methods/masks``), add its line to ``core/registry.py``, and change what it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.context import Context
from veladura.core.gates import MASKED
from veladura.core.promise import Check, Evidence, Promise, listed
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


def not_multiples(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of released values that break the promise: `verify` counts them again."""
    columns = [evidence.column(name).numbers() for name in settings["columns"]]
    return sum(
        int(np.count_nonzero(numbers[~np.isnan(numbers)] % settings["base"])) for numbers in columns
    )


def sentence_of(settings: Mapping[str, Any]) -> str:
    """Return the promise as people read it: made from its settings, here and by `verify`."""
    return f"Every value of {listed(settings)} is a multiple of {settings['base']}."


ROUNDED = Check(
    not_multiples,
    sentence_of,
    shapes.table({"columns": shapes.names, "base": shapes.whole(2)}),  # other settings say nothing
)


@dataclass(frozen=True, kw_only=True)
class RandomRounding(Recipe):
    """Round numbers at random, up or down to a multiple of a base.

    A value x between a and a + base becomes a + base with probability (x - a) / base, else a: its
    expectation is x.

    Parameters
    ----------
    columns
        The number columns to round.
    base
        What every released value is a multiple of.
    """

    method = "random-rounding"  # the name in a plan
    sentence = "Numbers were rounded at random, up or down to a multiple of a fixed base."
    caution = "numbers were rounded at random; slopes of rounded predictors shrink towards 0"
    checks = {"random-rounding": ROUNDED}
    gate = MASKED

    columns: tuple[str, ...]
    base: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base < 2:  # noqa: PLR2004  # every branch like this has a test that trips it
            msg = f"base ({self.base}) must be at least 2: whole numbers are multiples of 1."
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedRounding:  # noqa: ARG002
        """Read the columns: arrays in an order of rows that the order of the input cannot move."""
        return FittedRounding(self, table, table.codes(self.columns))

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises that a step with these settings must make: `verify` asks for them."""
        return (Promise("random-rounding", "package", settings),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> RandomRounding:  # noqa: ARG003
        """Suggest settings for a table nobody has seen: `veladura init` writes them down."""
        return cls(columns=tuple(field.name for field in schema if field.kind == "integer"))


@dataclass(frozen=True, eq=False, repr=False)
class FittedRounding(Fitted[RandomRounding]):
    """The columns, ready to be rounded. Holds original values: its repr shows none."""

    def draw(self, context: Context) -> Drawn:
        """Round each column by a random stream of its own."""
        rounded = {
            name: self._rounded(column, context.streams("random-rounding", name))
            for name, column in self.codes.items()
        }
        promises = self.recipe.implied(self.recipe.settings(), None)
        return Drawn(datasets=[Draw(rounded)], changed=self.recipe.columns, promises=promises)

    def _rounded(self, column: Column, rng: np.random.Generator) -> Column:
        numbers, base = column.numbers(), self.recipe.base  # a missing value is NaN, and stays so
        return column.rounded(base * np.floor(numbers / base + rng.random(numbers.size)))
