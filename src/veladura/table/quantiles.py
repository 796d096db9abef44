"""Quantiles, moments and cumulative counts of a column, computed inside DuckDB."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veladura.table.database.connection import home_of, run_sql
from veladura.table.database_errors import without_values

if TYPE_CHECKING:
    from veladura.table.table import Table

LARGEST = 1e150  # squares of larger numbers are infinite


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of one column of numbers of a lazy table.

    Attributes
    ----------
    rows, known
        Number of rows, and of rows with a number.
    """

    table: Table = field(repr=False)
    name: str
    rows: int
    known: int

    def at_ranks(self, ranks: Sequence[int]) -> list[Any]:
        """Return the numbers at some places of the sorted column, zero-based."""
        # the middle of a rank's own share: no rounding can miss it
        shares = ", ".join(repr((rank + 0.5) / self.known) for rank in ranks)
        return list(_asked(self.table, self.name, f"quantile_disc(x, [{shares}])")[0])

    def moments(self) -> tuple[int, float, float]:
        """Return count, mean and variance of the numbers below 1e150; NaN where undefined."""
        which = f"FILTER (abs(x::DOUBLE) < {LARGEST!r})"
        count, mean, variance = _asked(
            self.table,
            self.name,
            f"count(*) {which}, avg(x::DOUBLE) {which}, var_samp(x::DOUBLE) {which}",
        )
        return (
            int(count),
            math.nan if mean is None else float(mean),
            math.nan if variance is None else float(variance),
        )

    def below(self, limits: Sequence[float]) -> list[int]:
        """Return how many numbers are below each limit."""
        if not limits:  # a histogram of one bar has no inner edge
            return []
        sums = ", ".join(
            f"count(*) FILTER (x::DOUBLE < {float(limit)!r}::DOUBLE)" for limit in limits
        )
        return [int(number) for number in _asked(self.table, self.name, sums)]


def spread(table: Table, name: str) -> Spread | None:
    """Return the distribution of a lazy column of numbers in DuckDB; None for all others."""
    type_ = table.schema[name].type
    plain = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    if (
        table.in_memory
        or table.schema[name].kind not in ("integer", "number")
        or not plain
        or home_of(table.expression).name != "duckdb"
    ):
        return None
    return Spread(table, name, table.rows, int(_asked(table, name, "count(*)")[0]))


def _asked(table: Table, name: str, figures: str) -> tuple[Any, ...]:
    """Return SQL figures of the numbers x; NaN counts as missing, and -0 as 0."""
    place = f"c{table.schema.position(name)}"
    floating = pa.types.is_floating(table.schema[name].type)
    with without_values(table.source.name):
        backend = home_of(table.expression)
        # registers rows in memory with DuckDB
        backend._run_pre_execute_hooks(table.expression)  # noqa: SLF001
        value = f"{place} + 0.0::DOUBLE" if floating else place
        present = f"{place} IS NOT NULL" + (f" AND NOT isnan({place})" if floating else "")
        inner = f"SELECT {value} AS x FROM ({backend.compile(table.expression)}) WHERE {present}"  # noqa: S608
        asked = f"SELECT {figures} FROM ({inner})"  # noqa: S608
        answers = table.cache.figures  # both pages of a release ask the same
        if asked not in answers:
            answers[asked] = run_sql(backend, asked)[0]
        return answers[asked]
