"""The declared domain: every cell that a row can be in, from public knowledge."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import DataError, PlanError
from veladura.methods.private import bins
from veladura.table.codes import Column, label_text
from veladura.table.schema import LABELLED, Field

if TYPE_CHECKING:
    from veladura.table.table import Table

Value = str | int | bool
Values = Mapping[str, Sequence[Value]]
Zero = Mapping[str, Sequence[Value] | Value]
MOST_CELLS = 1_000_000
KINDS = (*LABELLED, "integer")


@dataclass(frozen=True)
class Domain:
    """The product of the declared values of some columns, the last column fastest.

    Attributes
    ----------
    values
        By column, the declared values in order.
    missing
        Columns whose missing values are a category of their own, after the declared ones.
    zeros
        Structural zeros, combinations that cannot occur: each gives columns the values that are
        impossible together, None for missing.
    edges
        Columns of numbers: the edges of their bins, whose words are the declared values.
    """

    values: Values
    missing: tuple[str, ...] = ()
    zeros: tuple[Zero, ...] = ()
    edges: Mapping[str, bins.Edges] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories of each column."""
        return tuple(len(values) + (name in self.missing) for name, values in self.values.items())

    @property
    def cells(self) -> int:
        """The number of cells, impossible ones included."""
        return math.prod(self.shape)

    @cached_property
    def possible(self) -> Mask:
        """Which cells can occur."""
        possible = np.ones(self.shape, dtype=bool)
        for zero in self.zeros:
            possible[np.ix_(*(self._places(name, zero) for name in self.names))] = False
        return possible.ravel()

    def _places(self, name: str, zero: Zero) -> list[int]:
        """Return the categories of a column in a structural zero: all where it is not named."""
        if name not in zero:
            return list(range(self.shape[self.names.index(name)]))
        texts = self.texts(name)
        return [
            len(texts) if value is None else texts.index(label_text(value))
            for value in listed(zero[name])
        ]

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        return {
            name: [label_text(value) for value in values] for name, values in self.values.items()
        }

    def texts(self, name: str) -> list[str]:
        """Return the declared values of a column as text."""
        return self._texts[name]

    def labels(self) -> list[tuple[str | None, ...]]:
        """Return the values of every cell as text, None for missing."""
        columns: list[list[str | None]] = [
            [*self.texts(name), *([None] if name in self.missing else [])] for name in self.names
        ]
        grid = np.indices(self.shape).reshape(len(columns), -1).T
        return [
            tuple(column[place] for column, place in zip(columns, places, strict=True))
            for places in grid.tolist()
        ]

    def tuples(self, table: Table, *, clip: bool = False) -> tuple[list[Ints], Ints]:
        """Return the distinct rows as categories of each column, and how often each occurs.

        Values outside the domain, and rows in cells declared as impossible, are an error, which
        gives their number only. Numbers beyond the outer edges are too, unless they are clipped.
        """
        distinct = table.counts(self.names)
        codes = [self._codes(column, clip=clip) for column in distinct.columns]
        outside = {
            column.name: int(distinct.size[code < 0].sum())
            for column, code in zip(distinct.columns, codes, strict=True)
            if (code < 0).any()
        }
        if outside:
            raise _outside(outside)
        if impossible := int(distinct.size[self._never(codes)].sum()):
            msg = (
                f"{impossible} rows are in cells declared as impossible.\n\nHint: correct"
                " structural_zeros or rules, or the rows."
            )
            raise DataError(msg)
        return codes, distinct.size

    def _never(self, codes: Sequence[Ints]) -> Mask:
        """Return which rows are in a cell declared as impossible."""
        never = np.zeros(codes[0].size, dtype=bool)
        for zero in self.zeros:
            here = np.ones(codes[0].size, dtype=bool)
            for name in zero:
                here &= np.isin(codes[self.names.index(name)], self._places(name, zero))
            never |= here
        return never

    def zero_tables(self) -> list[tuple[tuple[int, ...], Floats]]:
        """Return the structural zeros by the columns they are about, as positions.

        Each table has 1 for its possible cells and 0 for the others.
        """
        tables: dict[tuple[int, ...], Floats] = {}
        for zero in self.zeros:
            columns = tuple(sorted(self.names.index(name) for name in zero))
            sizes = [self.shape[column] for column in columns]
            table = tables.setdefault(columns, np.ones(sizes))
            table[np.ix_(*(self._places(self.names[c], zero) for c in columns))] = 0.0
        return list(tables.items())

    def with_zeros(self, zeros: Sequence[Zero]) -> Domain:
        """Return the domain with further structural zeros."""
        return replace(self, zeros=(*self.zeros, *zeros))

    def of_rows(self, table: Table) -> Ints:
        """Return the cell of each row, in the order of the table."""
        codes = [self._codes(table.column(name)) for name in self.names]
        outside = {
            name: int((code < 0).sum())
            for name, code in zip(self.names, codes, strict=True)
            if (code < 0).any()
        }
        if outside:
            raise _outside(outside)
        return np.ravel_multi_index(codes, self.shape).astype(np.int64)

    def count(self, table: Table) -> Ints:
        """Return the rows of each cell, counted where the data lives."""
        codes, size = self.tuples(table)
        counts = np.zeros(self.cells, dtype=np.int64)
        np.add.at(counts, np.ravel_multi_index(codes, self.shape), size)
        return counts

    def _codes(self, column: Column, *, clip: bool = False) -> Ints:
        """Return the category of each value, -1 for one that is not declared."""
        if column.name in self.edges:
            return self._bins(column, clip=clip)
        place = {text: i for i, text in enumerate(self.texts(column.name))}
        if column.labels is None:
            coded = np.array(
                [place.get(str(int(value)), -1) for value in column.values.tolist()], dtype=np.int64
            )
        else:
            labels = map(label_text, column.labels.to_pylist())
            of_label = np.array([place.get(label, -1) for label in labels] or [-1], dtype=np.int64)
            coded = of_label[column.values]
        return np.where(column.missing, len(place) if column.name in self.missing else -1, coded)

    def _bins(self, column: Column, *, clip: bool) -> Ints:
        edges, absent = self.edges[column.name], column.name in self.missing
        if column.labels is not None:  # of a stranger's file: numbers are asked for at the door
            return np.full(column.size, -1, dtype=np.int64)
        numbers = column.values.astype(np.float64)
        missing = column.missing | np.isnan(numbers)
        codes = bins.codes_of(np.where(missing, edges[0], numbers), edges, clip=clip)
        return np.where(missing, len(edges) - 1 if absent else -1, codes)

    def columns(self, table: Table, cells: Ints) -> dict[str, Column]:
        """Return rows in given cells as columns of the table's own types."""
        return self.columns_of(table, np.unravel_index(cells, self.shape))

    def columns_of(
        self, table: Table, codes: Sequence[Ints], within: bins.Within | None = None
    ) -> dict[str, Column]:
        """Return rows given by their categories as columns of the table's own types.

        Numbers are drawn within their bins; in the middle, unless ``within`` says otherwise. Then
        they follow the three columns that tell their bins apart best.
        """
        within = within or bins.Within()
        return {
            name: (
                self._numbers(table.schema[name], codes, at, within)
                if name in self.edges
                else self._column(table.schema[name], codes[at])
            )
            for at, name in enumerate(self.names)
        }

    def _numbers(self, field: Field, codes: Sequence[Ints], at: int, within: bins.Within) -> Column:
        """Return numbers in their bins, of a type that holds all of them."""
        edges, whole = self.edges[field.name], field.kind == "integer"
        missing = codes[at] == len(edges) - 1
        held = np.where(missing, 0, codes[at])
        others = [] if within.rng is None else [*codes[:at], *codes[at + 1 :]]
        drawn = within.numbers(held, edges, whole=whole, groups=bins.telling(held, others))
        wide = replace(field, type=pa.int64() if whole else pa.float64())
        return Column(wide, drawn.astype(np.int64) if whole else drawn, missing)

    def rebinned(self, edges: Mapping[str, bins.Edges]) -> Domain:
        """Return the domain with other bins of some columns of numbers."""
        words = {name: bins.labels(ends) for name, ends in edges.items()}
        return replace(self, values={**self.values, **words}, edges={**self.edges, **dict(edges)})

    def _column(self, field: Field, codes: Ints) -> Column:
        texts = self.texts(field.name)
        missing = codes == len(texts)
        codes = np.where(missing, 0, codes)
        if field.kind in LABELLED:
            order = tuple(texts) if field.kind == "ordered" else ()
            return Column(
                replace(field, order=order),
                codes,
                missing,
                pa.array(texts, pa.string()).cast(field.type),
            )
        return Column(
            field, np.array([int(text) for text in texts], dtype=np.int64)[codes], missing
        )

    def to_json(self) -> dict[str, Any]:
        """Return the domain as the manifest states it."""
        return {
            "domain": {name: list(values) for name, values in self.values.items()},
            "missing": list(self.missing),
            "structural_zeros": [
                {name: list(listed(value)) for name, value in zero.items()} for zero in self.zeros
            ],
            **({"edges": {name: list(e) for name, e in self.edges.items()}} if self.edges else {}),
        }

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> Domain:
        """Return the domain that a manifest states, its columns in the order of the release."""
        declared = settings["domain"]
        values = {name: tuple(declared[name]) for name in settings.get("columns", declared)}
        zeros = tuple(
            {name: tuple(value) for name, value in zero.items()}
            for zero in settings.get("structural_zeros", ())
        )
        edges = {name: tuple(map(float, e)) for name, e in settings.get("edges", {}).items()}
        for name, ends in edges.items():
            if not bins.check_edges(ends) or len(values[name]) != len(ends) - 1:
                raise ValueError
        return cls(values, tuple(settings.get("missing", ())), zeros, edges)


