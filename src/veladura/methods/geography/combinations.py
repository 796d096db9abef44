"""The combination of attributes of each row: rows of one combination share a map."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.errors import DataError, PlanError
from veladura.methods.geography.region import RegionWarning
from veladura.table.codes import Column, label_text

if TYPE_CHECKING:
    from veladura.table.codes import Codes

MANY = 100
TOO_MANY = 1000
FEW_ROWS = 5


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations that occur.

    Attributes
    ----------
    of_row
        The combination of each row, zero-based.
    levels
        The zero-based level of each attribute by combination, shape (B, number of attributes).
    names
        The levels of each combination as text, for maps; missing is a level of its own.
    words
        By attribute, the text of each level.
    values
        By attribute, the value of each level in order; missing comes after them.
    """

    of_row: Ints = field(repr=False)
    levels: Ints = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    words: tuple[Sequence[str], ...] = field(repr=False, default=())
    values: tuple[Ints, ...] = field(repr=False, default=())

    def find(self, columns: Sequence[Column], placed: Mask) -> Ints:
        """Return the combinations of other rows, those that have a place."""
        number = np.zeros(int(np.count_nonzero(placed)), dtype=np.int64)
        known = np.zeros(len(self.levels), dtype=np.int64)
        for i, (column, occurring) in enumerate(zip(columns, self.values, strict=True)):
            value, missing = column.values[placed], column.missing[placed]
            rank = np.where(missing, occurring.size, np.searchsorted(occurring, value))
            number = number * (occurring.size + 1) + rank
            known = known * (occurring.size + 1) + self.levels[:, i]
        found = np.minimum(np.searchsorted(known, number), known.size - 1)
        if not np.array_equal(known[found], number):
            msg = (
                "rows have a combination of attributes that was not counted before: the table"
                " changed while it was read.\n\nHint: give a table that nobody writes to meanwhile."
            )
            raise DataError(msg)
        return np.asarray(found)

    def parts(self, combination: int) -> list[str]:
        """Return the attribute and level of each attribute of a combination, as text."""
        return [
            words[level] for words, level in zip(self.words, self.levels[combination], strict=True)
        ]

    @property
    def rows(self) -> Ints:
        """Number of rows of each combination."""
        return np.bincount(self.of_row, minlength=len(self.levels))


def combinations_of(codes: Codes, attributes: Sequence[str], placed: Mask) -> Combinations:
    """Return the combinations of some columns among the rows that have a place."""
    columns = [codes[name].take(np.flatnonzero(placed)) for name in attributes]
    rows = int(np.count_nonzero(placed))
    if not columns:
        return Combinations(
            np.zeros(rows, dtype=np.int64), np.zeros((1, 0), dtype=np.int64), ("everyone",)
        )
    ranks, words, values = zip(*(_ranked(column) for column in columns), strict=True)
    levels, of_row = np.unique(np.column_stack(ranks), axis=0, return_inverse=True)
    names = tuple(
        ", ".join(word[level] for word, level in zip(words, row, strict=True))
        for row in levels.tolist()
    )
    return Combinations(
        of_row.ravel().astype(np.int64), levels.astype(np.int64), names, tuple(words), values
    )


def _ranked(column: Column) -> tuple[Ints, list[str], Ints]:
    """Return the rank of each value, missing last, and text and value of each rank."""
    if column.field.kind in ("number", "date", "text"):
        msg = (
            f"attribute {column.name!r} has the kind {column.field.kind!r}, but attributes must be"
            " categories.\n\nHint: recode it into groups, or name a number under continuous."
        )
        raise PlanError(msg)
    occurring = np.unique(column.values[~column.missing])
    rank = np.where(column.missing, occurring.size, np.searchsorted(occurring, column.values))
    texts = (
        [str(value) for value in occurring.tolist()]
        if column.labels is None
        else [label_text(column.labels[int(code)].as_py()) for code in occurring]
    )
    words = [f"{column.name} {text}" for text in texts]
    if column.missing.any():
        words.append(f"{column.name} missing")
    return rank.astype(np.int64), words, occurring


def advise(combinations: Combinations, attributes: Sequence[str]) -> None:
    """Refuse too many combinations; warn where they are many, or most have few rows."""
    if not attributes:
        return
    count = len(combinations.levels)
    small = int(np.count_nonzero(combinations.rows < FEW_ROWS))
    levels = (combinations.levels.max(axis=0) + 1).tolist()
    widest, name = max(zip(levels, attributes, strict=True))
    merge = (
        f"merge categories of {name!r} ({widest} levels) with a recode step, or name fewer"
        " attributes"
    )
    if count > TOO_MANY:
        msg = (
            f"the attributes give {count} combinations, more than the {TOO_MANY} that can be"
            f" mapped.\n\nHint: {merge}."
        )
        raise PlanError(msg)
    if count > MANY or 2 * small > count:
        warnings.warn(
            f"the attributes give {count} combinations, {small} of them with fewer than {FEW_ROWS}"
            " rows: their maps rest on the main effects alone.\n\nHint:"
            f" {merge}.",
            RegionWarning,
            stacklevel=2,
        )
