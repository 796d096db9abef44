"""Fit the recipe for critical cells: find the cells, the classes and the order, then grow a tree or clusters for every branch."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.errors import DataError, PlanError
from veladura.methods.cart.cart import MAX_LEVELS, check_rows
from veladura.methods.cart.order import check_named
from veladura.methods.critical.cells import Cells, CriticalWarning, Pattern, read_conditions
from veladura.methods.critical.classes import (
    Class,
    Tie,
    find_classes,
    find_ties,
    order_columns,
    propose,
    report_groups,
)
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.fitted import Branch, FittedCritical
from veladura.methods.critical.single import SingleModel, Soil
from veladura.methods.critical.terms import CriticalTerms, terms_of
from veladura.methods.critical.tuples import TupleModel, cluster, tuple_numbers
from veladura.numeric.trees.bins import Binning, binning_of
from veladura.numeric.trees.column import Subject, check_levels, subject_of
from veladura.numeric.trees.model import load_kernels
from veladura.numeric.trees.tree import Growth, Predictors, Tree, stack
from veladura.table.codes import Codes, Column
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.table.table import Table

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def fit(recipe: CriticalCart, table: Table, context: Context) -> FittedCritical:
    """Return the recipe fitted to a prepared table."""
    predictors = _check(recipe, table)
    named = _named(recipe)
    codes = table.codes(
        [name for name in table.names if name in {*recipe.critical, *predictors, *named}]
    )
    check_rows(codes.rows.size, recipe.min_leaf)
    for column in codes.values():
        check_levels(column, MAX_LEVELS)
    cells = Cells.of(read_conditions(recipe.critical), codes, _mask(recipe, codes))
    _report_cells(cells, codes.rows.size)
    load_kernels(context)
    ground = _Ground.of(recipe, codes, cells, predictors)
    order = order_columns(
        {name: cells.count[name] for name in table.names if name in cells.marks}, ground.tied_tree
    )
    ties: Sequence[Tie] = ()
    groups = recipe.groups
    members = [name for name in codes if codes[name].field.kind != "text"]
    if groups is None:
        ties = find_ties(
            codes, order, [name for name in members if name in {*recipe.critical, *predictors}]
        )
        groups = propose(ties, recipe.linked)
    else:
        report_groups(groups, order)
    classes = find_classes(groups, order, members)
    tasks = [(one, pattern) for one in classes for pattern in cells.patterns(one.confidential)]
    parties = _parties(cells, order) if recipe.consistency and recipe.groups == () else {}
    ground = replace(
        ground,
        terms={
            name: replace(terms, parties=parties.get(name)) for name, terms in ground.terms.items()
        },
    )
    branches = context.map("growing trees", lambda task: ground.branch(*task), tasks)
    rest = context.map(
        "growing trees of other cells", ground.rest, order if recipe.others == "replace" else ()
    )
    _report_fixed(ground.terms)
    return FittedCritical(
        recipe,
        table,
        codes,
        cells,
        order,
        classes,
        ties,
        ground.terms,
        ground.binnings,
        ground.base,
        [*branches, *(one for one in rest if one is not None)],
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Ground:
    """Everything that branches are grown from."""

    recipe: CriticalCart
    codes: Codes
    cells: Cells
    terms: dict[str, CriticalTerms]
    binnings: dict[str, Binning]
    base: Predictors

    @classmethod
    def of(
        cls, recipe: CriticalCart, codes: Codes, cells: Cells, predictors: Sequence[str]
    ) -> _Ground:
        terms = {
            name: terms_of(
                _subject(recipe, codes[name], cells),
                condition,
                codes,
                cells.marks[name],
                smooth=recipe.smoothing != "none",
                inside=recipe.keep_inside,
            )
            for name, condition in cells.conditions.items()
        }
        binnings = {
            name: binning_of(column) for name, column in codes.items() if name in predictors
        }
        base = stack(
            [binnings[name].codes(codes[name].values, codes[name].missing) for name in binnings],
            list(binnings.values()),
        )
        return cls(recipe, codes, cells, terms, binnings, base)

    def branch(self, class_: Class, pattern: Pattern) -> Branch:
        """Return a branch: clusters where rows are critical in several columns, else a tree."""
        if len(pattern.columns) == 1:
            return self._single(pattern)
        return self._tuples(class_, pattern)

    def rest(self, name: str) -> Branch | None:
        """Return the branch of a column's other cells, or None when there are none."""
        mark = ~self.cells.marks[name]
        if not mark.any():
            return None
        subject = self.terms[name].subject
        condition = self.cells.conditions[name]
        terms = terms_of(subject, condition, self.codes, mark, smooth=True, inside=False)
        free = replace(terms, cut=True, guard="drawn", fixed=np.zeros(mark.size, dtype=bool))
        rows = np.flatnonzero(mark)
        return Branch((name,), rows, self._model(free, rows, None), rest=True)

    def _single(self, pattern: Pattern) -> Branch:
        """Return a tree on the rows of the branch, or on all that are critical in its column when they are too few."""
        name, recipe = pattern.columns[0], self.recipe
        terms, mark = self.terms[name], self.cells.marks[name]
        rows = pattern.rows
        widened = not self._enough([terms], rows)
        if not recipe.keep_inside and not terms.moves:
            return Branch(
                pattern.columns, pattern.rows, self._model(terms, np.arange(mark.size), None)
            )
        if widened:
            rows = np.flatnonzero(mark)
        few = rows.size < 2 * recipe.min_leaf
        return Branch(
            pattern.columns,
            pattern.rows,
            self._model(terms, np.arange(mark.size) if few else rows, mark if few else None),
            widened and rows.size > pattern.rows.size,
        )

    def _model(self, terms: CriticalTerms, rows: Ints, donors: Mask | None) -> SingleModel:
        recipe = self.recipe
        features = [i for i, other in enumerate(self.binnings) if other != terms.subject.name]
        soil = Soil(
            terms,
            rows,
            donors,
            features,
            Growth(min_leaf=recipe.min_leaf, min_distinct=recipe.min_distinct),
        )
        return SingleModel(
            terms,
            soil.grow(self.base),
            soil,
            recipe.bandwidth,
            recipe.smoothing != "none",
            recipe.regrow,
        )

    def _tuples(self, class_: Class, pattern: Pattern) -> Branch:
        """Return the clusters of a combination; when its rows are too few, of all rows critical in at least its columns."""
        recipe, terms = self.recipe, [self.terms[name] for name in pattern.columns]
        donors, widened = pattern.rows, False
        if not self._enough(terms, donors):
            donors, widened = (
                np.flatnonzero(
                    np.logical_and.reduce([self.cells.marks[name] for name in pattern.columns])
                ),
                True,
            )
        members = [self.codes[name] for name in (*class_.confidential, *class_.others)]
        tree, leaves = cluster(
            terms,
            members,
            donors,
            pattern.rows,
            min_leaf=recipe.min_leaf,
            min_distinct=recipe.min_distinct,
            spread=recipe.spread,
            scale=recipe.scale,
        )
        model = TupleModel(
            terms, tree, pattern.rows, leaves, recipe.bandwidth, recipe.smoothing != "none"
        )
        return Branch(
            pattern.columns, pattern.rows, model, widened and donors.size > pattern.rows.size
        )

    def _enough(self, terms: Sequence[CriticalTerms], rows: Ints) -> bool:
        """Whether rows make a leaf: enough of them, with enough different values."""
        if rows.size < self.recipe.min_leaf:
            return False
        return int(tuple_numbers(terms, rows).max()) + 1 >= self.recipe.min_distinct

    def tied_tree(self, name: str, tied: Sequence[str]) -> tuple[Tree | None, dict[int, str]]:
        """Return the tree of a column on its critical rows, and which features are the columns it is tied with."""
        pair = self._model(self.terms[name], np.flatnonzero(self.cells.marks[name]), None).pair
        return pair.numbers or pair.states, {
            i: other for i, other in enumerate(self.binnings) if other in tied
        }


