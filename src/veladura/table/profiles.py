"""Distributions of all columns of a lazy table in a few queries, in memory that does not grow.

Columns of few values are counted together, in one pass over the data. Of a column of many numbers
one value in so many is kept as it streams by in order. It is sorted here where the memory of the
run allows, else by DuckDB, on disk where need be; Spark returns quantiles of all such columns by
one aggregate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints
from veladura.base.memory import holds_numbers
from veladura.table.codes import Column, encode
from veladura.table.counts import MOST_VALUES, Counts, count_sets
from veladura.table.database.connection import fetch_one, home_of, is_spark, one_at_a_time
from veladura.table.database.spark import fetch_spark_sql
from veladura.table.database_errors import without_values
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    import ibis

    from veladura.table.table import Table

LARGEST = 1e150  # squares of larger numbers are infinite
_BATCH = 1 << 17
_SHARES = 4_096  # quantiles that Spark returns for a column of many numbers
_ACCURACY = 40_960  # one over the error of their ranks


@dataclass(frozen=True, eq=False)
class Profile(Counts):
    """The distribution of one column of many numbers, by the values that were kept.

    Attributes
    ----------
    moments
        Count, mean and variance of the numbers below 1e150, over all rows; NaN where undefined.
    """

    moments: tuple[int, float, float] = field(repr=False, default=(0, math.nan, math.nan))


def profile_columns(table: Table) -> None:
    """Count every column of a lazy table ahead, for whoever asks for its distribution."""
    with table.cache.lock:
        left = [name for name in table.names if not table.knows_profile(name)]
        if not left:
            return
        many = many_valued(table, left)
        few = [(name,) for name in left if name not in many]
        table.cache.counts.update(count_sets(table, few))
        if many and is_spark(table.expression):
            table.cache.profiles.update(_quantiles(table, many))
        for name in many:
            if name not in table.cache.profiles:
                table.profile(name)


def many_valued(table: Table, names: Sequence[str]) -> list[str]:
    """Return the columns of numbers and dates that have more values than a profile keeps.

    Values are counted approximately, by one query for all columns.
    """
    if (home := home_of(table.expression).name) not in ("duckdb", "pyspark"):
        return []
    asked = [
        name
        for name in names
        if table.schema[name].kind not in LABELLED and name not in table.cache.distinct
    ]
    if asked and (home == "pyspark" or table.rows > MOST_VALUES):
        places = {name: f"c{table.schema.position(name)}" for name in asked}
        figures = {place: table.expression[place].approx_nunique() for place in places.values()}
        with without_values(table.source.name):
            row = fetch_one(table.expression, figures)
        table.cache.distinct.update({name: int(row[place]) for name, place in places.items()})
    return [
        name
        for name in names
        if table.schema[name].kind not in LABELLED
        and table.cache.distinct.get(name, 0) > MOST_VALUES
    ]


def sorted_profile(table: Table, name: str, most: int = MOST_VALUES) -> Profile:
    """Return the distribution of a column of numbers of DuckDB, thinned while it streams by.

    The lowest value stays by itself. Every other value stands for those between it and the value
    before it: cumulative counts are exact at the values that stay.
    """
    gathered = _Moments()
    if holds_numbers(table.rows):
        numbers = _sorted_here(table, name)
        slices = (numbers[i : i + _BATCH] for i in range(0, numbers.size, _BATCH))
        values, sizes = thinned_stream(gathered.watched(slices), numbers.size, most - 1)
        known = numbers.size
    else:
        values, sizes, known = _sorted_there(table, name, gathered, most)
    return _profile(table, name, values, sizes, table.rows - known, gathered.result())


def _sorted_here(table: Table, name: str) -> NDArray[Any]:
    """Return the numbers of a column in order."""
    field_ = table.schema[name]
    numbers, size = np.empty(0), 0
    with without_values(table.source.name), one_at_a_time():
        for batch in _stream(table.expression.select(x=_column(table, name))):
            column = encode(_cast(batch.column(0), field_.type), field_)
            if not size:
                numbers = np.empty(table.rows, dtype=column.values.dtype)
            values = column.values[~column.missing] if column.missing.any() else column.values
            numbers[size : size + values.size] = values
            size += values.size
    numbers = numbers[:size]
    numbers.sort()
    return numbers


def _sorted_there(
    table: Table, name: str, gathered: _Moments, most: int
) -> tuple[NDArray[Any], Ints, int]:
    """Return the values of a column that stay and their rows; DuckDB sorts, on disk if need be."""
    field_, column = table.schema[name], _column(table, name)
    with without_values(table.source.name), one_at_a_time():
        known = int(fetch_one(table.expression, {"known": column.count()})["known"])
        ordered = table.expression.filter(column.notnull()).select(x=column).order_by("x")
        batches = (
            encode(_cast(batch.column(0), field_.type), field_).values for batch in _stream(ordered)
        )
        values, sizes = thinned_stream(gathered.watched(batches), known, most - 1)
    return values, sizes, known


def _column(table: Table, name: str) -> Any:
    return table.expression[f"c{table.schema.position(name)}"]


def _stream(expression: ibis.Table) -> Any:
    """Return the rows of a query of DuckDB batch by batch."""
    backend = home_of(expression)
    backend._run_pre_execute_hooks(expression)  # noqa: SLF001  # shows it rows in memory
    return backend.con.sql(backend.compile(expression)).to_arrow_reader(_BATCH)


def thinned_stream(
    batches: Iterable[NDArray[Any]], total: int, most: int
) -> tuple[NDArray[Any], Ints]:
    """Return at most so many of the distinct values of a sorted stream, and the rows of each.

    Examples
    --------
    >>> values, sizes = thinned_stream([np.array([1, 1, 2]), np.array([2, 5, 9])], 6, 3)
    >>> values.tolist(), sizes.tolist()
    ([1, 2, 9], [2, 2, 2])
    """
    kept: list[NDArray[Any]] = []
    reached: list[Ints] = []
    marks: Floats | None = None
    for values, counts in _runs(batches):
        if marks is None:
            marks = np.linspace(counts[0], total, most)
        within = marks[: np.searchsorted(marks, counts[-1], side="right")]
        chosen = np.unique(np.searchsorted(counts, within))
        marks = marks[within.size :]
        kept.append(values[chosen])
        reached.append(counts[chosen])
    if not kept:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    return np.concatenate(kept), np.diff(np.concatenate(reached), prepend=0).astype(np.int64)


def _runs(batches: Iterable[NDArray[Any]]) -> Iterator[tuple[NDArray[Any], Ints]]:
    """Yield the distinct values of a sorted stream with the rows up to the last of each."""
    before, last = 0, None
    for batch in batches:
        if not batch.size:
            continue
        ends = np.flatnonzero(batch[1:] != batch[:-1]) + 1
        values, counts = batch[ends - 1], ends + before
        if last is not None and last[0] != batch[0]:
            values, counts = np.append(last, values), np.append(before, counts)
        if counts.size:
            yield values, counts.astype(np.int64)
        before, last = before + batch.size, batch[-1:]
    if last is not None:
        yield last, np.array([before], dtype=np.int64)


class _Moments:
    """Count, mean and variance of numbers that stream by (Chan, Golub and LeVeque 1983)."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def watched(self, batches: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        for batch in batches:
            numbers = batch.astype(np.float64)
            numbers = numbers[np.abs(numbers) < LARGEST]
            if numbers.size:
                mean, size = float(numbers.mean()), numbers.size
                apart, total = mean - self.mean, self.count + size
                squares = float(((numbers - mean) ** 2).sum())
                self.squares += squares + apart**2 * self.count * size / total
                self.mean += apart * size / total
                self.count = total
            yield batch

    def result(self) -> tuple[int, float, float]:
        mean = self.mean if self.count else math.nan
        return self.count, mean, self.squares / (self.count - 1) if self.count > 1 else math.nan


