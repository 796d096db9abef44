"""Draw households: their columns, their size, then one member after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.blas import one_thread
from veladura.base.context import Context
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial, Single
from veladura.methods.cart.fitted import FittedCart
from veladura.methods.cart.pictures import compared
from veladura.methods.households.drawing import Family
from veladura.methods.households.effects import ClusterEffects
from veladura.methods.households.household_cart import HouseholdCart
from veladura.methods.households.levels import Level
from veladura.methods.households.promises import implied_by, sizes_in
from veladura.table.codes import Column


@dataclass(frozen=True, eq=False, repr=False)
class FittedHouseholds(Fitted[HouseholdCart]):
    """Models of households and their members, ready to draw. Holds original values.

    Attributes
    ----------
    levels
        Households, people, rows, as far as the table has them.
    roots
        The models of the columns of the top level, one after the other.
    families
        The models of every level below it.
    counted
        Columns of the top level that say how many members a unit has.
    kept
        The columns of households that stay, as predictors.
    effects
        Those of kept clusters; None without clusters.
    waves
        The model of the first and last wave of a household; None where all are the same.
    """

    levels: Sequence[Level]
    roots: Sequence[FittedCart]
    families: Sequence[Family]
    counted: tuple[str, ...]
    kept: Mapping[str, Column]
    effects: ClusterEffects | None
    waves: FittedCart | None = None

    def draw(self, context: Context) -> Drawn:
        """Draw the m datasets, each from streams of its own.

        The combining rule is that of Raab et al. (2016) where every column is replaced. Where the
        design is kept it is that of Reiter (2003): the sample of clusters is the original's, and
        what differs between the datasets is the draw alone. Bayesian draws are proper: the weights
        are a posterior draw for every leaf.
        """
        with one_thread():  # more threads would change last digits
            datasets = context.map(
                "drawing households", lambda r: self.dataset(r, context), range(self.recipe.m)
            )
        settings = settings_of(
            self.recipe, self.table.names, self.levels, self.counted, self.stages()
        )
        proper = self.recipe.cart().kind_of_draws == "bayesian"
        return Drawn(
            datasets=datasets,
            changed=self.recipe.changes(self.table.names),
            rule=Partial(proper=proper) if self.recipe.keep else Single(proper=proper),
            settings=settings,
            promises=implied_by(settings),
            public_pictures=compared,
        )

    def stages(self) -> list[FittedCart]:
        """Return the models of all columns."""
        return [*self.roots, *(s for family in self.families for s in family.children.models)]

    def dataset(self, replicate: int, context: Context, number: int | None = None) -> Draw:
        """Draw one dataset, level by level; of as many households as the original has by default.

        Where the design is kept there are always as many.
        """
        number = self.levels[0].units if number is None else number
        drawn = dict(self.kept)
        if self.effects is not None:
            drawn |= self.effects.drawn(context.streams("cluster effects", replicate))
        home = np.arange(number)
        for i, root in enumerate(self.roots):
            inner = context.within("units", *([i] if len(self.roots) > 1 else []))
            drawn |= root.completed(replicate, number, drawn, inner)
        if self.waves is not None:
            drawn |= self.waves.completed(replicate, number, drawn, context.within("waves"))
        units: dict[str, Ints] = {}
        for i, (family, level) in enumerate(zip(self.families, self.levels, strict=False), start=1):
            inner = context.within("rows", i)
            unit, columns = family.drawn(replicate, drawn, number, inner)
            drawn = {name: column.take(unit) for name, column in drawn.items()} | columns
            units = {name: numbers[unit] for name, numbers in units.items()}
            units[str(level.name)] = unit
            home = home[unit]
            if i == 1:
                size = np.bincount(unit, minlength=number)[unit]
                for name in self.counted:
                    drawn[name] = self._sized(name, size)
            number = unit.size
        schema = self.table.units.schema
        # units of one row each; what rows look up is drawn as their columns, without a number
        for unit_name in schema.of_role("person", "household", "episode"):
            units.setdefault(unit_name, np.arange(number))
        if self.recipe.keep:
            row = self.levels[0].row[home]
            drawn |= {name: self.codes[name].take(row) for name in self.recipe.keep}
        return Draw({name: drawn[name] for name in self.table.names}, linked=False, units=units)

    def _sized(self, name: str, size: Ints) -> Column:
        """Return a column that tells the number of members."""
        column, missing = self.codes[name], np.zeros(size.size, dtype=bool)
        if column.labels is None:
            return column.with_values(size.astype(column.values.dtype), missing)
        whole = column.with_values(np.arange(len(column.labels)), missing[: len(column.labels)])
        told = sizes_in(whole)
        sort = np.argsort(told)
        return column.with_values(sort[np.searchsorted(told, size, sorter=sort)], missing)


def settings_of(
    recipe: HouseholdCart,
    names: Sequence[str],
    levels: Sequence[Level],
    counted: Sequence[str],
    stages: Sequence[FittedCart],
) -> dict[str, Any]:
    """Return what the manifest says of the method."""
    moved = {n for stage in stages for n, v in stage.variables.items() if v.moves}
    merged = {name for stage in stages for name in stage.merged}
    # numbers that few hold are no levels where others move: the promise is about all of them
    merged = {n for n in merged if n not in moved}
    units, fixed = {}, set[str]()
    for level, below in pairwise(levels):
        fixed |= set(level.columns)  # constant within its units, as those of the levels above
        units[str(level.name)] = {
            "columns": [name for name in names if name in fixed],
            "counted": list(counted) if level is levels[0] else [],
            "members": [name for name in names if name in below.columns],
            "of": below.name,
            "distinct": list(below.times),
        }
    given = {k: v for k, v in recipe.settings().items() if v not in (None, {}, [])}
    return {
        **given,
        "columns": list(recipe.changes(names)),
        **({"row_rules": list(recipe.row_rules)} if recipe.row_rules else {}),
        **({"units": units} if units else {}),
        **({"moved_numbers_in": [n for n in names if n in moved]} if moved else {}),
        **({"rare_levels_merged_in": [n for n in names if n in merged]} if merged else {}),
    }
