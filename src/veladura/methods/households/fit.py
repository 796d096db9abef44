"""Fit a synthesis by household: the levels of a table, and the models of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.base.context import Context
from veladura.base.expression import quoted
from veladura.methods.cart.drawn_as import perhaps_codes
from veladura.methods.households.checks import (
    check_across,
    check_settings,
    refuse_varying_kept,
)
from veladura.methods.households.children import FROM, SIZE, TO, Columns, whole_numbers
from veladura.methods.households.drawing import Family
from veladura.methods.households.effects import ClusterEffects, fit_effects
from veladura.methods.households.fitted import FittedHouseholds
from veladura.methods.households.given import fit_columns, fit_given
from veladura.methods.households.growing import fit_children
from veladura.methods.households.levels import Level, find_levels, is_constant
from veladura.methods.households.members import Members, find_order
from veladura.methods.households.promises import sizes_in
from veladura.methods.households.rules import MemberRules
from veladura.methods.masks.number_codes import find_codes
from veladura.numeric.trees.variable import check_rows
from veladura.table.codes import Codes, Column, label_texts
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart
    from veladura.methods.households.household_cart import HouseholdCart
    from veladura.table.table import Link, Table

DESIGN = ("strata", "cluster")  # roles of columns whose numbers are names


def fit(recipe: HouseholdCart, table: Table, context: Context) -> FittedHouseholds:
    """Return the recipe fitted to a prepared table."""
    recipe = _with_links(recipe, table)
    columns = {name: table.column(name) for name in table.names}
    codes = Codes(columns, np.arange(table.rows))
    check_settings(recipe, table, codes)
    coded = find_codes(table, codes, perhaps_codes(codes, table.names))
    levels = find_levels(table, columns, recipe.members)
    check_rows(levels[0].units, recipe.cart().people_in_leaf)
    across = recipe.across
    check_across(across, table, columns, levels)
    top = levels[0]
    counted = counted_columns(columns, levels)
    refuse_varying_kept(recipe, top, counted)
    above = [name for name in top.columns if name not in counted]
    own = {name: columns[name].take(top.row) for name in above}
    kept = kept_design(recipe.keep, table, own)
    effects = _effects(table, kept, levels, columns, counted)
    made: dict[str, Column] = {}
    if effects is not None:
        made = effects.drawn(context.streams("cluster effects", "trees"))
        kept = {n: c for n, c in kept.items() if table.schema[n].role != "cluster"}
    roots = _roots(recipe, {**kept, **made}, own, effects, context.within("units"), coded)
    families: list[Family] = []
    given = {**kept, **made}  # of households; the others are of the level above
    seen, waves = waves_of_homes(levels, columns), None
    if seen:
        known = {name: column for name, column in own.items() if name not in recipe.keep}
        waves = fit_given(recipe, known | given, seen, context.within("waves"), coded)
        given |= seen
    above = [name for name in above if name not in recipe.keep]
    home = np.arange(top.units)
    for i, level in enumerate(levels[1:], start=1):
        parents = levels[i - 1]
        children = fit_children(
            recipe,
            {name: column.take(home) for name, column in given.items()}
            | {name: columns[name].take(parents.row) for name in above},
            {name: columns[name].take(level.row) for name in level.columns},
            level.parent,
            level.position,
            (level.kind, level.kinds),
            context.within("rows", i),
            coded,
            all_move=not parents.is_person,
            clusters=None if effects is None else effects.cluster[home],
            owner=parents.parent if i > 1 and levels[i - 2].is_person else None,
        )
        rules = across if i == 1 else MemberRules({}, (), ())
        rules = replace(rules, distinct=level.times)
        families.append(Family(children, rules or None))
        above += level.columns
        home = home[level.parent]
    return FittedHouseholds(
        recipe,
        table,
        codes,
        levels=levels,
        roots=roots,
        families=families,
        counted=counted,
        kept=kept,
        effects=effects,
        waves=waves,
    )


def waves_of_homes(levels: Sequence[Level], columns: Columns) -> dict[str, Column]:
    """Return the first and the last wave of every household, where they differ between households.

    Members come and go together. Drawn for the household, they predict the rows of everyone in it.
    """
    if len(levels) < 3 or levels[-1].kind not in levels[-1].times:  # noqa: PLR2004
        return {}
    time = columns[str(levels[-1].kind)]
    home = levels[-2].parent[levels[-1].parent]
    values = time.values[levels[-1].row].astype(np.int64)
    ends = np.full((2, levels[0].units), np.iinfo(np.int64).max)
    np.minimum.at(ends[0], home, values)
    np.minimum.at(ends[1], home, -values)
    found = {FROM: whole_numbers(FROM, ends[0]), TO: whole_numbers(TO, -ends[1])}
    return {name: column for name, column in found.items() if np.ptp(column.values)}


def _roots(
    recipe: HouseholdCart,
    given: Columns,
    own: Columns,
    effects: ClusterEffects | None,
    context: Context,
    coded: Sequence[str],
) -> list[FittedCart]:
    """Return the models of the columns of households.

    With effects of clusters, columns that are constant within these come first, such as a weight:
    their leaves may hold a single cluster, those of all others hold several.
    """
    drawn = {name: column for name, column in own.items() if name not in recipe.keep}
    if effects is None:
        cart = recipe.cart(list(drawn), known=list(own)) if drawn else None
        return [] if cart is None else [fit_columns(cart, {**own, **given}, context, None, coded)]
    first = {n: c for n, c in drawn.items() if is_constant(c, effects.cluster)}
    rest = {n: c for n, c in drawn.items() if n not in first}
    roots = []
    if first:
        roots.append(fit_given(recipe, given, first, context.within("clusters"), coded))
    if rest:
        known, cluster = {**given, **first}, effects.cluster
        roots.append(fit_given(recipe, known, rest, context, coded, clusters=cluster))
    return roots


def kept_design(keep: Sequence[str], table: Table, own: Columns) -> dict[str, Column]:
    """Return kept columns as predictors: numbers of strata and clusters are names, no amounts."""
    kept = {name: own[name] for name in own if name in keep}
    return {
        name: as_categories(column) if table.schema[name].role in DESIGN else column
        for name, column in kept.items()
    }


def as_categories(column: Column) -> Column:
    """Return a column of numbers as categories."""
    if column.labels is not None:
        return column
    levels, place = np.unique(column.values[~column.missing], return_inverse=True)
    codes = np.zeros(column.size, dtype=np.int64)
    codes[~column.missing] = place.reshape(-1)
    about = replace(column.field, kind="category")
    return Column(about, codes, column.missing, pa.array(levels))


def _effects(
    table: Table, kept: Columns, levels: Sequence[Level], columns: Columns, counted: Sequence[str]
) -> ClusterEffects | None:
    """Return the effects of kept clusters on all that is drawn; None without clusters."""
    roles = {table.schema[name].role: column for name, column in kept.items()}
    if "cluster" not in roles:
        return None
    top = levels[0]
    numbered = {
        role: np.unique(column.key(), return_inverse=True)[1].reshape(-1).astype(np.int64)
        for role, column in roles.items()
    }
    stratum = numbered.get("strata", np.zeros(top.units, dtype=np.int64))
    home = np.arange(top.units)
    drawn: dict[str, tuple[Column, Ints]] = {}
    for level in levels:
        home = home if level is top else home[level.parent]
        for name in level.columns:
            if name not in kept and name not in counted:
                drawn[name] = (columns[name].take(level.row), home)
        if level is top and len(levels) > 1:
            size = levels[1].sizes(top.units)
            drawn[SIZE] = (whole_numbers(SIZE, size), home)
    return fit_effects(numbered["cluster"], stratum, drawn)


def _with_links(recipe: HouseholdCart, table: Table) -> HouseholdCart:
    """Return the recipe with rules for linked tables: who has no row below holds nothing of it.

    Where several tables have one parent, rows of one hold nothing of the others. They are drawn one
    table after the other, each from its earliest row.
    """
    rules: list[str] = []
    order: list[str] = []
    for link in table.source.links:
        columns = [name for name in link.columns if name in table.names]
        if link.present in table.names:
            none = f'{quoted(str(link.present))} == "no"'
            rules += [f"{none} implies {quoted(name)} is missing" for name in columns]
        if link.row_of in table.names:
            which = quoted(str(link.row_of))
            rules += [
                f'{which} != "{link.name}" implies {quoted(name)} is missing' for name in columns
            ]
            if link.present in table.names and not order:
                rules += [f"{none} implies {which} is missing"]
                rules += [f'{quoted(str(link.present))} == "yes" implies not {which} is missing']
            order = [*(order or [str(link.row_of)]), *_time_of(link, table, columns)]
    rules = list(dict.fromkeys(rule for rule in rules if rule not in recipe.rules))
    members = (*order, *(name for name in recipe.members if name not in order))
    return replace(recipe, rules=(*recipe.rules, *rules), members=members)


def _time_of(link: Link, table: Table, columns: Sequence[str]) -> list[str]:
    """Return the column that puts the rows of one of several tables in order, if there is one."""
    which = table.column(str(link.row_of))
    own = [text == link.name for text in label_texts(which)] + [False]
    rows = np.flatnonzero(np.array(own)[np.where(which.missing, len(own) - 1, which.values)])
    person = person_numbers(table)[rows]
    number = np.unique(person, return_inverse=True)[1].reshape(-1).astype(np.int64)
    taken = {name: table.column(name).take(rows) for name in columns}
    return find_order(Members(taken, number, of_person=True))


def counted_columns(columns: dict[str, Column], levels: list[Level]) -> tuple[str, ...]:
    """Return the columns of the top level that say how many members a unit has."""
    if len(levels) == 1:
        return ()
    size = levels[1].sizes(levels[0].units)
    taken = {name: columns[name].take(levels[0].row) for name in levels[0].columns}
    return tuple(
        name
        for name, column in taken.items()
        if size.min() < size.max()
        and not column.missing.any()
        and np.array_equal(sizes_in(column), size)
    )
