"""Critical cells fitted to a table: draws the datasets, branch by branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import SEVERAL_ROWS
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial
from veladura.errors import DataError, PlanError
from veladura.methods.cart.pictures import compared
from veladura.methods.critical.branches import Branch
from veladura.methods.critical.cells import Cells, Pattern
from veladura.methods.critical.constraints import CriticalConstraints
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.groups import ColumnClass, Tie
from veladura.methods.critical.pools import Pool, pools_of, replaceability
from veladura.methods.critical.promises import promises_of
from veladura.methods.critical.rare import RareLevels
from veladura.numeric.trees.bins import Binning, Predictors
from veladura.numeric.trees.model import Recipients
from veladura.table.codes import Column
from veladura.table.recode import assembled
from veladura.table.same_rows import found_rows


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
        The classes of columns whose joint distribution is kept.
    ties
        The association of pairs of columns, where groups were proposed from the data.
    rare
        The columns with rare levels, and what became of them.
    """

    cells: Cells
    order: Sequence[str]
    classes: Sequence[ColumnClass]
    ties: Sequence[Tie]
    constraints: Mapping[str, CriticalConstraints]
    binnings: Mapping[str, Binning]
    base: Predictors
    branches: Sequence[Branch]
    rare: RareLevels

    def draw(self, context: Context) -> Drawn:
        """Draw the m datasets, each from streams of its own.

        Cells that are not critical are the original ones: partially synthetic data (Reiter 2003).
        """
        from veladura.methods.critical.pictures import pictures

        recipe, changed = self.recipe, self.confidential
        settings = {
            **{
                key: value
                for key, value in recipe.settings().items()
                if value not in (None, {}, [])
            },
            "columns": list(changed),
            "classes": [[*class_.confidential, *class_.others] for class_ in self.classes],
            "draws": recipe.kind_of_draws,
            **({"moved_numbers_in": self.moved} if self.moved else {}),
            **({"rare_levels_merged_in": self.merged} if self.merged else {}),
            "replaceability": replaceability(self.pools),
            **({"not_replaceable_in": list(self.left)} if self.left else {}),
        }
        return Drawn(
            datasets=context.map(
                "drawing datasets",
                lambda r: self._dataset(ChunkStream(context.streams, r)),
                range(recipe.m),
            ),
            changed=changed,
            rule=Partial(
                original_rows=self.codes.rows.size, proper=recipe.kind_of_draws == "bayesian"
            ),
            settings=settings,
            promises=promises_of(self),
            pictures=lambda _: pictures(self),
            public_pictures=compared,
        )

    @property
    def confidential(self) -> tuple[str, ...]:
        """The confidential columns, in the order of the table."""
        return tuple(name for name in self.table.names if name in self.constraints)

    @property
    def moved(self) -> list[str]:
        """The confidential columns in which critical numbers that few people share are moved."""
        return [
            name
            for name in self.confidential
            if self.recipe.moves(name) and self.constraints[name].variable.moves
        ]

    @property
    def merged(self) -> list[str]:
        """The confidential columns in which rare levels of critical cells were merged."""
        return [name for name in self.confidential if name in self.rare.merged]

    @cached_property
    def structure(self) -> list[Pattern]:
        """The combinations of critical columns that occur, most frequent first."""
        return self.cells.patterns(self.order)

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """The donors of the critical cells, by column."""
        return pools_of(self)

    @property
    def left(self) -> dict[str, int]:
        """By column, the number of critical cells that cannot be replaced."""
        fixed = {name: int(self.constraints[name].fixed.sum()) for name in self.confidential}
        return {name: count for name, count in fixed.items() if count}

    def draw_chunk(self, rows: pa.Table, stream: ChunkStream) -> pa.Table:
        """Return some of the rows that it was fitted to, critical cells replaced.

        Which cells of a row are critical, and what may stand there, is known of these rows only.
        Every cell of the table is drawn for it: `sample` draws them once for all.
        """
        if self.table.whole is not None:
            raise PlanError(SEVERAL_ROWS)
        places = found_rows(self.table.arrow, rows)
        if (unknown := int(np.count_nonzero(places < 0))) > 0:
            msg = (
                f"{unknown:,} of {rows.num_rows:,} rows of the chunk are not among those that the"
                " method was fitted to, so that it does not know what may stand in their critical"
                " cells.\n\nHint: fit the method to a table with these rows."
            )
            raise DataError(msg)
        at = np.empty(self.codes.rows.size, dtype=np.int64)
        at[self.codes.rows] = np.arange(at.size)
        drawn = self._dataset(stream).columns
        columns = {name: column.take(at[places]) for name, column in drawn.items()}
        return assembled(self.table.schema, columns, rows).data

    def _dataset(self, stream: ChunkStream) -> Draw:
        """Draw one dataset, branch by branch."""
        bins = self.base.bins.copy()
        predictors = self.base._replace(bins=bins)
        place = {name: i for i, name in enumerate(self.binnings)}
        drawn = {name: _copied(self.codes[name]) for name in self.confidential}
        for branch in self.branches:
            rng = stream("critical-cart", branch.name, stream.dataset)
            roots = np.zeros(branch.rows.size, dtype=np.int64)
            recipients = Recipients(predictors, branch.rows, roots)
            values = branch.model.draw(rng, recipients)
            for name, column_values in zip(branch.columns, values, strict=True):
                constraints = self.constraints[name]
                free = ~constraints.fixed[branch.rows]
                here = branch.rows[free]
                new = constraints.variable.assemble(*column_values).take(np.flatnonzero(free))
                drawn[name].values[here], drawn[name].missing[here] = new.values, new.missing
                if name in place:
                    bins[here, place[name]] = self.binnings[name].codes(new.values, new.missing)
        return Draw(drawn)


def _copied(column: Column) -> Column:
    return column.with_values(column.values.copy(), column.missing.copy())
