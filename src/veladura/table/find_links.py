"""Finding how tables belong together by their content: keys, links, and what is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.linked import LinkedTable, chain_of, read_whole
from veladura.table.lookups import find_lookups
from veladura.table.near_links import (
    refuse_near_links,
    refuse_second_parents,
    same_kind,
)

NEARLY = 0.5  # of the score of another link
LEAST_COVERED = 0.1  # share of the keys that a link has: an age is among running numbers too


def find_links(paths: Mapping[str, Any]) -> list[LinkedTable]:
    """Return tables as a chain, their keys found by content; the last may be several.

    A key has every value once, and all values of a column of the table below are among its own.
    Tables that are looked up come after the chain.

    Parameters
    ----------
    paths
        The files by the names of their tables.
    """
    rows = {name: read_whole(LinkedTable(name=name, path=path)) for name, path in paths.items()}
    offers = [
        (score, child, parent, key, column)
        for child, below in rows.items()
        for parent, above in rows.items()
        if parent != child
        for key in above.column_names
        for column in below.column_names
        if (score := _fit(above.column(key), below.column(column), key == column))
    ]
    looked_up = find_lookups(offers, rows)
    offers = [offer for offer in offers if not {offer[1], offer[2]} & set(looked_up)]
    rows = {name: table for name, table in rows.items() if name not in looked_up}
    best: dict[tuple[str, str], float] = {}
    for score, child, parent, *_ in offers:
        best[child, parent] = max(score, best.get((child, parent), 0.0))
    found: dict[str, tuple[str, str, str]] = {}  # of each table: parent, its key, and the link
    for score, child, parent, key, column in sorted(offers, key=lambda offer: -offer[0]):
        if best.get((parent, child), 0.0) > score:
            continue  # the other way round it fits better: an age is among running numbers too
        far = any(_is_between(table, child, parent, best) for table in rows)
        if child not in found and not far and not _is_above(child, parent, found):
            found[child] = (parent, key, column)
    keys = {parent: key for parent, key, _ in found.values()}
    tables = [
        LinkedTable(
            name=name,
            path=paths[name],
            key=keys.get(name) or _own_key(rows[name], found.get(name)),
            parent=found[name][0] if name in found else None,
            link=found[name][2] if name in found else None,
        )
        for name in rows
    ]
    # of a first table: a link the other way round may be an age among running numbers
    scores = {(child, parent): best[child, parent] for child, (parent, *_) in found.items()}
    refuse_near_links(rows, scores)
    refuse_second_parents(best, {child: parent for child, (parent, *_) in found.items()})
    return [
        *chain_of(tables),
        *(
            LinkedTable(name=name, path=paths[name], key=key, link=link, describes=child)
            for name, (_, child, _, key, link) in looked_up.items()
        ),
    ]


def _is_between(table: str, child: str, parent: str, best: Mapping[tuple[str, str], float]) -> bool:
    """Whether a table belongs below the parent and above the child: both link to it nearly as well.

    Jobs that hold the number of a home beside that of a person belong to the person.
    """
    below = best.get((child, table), 0.0) >= NEARLY * best[child, parent]
    return below and best.get((table, parent), 0.0) > best.get((parent, table), 0.0)


def _is_above(table: str, other: str, found: Mapping[str, tuple[str, str, str]]) -> bool:
    """Whether a table is one of those above another: they would go round in a circle."""
    while other in found:
        other = found[other][0]
        if other == table:
            return True
    return False


def _fit(key: pa.ChunkedArray, column: pa.ChunkedArray, same: bool) -> float:  # noqa: FBT001
    """Return how well a column links to a key: 0 not at all, more for the same name."""
    if not same_kind(key, column):
        return 0.0
    distinct = pc.count_distinct(key).as_py()
    unique = distinct == len(key) and not key.null_count
    repeats = pc.count_distinct(column).as_py() < len(column)
    if not unique or not repeats or column.null_count or not len(column):
        return 0.0
    inside = pc.all(pc.is_in(column, value_set=key.combine_chunks())).as_py()
    covered = pc.count_distinct(column).as_py() / distinct
    return (1.0 + same) * covered if inside and covered >= LEAST_COVERED else 0.0


def _own_key(rows: pa.Table, found: tuple[str, str, str] | None) -> str | None:
    """Return the key of the last table: its first column, if that has every value once."""
    name = rows.column_names[0]
    column = rows.column(name)
    unique = pc.count_distinct(column).as_py() == len(column) and not column.null_count
    plain = pa.types.is_integer(column.type) or pa.types.is_string(column.type)
    return name if found is not None and name != found[2] and unique and plain else None
