"""How many combinations of some columns one person has, two people, three: aggregates only.

Rows that are not held are counted where they live, on disk where need be. What comes back is as
long as there are different sizes, however many combinations there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.memory import holds_numbers
from veladura.table.counts import MOST_VALUES
from veladura.table.database.connection import (
    fetch,
    fetch_query,
    home_of,
    is_spark,
    one_at_a_time,
)
from veladura.table.database_errors import without_values

if TYPE_CHECKING:
    from veladura.table.table import Table
    from veladura.table.units import PeopleCounts


_BATCH = 1 << 17
_MOST_COLUMNS = 60  # of one query with GROUPING SETS: their number has 64 bits


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """The sizes of equivalence classes, each person in one of them.

    Attributes
    ----------
    size
        The sizes that occur, smallest first.
    number
        How many classes have each size.
    """

    size: Ints = field(repr=False)
    number: Ints = field(repr=False)

    @property
    def people(self) -> int:
        """Number of people."""
        return int((self.size * self.number).sum())

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.number.sum())

    def holders(self, chosen: Mask) -> int:
        """Return how many people are in classes of the chosen sizes."""
        return int((self.size * self.number)[chosen].sum())

    def in_largest(self, most: int) -> int:
        """Return how many people are in so many of the largest classes.

        Examples
        --------
        >>> ClassSizes(np.array([1, 5]), np.array([3, 2])).in_largest(3)
        11
        """
        number = self.number[::-1]
        taken = np.clip(most - (np.cumsum(number) - number), 0, number)
        return int((self.size[::-1] * taken).sum())

    def average_chance(self, candidates: Ints | Floats) -> float:
        """Return the mean over people of 1 / candidates of their class; 0 for nobody."""
        people = self.people
        return float((self.number * (self.size / candidates)).sum() / people) if people else 0.0

    def histogram(self) -> dict[int, int]:
        """Return the number of classes of each size."""
        return dict(zip(self.size.tolist(), self.number.tolist(), strict=True))


def class_sizes(table: Table, columns: Sequence[str]) -> ClassSizes | PeopleCounts:
    """Return the sizes of the equivalence classes of some columns.

    With several rows a person it is who holds which combination, since a person may be in many.
    """
    if table.in_memory or (table.person is not None and table.person not in columns):
        return table.people_counts(columns)
    return sizes_of_rows(table, columns)


def sizes_of_rows(table: Table, columns: Sequence[str]) -> ClassSizes:
    """Return the sizes of classes of rows, each counted as a person; of a lazy table once."""
    key = frozenset(columns)
    with table.cache.lock:
        if key not in table.cache.sizes:
            table.schema.check("columns", columns)
            table.cache.sizes[key] = _counted(table, columns)
        return table.cache.sizes[key]


def count_sizes_ahead(table: Table, names: Iterable[str]) -> None:
    """Count the sizes of classes of single columns by one query, for whoever asks for them later.

    Only where a pass over the rows costs more than counting, which is on Spark. What comes back is
    as long as there are different sizes, however many values the columns have.
    """
    if table.in_memory or not is_spark(table.expression):
        return
    with table.cache.lock:
        left = [
            name
            for name in dict.fromkeys(names)
            if frozenset([name]) not in table.cache.sizes and not table.knows_counts([name])
        ]
        for i in range(0, len(left), _MOST_COLUMNS):
            table.cache.sizes.update(_sizes_of_columns(table, left[i : i + _MOST_COLUMNS]))


def _sizes_of_columns(table: Table, names: Sequence[str]) -> dict[frozenset[str], ClassSizes]:
    home = home_of(table.expression)
    places = [f"c{table.schema.position(name)}" for name in names]
    listed, sets = ", ".join(places), ", ".join(f"({place})" for place in places)
    with without_values(table.source.name):
        home._run_pre_execute_hooks(table.expression)  # noqa: SLF001  # shows it rows in memory
        rows = home.compile(table.expression)
        groups = (
            f"SELECT grouping_id({listed}) AS g, count(*) AS size FROM ({rows}) AS t"  # noqa: S608
            f" GROUP BY GROUPING SETS ({sets})"
        )
        found = fetch_query(
            home,
            f"SELECT g, size, count(*) AS number FROM ({groups}) AS u GROUP BY g, size",  # noqa: S608
        )
    which, size, number = (
        found.column(name).cast(pa.int64()).to_numpy() for name in ("g", "size", "number")
    )
    order, every = np.argsort(size), (1 << len(places)) - 1
    sizes = {}
    for i, name in enumerate(names):
        # bit by bit from the left: 1 where a column is not in the set
        mine = order[which[order] == every - (1 << (len(places) - 1 - i))]
        sizes[frozenset([name])] = ClassSizes(size[mine], number[mine])
    return sizes


def exact_sizes(table: Table, columns: Sequence[str]) -> ClassSizes:
    """Return the sizes of classes of rows, told apart by their values: for proofs.

    A hash is enough for one's own rows. Whoever writes a folder to deceive can choose values of
    which two combinations have the same one, and every class would seem to have two people.
    """
    table.schema.check("columns", columns)
    return _counted(table, columns, exact=True)


def _counted(table: Table, columns: Sequence[str], *, exact: bool = False) -> ClassSizes:
    """Count classes and then their sizes: by tuples that are known already, or by a query."""
    if table.knows_counts(columns):
        size, number = np.unique(table.counts(columns).size, return_counts=True)
        return ClassSizes(size.astype(np.int64), number.astype(np.int64))
    home = home_of(table.expression)
    places = [f"c{table.schema.position(name)}" for name in dict.fromkeys(columns)]
    with without_values(table.source.name):
        if home.name == "duckdb" and not exact:
            home._run_pre_execute_hooks(table.expression)  # noqa: SLF001  # shows it rows in memory
            rows = home.compile(table.expression)
            if _mostly_alone(table, columns):
                return _sorted_here(home, rows, places, table.rows)
            found = fetch_query(home, _by_hash(rows, places))
        else:
            query = table.expression
            groups = query.group_by(places).aggregate(size=query.count())
            found = fetch(groups.group_by("size").aggregate(number=groups.count()))
    size, number = (found.column(name).cast(pa.int64()).to_numpy() for name in ("size", "number"))
    order = np.argsort(size)
    return ClassSizes(size[order], number[order])


def _mostly_alone(table: Table, columns: Sequence[str]) -> bool:
    """Whether there are about as many classes as rows, and one number of each row may be held."""
    known = table.cache.distinct
    return holds_numbers(table.rows) and any(known.get(n, 0) > MOST_VALUES for n in columns)


def _sorted_here(home: Any, rows: str, places: Sequence[str], size: int) -> ClassSizes:
    """Return the sizes of very many classes: hashes of rows are sorted, which is faster.

    A class is told by one hash of 64 bits. Of 2^26 rows, the most that are held, the probability
    that any two classes have theirs in common is 10^-4, and then two people count as one class.
    """
    sql = f"SELECT hash({', '.join(places)}) AS a FROM ({rows})"  # noqa: S608
    hashes, at = np.empty(size, dtype=np.uint64), 0
    with one_at_a_time():
        for batch in home.con.sql(sql).to_arrow_reader(_BATCH):
            hashes[at : at + batch.num_rows] = batch.column(0).to_numpy()
            at += batch.num_rows
    hashes = hashes[:at]
    hashes.sort()
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    found, number = np.unique(np.diff(starts, append=at), return_counts=True)
    return ClassSizes(found.astype(np.int64), number.astype(np.int64))


def _by_hash(rows: str, places: Sequence[str]) -> str:
    """Return DuckDB's SQL for the sizes of classes, told apart by two hashes of 64 bits.

    Two numbers a class take a tenth of the memory and time of its values. Of 10^9 classes the
    probability that any two of them have both hashes in common is below 10^-20.
    """
    forward, back = ", ".join(places), ", ".join([*reversed(places), "1"])
    hashed = f"SELECT hash({forward}) AS a, hash({back}) AS b FROM ({rows})"  # noqa: S608
    groups = f"SELECT count(*) AS size FROM ({hashed}) GROUP BY a, b"  # noqa: S608
    return f"SELECT size, count(*) AS number FROM ({groups}) GROUP BY size"  # noqa: S608
