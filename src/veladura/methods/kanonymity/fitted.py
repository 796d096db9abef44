"""A table fitted for k-anonymity: the generalisations to choose from, and the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.context import Context
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.methods.kanonymity.cell_suppression import blank_cells
from veladura.methods.kanonymity.choice import Node, preferred
from veladura.methods.kanonymity.claims import model_settings, promises_of
from veladura.methods.kanonymity.coarse import warn_of_coarse_columns
from veladura.methods.kanonymity.kept import KEPT_FILE, choice_words, kept_result, kept_text
from veladura.methods.kanonymity.lattice import Lattice, Vector
from veladura.methods.kanonymity.local_recoding import diversity_of, raise_levels
from veladura.methods.kanonymity.mondrian import mondrian
from veladura.methods.kanonymity.people import (
    counted_unit,
    household_of,
    rows_of_whole_households,
)
from veladura.methods.kanonymity.pictures import custodian_pictures, public_pictures
from veladura.methods.kanonymity.quality import QUALITIES, best_nodes
from veladura.methods.kanonymity.recoding import (
    Recoding,
    by_levels,
    column_maps,
    dropped_classes,
    full_domain,
)
from veladura.methods.kanonymity.suppression import Criteria
from veladura.methods.kanonymity.tuples import Tuples, group_numbers, matched, tuples_of
from veladura.methods.kanonymity.ways import Ways

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity  # noqa: F401  # a type variable's
    from veladura.table.table import Table

_FEW_TUPLES = 50_000  # that Spark sends to every worker, to recode and drop rows by one join


@dataclass(frozen=True, eq=False, repr=False)
class FittedKAnonymity(Fitted["KAnonymity"]):
    """The lattice and its k-minimal generalisations, made from counts alone.

    Attributes
    ----------
    vectors
        The levels of every k-minimal generalisation.
    complete
        Whether these are all of them.
    best
        The best generalisations by a quality model, k-minimal or not.
    coarsened
        Levels to which columns were coarsened before the search, where their combinations do not
        fit into the memory of the run.
    """

    lattice: Lattice
    vectors: tuple[Vector, ...]
    complete: bool
    criteria: Criteria
    best: tuple[Vector, ...] = ()
    coarsened: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def minimal(self) -> Ways:
        """Every k-minimal generalisation, lowest levels first; with ``levels``, the given one."""
        return Ways(tuple(self.node(vector) for vector in self.vectors), self)

    @cached_property
    def chosen(self) -> Node:
        """The generalisation that the policies prefer, or the given one."""
        if given := self.recipe.levels:
            return self.node([given[name] for name in self.recipe.attributes])
        return min(self.equally_preferred, key=lambda node: tuple(node.levels.values()))

    @cached_property
    def equally_preferred(self) -> tuple[Node, ...]:
        """The generalisations between which the policies do not decide, the chosen one included.

        Of them, the one with the smallest levels from left to right is taken.
        """
        if given := self.recipe.levels:
            return (self.node([given[name] for name in self.recipe.attributes]),)
        candidates = [self.node(vector) for vector in self.best] or list(self.minimal)
        recipe = self.recipe
        return tuple(preferred(candidates, recipe.prefer, recipe.weights, recipe.named_sets))

    def choose(
        self,
        prefer: str | Sequence[str] | Sequence[Sequence[str]],
        weights: Mapping[str, float] | None = None,
    ) -> FittedKAnonymity:
        """Return the same with another choice among the generalisations found: no new search.

        Parameters
        ----------
        prefer, weights
            Those of `KAnonymity`. A quality model needs a search that was complete.
        """
        levels: dict[str, int] = {}
        recipe = replace(self.recipe, prefer=prefer, weights=dict(weights or {}), levels=levels)
        best: tuple[Vector, ...] = ()
        if recipe.prefer and recipe.prefer[0] in QUALITIES:
            found = kept_result(self)
            searched = self.criteria
            if recipe.recoding != "global":
                searched = searched.of_k(self.lattice)
            named = str(recipe.prefer[0])
            best = tuple(best_nodes(searched, named, recipe.weights, self.lattice, found))
        return replace(self, recipe=recipe, best=best)

    @property
    def vector(self) -> Vector:
        """The levels of the chosen generalisation."""
        return tuple(self.chosen.levels.values())

    def node(self, vector: Sequence[int]) -> Node:
        """Return a generalisation of the lattice and what it costs."""
        names, heights = list(self.recipe.attributes), self.lattice.heights.tolist()
        return Node(
            dict(zip(names, vector, strict=True)),
            dict(zip(names, heights, strict=True)),
            self.lattice,
            self.criteria,
        )

    @cached_property
    def tuples(self) -> Tuples:
        """The distinct tuples of quasi-identifiers, each with its rows."""
        people = self.criteria.people
        names = list(self.recipe.attributes)
        return tuples_of(names, self.lattice, people.sizes if people else None)

    @property
    def by_level(self) -> bool:
        """Whether one vector of levels and the classes to drop say all of the recoding."""
        recipe = self.recipe
        dropped = recipe.recoding == "global" and recipe.suppressed == "drop"
        return dropped and recipe.missing != "wildcard"

    def draw(self, context: Context) -> Drawn:
        """Return the table at the chosen generalisation, rare rows suppressed."""
        del context  # nothing is random
        recipe, chosen = self.recipe, self.chosen
        if recipe.recoding != "mondrian":
            warn_of_coarse_columns(self.lattice, chosen)
        if self.table.in_memory:
            dataset = self._recoded_rows()
        else:
            dataset = Draw(table=self._recoded_table())
        if recipe.recoding == "global" and recipe.suppressed == "drop":
            changed = tuple(
                column
                for name, level in chosen.levels.items()
                if level
                for column in recipe.attributes[name]
            )
        else:
            changed = tuple(self.recoding.columns)
        settings = self._settings()
        blank = self.recoding.blank if recipe.suppressed == "star" else ()
        return Drawn(
            datasets=[dataset],
            changed=changed,
            settings=settings,
            promises=promises_of(
                recipe, settings, self.criteria, self.vector, blank, self.table.person
            ),
            pictures=lambda _: {**custodian_pictures(self), **self._choice_in_words()},
            records={KEPT_FILE: kept_text(self)} if self._was_searched else {},
            public_pictures=lambda _: public_pictures(settings),
        )

    def _choice_in_words(self) -> dict[str, str]:
        """Return what the search found and how one was chosen, for the custodian."""
        if self.recipe.recoding == "mondrian":  # it does not use the lattice
            return {}
        return {"k-anonymity: how the generalisation was chosen": choice_words(self)}

    @property
    def _was_searched(self) -> bool:
        return not self.recipe.levels and self.recipe.recoding != "mondrian"

    def _recoded_rows(self) -> Draw:
        """Return the recoded rows of a table in memory."""
        tuple_of = self.tuples.of_rows()
        rows = self.table.codes(self.recipe.names).rows
        stays = self.recoding.kept[tuple_of]
        if self.recipe.whole_households:
            stays = stays & self._of_whole_households(tuple_of, rows)
        kept = np.flatnonzero(stays)
        columns = {
            name: column.at(tuple_of[kept]) for name, column in self.recoding.columns.items()
        }
        return Draw(columns, None if kept.size == tuple_of.size else kept, rows=rows)

    def _of_whole_households(self, tuple_of: Ints, rows: Ints) -> Mask:
        """Return which rows stay where a household goes as a whole."""
        whole, unit = self.table.units, counted_unit(self.table, self.recipe)
        homes = whole.column(household_of(self.table, "whole_households")).values[rows]
        units = np.arange(rows.size) if unit is None else whole.column(unit).values[rows]
        classes = group_numbers(self.tuples.at(self.vector))[tuple_of]
        return rows_of_whole_households(classes, units, homes, self.recipe.k)

    def _recoded_table(self) -> Table:
        """Return the released table as an expression, recoded where the data lives."""
        from veladura.table.coded import count_labels
        from veladura.table.database.connection import is_spark
        from veladura.table.recode import recode

        count_labels(self.table)
        few = self.lattice.sizes.size <= _FEW_TUPLES and is_spark(self.table.expression)
        few = few and not self.coarsened  # their tuples are not those of the table
        if not self.by_level or self.recipe.pairs or few:  # on Spark every join is a job
            return self.recoding.apply(self.table, self.tuples)
        names, levels, vector = self.recipe.names, self.lattice.levels, self.vector
        exact, criteria = self.recipe.preserve_type, self.criteria
        outcome = criteria.at(vector)
        keys = outcome.keys[~outcome.kept]
        codes = np.column_stack([criteria.lattice.unpacked(keys, c) for c in criteria.columns])
        dropped = dropped_classes(names, levels, vector, codes, exact=exact)
        return recode(self.table, column_maps(names, levels, vector, exact=exact), dropped)

    @cached_property
    def recoding(self) -> Recoding:
        """What every distinct tuple becomes."""
        recipe, tuples = self.recipe, self.tuples
        if recipe.recoding == "mondrian":
            return mondrian(tuples, recipe.k)
        if recipe.suppressed == "cells":
            return self._blanked_cells()
        star, kept = recipe.suppressed == "star", self._kept()
        if recipe.recoding == "global":
            return full_domain(tuples, self.vector, kept, star=star, exact=recipe.preserve_type)
        diversity = diversity_of(tuples, self.criteria)
        heights, released = raise_levels(tuples, self.vector, kept, recipe.k, diversity)
        return by_levels(tuples, heights, released | star, starred=~released if star else None)

    def _kept(self) -> Mask:
        """Return which tuples stay at the chosen levels."""
        tuples, vector = self.tuples, self.vector
        codes = tuples.at(vector)
        if self.recipe.missing == "wildcard":
            wildcards = np.where(tuples.missing_at(vector), -1, codes)
            return matched(wildcards, tuples.people, self.recipe.k)
        return ~self.criteria.suppressed_tuples(vector, list(codes.T))

    def _blanked_cells(self) -> Recoding:
        """Return the recoding that suppresses single cells of rare rows."""
        recipe, tuples, vector = self.recipe, self.tuples, self.vector
        blank, lost = blank_cells(
            tuples.at(vector),
            tuples.missing_at(vector),
            tuples.people,
            recipe.k,
            wildcard=recipe.missing == "wildcard",
            strata=recipe.strata_places,
        )
        heights = np.tile(np.array(vector, dtype=np.int64), (lost.size, 1))
        return by_levels(tuples, heights, ~lost, blank=blank, exact=recipe.preserve_type)

    def _settings(self) -> dict[str, Any]:
        """Return what the manifest says: levels, hierarchies as declared, and what was lost."""
        chosen, recipe = self.chosen, self.recipe
        hierarchies = {
            name: level.hierarchy.declared()
            for name, level in zip(recipe.attributes, self.lattice.levels, strict=True)
        }
        settings: dict[str, Any] = {"quasi_identifiers": list(recipe.names)}
        if recipe.pairs:
            settings["pairs"] = [list(pair) for pair in recipe.pairs]
        if len(recipe.sets) > 1:
            settings["sets"] = [list(names) for names in recipe.sets]
        if recipe.models:
            settings["models"] = [model_settings(model) for model in recipe.models]
        settings |= {"k": recipe.k, "recoding": recipe.recoding, "missing": recipe.missing}
        if recipe.counted == "households":
            settings["household"] = counted_unit(self.table, recipe)
        if recipe.whole_households:
            settings["whole_households"] = True
        if recipe.strata:
            settings["strata"] = list(recipe.strata)
        if recipe.recoding != "mondrian":
            settings["levels"] = dict(chosen.levels)
        return {
            **settings,
            "heights": dict(chosen.heights),
            "hierarchies": hierarchies,
            "prefer": list(recipe.prefer),
            "suppressed": recipe.suppressed,
            **(self._lost_by_level() if self.by_level else self._lost_by_cell()),
            **({"coarsened_first": dict(self.coarsened)} if self.coarsened else {}),
            **self._searched(),
        }

    def _searched(self) -> dict[str, Any]:
        """Return what the search found; with given levels there was none."""
        if self.recipe.levels:
            return {"levels_given": True}
        return {
            "minimal_generalisations": len(self.vectors),
            "equally_preferred": len(self.equally_preferred),
            "search_complete": self.complete,
        }

    def _lost_by_level(self) -> dict[str, Any]:
        """Return suppressed rows, precision and completeness of one vector of levels."""
        chosen = self.chosen
        return {
            "suppressed_rows": chosen.suppressed,
            "precision": {
                name: 1 - level / chosen.heights[name] for name, level in chosen.levels.items()
            },
            "completeness": chosen.completeness,
        }

    def _lost_by_cell(self) -> dict[str, Any]:
        """Return the same where levels differ from row to row."""
        recoding, sizes = self.recoding, self.tuples.sizes
        suppressed = recoding.lost(sizes)
        by_column, overall = recoding.precision(sizes)
        lost: dict[str, Any] = {"suppressed_rows": suppressed}
        if self.recipe.suppressed == "cells":
            lost["suppressed_cells"] = dict(recoding.suppressed_cells)
        return {
            **lost,
            "precision": dict(zip(self.recipe.attributes, by_column, strict=True)),
            "precision_by_cell": overall,
            "completeness": 1 - suppressed / self.tuples.rows,
        }
