"""Strata: combinations of columns and conditions that are synthesised separately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.expression import parse
from veladura.errors import DataError, PlanError
from veladura.numeric.distinct import places
from veladura.table.codes import Codes, Column
from veladura.table.conditions import holds


@dataclass(frozen=True, eq=False, repr=False)
class Strata:
    """The strata of a table.

    Attributes
    ----------
    keys
        What a row's stratum is made of: columns or conditions.
    combinations
        The combinations that occur in the original, in order.
    place
        The stratum of each row of the original.
    drawn
        Columns among the keys that are themselves synthesised: they come first, together.
    """

    keys: tuple[str, ...]
    combinations: Ints
    place: Ints
    drawn: tuple[str, ...]

    def groups(self, rows: Ints, unit: Sequence[str]) -> Ints | None:
        """Return the stratum of original rows; None for the columns that make the strata."""
        return None if set(unit) & set(self.drawn) else self.place[rows]

    def roots(self, drawn: Mapping[str, Column], size: int, unit: Sequence[str]) -> Ints:
        """Return the stratum of each synthetic row."""
        if set(unit) & set(self.drawn):
            return np.zeros(size, dtype=np.int64)
        return _places_among(self.combinations, _key(self.keys, drawn))


def _places_among(combinations: Ints, key: Ints) -> Ints:
    """Return the place of each row among combinations in order; 0 for one that is not there.

    Examples
    --------
    >>> combinations = np.array([[0, 5], [2, 1], [2, 7]])
    >>> _places_among(combinations, np.array([[2, 7], [2, 5], [0, 5]])).tolist()
    [2, 0, 0]
    """
    known, place = (np.zeros(len(part), dtype=np.int64) for part in (combinations, key))
    there = np.ones(len(key), dtype=bool)
    for own, other in zip(
        combinations.T, key.T, strict=True
    ):  # column by column: numbers stay small
        values = np.unique(own)
        at = np.minimum(np.searchsorted(values, other), values.size - 1)
        there &= values[at] == other
        known = known * values.size + np.searchsorted(values, own)
        pairs, known = np.unique(known, return_inverse=True)
        wanted = place * values.size + at
        place = np.minimum(np.searchsorted(pairs, wanted), pairs.size - 1)
        there &= pairs[place] == wanted
    return np.where(there, place, 0)


def columns_of(strata: Sequence[str], names: Sequence[str]) -> set[str]:
    """Return the columns that strata are made of."""
    return {
        column for text in strata for column in ((text,) if text in names else parse(text).columns)
    }


def find_strata(
    strata: Sequence[str], codes: Codes, replaced: Sequence[str], min_leaf: int, *, everything: bool
) -> Strata:
    """Return the strata of the original; refuse strata with fewer rows than a leaf needs."""
    drawn = [name for name in replaced if name in columns_of(strata, list(codes))]
    if drawn and (not everything or any(text not in codes for text in strata)):
        msg = (
            f"strata: these columns are replaced too: {drawn}.\n\nHint: leave them out of columns;"
            " or name only columns as strata, and replace every column of the table."
        )
        raise PlanError(msg)
    key = _key(strata, codes)
    if key.shape[1] == 1:  # counted, where the values lie on a short grid
        values, place = places(key[:, 0])
        combinations, size = values[:, None], np.bincount(place, minlength=values.size)
    else:
        combinations, place, size = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    if small := int(np.count_nonzero(size < min_leaf)):
        msg = (
            f"{small} of {size.size} strata have fewer rows than a leaf needs (min_leaf ="
            f" {min_leaf}).\n\nHint: use coarser strata."
        )
        raise DataError(msg)
    return Strata(tuple(strata), combinations, place.reshape(-1).astype(np.int64), tuple(drawn))


def _key(strata: Sequence[str], columns: Mapping[str, Column]) -> Ints:
    parts = []
    for text in strata:
        if text not in columns:
            parts.append(holds(parse(text), columns).astype(np.int64))
            continue
        column = columns[text]
        if column.labels is None and column.values.dtype.kind == "f":
            msg = (
                f"strata: column {text!r} holds numbers, and strata are categories.\n\nHint: write"
                f" a condition, for instance `{text} > 0`."
            )
            raise PlanError(msg)
        parts.append(np.where(column.missing, np.iinfo(np.int64).max, column.values))
    return np.column_stack(parts)
