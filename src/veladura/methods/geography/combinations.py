"""Which combination of attributes each row has; combinations share a map."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.methods.geography.region import RegionWarning
from veladura.table.codes import Column, label_text

if TYPE_CHECKING:
    from veladura.table.codes import Codes

Ints = NDArray[np.int64]
MANY = 100
TOO_MANY = 1000
FEW_ROWS = 5


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations that occur.

    Attributes
    ----------
    of_row
        The combination of each row, counted from 0.
    levels
        The level of each attribute by combination, shape (B, number of attributes), from 0.
    names
        The levels of each combination in words, for maps; missing is a level of its own.
    """

    of_row: Ints = field(repr=False)
    levels: Ints = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    @property
    def rows(self) -> Ints:
        """Number of rows of each combination."""
        return np.bincount(self.of_row, minlength=len(self.levels))


def combinations_of(
    codes: Codes, attributes: Sequence[str], known: NDArray[np.bool_]
) -> Combinations:
    """Return the combinations of some columns among the rows that have a place."""
    columns = [codes[name].take(np.flatnonzero(known)) for name in attributes]
    rows = int(np.count_nonzero(known))
    if not columns:
        return Combinations(
            np.zeros(rows, dtype=np.int64), np.zeros((1, 0), dtype=np.int64), ("everyone",)
        )
    ranks, words = zip(*(_ranked(column) for column in columns), strict=True)
    levels, of_row = np.unique(np.column_stack(ranks), axis=0, return_inverse=True)
    names = tuple(
        ", ".join(word[level] for word, level in zip(words, row, strict=True))
        for row in levels.tolist()
    )
    return Combinations(of_row.ravel().astype(np.int64), levels.astype(np.int64), names)


def _ranked(column: Column) -> tuple[Ints, list[str]]:
    """Return the rank of each value among those that occur, missing last, and what each is called."""
    if column.field.kind in ("number", "date", "text"):
        msg = (
            f"attribute {column.name!r} is of kind {column.field.kind!r}: a map is made for each"
            " category.\n\nHint: recode it into groups, or name a number under continuous."
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
    return rank.astype(np.int64), (
        [
            *words,
            f"{column.name} missing",
        ]
        if column.missing.any()
        else words
    )


def advise(found: Combinations, attributes: Sequence[str]) -> None:
    """Refuse far too many combinations, and say what to merge where there are many or they are nearly empty."""
    if not attributes:
        return
    count, small = len(found.levels), int(np.count_nonzero(found.rows < FEW_ROWS))
    widest, name = max(zip((found.levels.max(axis=0) + 1).tolist(), attributes, strict=True))
    merge = (
        f"Merge categories of {name!r} ({widest} levels) with a recode step, or name fewer"
        " attributes"
    )
    if count > TOO_MANY:
        msg = (
            f"the attributes give {count} combinations, more than {TOO_MANY}: a map of each cannot"
            f" be learnt.\n\nHint: {merge}."
        )
        raise PlanError(msg)
    if count > MANY or 2 * small > count:
        warnings.warn(
            f"the attributes give {count} combinations, {small} of them with fewer than {FEW_ROWS}"
            f" rows: their maps rest on the main effects alone. {merge}.",
            RegionWarning,
            stacklevel=2,
        )