def _quantiles(table: Table, names: Sequence[str]) -> dict[str, Profile]:
    """Return the distributions of columns of many numbers in Spark, by one aggregate.

    Ranks are off by at most one in 40,960; the lowest and the highest value are exact.
    """
    # one text: Spark takes a second to parse so many numbers
    shares = ",".join(repr(share) for share in np.linspace(0, 1, _SHARES + 1)[1:-1].tolist())
    listed = f"cast(split('{shares}', ',') AS array<double>)"
    figures = []
    for i, name in enumerate(names):
        x = f"c{table.schema.position(name)}"
        fits = "" if table.schema[name].kind == "date" else f" FILTER (WHERE abs({x}) < {LARGEST})"
        number = f"unix_micros(cast({x} AS timestamp))" if fits == "" else f"cast({x} AS double)"
        figures += [
            f"count({x}) AS n{i}, count({x}){fits} AS m{i}, avg({number}){fits} AS a{i}",
            f"var_samp({number}){fits} AS v{i}, min({x}) AS low{i}, max({x}) AS high{i}",
            f"percentile_approx({x}, {listed}, {_ACCURACY}) AS q{i}",
        ]
    backend = home_of(table.expression)
    with without_values(table.source.name):
        backend._run_pre_execute_hooks(table.expression)  # noqa: SLF001
        inner = backend.compile(table.expression)
        row = fetch_spark_sql(backend, f"SELECT {', '.join(figures)} FROM ({inner})")  # noqa: S608
    profiles = {}
    for i, name in enumerate(names):
        type_ = table.schema[name].type
        values, known = row.column(f"q{i}").combine_chunks().values, row.column(f"n{i}")[0].as_py()
        ends = [_cast(row.column(f"{end}{i}").combine_chunks(), type_) for end in ("low", "high")]
        whole = pa.concat_arrays([ends[0], _cast(values, type_), ends[1]])
        numbers = encode(whole, table.schema[name]).values
        reached = np.concatenate([[1], np.round(np.linspace(0, known, _SHARES + 1)[1:])])
        last = np.append(numbers[1:] != numbers[:-1], True)
        sizes = np.diff(reached[last].astype(np.int64), prepend=0)
        count, mean, variance = (row.column(f"{part}{i}")[0].as_py() for part in "mav")
        moments = (count, *(math.nan if part is None else part for part in (mean, variance)))
        profiles[name] = _profile(table, name, numbers[last], sizes, table.rows - known, moments)
    return profiles


def _profile(
    table: Table,
    name: str,
    values: NDArray[Any],
    sizes: Ints,
    missing: int,
    moments: tuple[int, float, float],
) -> Profile:
    """Return a distribution with its missing values last, where there are any."""
    blank = np.zeros(values.size, dtype=bool)
    if missing:
        values, sizes = np.append(values, values[:1]), np.append(sizes, missing)
        blank = np.arange(values.size) == values.size - 1
    return Profile((Column(table.schema[name], values, blank),), sizes, moments)


def _cast(column: Any, type_: pa.DataType) -> Any:
    return column if column.type == type_ else column.cast(type_)
