"""A released table of statistics: its columns, and the check that it holds nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base import shapes
from veladura.core.promise import Check, Evidence
from veladura.errors import PlanError
from veladura.methods.private.domain import Domain
from veladura.table.schema import Field, Schema
from veladura.table.table import from_arrow

if TYPE_CHECKING:
    from veladura.methods.private.summary_rows import Row
    from veladura.table.table import Table

STATISTICS = ("count", "sum", "mean", "sd", "quantiles", "histogram")
OWN = ("column", "statistic", "value", "lower", "upper", "about")


def table_of(domain: Domain, source: Table, rows: Sequence[Row]) -> Table:
    """Return rows of statistics as a table: columns of groups first."""
    if both := [name for name in domain.names if name in OWN]:
        msg = f"columns of groups cannot be called {both}: the table of statistics has these."
        raise PlanError(msg)
    labels = domain.labels() if domain.names else [()]
    columns: dict[str, pa.Array] = {
        name: pa.array([labels[row.group][i] for row in rows], pa.string())
        for i, name in enumerate(domain.names)
    }
    for name in ("column", "statistic", "about"):
        columns[name] = pa.array([getattr(row, name) for row in rows], pa.string())
    for name in ("value", "lower", "upper"):
        numbers = np.array([getattr(row, name) for row in rows])
        columns[name] = pa.array(numbers, pa.float64(), mask=~np.isfinite(numbers))
    fields = tuple(
        Field(name, "number" if name in ("value", "lower", "upper") else "category", array.type)
        for name, array in ((name, columns[name]) for name in (*domain.names, *OWN))
    )
    arrays = [columns[field.name] for field in fields]
    arrow = pa.Table.from_arrays(arrays, schema=pa.schema([(f.name, f.type) for f in fields]))
    return from_arrow(arrow, Schema(fields), source.source)


def foreign_rows(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many rows are no declared statistic of a declared group and column."""
    released = evidence.released
    by = settings["by"]
    if released.names != [*by, *OWN]:
        return 1 + len(set(released.names) ^ {*by, *OWN})
    rows = released.arrow.to_pylist()
    groups = {
        name: {str(value) for value in settings["domain"][name]}
        | ({None} if name in settings["missing"] else set())
        for name in by
    }
    return sum(
        any(row[name] not in groups[name] for name in by)
        or row["column"] not in ("", None, *settings["summarised"])
        or not _known(row["statistic"], settings["statistics"])
        or not _inside(row)
        for row in rows
    )


def _inside(row: Mapping[str, Any]) -> bool:
    """Whether a statistic is inside its interval; a missing end is no end."""
    value, lower, upper = row["value"], row["lower"], row["upper"]
    if value is None:
        return False
    return (lower is None or lower <= value) and (upper is None or value <= upper)


def _known(statistic: str, wanted: Sequence[str]) -> bool:
    starts = {"quantiles": "quantile ", "histogram": "share from "}
    return statistic in ("rows", *wanted) or any(
        name in wanted and statistic.startswith(start) for name, start in starts.items()
    )


def _sentence(settings: Mapping[str, Any]) -> str:
    by = f" by {', '.join(settings['by'])}" if settings["by"] else ""
    return (
        f"The release has no rows of people: only {', '.join(settings['statistics'])} of"
        f" {', '.join(settings['summarised'])}{by}, each inside its interval."
    )


_VALUE = shapes.either(shapes.text, shapes.whole(-(2**53)), shapes.flag)
TABLE_CHECK = Check(
    foreign_rows,
    _sentence,
    shapes.table(
        {
            "columns": shapes.names,
            "summarised": shapes.names,
            "by": shapes.listed(shapes.name),
            "domain": shapes.mapped(shapes.listed(_VALUE, 1), keys=shapes.name),
            "missing": shapes.listed(shapes.name),
            "statistics": shapes.listed(shapes.one_of(*STATISTICS, "coefficient"), 1),
            "bounds": shapes.mapped(shapes.listed(shapes.number(), 2, 2), keys=shapes.name),
        }
    ),
)
