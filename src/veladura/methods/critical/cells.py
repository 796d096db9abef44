"""Which cells are critical: conditions by column, rows marked by a mask, and the combinations that occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.expression import Both, Compare, Expression, Name, Node, parse
from veladura.errors import PlanError
from veladura.methods.cart.cart import Bounds
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.table.codes import Column

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
ALL = "all"  # the word for a whole column


class CriticalWarning(UserWarning):
    """Something about the critical cells that the holder should know."""


@dataclass(frozen=True)
class Condition:
    """What makes a value of one column critical; without an expression every value is."""

    column: str
    expression: Expression | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at."""
        return () if self.expression is None else self.expression.columns

    @property
    def alone(self) -> bool:
        """Whether a value decides by itself, whatever else stands in the row."""
        return set(self.columns) <= {self.column}

    def marks(self, columns: Mapping[str, Column]) -> Mask:
        """Return the rows whose value is critical."""
        if self.expression is None:
            return np.ones(columns[self.column].size, dtype=bool)
        return holds(self.expression, columns)

    def fits(
        self,
        columns: Mapping[str, Column],
        rows: Ints,
        values: NDArray[Any],
        missing: Mask | None = None,
    ) -> Mask:
        """Return which new values would be critical in their rows, the other columns being as in the original."""
        if self.expression is None:
            return np.ones(rows.size, dtype=bool)
        known = {name: columns[name].take(rows) for name in self.columns if name != self.column}
        own = columns[self.column]
        known[self.column] = own.with_values(
            values, np.zeros(rows.size, dtype=bool) if missing is None else missing
        )
        return holds(self.expression, known)


def read_condition(column: str, given: str | Bounds) -> Condition:
    """Return a condition from an expression, an interval or the word "all".

    Examples
    --------
    >>> read_condition("income", Bounds(min=200_000)).columns
    ('income',)
    """
    if isinstance(given, str):
        return Condition(column, None if given == ALL else parse(given))
    ends: list[Node] = [
        Compare(Name(column), sign, float(end))
        for sign, end in ((">=", given.min), ("<=", given.max))
        if end is not None
    ]
    if not ends:
        msg = (
            f"critical.{column}: an interval needs a min, a max, or both.\n\nHint: write {ALL!r}"
            " when every value is critical."
        )
        raise PlanError(msg)
    text = " and ".join(
        f"{column} {end.sign} {end.right}" for end in ends if isinstance(end, Compare)
    )
    return Condition(column, Expression(text, ends[0] if len(ends) == 1 else Both("and", *ends)))


def read_conditions(critical: Mapping[str, str | Bounds]) -> dict[str, Condition]:
    """Return the conditions of all columns; each but "all" must look at its own column or at others."""
    return {column: read_condition(column, given) for column, given in critical.items()}


@dataclass(frozen=True)
class Pattern:
    """Rows with the same critical columns."""

    columns: tuple[str, ...]
    rows: Ints = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """The critical cells of a table. Its repr shows none.

    Attributes
    ----------
    marks
        By column, which rows have a critical value there.
    """

    conditions: Mapping[str, Condition]
    marks: Mapping[str, Mask]

    @classmethod
    def of(
        cls, conditions: Mapping[str, Condition], columns: Mapping[str, Column], rows: Mask | None
    ) -> Cells:
        """Return the cells that meet their condition, in the rows of a mask if there is one."""
        found = {name: condition.marks(columns) for name, condition in conditions.items()}
        return cls(
            conditions,
            found if rows is None else {name: mark & rows for name, mark in found.items()},
        )

    @cached_property
    def count(self) -> dict[str, int]:
        """Number of critical cells by column."""
        return {name: int(np.count_nonzero(mark)) for name, mark in self.marks.items()}

    def patterns(self, columns: Sequence[str]) -> list[Pattern]:
        """Return the combinations of critical columns that occur, most frequent first; time goes by rows, not by combinations."""
        rows = np.flatnonzero(np.logical_or.reduce([self.marks[name] for name in columns]))
        if not rows.size:
            return []
        packed = np.packbits(np.column_stack([self.marks[name][rows] for name in columns]), axis=1)
        key = np.zeros(rows.size, dtype=np.int64)
        for byte in packed.T:  # numbered anew at each byte, so that no number of columns overflows
            _, key = np.unique(key * 256 + byte, return_inverse=True)
        order = np.argsort(key, kind="stable")
        ends = np.cumsum(np.bincount(key))
        found = []
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            here = rows[order[start:end]]
            found.append(
                Pattern(tuple(name for name in columns if self.marks[name][here[0]]), here)
            )
        return sorted(
            found,
            key=lambda pattern: (
                -pattern.rows.size,
                [list(columns).index(name) for name in pattern.columns],
            ),
        )
