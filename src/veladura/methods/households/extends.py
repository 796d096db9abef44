"""The promise of a release that extends an earlier one: rows of earlier waves are those of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base import shapes
from veladura.core.promise import Check, Evidence, Promise
from veladura.table.files.digest import content_digest
from veladura.table.table import from_arrow

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table


def wave_text(column: Column, value: int) -> int | float | str:
    """Return a wave as JSON can hold it: a number, or a date as text."""
    one = column.with_values(np.array([value]), np.zeros(1, dtype=bool))
    held = one.to_arrow()[0].as_py()
    return held if isinstance(held, (int, float)) else str(held.isoformat())


def rows_until(table: Table, settings: Mapping[str, Any]) -> Table:
    """Return the rows of earlier waves, with numbers of people and households."""
    whole = table.units.fetched()
    time = whole.arrow.column(settings["columns"][0])
    until = pa.scalar(settings["until"]).cast(time.type)
    rows = whole.arrow.filter(pc.less_equal(time, until))
    return from_arrow(rows, whole.schema, whole.source)


def digest_until(table: Table, settings: Mapping[str, Any]) -> str:
    """Return a hash of the rows of earlier waves, whatever their order and the kind of file."""
    rows = rows_until(table, settings)
    return str(content_digest(rows, rows.names))


def other_rows(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return 1 where the rows of earlier waves are not those of an earlier dataset."""
    return int(digest_until(evidence.released, settings) not in settings["rows"])


def _sentence(settings: Mapping[str, Any]) -> str:
    return (
        f"The rows with {settings['columns'][0]} up to {settings['until']} are those of the earlier"
        f" release {settings['release'][:16]}, numbers included; only later ones were added."
    )


EXTENDS = Check(
    other_rows,
    _sentence,
    shapes.table(
        {
            "columns": shapes.listed(shapes.name, 1, 1),
            "until": shapes.either(shapes.number(), shapes.text),
            "release": shapes.text,
            "rows": shapes.listed(shapes.text, 1),
        }
    ),
)


def extends_promise(settings: Mapping[str, Any]) -> list[Promise]:
    """Return the promise that the settings of a step imply, if they name an earlier release."""
    about = settings.get("extends")
    return [] if about is None else [Promise("extends", "package", dict(about))]