def _outside(rows: Mapping[str, int]) -> DataError:
    """Return the error about values that are not declared: their number only."""
    return DataError(
        f"rows with values outside the declared domain, by column: {dict(rows)}.\n\nHint: the"
        " domain comes from public knowledge; complete it, recode the column, or name it"
        " in missing if values are missing."
    )


def declare(
    columns: Sequence[str],
    given: Values | str | None,
    missing: Sequence[str] = (),
    zeros: Sequence[Zero] = (),
    most: int | None = MOST_CELLS,
    edges: Mapping[str, bins.Edges] | None = None,
) -> Domain:
    """Return the domain of some columns as it was declared, or say what is wrong with it."""
    values = read_values(given) if isinstance(given, str) else given
    edges = edges or {}
    if both := [name for name in edges if name in (values or {})]:
        msg = (
            f"{both} have a domain and bounds.\n\nHint: bounds are for numbers, domain for"
            " categories: leave one out."
        )
        raise PlanError(msg)
    values = {**(values or {}), **{name: bins.labels(ends) for name, ends in edges.items()}}
    if not values:
        msg = (
            "domain is missing: declare the values that can occur, from public knowledge and never"
            " from the data.\n\nHint: domain={'sex': ['f', 'm'], ...}, or the path of a JSON file."
        )
        raise PlanError(msg)
    if absent := [name for name in columns if name not in values]:
        msg = (
            f"domain declares no values for {absent}.\n\nHint: numbers need bounds instead, where"
            " the method has them."
        )
        raise PlanError(msg)
    chosen = {name: checked_values(name, values[name]) for name in columns}
    if beyond := [name for name in missing if name not in chosen]:
        msg = f"missing names columns that are not released: {beyond}."
        raise PlanError(msg)
    domain = Domain(chosen, tuple(missing), tuple(zeros), dict(edges))
    if most is not None and domain.cells > most:
        msg = (
            f"the domain has {domain.cells} cells, more than {most}.\n\nHint: release fewer"
            " columns, recode them, or use Marginals."
        )
        raise PlanError(msg)
    _check_zeros(domain)
    return domain


