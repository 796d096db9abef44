"""A random sample of the rows of a table, drawn where they live."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from numpy.random import Generator

from veladura.table.chunks import with_content
from veladura.table.database.spark_chunks import CONTENT
from veladura.table.database_errors import without_values
from veladura.table.write import md5_of

if TYPE_CHECKING:
    from veladura.table.table import Table


def random_rows(table: Table, number: int, rng: Generator) -> Table:
    """Return some rows in memory: a simple random sample without replacement.

    Rows are ranked by a hash of a secret, of what they hold, and of their number among those that
    hold the same. The same rows give the same sample in whatever order they come, from a file, a
    database or a cluster.
    """
    if number >= table.rows:
        return table.fetched()
    import ibis

    secret = rng.bytes(16).hex()
    with without_values(table.source.name):
        rows = table.expression
        ranked = with_content(table)
        twin = ibis.row_number().over(ibis.window(group_by=CONTENT))
        ranked = ranked.mutate(veladura_twin=twin)
        key = md5_of(
            ibis.literal(secret) + ranked[CONTENT] + ranked["veladura_twin"].cast("string")
        )
        drawn = ranked.mutate(veladura_key=key).order_by("veladura_key").limit(number)
        sample = replace(table, data=drawn.select(*rows.columns), frame=None, stored=None)
    return sample.fetched()


def first_rows(table: Table, number: int) -> Table:
    """Return any few rows in memory, to see what the columns look like."""
    if table.in_memory:
        return replace(table, data=table.data.slice(0, number), frame=None, stored=None)
    with without_values(table.source.name):
        few = table.expression.limit(number)
    return replace(table, data=few, frame=None, stored=None).fetched()
