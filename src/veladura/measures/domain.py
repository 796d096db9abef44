"""The original generalised to the levels of its release, as the manifest gives them.

A generalised value and an original one cannot be compared; two generalised ones can. The difference
that remains is due to suppression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base.settings import from_plain
from veladura.errors import VeladuraError
from veladura.methods.kanonymity.recoding import column_maps, text_field
from veladura.numeric.hierarchies.grid import (
    cell_numbers,
    centre,
    composed,
    grid_levels,
    pair_name,
)
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import Levels, apply_hierarchy, distinct_values
from veladura.table.codes import encode
from veladura.table.counts import Counts
from veladura.table.recode import recode
from veladura.table.schema import Field, Schema, kind_of
from veladura.table.table import Table, from_arrow

if TYPE_CHECKING:
    from veladura.core.release import Release, Step


def generalising_step(release: Release) -> Step | None:
    """Return the step that generalised, if there is one."""
    return next(
        (step for step in release.steps if {"heights", "hierarchies"} <= set(step.settings)), None
    )


def released_levels(release: Release) -> dict[str, int]:
    """Return the level of every column that one step alone generalised, to one level."""
    step = generalising_step(release)
    if step is None or step.settings.get("recoding") != "global":
        return {}
    others = {name for other in release.steps if other is not step for name in other.changed}
    return {
        name: level
        for name, level in step.settings.get("levels", {}).items()
        if level and not others & {*columns_of(step, name)}
    }


def column_levels(release: Release) -> dict[str, int]:
    """Return the same by column: both columns of a pair have its level."""
    step = generalising_step(release)
    return {
        column: level
        for name, level in released_levels(release).items()
        if step is not None
        for column in columns_of(step, name)
    }


def columns_of(step: Step, name: str) -> tuple[str, ...]:
    """Return the columns of what a step generalised as one: a column, or a pair of coordinates."""
    pairs = {pair_name(pair): tuple(pair) for pair in step.settings.get("pairs", ())}
    return pairs.get(name, (name,))


def generalise(original: Table, release: Release) -> tuple[Table, tuple[str, ...]]:
    """Return the original generalised to the levels of the release, and the columns concerned.

    Where rows have levels of their own, each row of the original gets those of its released row.
    """
    if rows := _row_by_row(original, release):
        return rows
    maps: dict[str, pa.Table] = {}
    for name, height in column_levels(release).items():
        if name in original.names:
            pairs = map_of(original, release, name, height)
            maps |= {} if pairs is None else {name: pairs}
    if not maps:
        return original, ()
    # one of them in memory: both are compared in memory
    near = original.in_memory or release.tables[0].table.in_memory
    generalised = (_in_memory if near else _lazy)(original.units, maps)
    return generalised.without_identifiers().select(original.names), tuple(maps)


def _row_by_row(original: Table, release: Release) -> tuple[Table, tuple[str, ...]] | None:
    """Return the original as its rows were recoded one by one; None where levels say it all.

    A row that was not released has no recoded values: they are missing.
    """
    step, dataset = generalising_step(release), release.tables[0]
    if step is None or step.settings.get("recoding") == "global" or dataset.rows is None:
        return None
    whole = original.units
    if not whole.in_memory or int(dataset.rows.max(initial=-1)) >= whole.rows:
        return None
    others = {name for other in release.steps if other is not step for name in other.changed}
    names = [name for name in step.changed if name in whole.names and name not in others]
    place = np.full(whole.rows, -1, dtype=np.int64)
    place[dataset.rows] = np.arange(dataset.rows.size)
    taken = pa.array(place, mask=place < 0)
    arrow, fields, recoded = whole.arrow, list(whole.schema), dataset.fetched()
    for name in names:
        where, field = whole.schema.position(name), dataset.table.schema[name]
        column = recoded.column(name).combine_chunks().take(taken)
        arrow = arrow.set_column(where, pa.field(name, column.type), column)
        fields[where] = replace(field, role=fields[where].role)
    table = from_arrow(arrow, Schema(tuple(fields)), original.source)
    return table.without_identifiers().select(original.names), tuple(names)


def _coordinate_map(
    original: Table, release: Release, step: Step, name: str, height: int
) -> pa.Table | None:
    """Return what a coordinate of a pair became: the middle of its row or column of cells."""
    for pair in step.settings.get("pairs", ()):
        if name not in pair:
            continue
        declared = step.settings["hierarchies"][pair_name(pair)]
        hierarchy, axis = from_plain(Hierarchy, declared, "hierarchy"), pair.index(name)
        _, base = distinct_values(original.counts([name]).columns[0])
        cells = cell_numbers(hierarchy, base.values.astype(float), axis, height - 1).tolist()
        gone = base.missing | (height == hierarchy.height)
        new = [
            None if nowhere else centre(hierarchy, cell, axis, height - 1)
            for cell, nowhere in zip(cells, gone, strict=True)
        ]
        released = release.tables[0].table.schema[name].type
        middles = pa.array(new, pa.float64()).cast(released)
        return pa.table({"old": base.to_arrow(), "new": middles})
    return None


def levels_of(original: Table, release: Release, name: str) -> tuple[Levels, Any] | None:
    """Return the distinct values of a column at every level, and their numbers of rows."""
    step = generalising_step(release)
    if step is None or name not in step.settings["hierarchies"]:
        return None
    columns = columns_of(step, name)
    counts = original.counts(columns)
    whole = counts.columns[0] if len(columns) == 1 else composed(*counts.columns)
    index, base = distinct_values(whole)
    sizes = np.zeros(base.size, dtype=np.int64)
    sizes[index] = counts.size
    try:
        hierarchy = from_plain(Hierarchy, step.settings["hierarchies"][name], "hierarchy")
        if len(columns) > 1:
            fields = [original.schema[column] for column in columns]
            return grid_levels(hierarchy, base, fields), sizes
        return apply_hierarchy(hierarchy, base, sizes), sizes
    except VeladuraError:  # the table given is not the one that was generalised
        return None


def map_of(original: Table, release: Release, name: str, height: int) -> pa.Table | None:
    """Return what each value became: as text, or in the column's type where the release kept it."""
    step = generalising_step(release)
    if step is not None and any(name in pair for pair in step.settings.get("pairs", ())):
        return _coordinate_map(original, release, step, name, height)
    counted = levels_of(original, release, name)
    if counted is None or height > counted[0].height:
        return None
    released = release.tables[0].table.counts([name]).columns[0]
    seen = set(released.to_arrow().to_pylist()) - {None, "*"}
    for exact in (False, True):
        pairs = column_maps([name], [counted[0]], [height], exact=exact)[name]
        if seen <= set(pairs.column("new").to_pylist()):
            return pairs
    return None


