"""Violations that common checks count: small groups, numbers beyond limits, other categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.table.schema import LABELLED
from veladura.table.units import count_people

if TYPE_CHECKING:
    from veladura.core.promise import Evidence
    from veladura.table.codes import Column
    from veladura.table.counts import Counts
    from veladura.table.table import Table


def small_groups(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of combinations of the columns that fewer than k people share.

    Of rows in a file that are people the combinations are counted there, however many there are.
    """
    from veladura.table.telling import Telling

    released = evidence.released
    if not released.in_memory and settings.get("person") is None and not settings.get("starred"):
        return Telling(released).rarer(settings["columns"], settings["k"])
    counts = counted_people(evidence.released, settings["columns"], settings)
    small = counts.size < settings["k"]
    return int(np.count_nonzero(small & ~starred_tuples(counts, settings)))


def counted_people(released: Table, columns: Sequence[str], settings: Mapping[str, Any]) -> Counts:
    """Return the combinations of some columns with the people who share each.

    Rows are people unless the promise names a ``person`` column, or a ``household`` column whose
    households it counts. A release without that column proves nothing: then nobody is counted.
    """
    unit = unit_of(settings)
    if unit is None:
        return released.counts(columns)
    own = released.units.schema
    if unit != (own.household if settings.get("household") else own.person):
        counts = released.counts(columns)
        return replace(counts, size=np.zeros_like(counts.size))
    return count_people(released, columns, unit)


def unit_of(settings: Mapping[str, Any]) -> str | None:
    """Return the released column of the units that a promise counts; None where it counts rows."""
    unit: str | None = settings.get("household") or settings.get("person")
    return unit


def starred_tuples(counts: Counts, settings: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which tuples are those of suppressed rows.

    They hold ``*`` in every column, or nothing in the columns listed as ``blank``.
    """
    if not settings.get("starred"):
        return np.zeros(counts.size.size, dtype=bool)
    blank = settings.get("blank", ())
    stars = [
        column.missing if column.name in blank else _is(column, "*")
        for column in counts.columns[: len(settings["columns"])]
    ]
    return np.asarray(np.logical_and.reduce(stars))


def _is(column: Column, text: str) -> NDArray[np.bool_]:
    """Return where a column holds a text."""
    labels = [] if column.labels is None else column.labels.to_pylist()
    place = labels.index(text) if text in labels else -1
    return np.asarray((column.values == place) & ~column.missing)


def still_coded(evidence: Evidence, settings: Mapping[str, Any]) -> Iterator[tuple[Column, Any]]:
    """Yield the columns of a promise about numbers or dates, each with its setting.

    Of a column that a later step turned into categories, the numbers that are still among them:
    intervals and ``*`` are none, and a category of dates holds no day.
    """
    for name, setting in settings["columns"].items():
        column = evidence.column(name)
        if column.field.kind not in LABELLED:
            yield column, setting
        elif (numbers := _numbers_left(column)) is not None:
            yield numbers, setting


def _numbers_left(column: Column) -> Column | None:
    """Return the categories of a column that are numbers, as numbers; None if there are none."""
    from veladura.table.codes import label_texts

    values = np.array([_number(text) for text in label_texts(column)] or [np.nan])
    if np.isnan(values).all():
        return None
    each = values[np.where(column.missing, 0, column.values).astype(np.int64)]
    field = replace(column.field, kind="number", type=pa.float64(), order=())
    missing = column.missing | np.isnan(each)
    return replace(column, field=field, values=each, missing=missing, labels=None)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def outside_limits(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of values below the lowest or above the highest one allowed."""
    outside = 0
    for column, (lower, upper) in still_coded(evidence, settings):
        values = column.values[~column.missing]
        outside += int(np.count_nonzero(values < lower)) if lower is not None else 0
        outside += int(np.count_nonzero(values > upper)) if upper is not None else 0
    return outside


def outside_categories(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of values that are not among the categories told."""
    from veladura.table.codes import label_text

    outside = 0
    for name, allowed in settings["columns"].items():
        column = evidence.column(name)
        labels = (
            []
            if column.labels is None
            else [label_text(label) for label in column.labels.to_pylist()]
        )
        listed = np.isin(np.array(labels), allowed)
        outside += (
            int(np.count_nonzero(~listed[column.values[~column.missing]])) if listed.size else 0
        )
    return outside


def source_column(evidence: Evidence, name: str) -> Column:
    """Return a whole column of the original, including rows that are not in the release."""
    if evidence.original is None:
        msg = "this check needs the original."
        raise ValueError(msg)
    return evidence.original.column(name)
