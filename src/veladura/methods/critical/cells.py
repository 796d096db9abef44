"""Which cells are critical: a condition for each column, rows, and the patterns that occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Ints, Mask
from veladura.base.bounds import Bounds
from veladura.base.expression import Both, Compare, Expression, Name, Node, parse
from veladura.errors import PlanError, VeladuraWarning
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.table.codes import Column

ALL = "all"  # the word for a whole column


class CriticalWarning(VeladuraWarning):
    """Something about the critical cells that the data holder should know."""


@dataclass(frozen=True)
class Condition:
    """What makes a value of one column critical; without an expression, every value is."""

    column: str
    expression: Expression | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at."""
        return () if self.expression is None else self.expression.columns

    @property
    def alone(self) -> bool:
        """Whether the value alone decides, not the other columns of its row."""
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
        """Return which new values are critical in their rows, with the other columns unchanged."""
        if self.expression is None:
            return np.ones(rows.size, dtype=bool)
        tried = {name: columns[name].take(rows) for name in self.columns if name != self.column}
        own = columns[self.column]
        tried[self.column] = own.with_values(
            values, np.zeros(rows.size, dtype=bool) if missing is None else missing
        )
        return holds(self.expression, tried)


def read_condition(column: str, given: str | Bounds) -> Condition:
    """Return a condition from an expression, an interval, or the word "all".

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
            f"critical.{column}: an interval needs a min, a max, or both.\n\nHint: write {ALL!r} if"
            " every value is critical."
        )
        raise PlanError(msg)
    text = " and ".join(
        f"{column} {end.sign} {end.right}" for end in ends if isinstance(end, Compare)
    )
    return Condition(column, Expression(text, ends[0] if len(ends) == 1 else Both("and", *ends)))


def read_conditions(critical: Mapping[str, str | Bounds]) -> dict[str, Condition]:
    """Return the condition of each column."""
    return {column: read_condition(column, given) for column, given in critical.items()}


@dataclass(frozen=True)
class Pattern:
    """The rows in which the same columns are critical."""

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
        cls,
        conditions: Mapping[str, Condition],
        columns: Mapping[str, Column],
        rows: Mask | None,
        masks: Mapping[str, Mask] | None = None,
    ) -> Cells:
        """Return the cells that meet their condition, in the rows and cells of masks, if any."""
        marks = {name: condition.marks(columns) for name, condition in conditions.items()}
        if masks is not None:
            marks = {name: mark & masks[name] for name, mark in marks.items()}
        if rows is not None:
            marks = {name: mark & rows for name, mark in marks.items()}
        return cls(conditions, marks)

    @cached_property
    def count(self) -> dict[str, int]:
        """Number of critical cells by column."""
        return {name: int(np.count_nonzero(mark)) for name, mark in self.marks.items()}

    def patterns(self, columns: Sequence[str]) -> list[Pattern]:
        """Return the combinations of critical columns that occur, most frequent first."""
        rows = np.flatnonzero(np.logical_or.reduce([self.marks[name] for name in columns]))
        if not rows.size:
            return []
        packed = np.packbits(np.column_stack([self.marks[name][rows] for name in columns]), axis=1)
        key = np.zeros(rows.size, dtype=np.int64)
        for byte in packed.T:  # numbered again at each byte, so that no number overflows
            _, key = np.unique(key * 256 + byte, return_inverse=True)
        order = np.argsort(key, kind="stable")
        ends = np.cumsum(np.bincount(key))
        patterns = []
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            here = rows[order[start:end]]
            critical = tuple(name for name in columns if self.marks[name][here[0]])
            patterns.append(Pattern(critical, here))
        return sorted(
            patterns,
            key=lambda pattern: (
                -pattern.rows.size,
                [list(columns).index(name) for name in pattern.columns],
            ),
        )
