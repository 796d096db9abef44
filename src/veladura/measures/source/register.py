"""Linking with an outside register: who is found in a table, and by which columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from veladura.base.arrays import Ints, Mask
from veladura.base.private_files import private_folder, refuse_near_release, write_private
from veladura.core.release import Release
from veladura.errors import ColumnError, DataError, PlanError
from veladura.measures.domain import column_levels, map_of
from veladura.numeric.coding import common_codes, dense
from veladura.table.codes import encode
from veladura.table.schema import Field, kind_of
from veladura.table.source import open_unwarned
from veladura.table.units import people_per_cell, person_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

MOST_COLUMNS = 8  # whose subsets are all tried


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """Who of a table a register finds. Its repr and text have numbers of people only.

    Attributes
    ----------
    on
        The columns that were compared.
    people, registered
        People in the table, and rows of the register.
    matched
        By set of columns, the people of the table whose values some entry of the register has.
    found
        By set of columns, the people who are found: their values are those of one person in the
        table and of one entry of the register.
    row, entry
        The row of the table and the entry of the register of everyone found by some set, numbered
        from 0.
    columns
        For each of them the smallest set of columns that finds the person; of several, the first.
    """

    on: tuple[str, ...]
    people: int
    registered: int
    matched: Mapping[tuple[str, ...], int]
    found: Mapping[tuple[str, ...], int]
    row: Ints
    entry: Ints
    columns: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return f"Found({len(self.row):,} of {self.people:,} people, on={list(self.on)})"

    def rows(self) -> list[tuple[str, str, str]]:
        """Return what is shown: each set of columns with the people matched and found."""
        return [
            (
                ", ".join(names),
                f"{self.matched[names]:,} of {self.people:,}",
                f"{number:,} of {self.people:,}",
            )
            for names, number in self.found.items()
        ]

    def save(self, path: str | Path) -> Path:
        """Write who is found as CSV, readable by its owner only; never beside a release."""
        place = Path(path)
        refuse_near_release(place)
        private_folder(place.absolute().parent)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("row", "entry", "found by"))
        for row, entry, names in zip(self.row, self.entry, self.columns, strict=True):
            writer.writerow((int(row), int(entry), " + ".join(names)))
        write_private(place, out.getvalue())
        return place


def link(table: Any, register: Any, on: Sequence[str] | Mapping[str, str]) -> Found:
    """Return who of a table is found in an outside register, and by which columns.

    A person is found if nobody else of the table and one entry of the register has the same
    values. Missing values match nothing. Every set of the columns is tried. Of a generalised
    release (one level for each column), the values of the register are generalised likewise.

    Parameters
    ----------
    table
        A source or a release: anything `veladura.open` takes, or what `veladura.load` returns.
    register
        A list of people that an outsider has, such as a voter list: anything `veladura.open` takes.
    on
        The columns that both have, at most eight; or by column of the table that of the register.

    Examples
    --------
    >>> import pandas as pd
    >>> patients = pd.DataFrame({"zip": ["1", "1", "2"], "sex": ["f", "m", "m"]})
    >>> voters = pd.DataFrame({"name": ["Ann", "Bob"], "zip": ["1", "1"], "sex": ["f", "m"]})
    >>> found = link(patients, voters, ["zip", "sex"])
    >>> found.found[("zip", "sex")], found.row.tolist(), found.entry.tolist()
    (2, [0, 1], [0, 1])

    References
    ----------
    Samarati, P. and Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity
    and its enforcement through generalization and suppression. SRI-CSL-98-04, sec. 1.
    """
    names = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    if isinstance(on, str) or not names or len(names) > MOST_COLUMNS:
        msg = f"on must list 1 to {MOST_COLUMNS} columns, got {len(names)}."
        raise PlanError(msg)
    release = table if isinstance(table, Release) else None
    rows = release.tables[0].table if release is not None else open_unwarned(table)
    entries = open_unwarned(register)
    for wanted, there in ((list(names), rows), (list(names.values()), entries)):
        if absent := [name for name in wanted if name not in there.names]:
            setting = "on"
            raise ColumnError.missing(setting, absent, there.names)
    if not rows.rows or not entries.rows:
        msg = "the table or the register has no rows: there is nobody to find."
        raise DataError(msg)
    pairs = {
        own: (rows.column(own), _registered(entries, other, own, release))
        for own, other in names.items()
    }
    return _found(rows, entries.rows, pairs)


def _registered(register: Table, name: str, own: str, release: Release | None) -> Column:
    """Return a column of the register, generalised as a release has it."""
    column = register.column(name)
    level = 0 if release is None else column_levels(release).get(own, 0)
    if not level or release is None:
        return column
    values = register.select([name]).arrow.rename_columns([own])
    renamed = open_unwarned(values, {own: {"kind": column.field.kind}})
    pairs = map_of(renamed, release, own, level)
    if pairs is None:
        return column
    old = pairs.column("old").combine_chunks().cast(renamed.arrow.column(own).type)
    new = pairs.column("new").combine_chunks()
    mapped = new.take(pc.index_in(renamed.arrow.column(own), old).combine_chunks())
    return encode(mapped, Field(own, kind_of(mapped.type) or "category", mapped.type))


def _found(table: Table, registered: int, pairs: Mapping[str, tuple[Column, Column]]) -> Found:
    """Try every set of columns, small ones first."""
    persons, size = person_numbers(table), table.rows
    coded = {name: common_codes(list(both)) for name, both in pairs.items()}
    known = {name: ~np.concatenate([c.missing for c in both]) for name, both in pairs.items()}
    matched: dict[tuple[str, ...], int] = {}
    found: dict[tuple[str, ...], int] = {}
    row_of = np.full(registered, -1, dtype=np.int64)
    by: dict[int, tuple[str, ...]] = {}
    for names in _subsets(list(pairs)):
        cells, number, whole = _cells(names, coded, known)
        own, theirs = cells[:size], cells[size:]
        people = people_per_cell(own[whole[:size]], persons[whole[:size]], number)
        entries = np.bincount(theirs[whole[size:]], minlength=number)
        hits = whole[:size] & (entries[own] > 0)
        alone = hits & (entries[own] == 1) & (people[own] == 1)
        matched[names] = int(np.unique(persons[hits]).size)
        found[names] = int(np.unique(persons[alone]).size)
        first = np.full(number, -1, dtype=np.int64)
        first[own[alone][::-1]] = np.flatnonzero(alone)[::-1]  # of several rows the first
        new = np.flatnonzero(whole[size:] & (first[theirs] >= 0) & (row_of < 0))
        row_of[new] = first[theirs[new]]
        by |= dict.fromkeys(new.tolist(), names)
    entry = np.flatnonzero(row_of >= 0)
    columns = tuple(by[i] for i in entry.tolist())
    return Found(
        tuple(pairs), table.people, registered, matched, found, row_of[entry], entry, columns
    )


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [c for size in range(1, len(names) + 1) for c in combinations(names, size)]


def _cells(
    names: Sequence[str],
    coded: Mapping[str, tuple[Ints, int]],
    known: Mapping[str, Mask],
) -> tuple[Ints, int, Mask]:
    """Return the combination of each row and entry, their number, and which have no gap."""
    rows = coded[names[0]][0].size
    cells, number, whole = np.zeros(rows, dtype=np.int64), 1, np.ones(rows, dtype=bool)
    for name in names:
        codes, levels = coded[name]
        cells, number = dense(cells * levels + codes, number * levels)
        whole &= known[name]
    return cells, number, whole
