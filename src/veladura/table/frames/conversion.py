"""Frames in and out: the result is the caller's own frame with the changed columns replaced."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.table.codes import label_text
from veladura.table.equal_values import has_twins
from veladura.table.frames.arrow import is_text, labels_of
from veladura.table.schema import Declared

if TYPE_CHECKING:
    from veladura.table.table import Table

_MODULES = {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow"}


def library_of(frame: object) -> str | None:
    """Return the library of a frame ("pandas", "polars" or "pyarrow") without importing it."""
    for library, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        module = sys.modules.get(library)
        if module is not None and isinstance(frame, getattr(module, kind, ())):
            return library
    return None


def _library(name: str) -> Any:
    return import_module(f"veladura.table.frames.{_MODULES[name]}")


def names_of(frame: Any) -> list[str]:
    """Return the column names of a frame as text."""
    return [
        str(name)
        for name in (frame.column_names if library_of(frame) == "pyarrow" else frame.columns)
    ]


def to_arrow(frame: Any) -> tuple[pa.Table, list[str], dict[str, Declared]]:
    """Return a frame as Arrow with columns named by position, their names, and declarations.

    Declarations come from dtypes: categories, ordered or not.
    """
    names = names_of(frame)
    arrays = _library(library_of(frame) or "").arrays_of(frame)
    declared = {
        name: _declared(array)
        for name, array in zip(names, arrays, strict=True)
        if pa.types.is_dictionary(array.type)
    }
    return (
        pa.table([_plain(array) for array in arrays], names=[f"c{i}" for i in range(len(names))]),
        names,
        declared,
    )


def _declared(array: pa.ChunkedArray) -> Declared:
    """Return the kind and order that a dictionary declares, without labels that do not occur."""
    if not array.type.ordered:
        return Declared(kind="category")
    labels = labels_of(array)
    used = labels.filter(
        pc.is_in(labels, value_set=array.cast(array.type.value_type).drop_null().unique())
    )
    return Declared(kind="ordered", order=tuple(label_text(label) for label in used.to_pylist()))


def _plain(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionary, and text in Arrow's plain text type."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    return (
        array.cast(pa.string())
        if is_text(array.type) and not pa.types.is_string(array.type)
        else array
    )


def restore(
    frame: Any,
    arrow: pa.Table,
    changed: Mapping[str, bool],
    rows: NDArray[np.int64] | None,
    orders: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """Return released columns as the caller's kind of frame.

    Parameters
    ----------
    frame
        The caller's frame; None for a file or database, which gives pandas.
    changed
        The released columns, and whether their values were replaced.
    rows
        The row of ``frame`` that each released row comes from; None without such a link.
    orders
        Columns that a method turned into ordered categories, each with its categories in order.
    """
    library = "pandas" if frame is None else library_of(frame) or ""
    restored = _restored(frame, arrow, changed, rows)
    for name, order in (orders or {}).items():
        used = set(arrow.column(name).drop_null().unique().to_pylist())
        labels = [label for label in order if label in used]
        restored = _library(library).ordered(restored, list(changed).index(name), labels)
    return restored


def _restored(
    frame: Any, arrow: pa.Table, changed: Mapping[str, bool], rows: NDArray[np.int64] | None
) -> Any:
    if frame is None:
        return _library("pandas").new_frame(arrow.select(list(changed)))
    replaced = {name: new or _looks_double(frame, name) for name, new in changed.items()}
    return _library(library_of(frame) or "").restore(frame, arrow, replaced, rows)


def count_frame(table: Table, columns: list[str]) -> Any:
    """Return how many rows have each combination of values that occurs, most frequent first."""
    table.schema.check("the release", columns)
    counted = table.fetched().arrow.select(columns).group_by(columns).aggregate([([], "count_all")])
    name = next(name for name in ("n", "count", "number of rows") if name not in columns)
    named = counted.select([*columns, "count_all"]).rename_columns([*columns, name])
    keys = [(name, "descending"), *((column, "ascending") for column in columns)]
    return _library("pandas").new_frame(named.sort_by(keys))


def new_frame(frame: Any, arrow: pa.Table) -> Any:
    """Return a table with columns of its own as the caller's kind of frame; pandas for a file."""
    return _library(library_of(frame) or "pandas").new_frame(arrow)


def _looks_double(frame: Any, name: str) -> bool:
    """Whether a column of a frame shows one value in two ways: then it is not kept as it was."""
    names, library = names_of(frame), library_of(frame) or ""
    if name not in names:
        return False
    place = names.index(name)
    if library == "pyarrow":
        single = frame.select([place])
    else:
        single = frame.iloc[:, [place]] if library == "pandas" else frame[:, [place]]
    return has_twins(_library(library).arrays_of(single)[0])
