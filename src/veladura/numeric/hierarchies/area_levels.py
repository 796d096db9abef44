"""Areas within areas: the levels of a hierarchy from the properties of polygons in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from veladura.errors import DataError

TOP = "*"


def rows_of(path: Path, levels: Sequence[str], outside: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a hierarchy: an area, what it lies in at each level, and ``*``."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        features = content["features"]
        rows = [_row(feature["properties"], levels) for feature in features]
    except (OSError, ValueError, LookupError, TypeError):
        msg = (
            f"{path} has no polygons with the properties {list(levels)}.\n\nHint: it must be a"
            " GeoJSON FeatureCollection; name its properties, those of the smallest areas first."
        )
        raise DataError(msg) from None
    rows.append((*[outside] * len(levels), TOP))
    above: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if above.setdefault(row[0], row) != row:
            msg = (
                f"{path}: polygons of one {levels[0]!r} lie in different areas of a higher level."
                "\n\nHint: correct the properties, or begin with those of smaller areas."
            )
            raise DataError(msg)
    return tuple(above.values())


def _row(properties: Mapping[str, Any], levels: Sequence[str]) -> tuple[str, ...]:
    return (*(str(properties[level]) for level in levels), TOP)
