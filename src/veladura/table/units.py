"""Units: a person may have several rows. Counts of people, and new numbers for them.

A table with a column of role "person" (or "household", "episode") is handed to methods and measures
without it: they see a view whose `Table.whole` is the table with these columns, row for row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import DataError, PlanError
from veladura.table.counts import Counts
from veladura.table.schema import UNITS, Field, Schema

if TYPE_CHECKING:
    from numpy.random import Generator

    from veladura.table.codes import Column
    from veladura.table.table import Table

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PeopleCounts(Counts):
    """The distinct tuples of some columns, each with the number of people who hold it.

    A person who holds a tuple in several rows counts once, ``size`` is of people. Where no person
    column is declared every row is a person.

    Attributes
    ----------
    rows
        Rows of each tuple.
    people
        Number of people in the table.
    tuple_of, person_of
        Every pair of a tuple and a person who holds it; None where every row is a person.
    """

    rows: Ints = field(repr=False)
    people: int
    tuple_of: Ints | None = field(default=None, repr=False)
    person_of: Ints | None = field(default=None, repr=False)

    @property
    def one_tuple_each(self) -> bool:
        """Whether everyone holds one tuple: then the people of several tuples add up."""
        return self.person_of is None or self.person_of.size == self.people

    @property
    def classes(self) -> int:
        """Number of tuples."""
        return int(self.size.size)

    def histogram(self) -> dict[int, int]:
        """Return the number of tuples that so many people hold."""
        size, number = np.unique(self.size, return_counts=True)
        return dict(zip(size.tolist(), number.tolist(), strict=True))

    def holders(self, chosen: Mask) -> int:
        """Return how many different people hold at least one of the chosen tuples."""
        if self.tuple_of is None or self.person_of is None:
            return int(self.size[chosen].sum())
        return int(np.unique(self.person_of[chosen[self.tuple_of]]).size)

    def average_chance(self, candidates: Ints | Floats) -> float:
        """Return the mean over people of 1 / candidates for a tuple; 0 for nobody.

        Of a person with several tuples the one with the fewest candidates counts.
        """
        if not self.people:
            return 0.0
        if self.tuple_of is None:
            return float((self.size / candidates).sum() / self.people)
        return float(self.highest(1 / candidates).mean())

    def highest(self, values: Floats) -> Floats:
        """Return for every person the highest value among the tuples that the person holds."""
        if self.tuple_of is None or self.person_of is None:
            return np.repeat(values, self.size)
        highest = np.full(self.people, -np.inf)
        np.maximum.at(highest, self.person_of, values[self.tuple_of])
        return highest


def count_people(table: Table, columns: Sequence[str], unit: str | None = None) -> PeopleCounts:
    """Return the distinct tuples of some columns with the number of people who hold each.

    Parameters
    ----------
    unit
        The column of the units that are counted, such as households; people by default.
    """
    unit = unit or table.person
    if unit is None or unit in columns:
        counts = table.counts(columns)
        return PeopleCounts(counts.columns, counts.size, counts.size, int(counts.size.sum()))
    pairs = table.units.counts([*columns, unit])
    *values, person = pairs.columns
    people, person_of = np.unique(person.values, return_inverse=True)
    # pairs come sorted by the columns, the person last: equal tuples follow each other
    starts = np.zeros(pairs.size.size, dtype=bool)
    starts[:1] = True
    for column in values:
        starts[1:] |= column.values[1:] != column.values[:-1]
        starts[1:] |= column.missing[1:] != column.missing[:-1]
    first = np.flatnonzero(starts)
    rows = np.add.reduceat(pairs.size, first) if first.size else pairs.size
    return PeopleCounts(
        tuple(column.take(first) for column in values),
        np.diff(first, append=pairs.size.size).astype(np.int64),
        rows.astype(np.int64),
        int(people.size),
        np.cumsum(starts) - 1,
        person_of.astype(np.int64),
    )


def person_numbers(table: Table) -> Ints:
    """Return the person of every row, numbered from 0; each row by itself where none is declared.

    Rows are in the order of the table.
    """
    if table.person is None:
        return np.arange(table.rows, dtype=np.int64)
    whole = table.units
    column = whole.column(table.person)
    return np.unique(column.values, return_inverse=True)[1].astype(np.int64)


def people_per_cell(cells: Ints, persons: Ints, number: int) -> Ints:
    """Return how many different people are in each of a number of cells.

    Examples
    --------
    >>> people_per_cell(np.array([0, 0, 1]), np.array([7, 7, 8]), 2).tolist()
    [1, 1]
    """
    people: Ints = np.bincount(cells[first_of_pairs(cells, persons)], minlength=number)
    return people.astype(np.int64)


def first_of_pairs(cells: Ints, persons: Ints) -> Ints:
    """Return one row for every pair of a cell and a person in it, in the order of pairs."""
    most = int(persons.max(initial=0)) + 1
    pairs = cells.astype(np.int64) * most + persons
    first: Ints = np.unique(pairs, return_index=True)[1].astype(np.int64)
    return first


def holders(cells: Ints, persons: Ints, chosen: Mask) -> int:
    """Return how many different people have a row in one of the chosen cells."""
    return int(np.unique(persons[chosen[cells]]).size)


def per_person(values: Floats, persons: Ints) -> Floats:
    """Return the highest value among the rows of each person, people numbered from 0.

    Examples
    --------
    >>> per_person(np.array([0.5, 1.0, 0.2]), np.array([0, 0, 1])).tolist()
    [1.0, 0.2]
    """
    highest = np.full(int(persons.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(highest, persons, values)
    return highest


def check_units(table: Table) -> None:
    """Refuse columns of units that do not say who a row is about."""
    for role in (role for role in UNITS if role != "lookup"):
        if len(names := table.schema.of_role(role)) > 1:
            msg = (
                f"{len(names)} columns have the role {role!r}: {names}. A table has one.\n\nHint:"
                f' keep the role {role!r} for one of them and give the others role = "identifier".'
            )
            raise PlanError(msg)
    person, household = table.schema.person, table.schema.household
    if (episode := table.schema.episode) is not None:
        _check_episodes(table, episode)
    if person is None:
        return
    column = table.counts([person])
    if missing := int(column.size[column.columns[0].missing].sum()):
        msg = (
            f"the person column {person!r} is missing in {missing} rows: nobody can say whose rows"
            " they are.\n\nHint: leave these rows out of the source, or give each a number of its"
            " own."
        )
        raise DataError(msg)
    if household is None:
        return
    pairs = table.counts([person, household])
    if several := pairs.size.size - column.size.size:
        msg = (
            f"{several} people of {person!r} lie in a second household of {household!r}: a person"
            " belongs to one household.\n\nHint: correct the source, or give the column"
            f" {household!r} another role."
        )
        raise DataError(msg)


def _check_episodes(table: Table, episode: str) -> None:
    """Refuse visits or jobs that are nobody's, or those of two people."""
    person = table.schema.person
    if person is None:
        msg = (
            f"column {episode!r} numbers episodes, and no column says whose they are.\n\nHint:"
            ' declare the column that numbers people: role = "person".'
        )
        raise PlanError(msg)
    each = table.counts([episode])
    missing = int(each.size[each.columns[0].missing].sum())
    several = table.counts([episode, person]).size.size - each.size.size
    if missing or several:
        msg = (
            f"the episodes of {episode!r} are missing in {missing} rows, and {several} belong to a"
            f" second person of {person!r}: an episode belongs to one person.\n\nHint: correct the"
            f" source, or give the column {episode!r} another role."
        )
        raise DataError(msg)


