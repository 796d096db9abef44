"""Rules across the members of a household: exactly one head, children younger than their parents.

A *relative* is a name for the member who meets a condition, such as ``head`` for ``relation ==
"head"``; no household has two of them. In rules ``head.age`` is the age of that member, and ``age -
head.age`` the difference to it. A rule says nothing about members of households without such a
relative, or where one of the numbers is missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints, Mask
from veladura.base.expression import MINUS, Expression, parse
from veladura.errors import ColumnError, DataError, PlanError
from veladura.methods.cart.rules import MOST_BROKEN, RuleWarning
from veladura.table.codes import Column
from veladura.table.conditions import holds
from veladura.table.schema import Field

if TYPE_CHECKING:
    from veladura.methods.households.children import Columns

DOT = "."


@dataclass(frozen=True)
class MemberRules:
    """What holds between the members of every unit.

    Attributes
    ----------
    relatives
        By name, the condition that at most one member of a unit meets.
    exactly_one
        The relatives that every unit has.
    rules
        Conditions on a member that name relatives.
    distinct
        Columns that never repeat within a unit, such as the waves of a person.
    """

    relatives: Mapping[str, Expression]
    exactly_one: tuple[str, ...]
    rules: tuple[Expression, ...]
    distinct: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, relatives: Mapping[str, str], exactly_one: Sequence[str], rules: Sequence[str]
    ) -> MemberRules:
        """Return the rules of a recipe that are about members; refuse names of nobody."""
        if unknown := [name for name in exactly_one if name not in relatives]:
            what = "relative in exactly_one"
            raise PlanError.unknown(what, unknown[0], relatives)
        across = tuple(rule for text in rules if is_across(rule := parse(text), relatives))
        return cls({n: parse(text) for n, text in relatives.items()}, tuple(exactly_one), across)

    def __bool__(self) -> bool:
        return bool(self.relatives or self.distinct)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of members that the rules read."""
        named = [name for relative in self.relatives.values() for name in relative.columns]
        for rule in self.rules:
            named += [_plain(part) for name in rule.columns for part in name.split(MINUS)]
        return tuple(dict.fromkeys(named))

    def broken(self, columns: Columns, unit: Ints, units: int, *, complete: bool = True) -> Ints:
        """Return how many times each unit breaks a rule.

        Parameters
        ----------
        columns, unit
            The columns of members, and the unit of each.
        complete
            Whether all members are given; if not, a relative may still come.
        """
        broken = np.zeros(units, dtype=np.int64)
        who: dict[str, Ints] = {}
        for name, condition in self.relatives.items():
            met = np.flatnonzero(holds(condition, columns))
            count = np.bincount(unit[met], minlength=units)
            least = 1 if complete and name in self.exactly_one else 0
            broken += (count > 1) | (count < least)
            who[name] = np.full(units, -1, dtype=np.int64)
            who[name][unit[met[::-1]]] = met[::-1]
        for name in self.distinct:
            if name in columns:  # else it is drawn later
                broken += _repeated(columns[name], unit, units)
        for rule in self.rules:
            np.add.at(broken, unit[~_kept(rule, columns, unit, who)], 1)
        return broken

    def check(self, columns: Columns, unit: Ints, units: int) -> None:
        """Warn of rules that a few households of the original break; refuse more."""
        count = int(np.count_nonzero(self.broken(columns, unit, units)))
        if count > MOST_BROKEN * units:
            msg = (
                f"{count} of {units} households of the original break the rules across members."
                f"\n\nHint: correct or remove rules that more than {MOST_BROKEN:.0%} of the"
                " households break."
            )
            raise DataError(msg)
        if count:
            warnings.warn(
                f"{count} households of the original break a rule across members that every"
                " household of the release will keep.",
                RuleWarning,
                stacklevel=2,
            )


def _repeated(column: Column, unit: Ints, units: int) -> Ints:
    """Return how many rows of each unit hold a value that an earlier one holds."""
    here = np.flatnonzero(~column.missing)
    values = np.unique(column.values[here], return_inverse=True)[1].reshape(-1)
    most = int(values.max(initial=0)) + 1
    pairs = np.unique(unit[here] * most + values)
    repeated: Ints = np.bincount(unit[here], minlength=units) - np.bincount(
        pairs // most, minlength=units
    )
    return repeated


def is_across(rule: Expression, relatives: Mapping[str, object]) -> bool:
    """Whether a rule names a relative, or a difference."""
    parts = [part for name in rule.columns for part in name.split(MINUS)]
    named = [part for part in parts if part.partition(DOT)[0] in relatives and DOT in part]
    return bool(named) or len(parts) > len(rule.columns)


def _plain(name: str) -> str:
    """Return the column that a name is about, whosever it is."""
    return name.rpartition(DOT)[2] if DOT in name else name


def _kept(rule: Expression, columns: Columns, unit: Ints, who: Mapping[str, Ints]) -> Mask:
    """Return the members for which a rule holds, or says nothing."""
    known: dict[str, Column] = {}
    silent = np.zeros(unit.size, dtype=bool)
    for name in rule.columns:
        left, minus, right = name.partition(MINUS)
        column = _of_member(left, columns, unit, who)
        if minus:
            column = _difference(name, column, _of_member(right, columns, unit, who))
        known[name] = column
        if minus or name not in columns or column.labels is None:
            silent |= column.missing
    return holds(rule, known) | silent


def _of_member(name: str, columns: Columns, unit: Ints, who: Mapping[str, Ints]) -> Column:
    """Return a column of the members, or of their relative."""
    if name in columns:
        return columns[name]
    relative, _, own = name.partition(DOT)
    if relative not in who or own not in columns:
        setting = "a rule across members"
        raise ColumnError.missing(setting, [name], [*columns])
    place = who[relative][unit]
    column = columns[own].take(np.maximum(place, 0))
    return column.with_values(column.values, column.missing | (place < 0))


def _difference(name: str, left: Column, right: Column) -> Column:
    """Return a difference of numbers, missing where one of them is; of dates in days."""
    if left.labels is not None or right.labels is not None:
        msg = f"a rule across members subtracts a column that holds no numbers: {name!r}."
        raise PlanError(msg)
    values = left.values.astype(np.float64) - right.values.astype(np.float64)
    field = Field(name, "number", pa.float64())
    return Column(field, values, left.missing | right.missing)
