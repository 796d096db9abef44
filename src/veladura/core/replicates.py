"""What a table and a release say of how their replicate weights were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from veladura.errors import PlanError
from veladura.table.replication import Made, recognised
from veladura.table.schema import NUMERIC, Field, Schema
from veladura.table.table import Table


def declared_replication(schema: Schema) -> tuple[Made | None, ...]:
    """Return how each replicate weight of a schema was made, as far as it is said."""
    fields = [schema[name] for name in schema.of_role("replicate weight")]
    return tuple(Made.read(field.replication) if field.replication else None for field in fields)


def with_replication(table: Table) -> Table:
    """Return a table in memory whose replicate weights say how they were made, where it shows.

    What the holder declares stays. Methods may change the weights afterwards, and what was to be
    seen in the source is then to be seen no more.
    """
    schema, names = table.schema, table.schema.of_role("replicate weight")
    weight = next(iter(schema.of_role("weight")), None)
    silent = any(not schema[name].replication for name in names)
    numeric = all(schema[name].kind in NUMERIC for name in (*names, weight) if name is not None)
    if not silent or weight is None or not numeric or not table.in_memory:
        return table
    columns = [
        table.arrow.column(name).cast("float64", safe=False).to_numpy() for name in (weight, *names)
    ]
    if not all(np.isfinite(column).all() and (column >= 0).all() for column in columns):
        return table  # refused in words where they are used
    made = recognised(columns[0], np.column_stack(columns[1:]))
    if not made:
        return table
    said = {name: str(own) for name, own in zip(names, made, strict=True)}
    return with_said(table, said)


def with_said(table: Table, said: Mapping[str, str]) -> Table:
    """Return a table whose replicate weights say how they were made; what is declared stays."""
    changed = replace(table, schema=Schema(said_fields(table.schema.fields, said)))
    return changed if table.whole is None else changed.beside(with_said(table.whole, said))


def said_fields(fields: Sequence[Field], said: Mapping[str, str]) -> tuple[Field, ...]:
    """Return columns with what is said of how they were made."""
    return tuple(
        replace(field, replication=field.replication or said.get(field.name, ""))
        if field.role == "replicate weight"
        else field
        for field in fields
    )


def replication_in(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return what a manifest says of how replicate weights were made; unknown words are left out.

    A folder may be of a later version, or of a stranger: what is left out counts as not said.
    """
    said = {}
    for name, text in manifest.get("replication", {}).items():
        with suppress(PlanError):
            said[name] = str(Made.read(text))
    return said
