"""Who a release is about: measures compare it with those people of the original only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.table.conditions import holds
from veladura.table.recode import replace as at_rows
from veladura.table.units import with_units

if TYPE_CHECKING:
    from veladura.base.expression import Expression
    from veladura.core.release import Release
    from veladura.table.table import Table


def among_its_people(original: Table, release: Release) -> tuple[Table, Release]:
    """Return original and release as if the source held nobody else than the release is about.

    A step such as `Filter` says who that is. So neither utility counts a change of the population
    as damage, nor does a number of people tell how many were left out. A release whose condition
    nobody satisfies, which only a private method makes, is compared with everybody.

    Parameters
    ----------
    original
        The released columns, and those of the conditions.
    """
    conditions = conditions_of(release)
    names = release.tables[0].table.names
    released = original.select(names) if set(names) < set(original.names) else original
    if not conditions or not original.in_memory:
        return released, release
    kept = np.flatnonzero(np.logical_and.reduce([_holds(c, original) for c in conditions]))
    if not kept.size:
        return released, release
    place = np.full(original.rows, -1, dtype=np.int64)
    place[kept] = np.arange(kept.size)
    tables = tuple(
        dataset if dataset.rows is None else replace(dataset, rows=place[dataset.rows])
        for dataset in release.tables
    )
    source = None if release.original is None else _at(release.original, kept)
    return _at(released, kept), replace(release, original=source, tables=tables)


def conditions_of(release: Release) -> list[Expression]:
    """Return the conditions that say who a release is about."""
    return [
        condition
        for step in release.steps
        if step.recipe is not None
        and (condition := step.recipe.population(step.settings)) is not None
    ]


def _holds(condition: Expression, table: Table) -> Mask:
    return holds(condition, {name: table.column(name) for name in condition.columns})


def _at(table: Table, rows: Ints) -> Table:
    """Return a table at some of its rows, units included."""
    taken = replace(at_rows(table, {}, rows), source=table.source)
    return taken if table.whole is None else taken.beside(with_units(taken, table, rows))
