"""Fit a synthesis: decide the order of the columns, and grow the model of each on the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veladura.base.arrays import Ints
from veladura.base.blas import one_thread
from veladura.base.context import Context
from veladura.base.expression import Expression, parse
from veladura.base.scratch import kept as memory_kept
from veladura.methods.cart.cart import Cart
from veladura.methods.cart.drawn_as import drawn_as, perhaps_codes
from veladura.methods.cart.fitted import FittedCart
from veladura.methods.cart.merged_levels import holders_of, merged_levels
from veladura.methods.cart.order import Unit, by_dependence, late, order_of_synthesis, predicting
from veladura.methods.cart.rules import check_rules
from veladura.methods.cart.strata import Strata, columns_of, find_strata
from veladura.methods.cart.unit_grower import UnitGrower, growing_of
from veladura.methods.masks.number_codes import find_codes, warn_of_dates
from veladura.numeric.trees.bins import bin_columns
from veladura.numeric.trees.model import load_kernels
from veladura.numeric.trees.people import growing_people
from veladura.numeric.trees.variable import check_levels, check_rows
from veladura.table.codes import Codes, Column
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.table.table import Table
    from veladura.table.whole import Whole


def fit(recipe: Cart, table: Table, context: Context, whole: Whole | None = None) -> FittedCart:
    """Return the recipe fitted to a prepared table.

    Parameters
    ----------
    whole
        All rows, where the table is a sample of them: how many people share a value is counted
        there.
    """
    replaced = recipe.replaced(table.schema)
    usable = [name for name in table.names if table.schema[name].kind != "text"]
    kept = predicting(
        recipe.predictors, [name for name in usable if name not in replaced], replaced
    )
    rules = [parse(rule) for rule in recipe.rules]
    codes = _codes(recipe, table, rules, {*replaced, *kept}, whole)
    if rules:
        check_rules(rules, codes)
    people = person_numbers(table)[codes.rows] if table.people < codes.rows.size else None
    coded = find_codes(table, codes, perhaps_codes(codes, replaced))
    warn_of_dates(table, codes, replaced)
    return fit_codes(recipe, table, codes, context, people=people, coded=coded, whole=whole)


def fit_codes(
    recipe: Cart,
    table: Table,
    codes: Codes,
    context: Context,
    *,
    people: Ints | None,
    coded: Sequence[str],
    whole: Whole | None = None,
    all_move: bool = False,
    clusters: Ints | None = None,
    rows_per_term: float = 0.0,
    everyone: Mapping[str, Column] | None = None,
) -> FittedCart:
    """Return the recipe fitted to columns of codes.

    Parameters
    ----------
    table
        Where the codes come from; only its schema is looked at.
    people
        Whose row each is, in the order of the codes; None where every row is a person.
    coded
        The columns of numbers that hold codes.
    whole
        All rows, where the codes are a sample of them.
    all_move
        Whether numbers that many people share move too.
    clusters
        The cluster of each row, where leaves hold as many clusters as people.
    rows_per_term
        Fewest rows for each term of a linear score.
    everyone
        By name a column of all people, where these rows are those of one kind: a few numbers are
        ranked among all.
    """
    replaced = recipe.replaced(table.schema)
    everything = len(replaced) == len(table.names)
    usable = [name for name in table.names if table.schema[name].kind != "text"]
    kept = predicting(
        recipe.predictors, [name for name in usable if name not in replaced], replaced
    )
    rules = [parse(rule) for rule in recipe.rules]
    holders = {} if whole is None else holders_of(codes, replaced, coded, whole)
    # one thread of BLAS: more would wait for each other, and change last digits
    with one_thread():
        merged = merged_levels(recipe, codes, replaced, coded, people, holders)
    codes = replace(codes, columns={**codes.columns, **merged})
    binnings, base = bin_columns({name: codes[name] for name in codes if name in usable})
    strata = None
    if recipe.strata:
        strata = find_strata(
            recipe.strata, codes, replaced, recipe.people_in_leaf, everything=everything
        )
    variables = {
        name: drawn_as(
            recipe,
            codes[name],
            people,
            strata,
            whole,
            coded=name in coded,
            all_move=all_move,
            everyone=(everyone or {}).get(name),
        )
        for name in replaced
    }
    units = _units(recipe, codes, replaced, kept, strata)
    binding = _binding(rules, units)
    load_kernels(context)
    grow = growing_of(recipe, people)
    if clusters is not None:
        grow = growing_people(grow, clusters)
    grower = UnitGrower(
        recipe,
        codes,
        variables,
        list(binnings),
        base,
        strata,
        binding,
        context,
        grow,
        rows_per_term,
    )
    runs = recipe.m if recipe.proper else 1
    tasks = [(run, unit) for run in range(runs) for unit in units]
    # the last have most predictors: they start first, so that no thread waits for one of them
    with one_thread(), memory_kept():
        if recipe.linear_scores:
            moments = [grower.moments_of_run(run, units) for run in range(runs)]
            grower = replace(grower, moments=moments)
        grown = context.map("growing trees", grower.grow, tasks[::-1])[::-1]
    return FittedCart(
        recipe,
        table,
        codes,
        units=units,
        variables=variables,
        binnings=binnings,
        base=base,
        strata=strata,
        rules=binding,
        models=[grown[run * len(units) : (run + 1) * len(units)] for run in range(runs)],
        margins=[grower.margin(unit) for unit in units],
        everything=everything,
        merged=[name for name in table.names if name in merged],
    )


def _codes(
    recipe: Cart,
    table: Table,
    rules: Sequence[Expression],
    names: set[str],
    whole: Whole | None,
) -> Codes:
    """Return the columns that are replaced, predict, or are named by rules and strata; checked."""
    ruled = {name for rule in rules for name in rule.columns}
    table.schema.check("rules", sorted(ruled))
    named = names | ruled
    if recipe.strata:
        named |= columns_of(recipe.strata, table.names)
    codes = table.codes([name for name in table.names if name in named])
    check_rows(codes.rows.size, recipe.people_in_leaf)
    for column in codes.values():
        check_levels(column)
    return codes if whole is None else whole.relabelled(codes)


def _units(
    recipe: Cart, codes: Codes, replaced: Sequence[str], kept: Sequence[str], strata: Strata | None
) -> list[Unit]:
    """Return the columns in the order of synthesis; those that make the strata come first."""
    order: Sequence[str] = replaced if isinstance(recipe.order, str) else recipe.order
    if recipe.order == "dependence":
        order = by_dependence(codes, replaced)
    elif recipe.order == "late":
        order = late(codes, replaced)
    stratifying = () if strata is None else strata.drawn
    first = [*stratifying, *(name for name in order if name not in stratifying)]
    return order_of_synthesis(
        first + [name for name in replaced if name not in first],
        kept,
        stratifying if isinstance(recipe.order, str) else first,
        recipe.predictors,
        (*recipe.groups, *([stratifying] if len(stratifying) > 1 else [])),
    )


def _binding(rules: Sequence[Expression], units: Sequence[Unit]) -> dict[str, list[Expression]]:
    """Return the rules by the column that is drawn last among theirs: there they can be kept."""
    drawn = [name for unit in units for name in unit.columns]
    binding: dict[str, list[Expression]] = {}
    for rule in rules:
        own = [name for name in drawn if name in rule.columns]
        if own:
            binding.setdefault(own[-1], []).append(rule)
    return binding