def _subject(recipe: CriticalCart, column: Column, cells: Cells) -> Subject:
    """Return how a column is drawn: shared values stay as they are only where whole columns are replaced; no number crosses nought.

    Also where values of other rows are handed out, those that came back to their own row must move.
    """
    limits: tuple[float | None, float | None] = (None, None)
    if column.labels is None and column.field.kind != "date":
        known = column.values[~column.missing]
        limits = (
            0.0 if known.size and known.min() >= 0 else None,
            0.0 if known.size and known.max() <= 0 else None,
        )
    whole = cells.conditions[column.name].expression is None
    smoothing = "local" if recipe.smoothing == "none" else recipe.smoothing
    return subject_of(
        column, spikes=None if whole else (), smoothing=smoothing, guarded=False, limits=limits
    )


def _check(recipe: CriticalCart, table: Table) -> list[str]:
    """Refuse names that the table does not have and columns of free text; return the predictors."""
    schema = table.schema
    schema.check("critical", recipe.critical)
    for group in recipe.groups or ():
        schema.check("groups", group)
    usable = [field.name for field in schema if field.kind != "text"]
    if text := [
        name
        for name in {*recipe.critical, *(n for group in recipe.groups or () for n in group)}
        if name not in usable
    ]:
        msg = (
            f"columns of free text cannot be synthesised: {sorted(text)}.\n\nHint: declare role"
            " 'identifier' to drop them, or another kind."
        )
        raise PlanError(msg)
    for name, condition in read_conditions(recipe.critical).items():
        schema.check(f"critical.{name}", condition.columns)
    if isinstance(recipe.rows, str):
        schema.check("rows", parse(recipe.rows).columns)
    if recipe.predictors is None:
        return usable
    check_named("predictors", recipe.predictors, usable)
    return [name for name in usable if name in recipe.predictors]


