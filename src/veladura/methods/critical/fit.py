"""Fit the recipe for critical cells: find the cells, the classes and the order, grow the models."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.checks import check_named
from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.errors import DataError
from veladura.methods.cart.checks import check_synthesisable
from veladura.methods.cart.growing import check_transformed
from veladura.methods.critical.branches import BranchGrower
from veladura.methods.critical.cells import Cells, CriticalWarning, read_conditions
from veladura.methods.critical.constraints import CriticalConstraints
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.fitted import FittedCritical
from veladura.methods.critical.groups import (
    Tie,
    find_classes,
    find_ties,
    order_columns,
    propose,
    report_groups,
)
from veladura.methods.critical.mask import checked_mask
from veladura.methods.critical.rare import LevelMerger, warn_of_left
from veladura.methods.masks.number_codes import find_codes, warn_of_dates
from veladura.numeric.trees.model import load_kernels
from veladura.numeric.trees.variable import check_levels, check_rows
from veladura.table.codes import Codes
from veladura.table.conditions import holds
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.table.table import Table
    from veladura.table.whole import Whole


def fit(
    recipe: CriticalCart, table: Table, context: Context, whole: Whole | None = None
) -> FittedCritical:
    """Return the recipe fitted to a prepared table.

    Parameters
    ----------
    whole
        All rows, where these are only those with a critical cell.
    """
    predictors = _check(recipe, table)
    codes = table.codes(
        [name for name in table.names if name in {*recipe.critical, *predictors, *_named(recipe)}]
    )
    check_rows(codes.rows.size, recipe.min_leaf)
    if whole is not None:
        codes = whole.relabelled(codes)
    else:
        for column in codes.values():
            check_levels(column)
    cells = cells_of(recipe, codes)
    _warn_of_cells(cells, codes.rows.size if whole is None else whole.rows)
    load_kernels(context)
    people = person_numbers(table)[codes.rows] if table.people < codes.rows.size else None
    coded = find_codes(table, codes, list(cells.marks))
    warn_of_dates(table, codes, list(cells.marks))
    rare = LevelMerger(recipe, codes, cells, people, coded, whole).merge()
    grower = BranchGrower.of(recipe, codes, cells, predictors, people, coded, rare)
    count = {name: cells.count[name] for name in table.names if name in cells.marks}
    order = list(recipe.order or order_columns(count, grower.tree_of))
    members = [name for name in codes if codes[name].field.kind != "text"]
    ties: Sequence[Tie] = ()
    groups = recipe.groups
    if groups is None:
        named = {*recipe.critical, *predictors}
        ties = find_ties(codes, order, [name for name in members if name in named])
        groups = propose(ties, recipe.linked)
    else:
        report_groups(groups, order)
    classes = find_classes(groups, order, members)
    if recipe.consistency and recipe.groups == ():
        grower = replace(grower, constraints=_consistent(grower.constraints, cells, order))
    tasks = [
        (class_, pattern) for class_ in classes for pattern in cells.patterns(class_.confidential)
    ]
    branches = context.map("growing trees", lambda task: grower.branch(*task), tasks)
    rest = context.map(
        "growing trees of other cells", grower.rest, order if recipe.others == "replace" else ()
    )
    _warn_of_fixed(grower.constraints)
    fixed = {name: grower.constraints[name].fixed for name in rare.left}
    warn_of_left(rare, fixed, recipe.min_people)
    return FittedCritical(
        recipe,
        table,
        codes,
        cells=cells,
        order=order,
        classes=classes,
        ties=ties,
        constraints=grower.constraints,
        binnings=grower.binnings,
        base=grower.base,
        branches=[*branches, *(branch for branch in rest if branch is not None)],
        rare=rare,
    )


def proposed_groups(recipe: CriticalCart, codes: Codes) -> tuple[tuple[str, ...], ...]:
    """Return the groups that the association of columns proposes, from a sample of all rows."""
    members = [name for name in codes if codes[name].field.kind != "text"]
    ties = find_ties(codes, list(recipe.critical), members)
    return tuple(tuple(group) for group in propose(ties, recipe.linked))


def needed_columns(recipe: CriticalCart) -> set[str]:
    """Return the columns that say which cells are critical."""
    return {*recipe.critical, *_named(recipe)}


def cells_of(recipe: CriticalCart, codes: Codes) -> Cells:
    """Return the critical cells of a table, rows in the order of the codes."""
    masks = None
    if recipe.mask is not None:
        given = checked_mask(recipe.mask, list(recipe.critical), codes.rows.size)
        masks = {name: mark[codes.rows] for name, mark in given.items()}
    return Cells.of(read_conditions(recipe.critical), codes, _mask(recipe, codes), masks)


def _check(recipe: CriticalCart, table: Table) -> list[str]:
    """Refuse names that the table does not have and columns of free text; return the predictors."""
    schema = table.schema
    schema.check("critical", recipe.critical)
    for group in recipe.groups or ():
        schema.check("groups", group)
    grouped = {name for group in recipe.groups or () for name in group}
    check_synthesisable(schema, [*{*recipe.critical, *grouped}])
    check_named("transform", list(recipe.transform), list(recipe.critical))
    check_transformed(recipe.transform, schema)
    for name, condition in read_conditions(recipe.critical).items():
        schema.check(f"critical.{name}", condition.columns)
    if isinstance(recipe.rows, str):
        schema.check("rows", parse(recipe.rows).columns)
    usable = [field.name for field in schema if field.kind != "text"]
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


def _consistent(
    constraints: Mapping[str, CriticalConstraints], cells: Cells, order: Sequence[str]
) -> dict[str, CriticalConstraints]:
    """Let rows in which the same earlier columns are critical too draw from one node of a tree."""
    consistent = {}
    for k, name in enumerate(order):
        party: Ints = np.full(cells.marks[name].size, -1, dtype=np.int64)
        if k:
            for number, pattern in enumerate(cells.patterns(order[:k])):
                party[pattern.rows] = number
        consistent[name] = replace(constraints[name], parties=party)
    return {name: consistent[name] for name in constraints}


def _warn_of_cells(cells: Cells, rows: int) -> None:
    """Warn of conditions that no row meets, or every row."""
    if none := [name for name, count in cells.count.items() if count == 0]:
        msg = f"no row has a critical value in {none}: nothing is replaced there."
        warnings.warn(msg, CriticalWarning, stacklevel=2)
    if every := [
        name
        for name, count in cells.count.items()
        if count == rows and cells.conditions[name].expression is not None
    ]:
        msg = f"every row meets the condition of {every}: whole columns are replaced."
        warnings.warn(msg, CriticalWarning, stacklevel=2)


def _warn_of_fixed(constraints: Mapping[str, CriticalConstraints]) -> None:
    """Warn of cells that nothing can replace."""
    fixed = {name: int(column.fixed.sum()) for name, column in constraints.items()}
    if left := {name: count for name, count in fixed.items() if count}:
        msg = (
            "critical cells that cannot be replaced keep their original value; number by column:"
            f" {left}.\n\nHint: widen the condition, or use keep_inside=False."
        )
        warnings.warn(msg, CriticalWarning, stacklevel=2)