def refuse_repeated(table: Table, why: str) -> None:
    """Refuse a table in which a person has several rows, for a method that can only count rows."""
    if table.person is not None and table.people < table.rows:
        msg = (
            f"{table.people} people have {table.rows} rows, and {why}: one person could be a whole"
            " group.\n\nHint: protect a table with one row a person (sums or means of each person),"
            " or use another method for these columns, such as Noise, Recode or TopCode."
        )
        raise PlanError(msg)


def with_units(released: Table, source: Table, rows: Ints) -> Table:
    """Return a table with the columns of units of the rows it was made from, as they are there."""
    whole = source.units
    names = [field.name for field in whole.schema if field.role in UNITS]
    arrays = {name: whole.arrow.column(name).take(pa.array(rows)) for name in names}
    return _inserted(released, whole.schema, arrays, {name: whole.schema[name] for name in names})


def with_numbers(released: Table, source: Table, numbers: Mapping[str, Ints]) -> Table:
    """Return a table of new rows with numbers of their units, for columns that the source has."""
    whole = source.units
    fields = {name: Field(name, "integer", pa.int64(), whole.schema[name].role) for name in numbers}
    arrays = {name: pa.array(values.astype(np.int64)) for name, values in numbers.items()}
    return _inserted(released, whole.schema, arrays, fields)