def checked_values(name: str, given: object) -> tuple[Value, ...]:
    """Return the declared values of a column, or say what is wrong with them."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        msg = f"domain of {name!r} must be a list of values."
        raise PlanError(msg)
    if not given:
        msg = f"domain of {name!r} is empty."
        raise PlanError(msg)
    given = [value.item() if isinstance(value, np.generic) else value for value in given]
    if not all(isinstance(value, (str, int)) for value in given):
        msg = (
            f"domain of {name!r} must hold text, whole numbers or true and false.\n\nHint: missing"
            " values have a setting of their own: missing."
        )
        raise PlanError(msg)
    if repeated := len(given) - len({label_text(value) for value in given}):
        msg = f"domain of {name!r} has repeated values ({repeated}): declare each value once."
        raise PlanError(msg)
    return tuple(given)


def _check_zeros(domain: Domain) -> None:
    for zero in domain.zeros:
        if (
            not isinstance(zero, Mapping)
            or not zero
            or any(name not in domain.names for name in zero)
        ):
            msg = (
                "each of structural_zeros must give released columns the values that cannot occur"
                " together."
            )
            raise PlanError(msg)
        if undeclared := [
            name
            for name, value in zero.items()
            if not {None if v is None else label_text(v) for v in listed(value)}
            <= {*domain.texts(name), *([None] if name in domain.missing else [])}
        ]:
            msg = f"structural_zeros has values of {undeclared} that the domain does not declare."
            raise PlanError(msg)
    if domain.zeros and domain.cells <= MOST_CELLS and not domain.possible.any():
        msg = "structural_zeros leaves no cell that can occur."
        raise PlanError(msg)


def read_values(path: str) -> dict[str, tuple[Value, ...]]:
    """Return the domain in a JSON file: an object with a list of values for each column."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        msg = f"the domain file {path} cannot be read as JSON."
        raise PlanError(msg) from None
    if not isinstance(content, dict):
        msg = f"the domain file {path} must hold an object with a list of values for each column."
        raise PlanError(msg)
    return {name: checked_values(name, values) for name, values in content.items()}


def listed(value: Sequence[Value] | Value) -> tuple[Value, ...]:
    """Return a value, or several, as a tuple of values."""
    return (value,) if isinstance(value, (str, int)) else tuple(value)
