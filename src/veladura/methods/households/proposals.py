"""Rules across members that the households of a table follow, found by their contents."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.expression import quoted
from veladura.methods.cart.cart import design_columns
from veladura.methods.households.levels import Level, find_levels
from veladura.methods.households.members import FEW, Members, find_order, level_codes
from veladura.table.codes import Column, label_texts
from veladura.table.roles.reserved import are_reserved

if TYPE_CHECKING:
    from veladura.methods.households.household_cart import HouseholdCart
    from veladura.table.table import Table

FEWEST = 50  # households that show a rule
RANK = 5  # the difference that a bound is taken from: that of the fifth household from the end
STEP = 5  # bounds are multiples of it, further out
BY_CHANCE = 0.05  # share of strangers who break it: a rule that they keep too says nothing


def propose(recipe: HouseholdCart, table: Table) -> HouseholdCart:
    """Return the recipe with the order of members and with rules that the households follow.

    Strata and clusters that all members of a household share are kept, as `Cart` suggests.
    A relative is a value of the column of kinds that no household has twice. Ages of members are
    bounded by that of the head where strangers would break the bound: by the fifth household from
    the end, rounded outwards, so that no bound shows the household at the end.
    """
    columns = {name: table.column(name) for name in table.names}
    levels = find_levels(table, columns)
    recipe = _with_design(recipe, table, levels[0])
    if len(levels) == 1:
        return recipe
    below = levels[1]
    taken = {name: columns[name].take(below.row) for name in below.columns}
    order = find_order(Members(taken, below.parent, levels[0].is_person))
    recipe = replace(recipe, members=tuple(order))
    if below.kind is None or levels[0].is_person:
        return recipe
    relatives, always, commonest = _relatives(taken[below.kind], below)
    rules: list[str] = []
    ages = [name for name in order if name != below.kind and taken[name].labels is None]
    for name in always[:1] or commonest:
        head = _row_of(relatives[name], taken[below.kind], below)
        for age in ages:
            rules += _bounds(taken[age], taken[below.kind], below, head, name)
    found = {name: _condition(taken[below.kind], code) for name, code in relatives.items()}
    return replace(
        recipe,
        relatives=found,
        exactly_one=tuple(always),
        rules=(*recipe.rules, *rules),
    )


def _with_design(recipe: HouseholdCart, table: Table, top: Level) -> HouseholdCart:
    """Return the recipe with the columns of the sampling design that it keeps."""
    design = tuple(name for name in design_columns(table.schema) if name in top.columns)
    return replace(recipe, keep=design, draws="plain") if design else recipe


def _relatives(kind: Column, members: Level) -> tuple[dict[str, int], list[str], list[str]]:
    """Return the kinds that no household has twice, those that every one has, and the commonest.

    The commonest is one that most households have: where some lack a head, ages of the others are
    bounded by that of the head all the same.
    """
    codes = level_codes(kind)
    assert codes is not None  # noqa: S101  # it is a column of few values
    units = int(members.parent.max(initial=-1)) + 1
    levels = int(codes.max(initial=-1)) + 1
    pairs, count = np.unique(members.parent * levels + codes, return_counts=True)
    homes = np.bincount(pairs % levels, minlength=levels)
    twice = np.bincount(pairs[count > 1] % levels, minlength=levels)
    named = {
        _name(kind, code): code
        for code in range(min(levels, FEW))
        if homes[code] >= FEWEST and twice[code] <= homes[code] // 1000 and _has_text(kind, code)
    }
    # at most one household in a thousand has none: the release will have it in every one
    always = [name for name, code in named.items() if homes[code] >= units - units // 1000]
    most = max(named, key=lambda name: homes[named[name]], default=None)
    common = [] if most is None or homes[named[most]] <= units / 2 else [most]
    return named, always, common


def _values(kind: Column) -> list[str]:
    """Return the values of a column of kinds, in the order of their codes, as a rule has them."""
    if kind.labels is not None:
        return [f'"{text}"' for text in label_texts(kind)]
    return [f"{value:g}" for value in np.unique(kind.values[~kind.missing])]


def _has_text(kind: Column, code: int) -> bool:
    values = _values(kind)
    return code < len(values) and '"' not in values[code][1:-1]


def _condition(kind: Column, code: int) -> str:
    return f"{quoted(kind.name)} == {_values(kind)[code]}"


def _name(kind: Column, code: int) -> str:
    """Return a name for a relative: the category itself where it is a word."""
    text = _values(kind)[code].strip('"') if code < len(_values(kind)) else ""
    word = re.sub(r"\W+", "_", text).strip("_").lower()
    return word if word.isidentifier() else f"member_{word or code}"


def _row_of(code: int, kind: Column, members: Level) -> Ints:
    """Return for every member the row of the relative in its household; -1 for none."""
    codes = level_codes(kind)
    rows = np.flatnonzero(codes == code)
    place = np.full(int(members.parent.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[members.parent[rows]] = rows
    return place[members.parent]


def _bounds(age: Column, kind: Column, members: Level, head: Ints, name: str) -> list[str]:
    """Return bounds on the difference of ages of every kind of member to that of the head."""
    codes = level_codes(kind)
    assert codes is not None  # noqa: S101  # it is a column of few values
    values = age.values.astype(np.float64)
    known = ~age.missing & ~_are_no_answer(age)
    usable = known & (head >= 0) & known[np.maximum(head, 0)]
    other = quoted(f"{name}.{age.name}") if not age.name.isidentifier() else f"{name}.{age.name}"
    rules: list[str] = []
    for code in range(len(_values(kind))):
        here = np.flatnonzero(usable & (codes == code) & (head != np.arange(head.size)))
        if np.unique(members.parent[here]).size < FEWEST or not _has_text(kind, code):
            continue
        own, theirs = values[here], values[head[here]]
        stranger = own - np.roll(theirs, here.size // 2)
        for sign, word in ((1, "<="), (-1, ">=")):
            bound = sign * _outer(sign * (own - theirs))
            if np.mean(sign * stranger > sign * bound) >= BY_CHANCE:
                rules.append(
                    f"{_condition(kind, code)} implies {quoted(age.name)} - {other} {word}"
                    f" {bound:g}"
                )
    return rules


def _are_no_answer(age: Column) -> Mask:
    """Return which rows hold a code for no answer, such as 999: no age is bounded by it."""
    levels, place, sizes = np.unique(age.values, return_inverse=True, return_counts=True)
    reserved: Mask = are_reserved(levels, sizes)[place.reshape(-1)]
    return reserved


def _outer(differences: Floats) -> float:
    """Return an upper bound of nearly all differences: that of the fifth from above, rounded up.

    Examples
    --------
    >>> _outer(np.array([-16.0, -17, -18, -18, -19, -30]))
    -15.0
    """
    ordered = np.sort(differences)[::-1]
    return float(np.ceil(ordered[min(RANK, ordered.size) - 1] / STEP) * STEP)
