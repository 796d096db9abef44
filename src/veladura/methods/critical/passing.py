"""Critical cells of a table that is not held: rows without any pass, the others are held.

The conditions are asked of every row where it lives. All rows with a critical cell are fitted, so
that donors and the law of critical numbers are those of the whole table; nothing is a sample but
the association of columns, from which groups are proposed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import fit_to_sample
from veladura.core.making import unproved
from veladura.core.recipe import Draw, Drawn, Fitted, no_codes, no_pictures
from veladura.core.rules import Partial
from veladura.errors import DataError, PlanError
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.fit import cells_of, fit, needed_columns, proposed_groups
from veladura.methods.critical.fitted import FittedCritical
from veladura.table.chunks import ChunkPlan, Number, Outcome, draw_chunks
from veladura.table.codes import Codes, encode
from veladura.table.schema import Schema
from veladura.table.table import Table
from veladura.table.whole import Whole

if TYPE_CHECKING:
    from veladura.base.arrays import Mask


@dataclass(frozen=True)
class Parted:
    """Parts rows with a critical cell (dataset 0) from all others (dataset 1)."""

    recipe: CriticalCart
    schema: Schema

    def __call__(self, rows: pa.Table, dataset: int, number: Number) -> pa.Table:
        """Return the rows of one kind, columns named by position."""
        del number
        critical = self.critical(rows)
        kept = rows.filter(pa.array(critical if dataset == 0 else ~critical))
        return kept.rename_columns([f"c{i}" for i in range(kept.num_columns)])

    def critical(self, rows: pa.Table) -> Mask:
        """Return which rows have a critical cell."""
        columns = {
            name: encode(rows.column(name), self.schema[name])
            for name in self.schema.names
            if name in needed_columns(self.recipe)
        }
        cells = cells_of(self.recipe, Codes(columns, np.arange(rows.num_rows)))
        found: Mask = np.logical_or.reduce(list(cells.marks.values()))
        return found


def fit_passing(recipe: CriticalCart, table: Table, number: int, context: Context) -> FittedPassing:
    """Return the recipe fitted to the rows with critical cells, if so many can be held."""
    _refuse(recipe)
    near, sample, whole = fit_to_sample(recipe, table, number, context, table.names)
    outcome = Outcome(near.schema, Schema(()), 2)
    parted = Parted(recipe, near.schema)
    critical, others = (
        written.table
        for written in draw_chunks(near, ChunkPlan.of(near, ""), parted, outcome, context)
    )
    if not 0 < critical.rows <= number:
        what = "no row has a critical cell" if not critical.rows else "too many rows have one"
        msg = (
            f"{what}: {critical.rows:,} of {near.rows:,}, and {number:,} are held"
            " (fit_rows, or the memory of the run).\n\nHint: check the conditions, or allow more"
            " rows with fit_rows or [run] memory."
        )
        raise DataError(msg)
    if recipe.groups is None:
        groups = proposed_groups(recipe, whole.relabelled(sample.codes(sample.names)))
        recipe = replace(recipe, groups=groups)
    inner = fit(recipe, critical.fetched(), context, Whole(near, whole.labels))
    return FittedPassing(recipe, near, no_codes(), inner, others, number)


def _refuse(recipe: CriticalCart) -> None:
    """Refuse settings that need all rows at once."""
    marked = recipe.mask is not None or not (recipe.rows is None or isinstance(recipe.rows, str))
    wrong = {
        "mask, or rows as a list": marked,
        "keep_inside = false": not recipe.keep_inside,
        'others = "replace"': recipe.others == "replace",
    }
    if named := [setting for setting, given in wrong.items() if given]:
        msg = (
            f"{', '.join(named)}: needs all rows of the table at once, and they are not held"
            " (fit_rows, or the memory of the run).\n\nHint: leave it out, write a condition, or"
            " allow more memory."
        )
        raise PlanError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class FittedPassing(Fitted[CriticalCart]):
    """Critical rows fitted, and the others where they pass.

    Attributes
    ----------
    inner
        The recipe fitted to all rows that have a critical cell.
    others
        The rows without any, in private scratch.
    held
        Most rows that may be held.
    """

    inner: FittedCritical
    others: Table
    held: int

    def draw_chunk(self, rows: pa.Table, stream: ChunkStream) -> pa.Table:
        """Return some rows of the table, critical cells replaced; rows without any pass."""
        critical = Parted(self.recipe, self.table.schema).critical(rows)
        drawn = self.inner.draw_chunk(rows.filter(pa.array(critical)), stream)
        passed = rows.filter(pa.array(~critical)).cast(drawn.schema)
        order = np.argsort(np.concatenate([np.flatnonzero(critical), np.flatnonzero(~critical)]))
        return pa.concat_tables([drawn, passed]).take(pa.array(order))

    def draw(self, context: Context) -> Drawn:
        """Draw the critical cells; the promises are proved on the rows that have some."""
        drawn = self.inner.draw(context)
        release = unproved(self.inner, drawn, context)
        release.prove()
        rows = self.table.rows
        assert isinstance(drawn.rule, Partial)  # noqa: S101  # partially synthetic
        return replace(
            drawn,
            datasets=[Draw(table=_joined(self.others, one.table)) for one in release.tables],
            rule=replace(drawn.rule, original_rows=rows),
            settings={**(drawn.settings or {}), "fit_rows": self.held},
            public_pictures=no_pictures,
        )


def _joined(others: Table, replaced: Table) -> Table:
    """Return the rows of two tables as one lazy table."""
    both = others.expression.union(replaced.expression, distinct=False)
    return Table(replaced.schema, both, others.source)