def _inserted(
    released: Table, order: Schema, arrays: dict[str, pa.Array], fields: dict[str, Field]
) -> Table:
    """Return a table with columns added where another schema has them."""
    own = [name for name in released.names if name not in arrays]
    placed = [name for name in order.names if name in arrays or name in own]
    names = [*placed, *(name for name in own if name not in placed)]
    data = released.arrow
    columns = [arrays[name] if name in arrays else data.column(name) for name in names]
    schema = Schema(tuple(fields.get(name) or released.schema[name] for name in names))
    arrow = pa.Table.from_arrays(
        columns, schema=pa.schema([(field.name, field.type) for field in schema])
    )
    return replace(released, schema=schema, data=arrow, whole=None, stored=None)


def rekeyed(
    table: Table, name: str, rng: Generator, classes: Sequence[str] = (), known: int = 0
) -> Table:
    """Return a table in memory with new numbers for its units, drawn at random.

    A uniform random permutation: a number says nothing but which rows belong together. Units are
    put in an order of their released rows before it, so that nothing of the old numbers is left:
    not for one who guesses the seed.

    Parameters
    ----------
    classes
        Numbers hold within a combination of these columns only: the rows that a unit has in two
        combinations get two numbers, and cannot be linked.
    known
        The largest number that an earlier release gave out: smaller ones stay as they are.
    """
    column = table.column(name)
    _, unit = np.unique(column.values, return_inverse=True)
    unit = np.where(column.missing, -1, unit)
    for key in (table.column(c) for c in classes):
        _, value = np.unique(key.values, return_inverse=True)
        most = int(value.max(initial=0)) + 2
        _, unit = np.unique(
            unit * most + np.where(key.missing, most - 1, value), return_inverse=True
        )
    numbers, unit = np.unique(unit, return_inverse=True)
    drawn = np.empty(numbers.size, dtype=np.int64)
    order = np.argsort(unit_hashes(_contents(table), unit))
    if known:
        drawn[unit] = column.values
        order = order[drawn[order] > known]
    drawn[order] = rng.permutation(order.size) + 1 + known
    values = pa.array(drawn[unit].astype(np.int64), mask=column.missing)
    field = Field(name, "integer", pa.int64(), table.schema[name].role)
    return _inserted(table, table.schema, {name: values}, {name: field})


def _contents(table: Table) -> Hashes:
    """Return a number for every row, the same for rows that nothing but a number tells apart.

    It is made of the columns that are not of units, then twice of the rows of the same unit.
    """
    units = table.schema.of_role(*UNITS)
    hashes = row_hashes([table.column(name) for name in table.names if name not in units])
    if not hashes.size:
        hashes = np.zeros(table.rows, dtype=np.uint64)
    for name in (*units, *units):
        _, unit = np.unique(table.column(name).values, return_inverse=True)
        hashes = _mixed(hashes ^ unit_hashes(hashes, unit)[unit])
    return hashes


def row_hashes(columns: Sequence[Column]) -> Hashes:
    """Return a number for every row, the same for rows that hold the same."""
    hashes = np.zeros(columns[0].size if columns else 0, dtype=np.uint64)
    for column in columns:
        for key in column.keys():  # noqa: SIM118  # arrays to sort by, no mapping
            hashes = _mixed(hashes ^ np.ascontiguousarray(key).view(np.uint64))
    return hashes


def unit_hashes(hashes: Hashes, unit: Ints) -> Hashes:
    """Return a number for every unit that depends on its rows, not on their order."""
    sums = np.zeros(int(unit.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(sums, unit, _mixed(hashes))
    return sums


def _mixed(numbers: Hashes) -> Hashes:
    """Return numbers whose every bit depends on all of the given (splitmix64).

    Steele, G. L., Lea, D. and Flood, C. H. (2014). Fast splittable pseudorandom number generators.
    OOPSLA, 453-472.
    """
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = z ^ (z >> np.uint64(31))
    return mixed
