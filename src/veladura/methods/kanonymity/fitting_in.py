"""Whether the combinations of the quasi-identifiers fit into the memory of a run.

The search works on distinct combinations, which are held here while rows stay where they live.
Before they are fetched their number is estimated there, by a sketch of their hashes (Flajolet,
Fusy, Gandouet and Meunier 2007). Where they do not fit, columns are coarsened first, to the finest
levels of their hierarchies that fit: rows are counted as if each of their values were the first
that becomes the same, and nothing finer is searched or released. The manifest tells the levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.memory import OF_ROWS, memory_limit
from veladura.errors import PlanError
from veladura.numeric.hierarchies.levels import Levels, apply_hierarchy, distinct_values
from veladura.numeric.hierarchies.suggest import suggest_hierarchy
from veladura.table.counts import count_sets
from veladura.table.database.connection import fetch_query, home_of
from veladura.table.database_errors import without_values
from veladura.table.recode import recode

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity
    from veladura.table.table import Table

BYTES_A_CELL = 16  # of a combination, while they are fetched, coded, sorted and searched: measured


@dataclass(frozen=True, eq=False)
class Coarse:
    """Columns that are coarsened before their combinations are counted.

    Attributes
    ----------
    at
        The level of each such column, of its hierarchy.
    levels
        All levels of every column, of all its values.
    """

    at: Mapping[str, int]
    levels: Mapping[str, Levels] = field(repr=False)

    def table(self, table: Table) -> Table:
        """Return the table, each value replaced by the first of those that become the same."""
        maps = {name: _first_alike(self.levels[name], level) for name, level in self.at.items()}
        recoded = recode(table, maps)
        recoded.cache.rows = table.cache.rows
        return recoded


def fitting(table: Table, recipe: KAnonymity) -> Coarse | None:
    """Return how far columns are coarsened so that combinations fit; None where they fit now.

    Where that is no way, combinations that do not fit are refused before any of them is fetched.
    """
    limit = memory_limit()
    if limit is None or table.in_memory:
        return None
    names = recipe.names
    most = int(OF_ROWS * limit) // (BYTES_A_CELL * len(names))
    if table.rows <= most or (number := combinations(table, recipe)) <= most:
        return None
    levels = _all_levels(table, recipe)
    at = _coarsened(table, recipe, levels, most) if levels else {}
    if at and table.person is None and _can_be_coarse(recipe):
        return Coarse(at, levels)
    advice = (
        "coarsen first, by a step recode before this one, to the finest values that fit: "
        + "; ".join(f"{name} to level {level} of its hierarchy" for name, level in at.items())
        + ". (Full-domain recoding of one row a person, with suppressed rows dropped, does so by"
        " itself.)"
        if at
        else "leave out a quasi-identifier."
    )
    msg = (
        f"{table.source.name} has about {number:,} combinations of {len(names)} quasi-identifiers,"
        f" and at most {most:,} are held within {limit / 2**30:.1f} GiB: the search works on them."
        f" Nothing was read.\n\nHint: {advice} Or allow more with [run] memory."
    )
    raise PlanError(msg)


def _can_be_coarse(recipe: KAnonymity) -> bool:
    """Whether one vector of levels and the classes to drop say all of the release."""
    plain = recipe.recoding == "global" and recipe.suppressed == "drop"
    more = recipe.models or recipe.pairs or recipe.whole_households or recipe.counted != "people"
    return plain and recipe.missing == "category" and not more


def combinations(table: Table, recipe: KAnonymity, coarse: Coarse | None = None) -> int:
    """Return about how many combinations there are, of values as they are or coarsened."""
    if coarse is not None:
        table = coarse.table(table)
    home = home_of(table.expression)
    places = [f"c{table.schema.position(name)}" for name in recipe.names]
    with without_values(table.source.name):
        home._run_pre_execute_hooks(table.expression)  # noqa: SLF001  # shows it rows in memory
        rows = home.compile(table.expression)
        if home.name in ("duckdb", "pyspark"):
            hashed = f"{'hash' if home.name == 'duckdb' else 'xxhash64'}({', '.join(places)})"
            sql = f"SELECT approx_count_distinct({hashed}) AS n FROM ({rows}) AS t"  # noqa: S608
            return int(fetch_query(home, sql).column("n")[0].as_py())
    return table.rows  # elsewhere they may all be different


def _coarsened(
    table: Table, recipe: KAnonymity, levels: Mapping[str, Levels], most: int
) -> dict[str, int]:
    """Return the levels of columns at which the combinations fit; nothing where they never do.

    The column with most values goes up by one level at a time. Given levels are taken as they are.
    """
    if recipe.levels:
        given = {name: level for name, level in recipe.levels.items() if level}
        fits = given and combinations(table, recipe, Coarse(given, levels)) <= most
        return given if fits else {}
    single = [name for name in levels if name not in recipe.strata]
    at = dict.fromkeys(single, 0)
    while True:
        free = [name for name in single if at[name] < levels[name].height]
        if not free:
            return {}
        widest = max(free, key=lambda name: len(levels[name].labels[at[name]]))
        at[widest] += 1
        raised = {name: level for name, level in at.items() if level}
        if combinations(table, recipe, Coarse(raised, levels)) <= most:
            return raised


def _all_levels(table: Table, recipe: KAnonymity) -> dict[str, Levels]:
    """Return the levels of every single column, by one query for the values of all."""
    single = [names for names in recipe.attributes.values() if len(names) == 1]
    levels = {}
    for (name,), counts in count_sets(table, single).items():
        place, base = distinct_values(counts.columns[0])
        sizes = np.bincount(place, weights=counts.size, minlength=base.size).astype(np.int64)
        hierarchy = recipe.hierarchies.get(name) or suggest_hierarchy(base)
        levels[name] = apply_hierarchy(hierarchy, base, sizes)
    return levels


def _first_alike(levels: Levels, level: int) -> pa.Table:
    """Return the values of a column, each with the first that becomes the same at a level."""
    codes = levels.codes[level]
    _, first = np.unique(codes, return_index=True)
    values = levels.base.to_arrow()
    return pa.table({"old": values, "new": values.take(pa.array(first[codes]))})
