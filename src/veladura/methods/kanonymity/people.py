"""People with several rows: how k-anonymity counts them, and what it cannot count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.errors import DataError, PlanError
from veladura.methods.kanonymity.privacy_models import LDiversity
from veladura.table.units import count_people, people_per_cell

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity
    from veladura.table.table import Table
    from veladura.table.units import PeopleCounts


def counted_unit(table: Table, recipe: KAnonymity) -> str | None:
    """Return the column of the units that k counts: people or households; None for rows."""
    if recipe.counted == "households":
        return household_of(table, 'counted = "households"')
    return table.person


def household_of(table: Table, setting: str) -> str:
    """Return the household column; refuse a table that does not say who lives together."""
    name = table.units.schema.household
    if name is None:
        msg = (
            f"{setting} needs to know who lives together.\n\nHint: declare the column with the"
            ' number of the household: role = "household".'
        )
        raise PlanError(msg)
    homes = table.units.counts([name])
    if missing := int(homes.size[homes.columns[0].missing].sum()):
        msg = (
            f"the household column {name!r} is missing in {missing} rows: nobody can say with whom"
            " they live.\n\nHint: give each of these rows a household of its own in the source."
        )
        raise DataError(msg)
    return name


def repeated_people(table: Table, recipe: KAnonymity) -> PeopleCounts | None:
    """Return the people of each tuple of quasi-identifiers; None where every row is a person.

    Where a person's quasi-identifiers are the same in all rows, the people of several tuples add
    up. Where they differ, only one generalisation for all rows can be counted exactly. With
    ``counted="households"`` people are households.
    """
    unit = counted_unit(table, recipe)
    if unit is None or table.units.counts([unit]).size.size == table.rows:
        return None
    counts = count_people(table, recipe.names, unit)
    if not counts.one_tuple_each:
        _refuse_what_adds_up(recipe)
    return counts


def _refuse_what_adds_up(recipe: KAnonymity) -> None:
    """Refuse settings that add up people, for people who hold several tuples."""
    words = [
        f'{setting} = "{getattr(recipe, setting)}"'
        for setting, wrong in (
            ("recoding", ("local", "mondrian")),
            ("suppressed", ("cells",)),
            ("missing", ("wildcard", "both")),
        )
        if getattr(recipe, setting) in wrong
    ]
    words += [model.name for model in recipe.models if not isinstance(model, LDiversity)]
    if len(recipe.sets) > 1:
        words.append("several lists of quasi-identifiers")
    if words:
        units, one = (
            ("households", "household") if recipe.counted == "households" else ("people", "person")
        )
        msg = (
            f"{', '.join(words)} cannot be counted in {units} here: the quasi-identifiers of some"
            f" {units} differ from row to row, so that a {one} is in several equivalence classes."
            '\n\nHint: use recoding = "global", suppressed = "drop" or "star", missing = "category"'
            f" and l-diversity; or make the quasi-identifiers constant for each {one} in the"
            " source."
        )
        raise PlanError(msg)


def rows_of_whole_households(classes: Ints, units: Ints, households: Ints, k: int) -> Mask:
    """Return the largest set of rows, households whole, in which every class has k units.

    Taking a household away lowers the counts of other classes, so suppression is repeated until
    nothing changes. What it ends with is the largest such set: any other is part of it, since none
    of its rows is ever taken away.

    Examples
    --------
    >>> classes, homes = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 2, 3, 4, 4])
    >>> rows_of_whole_households(classes, np.arange(6), homes, 2).tolist()
    [True, True, True, True, False, False]
    """
    alive = np.ones(classes.size, dtype=bool)
    number = int(classes.max(initial=-1)) + 1
    _, units = np.unique(units, return_inverse=True)
    while True:
        people = people_per_cell(classes[alive], units[alive], number)
        few = alive & (people[classes] < k)
        if not few.any():
            return alive
        alive &= ~np.isin(households, households[few])
