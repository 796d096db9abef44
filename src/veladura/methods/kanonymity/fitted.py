"""A table fitted for k-anonymity: the nodes to choose from, and the recoding to the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.methods.kanonymity.cell_suppression import blank_cells
from veladura.methods.kanonymity.claims import model_promises, size_promises, told_model
from veladura.methods.kanonymity.lattice import Lattice, Node, choose
from veladura.methods.kanonymity.local_recoding import raise_levels
from veladura.methods.kanonymity.mondrian import mondrian
from veladura.methods.kanonymity.recoding import (
    Recoding,
    by_levels,
    column_maps,
    dropped_classes,
    full_domain,
)
from veladura.methods.kanonymity.suppression import Judge, unpack
from veladura.methods.kanonymity.tuples import Classes, classes_of
from veladura.methods.kanonymity.wildcard import matched
from veladura.numeric.hierarchies.levels import Levels

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity  # noqa: F401  # a type variable's
    from veladura.table.table import Table

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class FittedKAnonymity(Fitted["KAnonymity"]):
    """The lattice and its k-minimal nodes. Rows are looked at only when they are drawn, and only if they are in memory."""

    lattice: Lattice
    vectors: tuple[tuple[int, ...], ...]
    complete: bool
    judge: Judge
    best: tuple[tuple[int, ...], ...] = ()  # the best nodes by a quality model, minimal or not

    @cached_property
    def minimal(self) -> list[Node]:
        """Every k-minimal generalisation, lowest levels first."""
        return [self.node(vector) for vector in self.vectors]

    @cached_property
    def chosen(self) -> Node:
        """The generalisation that the policies prefer."""
        candidates = [self.node(vector) for vector in self.best] or self.minimal
        return choose(candidates, self.recipe.prefer, self.recipe.weights)

    @property
    def vector(self) -> tuple[int, ...]:
        """The levels of the chosen generalisation."""
        return tuple(self.chosen.levels.values())

    def node(self, vector: Sequence[int]) -> Node:
        """Return a node of the lattice and what it costs."""
        names = self.recipe.names
        heights = {
            name: level.height for name, level in zip(names, self.lattice.levels, strict=True)
        }
        return Node(
            dict(zip(names, vector, strict=True)),
            heights,
            self.lattice,
            self.recipe.k,
            None if self.judge.simple else self.judge,
        )

    @cached_property
    def classes(self) -> Classes:
        """The distinct tuples, each with its rows."""
        return classes_of(self.table, self.recipe.names, self.lattice.levels)

    @cached_property
    def recoding(self) -> Recoding:
        """What every distinct tuple becomes."""
        recipe, classes = self.recipe, self.classes
        if recipe.recoding == "mondrian":
            return mondrian(classes, recipe.k)
        if recipe.suppressed == "cells":
            return self._blanked()
        star, kept = recipe.suppressed == "star", self._kept()
        if recipe.recoding == "global":
            return full_domain(classes, self.vector, kept, star=star, exact=recipe.preserve_type)
        heights, released = raise_levels(classes, self.vector, kept, recipe.k)
        return by_levels(classes, heights, released | star, starred=~released if star else None)

    def _blanked(self) -> Recoding:
        classes = self.classes
        blank, lost = blank_cells(
            classes.at(self.vector),
            classes.missing_at(self.vector),
            classes.sizes,
            self.recipe.k,
            wildcard=self.recipe.missing == "wildcard",
        )
        heights = np.tile(np.array(self.vector, dtype=np.int64), (lost.size, 1))
        return by_levels(classes, heights, ~lost, blank=blank, exact=self.recipe.preserve_type)

    def _kept(self) -> Mask:
        """Return which tuples stay at the chosen levels."""
        codes = self.classes.at(self.vector)
        if self.recipe.missing == "wildcard":
            return matched(
                np.where(self.classes.missing_at(self.vector), -1, codes),
                self.classes.sizes,
                self.recipe.k,
            )
        return ~self.judge.suppressed_rows(self.vector, list(codes.T))

    def draw(self, context: Context) -> Drawn:
        """Return the table at the chosen node, rare rows suppressed."""
        return Drawn(
            datasets=self._datasets(context),
            changed=self.changed(),
            settings=self.told(),
            promises=self.promises(),
            pictures=lambda _: self.pictures(),
            public_pictures=lambda _: self.public_pictures(),
        )

    def _datasets(self, context: Context) -> Sequence[Draw]:
        """Recode every row: in memory, or as a lazy expression where the data lives."""
        del context  # nothing is drawn at random
        if not self.table.in_memory:
            return [Draw(table=self._inside())]
        tuples, rows = self.classes.of_rows(), self.table.codes(self.recipe.names).rows
        kept = np.flatnonzero(self.recoding.kept[tuples])
        columns = {name: column.at(tuples[kept]) for name, column in self.recoding.columns.items()}
        return [Draw(columns, None if kept.size == tuples.size else kept, rows=rows)]

    def _inside(self) -> Table:
        """Return the released table as an expression; one vector for all rows needs a map for each column and the groups to drop."""
        from veladura.table.recode import recode

        recipe, levels, vector = self.recipe, self.lattice.levels, self.vector
        if (
            recipe.recoding != "global"
            or recipe.suppressed != "drop"
            or recipe.missing == "wildcard"
        ):
            return self.recoding.apply(self.table, self.classes)
        verdict = self.judge.at(vector)
        gone = np.column_stack(
            [unpack(self.judge.lattice, verdict.keys[~verdict.kept], c) for c in self.judge.columns]
        )
        drop = dropped_classes(recipe.names, levels, vector, gone, exact=recipe.preserve_type)
        return recode(
            self.table, column_maps(recipe.names, levels, vector, exact=recipe.preserve_type), drop
        )

    def changed(self) -> tuple[str, ...]:
        """Return the columns whose values change somewhere."""
        if self.recipe.recoding == "global" and self.recipe.suppressed == "drop":
            return tuple(name for name, level in self.chosen.levels.items() if level)
        return tuple(self.recoding.columns)

    def promises(self) -> tuple[Promise, ...]:
        """Promise k and every model for every quasi-identifier, counted again from the released rows."""
        recipe, starred = self.recipe, self.recipe.suppressed == "star"
        blank = self.recoding.blank if starred else ()
        dropped = recipe.suppressed == "drop" and self.chosen.suppressed > 0
        sizes = size_promises(
            recipe.sets, recipe.k, starred=starred, blank=blank, missing=recipe.missing
        )
        models = model_promises(
            self.judge,
            recipe.names,
            self.vector,
            starred=starred,
            blank=blank,
            dropped=dropped,
            exact=recipe.preserve_type,
        )
        return (*sizes, *models)

    def told(self) -> dict[str, Any]:
        """Tell the levels, the rules as declared, and what was lost."""
        chosen, recipe = self.chosen, self.recipe
        rules = {
            name: _told_rule(level)
            for name, level in zip(recipe.names, self.lattice.levels, strict=True)
        }
        return {
            "quasi_identifiers": list(recipe.names),
            **({"sets": [list(one) for one in recipe.sets]} if len(recipe.sets) > 1 else {}),
            **({"models": [told_model(model) for model in recipe.models]} if recipe.models else {}),
            "k": recipe.k,
            "recoding": recipe.recoding,
            "missing": recipe.missing,
            **({} if recipe.recoding == "mondrian" else {"levels": dict(chosen.levels)}),
            "heights": dict(chosen.heights),
            "hierarchies": rules,
            "prefer": list(recipe.prefer),
            "suppressed": recipe.suppressed,
            **self._lost(),
            "minimal_generalisations": len(self.vectors),
            "search_complete": self.complete,
        }

    def pictures(self) -> dict[str, bytes | str]:
        """Return the lattice, where it is small enough to be read, and the trade-off where there is one."""
        from veladura.methods.kanonymity.pictures import drawn, worth_drawing

        titles = {
            "lattice": "Lattice of generalisations",
            "trade-off": "What the minimal generalisations trade against each other",
        }
        return {
            title: drawn(kind, self) for kind, title in titles.items() if worth_drawing(kind, self)
        }

    def public_pictures(self) -> dict[str, bytes]:
        """Return what stays of the values and rows, as the manifest tells it."""
        from veladura.methods.kanonymity.kept import TITLE, kept_picture

        return {TITLE: kept_picture(self.told())}

    def _lost(self) -> dict[str, Any]:
        """Tell suppressed rows, completeness and precision: by levels, or by cells where levels differ from row to row."""
        chosen, recipe = self.chosen, self.recipe
        if (
            recipe.recoding == "global"
            and recipe.suppressed == "drop"
            and recipe.missing != "wildcard"
        ):
            precision = {
                name: 1 - level / chosen.heights[name] for name, level in chosen.levels.items()
            }
            return {
                "suppressed_rows": chosen.suppressed,
                "precision": precision,
                "completeness": chosen.completeness,
            }
        recoding, sizes = self.recoding, self.classes.sizes
        lost = recoding.lost(sizes)
        by_column, overall = recoding.precision(sizes)
        return {
            "suppressed_rows": lost,
            **(
                {"suppressed_cells": dict(recoding.suppressed_cells)}
                if recipe.suppressed == "cells"
                else {}
            ),
            "precision": dict(zip(recipe.names, by_column, strict=True)),
            "precision_by_cell": overall,
            "completeness": 1 - lost / self.classes.rows,
        }


def _told_rule(level: Levels) -> dict[str, Any]:
    return {
        key: (
            [list(item) if isinstance(item, tuple) else item for item in value]
            if isinstance(value, (list, tuple))
            else value
        )
        for key, value in level.hierarchy.told().items()
    }