def _named(recipe: CriticalCart) -> set[str]:
    """Return the columns that conditions and groups name."""
    conditions = read_conditions(recipe.critical).values()
    grouped = {name for group in recipe.groups or () for name in group}
    marked = parse(recipe.rows).columns if isinstance(recipe.rows, str) else ()
    return {*(name for condition in conditions for name in condition.columns), *grouped, *marked}


def _mask(recipe: CriticalCart, codes: Codes) -> Mask | None:
    """Return which rows may have critical cells, in the order of the codes."""
    if recipe.rows is None:
        return None
    if isinstance(recipe.rows, str):
        return holds(parse(recipe.rows), codes)
    if len(recipe.rows) != codes.rows.size:
        msg = (
            f"rows marks {len(recipe.rows)} rows, the table has {codes.rows.size}.\n\nHint: give"
            " true or false for every row of the table, in its order."
        )
        raise DataError(msg)
    return np.array(recipe.rows, dtype=bool)[codes.rows]


def _report_cells(cells: Cells, rows: int) -> None:
    """Warn of conditions that no row meets, or every row."""
    if none := [name for name, count in cells.count.items() if count == 0]:
        warnings.warn(
            f"no row has a critical value in {none}: there is nothing to replace.",
            CriticalWarning,
            stacklevel=2,
        )
    if every := [
        name
        for name, count in cells.count.items()
        if count == rows and cells.conditions[name].expression is not None
    ]:
        msg = f"every row meets the condition of {every}: whole columns are replaced."
        warnings.warn(msg, CriticalWarning, stacklevel=2)


def _report_fixed(terms: dict[str, CriticalTerms]) -> None:
    """Warn of columns with one critical value only, and of cells that nothing can replace."""
    if lone := [
        name
        for name, one in terms.items()
        if one.guard == "values"
        and np.unique(one.pool).size == 1
        and one.fixed.sum() < one.pool.size
    ]:
        msg = (
            f"columns with one distinct critical value: {lone}. Their pool was widened to a kernel"
            " as wide as the whole column's."
        )
        warnings.warn(msg, CriticalWarning, stacklevel=2)
    if left := {name: int(one.fixed.sum()) for name, one in terms.items() if one.fixed.any()}:
        msg = (
            f"critical cells that nothing can replace stay as they are, by column: {left}.\n\nHint:"
            " widen the condition, or use keep_inside=False."
        )
        warnings.warn(msg, CriticalWarning, stacklevel=2)


def _parties(cells: Cells, order: Sequence[str]) -> dict[str, Ints]:
    """Return, for every column, a number for each combination of earlier columns that are critical too; -1 without any."""
    found = {}
    for k, name in enumerate(order):
        party = np.full(cells.marks[name].size, -1, dtype=np.int64)
        if k:
            for number, pattern in enumerate(cells.patterns(order[:k])):
                party[pattern.rows] = number
        found[name] = party
    return found
