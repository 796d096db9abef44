"""Totals that a holder declares: people of categories, of crossed categories, sums of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.base.checks import is_number
from veladura.errors import DataError, PlanError
from veladura.table.codes import Column, label_text, label_texts

BETWEEN = ","  # names of crossed columns, as in "sex, age"
MOST_NAMED = 5
EXAMPLE = (
    "write totals = {sex = {f = 1200, m = 1100}} for the people of every category, {income = 3.5e9}"
    ' for the sum of a column, {"sex, region" = {f = {north = 500, south = 700}, m = {north = 400,'
    " south = 700}}} for crossed columns."
)


@dataclass(frozen=True)
class Target:
    """The totals of one column, or of several that are crossed.

    Attributes
    ----------
    key
        How the holder wrote it.
    columns
        The columns.
    labels
        Their categories, one of each column; none for the sum of a number column.
    numbers
        The total of each combination of categories, or the sum.
    """

    key: str
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    numbers: tuple[float, ...]

    @property
    def people(self) -> float | None:
        """What the totals of all categories add up to; None for a sum of numbers."""
        return sum(self.numbers) if self.labels else None

    def named(self, places: Sequence[int]) -> str:
        """Return some of its categories by name; they are the holder's own words."""
        shown = [" x ".join(self.labels[place]) for place in places[:MOST_NAMED]]
        return ", ".join(shown) + (", ..." if len(places) > MOST_NAMED else "")

    def written(self, numbers: Sequence[float]) -> Any:
        """Return other totals as the holder wrote these."""
        if not self.labels:
            return numbers[0]
        made: dict[str, Any] = {}
        for labels, number in zip(self.labels, numbers, strict=True):
            inner = made
            for label in labels[:-1]:
                inner = inner.setdefault(label, {})
            inner[labels[-1]] = number
        return made


def read_targets(totals: Mapping[str, Any]) -> tuple[Target, ...]:
    """Return what a plan or a manifest declares; refuse what is no table of numbers."""
    if not isinstance(totals, Mapping) or not totals:
        msg = f"totals must give each column its totals.\n\nHint: {EXAMPLE}"
        raise PlanError(msg)
    return tuple(_target(str(key), wanted) for key, wanted in totals.items())


def _target(key: str, wanted: object) -> Target:
    if not isinstance(wanted, Mapping):
        return Target(key, (key,), (), (_number(key, wanted),))
    cells = list(_cells(wanted))
    depth = {len(labels) for labels, _ in cells}
    if len(depth) != 1:
        msg = f"totals of {key!r} have no number for some category.\n\nHint: {EXAMPLE}"
        raise PlanError(msg)
    crossed = depth.pop()
    columns = (key,) if crossed == 1 else tuple(part.strip() for part in key.split(BETWEEN))
    if len(columns) != crossed or not all(columns) or len(set(columns)) < crossed:
        msg = (
            f"totals of {key!r} have categories of {crossed} columns, and the name is of"
            f" {len(columns)}.\n\nHint: {EXAMPLE}"
        )
        raise PlanError(msg)
    labels = tuple(labels for labels, _ in cells)
    if len(set(labels)) < len(labels):
        msg = f"totals of {key!r} give a category twice."
        raise PlanError(msg)
    numbers = tuple(_number(key, number) for _, number in cells)
    if not all(number > 0 for number in numbers):
        msg = f"totals of {key!r} must be above 0: they are numbers of people."
        raise PlanError(msg)
    return Target(key, columns, labels, numbers)


def _cells(wanted: Mapping[Any, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the categories of each total, of outer columns first."""
    for label, inner in wanted.items():
        if not isinstance(inner, Mapping):
            yield (label_text(label),), inner
            continue
        for labels, number in _cells(inner):
            yield (label_text(label), *labels), number


def _number(key: str, value: object) -> float:
    value = value.item() if isinstance(value, np.generic) else value
    if not is_number(value):
        msg = f"totals of {key!r} must be numbers, one for every category.\n\nHint: {EXAMPLE}"
        raise PlanError(msg)
    return float(value)  # type: ignore[arg-type]  # checked above


def columns_of(targets: Sequence[Target]) -> list[str]:
    """Return the columns that totals name, each once."""
    return list(dict.fromkeys(name for target in targets for name in target.columns))


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of a table in the categories of a target.

    Attributes
    ----------
    place
        The category of each row, -1 where it has no declared total.
    """

    target: Target
    place: Ints = field(repr=False)

    @classmethod
    def of(cls, target: Target, columns: Mapping[str, Column]) -> Cells:
        """Return the category of every row."""
        size = columns[target.columns[0]].size
        place, strange = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
        number = np.zeros(len(target.labels), dtype=np.int64)  # of each declared combination
        for position, name in enumerate(target.columns):
            every = sorted({labels[position] for labels in target.labels})
            codes = _coded(columns[name], every)
            own = {label: code for code, label in enumerate(every)}
            strange |= codes < 0
            place = place * len(every) + codes
            number = number * len(every)
            number += np.array([own[labels[position]] for labels in target.labels], dtype=np.int64)
        order = np.argsort(number)
        at = np.minimum(np.searchsorted(number[order], place), order.size - 1)
        known = ~strange & (number[order][at] == place)
        return cls(target, np.where(known, order[at], -1))

    def check(self) -> None:
        """Refuse rows without a declared total, and totals without a row."""
        what = "value" if len(self.target.columns) == 1 else "combination"
        if strangers := int(np.count_nonzero(self.place < 0)):
            msg = (
                f"{strangers:,} rows have a {what} of {self.target.key!r} without a declared total,"
                " or none.\n\nHint: give the total of every category as it is released (suppressed"
                " values, *, are one), or leave the column out."
            )
            raise DataError(msg)
        held = np.bincount(self.place, minlength=len(self.target.numbers))
        if absent := np.flatnonzero(held == 0).tolist():
            msg = (
                f"{len(absent)} categories of {self.target.key!r} have a total, but no row:"
                f" {self.target.named(absent)}. No weight can reach it.\n\nHint: merge them with"
                " others, in the totals and in the released column (recode)."
            )
            raise DataError(msg)

    def sums(self, weights: Floats) -> Floats:
        """Return what weights add up to in each category."""
        inside = self.place >= 0
        summed = np.bincount(
            self.place[inside], weights=weights[inside], minlength=len(self.target.numbers)
        )
        return summed.astype(np.float64)

    def sides(self) -> Floats:
        """Return one column for each category: 1 for the rows in it."""
        made = np.zeros((self.place.size, len(self.target.numbers)))
        inside = np.flatnonzero(self.place >= 0)
        made[inside, self.place[inside]] = 1.0
        return made


def _coded(column: Column, labels: Sequence[str]) -> Ints:
    """Return the place of each row's value among labels, -1 where it is not there."""
    if column.labels is None:  # numbers are compared as such: 1, 1.0 and 1e0 are one
        values = column.numbers()
        numbers = np.array([_as_number(label) for label in labels])
        order = np.argsort(numbers)
        at = np.minimum(np.searchsorted(numbers[order], values), order.size - 1)
        fits = ~column.missing & (numbers[order][at] == values)
        return np.where(fits, order[at], -1)
    texts = label_texts(column)
    flags = pa.types.is_boolean(column.labels.type)
    own = {label.lower() if flags else label: code for code, label in enumerate(labels)}
    codes = np.array([own.get(text, -1) for text in texts] or [-1], dtype=np.int64)
    return np.where(column.missing, -1, codes[np.where(column.missing, 0, column.values)])


def _as_number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return np.inf  # no value of a column is infinite
