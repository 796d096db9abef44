"""Normal synthesis within classes: numbers are drawn anew from a normal distribution by class.

A whole synthesizer to start from, with m datasets and a combining rule of its own: copy it to
``src/veladura/methods/class_normal/class_normal.py``, add its line to ``core/registry.py``, and
change what it draws. Most synthesizers need no rule of their own: `Partial`, `Full` and `Single`
are in ``core/rules.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.context import Context
from veladura.core.gates import SYNTHETIC
from veladura.core.promise import GROUP_SIZE, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.core.rules import Conclusions, Partial
from veladura.errors import DataError, PlanError

if TYPE_CHECKING:
    from veladura.table.codes import Codes, Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class WithinClasses(Partial):
    """The rule of partially synthetic data; relations within a class are lost, and it says so."""

    name = "within-classes"
    title = "partially synthetic data (Reiter 2003), normal within classes"
    conclusions = Conclusions(
        ("Estimate means and differences between classes, combined over the datasets.",),
        (
            "Do not take a single row as a true statement about a person.",
            "Do not conclude on relations within a class: the values are independent there.",
        ),
        Partial.conclusions.how,
        Partial.conclusions.intervals,
    )


@dataclass(frozen=True, kw_only=True)
class ClassNormal(Recipe):
    """Draw numbers anew from a normal distribution in each class of people.

    Mean and variance of a class come from their posterior under the prior 1 / variance (Gelman et
    al. 2013, eq. 3.2), once for every dataset: the synthesis is proper.

    Parameters
    ----------
    columns
        The number columns to replace.
    within
        The columns whose combinations are the classes; one class of all people by default.
    smallest
        Fewest people in a class. A smaller class is refused.
    m
        Number of datasets.
    """

    method = "class-normal"  # the name in a plan
    sentence = "Numbers were replaced by artificial ones, drawn from a normal model of each class."
    checks = {"group-size": GROUP_SIZE}
    gate = SYNTHETIC
    own_rules = (WithinClasses,)
    synthesizes = True

    columns: tuple[str, ...]
    within: tuple[str, ...] = ()
    smallest: int = 10
    m: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m < 2 or self.smallest < 3:  # noqa: PLR2004
            msg = f"m ({self.m}) must be at least 2, smallest ({self.smallest}) at least 3."
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedClassNormal:  # noqa: ARG002
        """Find the class of every row."""
        codes = table.codes((*self.columns, *self.within))
        classes, sizes = classes_of(codes, self.within)
        if small := int(np.count_nonzero(sizes < self.smallest)):
            msg = (
                f"{small} classes of {list(self.within)} have fewer than {self.smallest} rows."
                "\n\nHint: name fewer columns in within, or recode them first."
            )
            raise DataError(msg)
        return FittedClassNormal(self, table, codes, classes)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> ClassNormal:  # noqa: ARG003
        """Suggest settings for a table nobody has seen: `veladura init` writes them down."""
        return cls(columns=tuple(f.name for f in schema if f.kind in ("integer", "number")))


def classes_of(codes: Codes, within: tuple[str, ...]) -> tuple[Ints, Ints]:
    """Return the class of each row, and the number of rows of each class."""
    keys = [np.where(codes[name].missing, -1, codes[name].values) for name in within]
    stacked = np.array(keys) if keys else np.zeros((1, codes.rows.size))
    _, classes, sizes = np.unique(stacked, axis=1, return_inverse=True, return_counts=True)
    return classes.reshape(-1), sizes


@dataclass(frozen=True, eq=False, repr=False)
class FittedClassNormal(Fitted[ClassNormal]):
    """The columns and the class of every row. Holds original values: its repr shows none."""

    classes: Ints = field(repr=False)

    def draw(self, context: Context) -> Drawn:
        """Draw m datasets, each from random streams of its own."""
        recipe, rows = self.recipe, self.codes.rows.size
        datasets = context.map(
            "drawing datasets", lambda r: self._dataset(r, context), range(recipe.m)
        )
        settings = {"columns": list(recipe.within), "k": recipe.smallest}
        promise = Promise("group-size", "package", settings)
        return Drawn(
            datasets=datasets,
            changed=recipe.columns,
            rule=WithinClasses(rows=rows, original_rows=rows, proper=True),
            promises=(promise,) if recipe.within else (),
        )

    def _dataset(self, replicate: int, context: Context) -> Draw:
        """Draw one dataset, column by column."""
        return Draw(
            {
                name: self._drawn(
                    self.codes[name], context.streams("class-normal", name, replicate)
                )
                for name in self.recipe.columns
            }
        )

    def _drawn(self, column: Column, rng: np.random.Generator) -> Column:
        """Draw a column; what is missing stays missing.

        Where most of a class is missing, the model of all people is used.
        """
        original, new = column.numbers(), column.numbers()
        for number in range(int(self.classes.max(initial=-1)) + 1):
            here = (self.classes == number) & ~column.missing
            enough = np.count_nonzero(here) >= self.recipe.smallest
            model = original[here if enough else ~column.missing]
            new[here] = posterior_draws(model, int(here.sum()), rng)
        return column.rounded(new)


def posterior_draws(values: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return new values from the posterior predictive distribution of a normal model."""
    n = values.size
    if n < 2:  # noqa: PLR2004  # nothing to learn a variance from
        return np.zeros(size)
    variance = values.var(ddof=1) * (n - 1) / rng.chisquare(n - 1)
    mean = rng.normal(values.mean(), np.sqrt(variance / n))
    return rng.normal(mean, np.sqrt(variance), size)
