"""A fitted synthesis: draws the datasets, column by column, under the rules between columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base.blas import one_thread
from veladura.base.context import Context
from veladura.base.expression import Expression
from veladura.base.scratch import kept as memory_kept
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.recipe import Draw, Drawn
from veladura.core.rules import Partial, Single
from veladura.methods.cart.cart import Cart
from veladura.methods.cart.order import Unit
from veladura.methods.cart.pictures import compared
from veladura.methods.cart.promises import promises_of
from veladura.methods.cart.strata import Strata
from veladura.methods.cart.tree_text import tree_texts
from veladura.methods.cart.unit_draw import UnitDraw, UnitModel
from veladura.numeric.trees.bins import Binning, Predictors
from veladura.numeric.trees.linear import ScoredModel
from veladura.numeric.trees.model import Recipients
from veladura.numeric.trees.variable import Variable
from veladura.table.codes import Column
from veladura.table.recode import assembled

if TYPE_CHECKING:
    from veladura.methods.cart.confusion import Confusion
    from veladura.methods.cart.leaves import Leaves
    from veladura.methods.cart.readable import ReadableTree
    from veladura.methods.cart.subtrees import Subtrees
    from veladura.methods.cart.surface import Surface


@dataclass(frozen=True, eq=False, repr=False)
class FittedCart(RowWise[Cart]):
    """Models with their donors, ready to draw. Holds original values: never released.

    Attributes
    ----------
    units
        The columns in the order of synthesis.
    rules
        By column, the rules that can be kept when it is drawn.
    models
        The model of every unit: once for all datasets, or for each dataset with trees of its own.
    margins
        The model of every unit without predictors.
    everything
        Whether every column is replaced: then the rows are new ones.
    merged
        Columns with levels that few people held, which were merged into others.
    """

    units: Sequence[Unit]
    variables: Mapping[str, Variable]
    binnings: Mapping[str, Binning]
    base: Predictors
    strata: Strata | None
    rules: Mapping[str, Sequence[Expression]]
    models: Sequence[Sequence[UnitModel]]
    margins: Sequence[UnitModel]
    everything: bool
    merged: Sequence[str] = ()

    @property
    def reads(self) -> Sequence[str]:
        """The columns that stay; of new rows there are none."""
        return [name for name in self.codes if name not in self.variables]

    @property
    def new_rows(self) -> bool:
        """Whether every column is replaced."""
        return self.everything

    def model_pictures(self) -> Mapping[str, bytes | str]:
        """Return the trees in words."""
        return tree_texts(self)

    def draw(self, context: Context) -> Drawn:
        """Draw the m datasets, each from streams of its own.

        Bayesian draws are proper: the weights are a posterior draw for every leaf. The combining
        rule is that of Raab et al. (2016) when every column is replaced, else that of Reiter
        (2003).
        """
        rows = self.codes.rows.size if self.recipe.rows is None else self.recipe.rows
        threads = max(1, context.threads // self.recipe.m)
        kept = {name: self.codes[name] for name in self.reads}

        def dataset(r: int) -> Draw:
            bins = None if self.everything else self.base.bins.copy()
            columns = self._drawn(kept, rows, ChunkStream(context.streams, r), threads, bins)
            return Draw(columns, linked=not self.everything)

        # more threads of BLAS would change last digits
        with one_thread(), memory_kept():
            datasets = context.map("drawing datasets", dataset, range(self.recipe.m))
        return self.described(datasets, rows)

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Return datasets of so many rows with everything that may be said of them."""
        recipe, original_rows = self.recipe, self.codes.rows.size
        changed = tuple(name for name in self.table.names if name in self.variables)
        moved = [name for name in changed if self.variables[name].moves]
        settings = {
            **{
                key: value
                for key, value in recipe.settings().items()
                if value not in (None, {}, [])
            },
            "columns": list(changed),
            "rows": rows,
            "linear_scores": self._scored(),
            **({"moved_numbers_in": moved} if moved else {}),
            **({"rare_levels_merged_in": list(self.merged)} if self.merged else {}),
        }
        kind = Single if self.everything else Partial
        proper = recipe.proper or recipe.kind_of_draws == "bayesian"
        return Drawn(
            datasets=datasets,
            changed=changed,
            rule=kind(rows=rows, original_rows=original_rows, proper=proper),
            settings=settings,
            promises=promises_of(
                moved, self.merged, recipe.people_in_level, recipe.rules, recipe.limits
            ),
            pictures=lambda _: tree_texts(self),
            public_pictures=compared,
        )

    def tree(self, column: str, most: int | None = None) -> ReadableTree:
        """Return the tree of a column in words: print it, or ``plot`` it. For the custodian only.

        Parameters
        ----------
        column
            A replaced column. Of numbers it is the tree of the numbers.
        most
            Most leaves: the largest subtree of the pruning sequence that has no more.
        """
        from veladura.methods.cart.readable import readable

        return readable(self, column, most)

    def leaves(self, column: str, most: int | None = None, *, transformed: bool = True) -> Leaves:
        """Return the leaves of a number column's tree as groups. For the custodian only.

        Parameters
        ----------
        column, most
            As for `tree`.
        transformed
            Whether figures are of transformed numbers, where the recipe has a transformation.
        """
        from veladura.methods.cart.leaves import leaves_of

        return leaves_of(self, column, most, transformed=transformed)

    def subtrees(self, column: str, folds: int = 10) -> Subtrees:
        """Return the sequence of pruned subtrees and its cross-validation. For the custodian only.

        Parameters
        ----------
        folds
            Parts of the rows that are held out in turn.
        """
        from veladura.methods.cart.subtrees import subtrees_of

        return subtrees_of(self, column, folds)

    def confusion(self, column: str, most: int | None = None) -> Confusion:
        """Return how a column's tree classifies its rows. For the custodian only.

        Parameters
        ----------
        column, most
            As for `tree`.
        """
        from veladura.methods.cart.confusion import confusion_of

        return confusion_of(self, column, most)

    def surface(self, column: str, most: int | None = None) -> Surface:
        """Return partition and surface of a tree with two predictors. For the custodian only.

        Parameters
        ----------
        column, most
            As for `tree`.
        """
        from veladura.methods.cart.surface import surface_of

        return surface_of(self, column, most)

    def _scored(self) -> list[str]:
        """Return the columns whose trees have linear scores among their predictors."""
        return [
            unit.columns[0]
            for unit, model in zip(self.units, self.models[0], strict=True)
            if isinstance(model, ScoredModel)
        ]

    def draw_chunk(self, rows: pa.Table, stream: ChunkStream) -> pa.Table:
        """Return rows as they are released: some columns replaced, or all.

        The bootstrap weights are those of all chunks of the dataset.
        """
        with one_thread():
            if self.everything:
                drawn = self._drawn({}, rows.num_rows, stream, 1)
                return assembled(self.table.schema, drawn, None).data
            return super().draw_chunk(rows, stream)

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Return the columns that are replaced in some rows."""
        size = next((column.size for column in columns.values()), 0)
        return self._drawn(columns, size, stream, 1)

    def completed(
        self,
        replicate: int,
        rows: int,
        given: Mapping[str, Column],
        context: Context,
        chunk: str | None = None,
    ) -> dict[str, Column]:
        """Return the columns that are drawn, for rows whose other columns are given.

        Parameters
        ----------
        chunk
            What rows these are, where they are not all of the dataset: their draws have a stream
            of their own, the bootstrap weights are those of the dataset.
        """
        if absent := [name for name in self.reads if name not in given]:
            msg = f"columns that are not drawn must be given: {absent}."
            raise ValueError(msg)
        stream = ChunkStream(context.streams, replicate, () if chunk is None else (chunk,))
        return self._drawn(given, rows, stream, max(1, context.threads // self.recipe.m))

    def _drawn(
        self,
        kept: Mapping[str, Column],
        rows: int,
        stream: ChunkStream,
        threads: int,
        bins: NDArray[np.uint16] | None = None,
    ) -> dict[str, Column]:
        """Draw the columns of a dataset, or of a chunk of it, unit by unit."""
        drawn: dict[str, Column] = dict(kept)
        place = {name: i for i, name in enumerate(self.binnings)}
        if bins is None:
            bins = np.zeros((rows, self.base.bins.shape[1]), dtype=np.uint16)
            for name in place.keys() & kept.keys():
                column = kept[name]
                bins[:, place[name]] = self.binnings[name].codes(column.values, column.missing)
        predictors = self.base._replace(bins=bins)
        replicate = stream.dataset
        models = self.models[replicate % len(self.models)]
        for unit, model, margin in zip(self.units, models, self.margins, strict=True):
            roots = np.zeros(rows, dtype=np.int64)
            if self.strata is not None:
                roots = self.strata.roots(drawn, rows, unit.columns)
            recipients = Recipients(predictors, np.arange(rows), roots, threads)
            if stream.chunk:
                weights = stream.whole("cart", unit.name, replicate)
                recipients = replace(recipients, whole=False, weights=weights)
            rng = stream("cart", unit.name, replicate)
            for column in UnitDraw(self, unit, model, margin, drawn).run(rng, recipients):
                drawn[column.name] = column
                bins[:, place[column.name]] = self.binnings[column.name].codes(
                    column.values, column.missing
                )
        return {name: drawn[name] for name in self.table.names if name in self.variables}
