"""Whether the combinations of the quasi-identifiers fit into the memory of a run.

The search works on distinct combinations, which are held here while rows stay where they live.
Before they are fetched their number is estimated there, by a sketch of their hashes (Flajolet,
Fusy, Gandouet and Meunier 2007). Where they do not fit, the run is refused, and told which columns
to coarsen first, and how far.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

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

BYTES_A_CELL = 22  # of a combination, while they are fetched, coded and sorted: measured


def refuse_too_many(table: Table, recipe: KAnonymity) -> None:
    """Refuse combinations that do not fit into the memory, before any of them is fetched."""
    limit = memory_limit()
    if limit is None or table.in_memory:
        return
    names = recipe.names
    most = int(OF_ROWS * limit) // (BYTES_A_CELL * len(names))
    if table.rows <= most or (number := combinations(table, recipe)) <= most:
        return
    coarser = coarsened(table, recipe, most)
    advice = (
        "coarsen first, by a step recode before this one, to the finest values that fit: "
        + "; ".join(f"{name} to level {level} of its hierarchy" for name, level in coarser.items())
        + f" leaves about {combinations(table, recipe, coarser):,}."
        if coarser
        else "leave out a quasi-identifier."
    )
    msg = (
        f"{table.source.name} has about {number:,} combinations of {len(names)} quasi-identifiers,"
        f" and at most {most:,} are held within {limit / 2**30:.1f} GiB: the search works on them."
        f" Nothing was read.\n\nHint: {advice} Or allow more with [run] memory."
    )
    raise PlanError(msg)


def combinations(table: Table, recipe: KAnonymity, levels: Mapping[str, int] | None = None) -> int:
    """Return about how many combinations there are, of values as they are or at some levels."""
    if levels:
        table = recode(table, {name: _map(table, recipe, name, at) for name, at in levels.items()})
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


def coarsened(table: Table, recipe: KAnonymity, most: int) -> dict[str, int]:
    """Return the levels of columns at which the combinations fit; nothing where they never do.

    The column with most values goes up by one level at a time.
    """
    single = [names[0] for names in recipe.attributes.values() if len(names) == 1]
    levels = {name: _levels(table, recipe, name) for name in single}
    at = dict.fromkeys(single, 0)
    while True:
        free = [name for name in single if at[name] < levels[name].height]
        if not free:
            return {}
        widest = max(free, key=lambda name: len(set(levels[name].codes[at[name]].tolist())))
        at[widest] += 1
        raised = {name: level for name, level in at.items() if level}
        if combinations(table, recipe, raised) <= most:
            return raised


def _levels(table: Table, recipe: KAnonymity, name: str) -> Levels:
    counts = count_sets(table, [(name,)])[name,]
    _, base = distinct_values(counts.columns[0])
    hierarchy = recipe.hierarchies.get(name) or suggest_hierarchy(base)
    return apply_hierarchy(hierarchy, base, counts.size)


def _map(table: Table, recipe: KAnonymity, name: str, level: int) -> pa.Table:
    """Return the values of a column with a number for what each becomes at a level."""
    levels = _levels(table, recipe, name)
    return pa.table({"old": levels.base.to_arrow(), "new": pa.array(levels.codes[level])})
