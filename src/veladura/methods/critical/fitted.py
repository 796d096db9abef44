"""Critical cells fitted to a table: what is drawn for which rows, what may be told of it, and the draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial, Rule
from veladura.methods.critical.cells import Cells, Pattern
from veladura.methods.critical.claims import promises_of
from veladura.methods.critical.classes import Class, Tie
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.pools import Pool, pools_of, replaceability
from veladura.methods.critical.single import SingleModel
from veladura.methods.critical.terms import CriticalTerms
from veladura.methods.critical.tuples import TupleModel
from veladura.numeric.trees.bins import Binning
from veladura.numeric.trees.model import Where
from veladura.numeric.trees.tree import Predictors
from veladura.table.codes import Column

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Branch:
    """Rows of a class with the same critical columns, and what their new values are drawn from.

    Attributes
    ----------
    widened
        Whether the pool had to be taken from more rows than those of the branch.
    rest
        Whether it is about the other cells of a column, not the critical ones.
    """

    columns: tuple[str, ...]
    rows: Ints
    model: SingleModel | TupleModel
    widened: bool = False
    rest: bool = False

    @property
    def name(self) -> str:
        """What its stream is called."""
        return "+".join(self.columns) + (" rest" if self.rest else "")


@dataclass(frozen=True, eq=False, repr=False)
class FittedCritical(Fitted[CriticalCart]):
    """Trees and clusters with their donors, ready to draw. Holds original values: never released.

    Attributes
    ----------
    cells
        The critical cells.
    order
        The confidential columns in the order of replacement.
    classes
        The classes of columns that are kept together.
    ties
        How strongly columns hang together, where groups were proposed.
    """

    cells: Cells
    order: Sequence[str]
    classes: Sequence[Class]
    ties: Sequence[Tie]
    terms: Mapping[str, CriticalTerms]
    binnings: Mapping[str, Binning]
    base: Predictors
    branches: Sequence[Branch]

    def draw(self, context: Context) -> Drawn:
        """Draw the m datasets, each from streams of its own."""
        from veladura.methods.cart.plots import compared

        datasets = context.map(
            "drawing datasets", lambda r: self._dataset(r, context), range(self.recipe.m)
        )
        return Drawn(
            datasets=datasets,
            changed=self.changed(),
            rule=self.rule(),
            settings=self.told(),
            promises=self.promises(),
            pictures=lambda _: self.pictures(),
            public_pictures=compared,
        )

    def changed(self) -> tuple[str, ...]:
        """Return the confidential columns, in the order of the table."""
        return tuple(name for name in self.table.names if name in self.terms)

    def rule(self) -> Rule:
        """Return "partial" (Reiter 2003): non-critical cells are the original ones."""
        return Partial(original_rows=self.codes.rows.size, proper=True)

    @cached_property
    def structure(self) -> list[Pattern]:
        """The combinations of critical columns that occur, most frequent first."""
        return self.cells.patterns(self.order)

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """What the critical cells of each column are drawn from."""
        return pools_of(self)

    @property
    def left(self) -> dict[str, int]:
        """By column, the number of critical cells that nothing can replace; the record of a release lists them."""
        return {
            name: int(self.terms[name].fixed.sum())
            for name in self.changed()
            if self.terms[name].fixed.any()
        }

    def told(self) -> dict[str, Any]:
        """Return the settings, the classes, how critical values are guarded, and how far replacement was possible."""
        plain = {
            key: value
            for key, value in self.recipe.settings().items()
            if value not in (None, {}, [])
        }
        return {
            **plain,
            "columns": list(self.changed()),
            "classes": [[*one.confidential, *one.others] for one in self.classes],
            "guard": {name: self.terms[name].guard for name in self.changed()},
            "replaceability": replaceability(self.pools),
            **({"not_replaceable_in": list(self.left)} if self.left else {}),
        }

    def promises(self) -> tuple[Promise, ...]:
        """Promise that only critical cells changed, and that no critical value came out."""
        return promises_of(self)

    def pictures(self) -> Mapping[str, bytes]:
        """Return the forced splits of every class, and the ties that groups were proposed from."""
        from veladura.methods.critical.picture import pictures

        return pictures(self)

    def _dataset(self, replicate: int, context: Context) -> Draw:
        """Draw one dataset, branch by branch."""
        bins = self.base.bins.copy()
        predictors = self.base._replace(bins=bins)
        place = {name: i for i, name in enumerate(self.binnings)}
        drawn = {name: _copied(self.codes[name]) for name in self.changed()}
        for branch in self.branches:
            rng = context.streams("critical-cart", branch.name, replicate)
            for name, new in zip(
                branch.columns, self._columns(branch, rng, predictors), strict=True
            ):
                here = branch.rows[~self.terms[name].fixed[branch.rows]]
                taken = new.take(np.flatnonzero(~self.terms[name].fixed[branch.rows]))
                drawn[name].values[here], drawn[name].missing[here] = taken.values, taken.missing
                if name in place:
                    bins[here, place[name]] = self.binnings[name].codes(taken.values, taken.missing)
        return Draw(drawn)

    def _columns(self, branch: Branch, rng: Generator, predictors: Predictors) -> list[Column]:
        """Return new values for the rows of a branch."""
        if isinstance(branch.model, TupleModel):
            found = branch.model.draw(rng)
        else:
            where = Where(predictors, branch.rows, np.zeros(branch.rows.size, dtype=np.int64))
            found = [branch.model.draw(rng, where)]
        return [
            self.terms[name].subject.assemble(*one)
            for name, one in zip(branch.columns, found, strict=True)
        ]


def _copied(column: Column) -> Column:
    return column.with_values(column.values.copy(), column.missing.copy())