def _in_memory(original: Table, maps: Mapping[str, pa.Table]) -> Table:
    """Return the table with some columns mapped, in the same order of rows."""
    arrow, fields = original.arrow, list(original.schema)
    for name, pairs in maps.items():
        place = original.schema.position(name)
        old = pairs.column("old").combine_chunks().cast(fields[place].type)
        new = pairs.column("new").combine_chunks()
        column = new.take(pc.index_in(arrow.column(name), old).combine_chunks())
        same = new.type == fields[place].type and fields[place].kind != "ordered"
        coarser = replace(text_field(fields[place]), kind=kind_of(new.type) or "category")
        fields[place] = replace(fields[place] if same else coarser, type=new.type)
        arrow = arrow.set_column(place, pa.field(name, new.type), column)
    return from_arrow(arrow, Schema(tuple(fields)), original.source)


def _lazy(original: Table, maps: Mapping[str, pa.Table]) -> Table:
    """Return the table recoded in its database, with the counts of its columns at hand."""
    table = recode(original, maps)
    for name in original.names:
        table.cache.profiles[name] = (
            _mapped(original.counts([name]), maps[name], table.schema[name])
            if name in maps
            else original.profile(name)
        )
    return table


def _mapped(counts: Counts, pairs: pa.Table, field: Field) -> Counts:
    """Return the counts of a column after its values were mapped."""
    old, new = (pairs.column(end).combine_chunks() for end in ("old", "new"))
    values = counts.columns[0].to_arrow()
    column = encode(new.take(pc.index_in(values, old.cast(values.type))), field)
    _, first, group = np.unique(
        np.where(column.missing, -1, column.values), return_index=True, return_inverse=True
    )
    return Counts((column.take(first),), np.bincount(group, weights=counts.size).astype(np.int64))
