"""What a table remembers, so that it answers the same question once."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa

    from veladura.table.class_sizes import ClassSizes
    from veladura.table.codes import Column
    from veladura.table.counts import Counts
    from veladura.table.summary import Summary
    from veladura.table.table import Table


@dataclass(eq=False, repr=False)
class Cache:
    """Answers that a table has given before. It saves time and changes no result.

    Every table has its own, made with it; tables of the same rows share their counts and columns.

    Attributes
    ----------
    counts, profiles
        Distinct tuples of columns, and distributions of single columns, with numbers of rows.
    sizes
        Sizes of the equivalence classes of some columns of a lazy table.
    columns
        Columns of a small table as plain arrays, which every measure reads.
    distinct
        Approximate numbers of distinct values of columns; of texts those of Spark only.
    labels
        Every value that a text column can have, and perhaps some that it has not.
    summaries
        What the codebook says of the columns.
    rows, most_rows
        Number of rows of a lazy table, and how many it has at most.
    fetched
        The same table with its rows in memory, so that two readers do not fetch them twice.
    expression
        Rows in memory as a database sees them.
    lock
        Held while rows are fetched or counted: measures run in threads.
    """

    counts: dict[tuple[str, ...], Counts] = field(default_factory=dict)
    profiles: dict[str, Counts] = field(default_factory=dict)
    sizes: dict[frozenset[str], ClassSizes] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    distinct: dict[str, int] = field(default_factory=dict)
    labels: dict[str, pa.Array] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)
    rows: int | None = None
    most_rows: int | None = None
    fetched: Table | None = None
    expression: ibis.Table | None = None
    lock: Any = field(default_factory=RLock)

    def __reduce__(self) -> Any:
        """Start empty in a copy of the table: a lock cannot be copied."""
        return Cache, ()

    def share_counts(self, other: Cache) -> None:
        """Take counts from another table of the same rows, and give it those still to come."""
        self.counts, self.profiles, self.rows = other.counts, other.profiles, other.rows
        self.columns, self.distinct = other.columns, other.distinct
        self.sizes = other.sizes
        self.summaries = other.summaries
        self.lock = other.lock
