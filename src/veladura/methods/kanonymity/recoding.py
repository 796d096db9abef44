"""Recodings: what each distinct tuple of quasi-identifiers becomes in the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from datetime import datetime, time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints, Mask
from veladura.methods.kanonymity.tuples import Tuples
from veladura.numeric.hierarchies.grid import NOWHERE, released_fields
from veladura.numeric.hierarchies.hierarchy import TOP
from veladura.numeric.hierarchies.levels import Levels
from veladura.table.codes import Column, encode, label_text
from veladura.table.schema import Field

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class Released:
    """One column of the release: its values, and which of them each tuple gets."""

    field: Field
    values: pa.Array = attribute(repr=False)
    code: Ints = attribute(repr=False)

    def at(self, tuple_of: Ints) -> Column:
        """Return the column of some rows, given the tuple of each."""
        return encode(self.values.take(pa.array(self.code[tuple_of])), self.field)


@dataclass(frozen=True, eq=False)
class Recoding:
    """A release as a map from tuples to tuples.

    Attributes
    ----------
    columns
        The columns that change.
    kept
        Which tuples are released; the rows of the others are left out.
    starred
        Which of them are released with every quasi-identifier suppressed.
    loss
        What each cell lost, from 0 (as it was) to 1 (suppressed); for levels, the level over the
        height.
    blank
        Columns in which a suppressed cell is missing; in the others it is ``*``.
    suppressed_cells
        By column the single cells that were suppressed in rows that stay.
    """

    columns: Mapping[str, Released] = attribute(repr=False)
    kept: Mask = attribute(repr=False)
    starred: Mask = attribute(repr=False)
    loss: Floats = attribute(repr=False)
    blank: tuple[str, ...] = ()
    suppressed_cells: Mapping[str, int] = attribute(default_factory=dict)

    def precision(self, sizes: Ints) -> tuple[list[float], float]:
        """Return Sweeney's precision (Prec) by column and overall.

        It is one less the mean loss over the cells of the rows that stay.
        """
        weights = np.where(self.kept, sizes, 0)
        by_column = 1 - (self.loss * weights[:, None]).sum(axis=0) / max(int(weights.sum()), 1)
        return by_column.tolist(), float(by_column.mean())

    def lost(self, sizes: Ints) -> int:
        """Return how many rows are left out or starred."""
        return int(sizes[~self.kept | self.starred].sum())

    def apply(self, table: Table, tuples: Tuples) -> Table:
        """Return the released table as a lazy expression where the data lives."""
        from veladura.table.recode import recode_tuples

        kept = np.flatnonzero(self.kept)
        new = {
            name: (column.field, column.values.take(pa.array(column.code[kept])))
            for name, column in self.columns.items()
        }
        return recode_tuples(table, tuples.original().take(pa.array(kept)), new)


def by_levels(
    tuples: Tuples,
    heights: Ints,
    kept: Mask,
    *,
    starred: Mask | None = None,
    blank: Mask | None = None,
    exact: bool = False,
) -> Recoding:
    """Return the recoding of every cell to a level of its own.

    Parameters
    ----------
    heights
        The level of each cell, a row a tuple.
    starred
        Tuples whose rows stay with every quasi-identifier suppressed.
    blank
        Single cells that are suppressed: they become missing.
    exact
        Write values in the type of their column where every level used has them.
    """
    columns: dict[str, Released] = {}
    blanks: list[str] = []
    hidden = np.zeros(heights.shape, dtype=bool) if blank is None else blank
    stars = np.zeros(len(heights), dtype=bool) if starred is None else starred
    for c, name in enumerate(tuples.names):
        if tuples.levels[c].parts:
            pair, missing_star = _pair(
                tuples.levels[c], heights[:, c], tuples.places[:, c], hidden[:, c], stars, kept
            )
            blanks += list(pair) if missing_star else []
            columns |= pair
            continue
        made, missing_star = _column(
            tuples.levels[c],
            heights[:, c],
            tuples.places[:, c],
            hidden[:, c],
            stars,
            kept,
            exact=exact,
        )
        blanks += [name] if missing_star else []
        if made is not None:
            columns[name] = made
    top = np.maximum(tuples.heights, 1)
    loss = np.where(hidden | stars[:, None], 1.0, heights / top)
    cells = {
        name: int(tuples.sizes[hidden[:, c] & kept].sum()) for c, name in enumerate(tuples.names)
    }
    return Recoding(columns, kept, stars, loss, tuple(blanks), cells)


def _column(
    level: Levels,
    heights: Ints,
    places: Ints,
    blank: Mask,
    starred: Mask,
    kept: Mask,
    *,
    exact: bool,
) -> tuple[Released | None, bool]:
    """Return one column, or None where it stays as it is, and whether its stars are missing."""
    used = np.unique(heights[kept & ~starred & ~blank]).tolist()
    stars, plain = bool((starred & kept).any()), used in ([], [0])
    if plain and not stars and not (blank & kept).any():
        return None, False
    base = level.base.field
    typed = typed_labels(level, used) if exact or (plain and not stars) else None
    lists: Mapping[int, Sequence[Any]] = (
        {height: text_labels(level, height) for height in used} if typed is None else typed
    )
    text = typed is None or pa.types.is_string(base.type)
    values: list[Any] = [None, TOP if text else None]
    code = np.where(starred, 1, 0)
    for height in used:
        here = (heights == height) & ~blank & ~starred
        code[here] = len(values) + level.codes[height][places[here]]
        values += lists[height]
    same = typed is not None and (not text or (plain and not stars))
    field = base if same else text_field(base)
    array = pa.array(values, type=pa.string() if text else base.type)
    return Released(field, array, code), stars and not text


def _pair(
    level: Levels, heights: Ints, places: Ints, blank: Mask, starred: Mask, kept: Mask
) -> tuple[dict[str, Released], bool]:
    """Return the two columns of a pair, none where they stay, and whether its stars are missing.

    Both always hold numbers: the centres of cells, and nothing where a pair is suppressed.
    """
    used = np.unique(heights[kept & ~starred & ~blank]).tolist()
    stars = bool((starred & kept).any())
    if used in ([], [0]) and not stars and not (blank & kept).any():
        return {}, False
    code, points = np.zeros(heights.size, dtype=np.int64), [NOWHERE]
    for height in used:
        here = (heights == height) & ~blank & ~starred
        code[here] = len(points) + level.codes[height][places[here]]
        points += level.exact[height]
    fields = released_fields(level.hierarchy, level.parts) if any(used) else level.parts
    columns = {
        field.name: Released(field, pa.array([point[axis] for point in points], field.type), code)
        for axis, field in enumerate(fields)
    }
    return columns, stars


def text_field(base: Field) -> Field:
    """Return the description of a column that becomes text."""
    return replace(base, kind="category", type=pa.string(), order=(), labels={})


def text_labels(level: Levels, height: int) -> list[str | None]:
    """Return what the codes of a level stand for, as text; None for missing."""
    labels = level.labels[height]
    if all(label is None or _is_day(label) for label in labels):
        return [None if label is None else str(label.date()) for label in labels]
    return [None if label is None else label_text(label) for label in labels]


def _is_day(label: Any) -> bool:
    """Whether a label is a day that the column holds as a time."""
    return isinstance(label, datetime) and label.time() == time.min


def typed_labels(level: Levels, heights: Sequence[int]) -> dict[int, list[Any]] | None:
    """Return the labels of some levels in the type of the column, by level.

    None where a label has no value of the type, as the top and an interval without a lower limit,
    or where two labels would be the same.
    """
    typed = {}
    for height in heights:
        values, labels = list(level.exact[height]), level.labels[height]
        pairs = zip(values, labels, strict=True)
        if any(value is None and label is not None for value, label in pairs):
            return None
        if len(set(values)) < len(values):
            return None
        try:
            typed[height] = _cast(values, level.base.field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None
    return typed


def _cast(values: Sequence[Any], type_: pa.DataType) -> list[Any]:
    """Return values in a type; texts such as 02130 are read as what they stand for."""
    if any(isinstance(value, str) for value in values) and not pa.types.is_string(type_):
        return list(pa.array(values, pa.string()).cast(type_).to_pylist())
    if pa.types.is_timestamp(type_) and not any(isinstance(value, datetime) for value in values):
        days = pa.array(values, pa.date32()).cast(pa.timestamp(type_.unit))
        return list(days.cast(type_).to_pylist())
    return list(pa.array(values, type=type_).to_pylist())


def full_domain(
    tuples: Tuples, vector: Sequence[int], kept: Mask, *, star: bool = False, exact: bool = False
) -> Recoding:
    """Return the full-domain recoding: one vector of levels for all rows.

    Rows that are not kept are left out, or get ``*`` in every quasi-identifier.
    """
    heights = np.tile(np.array(vector, dtype=np.int64), (len(kept), 1))
    if not star:
        return by_levels(tuples, heights, kept, exact=exact)
    return by_levels(tuples, heights, np.ones_like(kept), starred=~kept, exact=exact)


def column_maps(
    names: Sequence[str], levels: Sequence[Levels], vector: Sequence[int], *, exact: bool
) -> dict[str, pa.Table]:
    """Return, for a lazy recode, the map of each generalised column from old to new values."""
    maps = {}
    for name, level, height in zip(names, levels, vector, strict=True):
        if height:
            labels = _level_labels(level, height, exact=exact)
            new = labels.take(pa.array(level.codes[height]))
            maps[name] = pa.table({"old": level.base.to_arrow(), "new": new})
    return maps


def dropped_classes(
    names: Sequence[str],
    levels: Sequence[Levels],
    vector: Sequence[int],
    codes: Ints,
    *,
    exact: bool,
) -> pa.Table:
    """Return equivalence classes as their released values, for a lazy recode to leave out."""
    columns = []
    for c, (level, height) in enumerate(zip(levels, vector, strict=True)):
        labels = _level_labels(level, height, exact=exact or not height)
        columns.append(labels.take(pa.array(codes[:, c])))
    return pa.table(columns, names=list(names))


def _level_labels(level: Levels, height: int, *, exact: bool) -> pa.Array:
    """Return what the codes of a level are released as: in the type of the column, or as text."""
    typed = typed_labels(level, [height]) if exact else None
    if typed is None:
        return pa.array(text_labels(level, height), pa.string())
    return pa.array(typed[height], level.base.field.type)
