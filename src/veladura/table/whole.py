"""What a method that holds a sample must know of all rows: counted where the rows live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.errors import DataError
from veladura.table.codes import Codes, Column, encode, relabelled
from veladura.table.database.connection import fetch, fetch_one, fetch_query, home_of
from veladura.table.database_errors import without_values
from veladura.table.frequencies import Frequencies, frequencies
from veladura.table.schema import LABELLED
from veladura.table.table import cast

if TYPE_CHECKING:
    from veladura.table.table import Table

_UNIT = 1 << 30  # numbers are summed as whole parts of their range: no order moves a digit
_MOST_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Whole:
    """All rows of a table of which a sample is held. Its repr shows no value.

    Attributes
    ----------
    labels
        The categories of the labelled columns, as codes of chunks and of the sample number them.
    """

    table: Table
    labels: Mapping[str, pa.Array] = field(repr=False)

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> Whole:
        """Return what a method asks of some columns."""
        labelled = [name for name in names if table.schema[name].kind in LABELLED]
        if len(labelled) > 1 and not table.in_memory:
            from veladura.table.counts import count_sets

            absent = [(name,) for name in labelled if (name,) not in table.cache.counts]
            table.cache.counts.update(count_sets(table, absent))  # one pass for all of them
        counted = {name: table.counts([name]).columns[0] for name in labelled}
        return cls(table, {name: c.labels for name, c in counted.items() if c.labels is not None})

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.table.rows

    def relabelled(self, codes: Codes) -> Codes:
        """Return columns of the sample with the categories of all rows."""
        columns = {
            name: relabelled(column, self.labels[name]) if name in self.labels else column
            for name, column in codes.items()
        }
        return replace(codes, columns=columns)

    def holders(self, column: Column) -> Ints:
        """Return how many rows hold each distinct value of a column of the sample, in order."""
        distinct = np.unique(column.values[~column.missing])
        if column.labels is not None:
            counts = self.table.counts([column.name])
            known = relabelled(counts.columns[0], column.labels)
            sizes: Ints = np.zeros(len(column.labels), dtype=np.int64)
            sizes[known.values[~known.missing]] = counts.size[~known.missing]
            return np.asarray(sizes[distinct])
        return self._holders_of_numbers(column, distinct)

    def _holders_of_numbers(self, column: Column, distinct: Floats | Ints) -> Ints:
        import ibis

        held = column.with_values(distinct, np.zeros(distinct.size, dtype=bool)).to_arrow()
        rows = self.table.expression
        place = f"c{self.table.schema.position(column.name)}"
        with without_values(self.table.source.name):
            wanted = ibis.memtable(pa.table({"v": held}))
            some = rows.semi_join(wanted, rows[place] == wanted["v"]).select(v=ibis._[place])
            counted = fetch(some.group_by("v").aggregate(size=some.count()))
        found = encode(cast(counted.column("v"), column.field.type), column.field)
        sizes = np.zeros(distinct.size, dtype=np.int64)
        sizes[np.searchsorted(distinct, found.values)] = counted.column("size").to_numpy()
        return sizes

    def frequencies(self, column: Column) -> Frequencies | None:
        """Return how many rows hold each number of a column; None for none, or too many to hold."""
        found = frequencies(self.table, column.name)
        return found if found is not None and found.rows.size else None

    def ends(self, column: Column) -> Column:
        """Return the smallest and the largest number of all rows, or of none."""
        rows = self.table.expression
        place = rows[f"c{self.table.schema.position(column.name)}"]
        with without_values(self.table.source.name):
            row = fetch(rows.aggregate(low=place.min(), high=place.max()))
        ends = pa.chunked_array([*row.column("low").chunks, *row.column("high").chunks])
        return encode(cast(ends, column.field.type), column.field)


@dataclass(frozen=True, eq=False)
class NumberFacts:
    """Figures of some columns of numbers over all rows. Its repr shows none.

    Attributes
    ----------
    low, high
        The smallest and the largest number.
    deviation
        The standard deviation.
    decimals
        Number of decimals that write every number; None for more than nine.
    correlation
        Of the rows in which no number is missing.
    """

    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    deviation: Floats = field(repr=False)
    decimals: Sequence[int | None]
    correlation: Floats = field(repr=False)


def number_facts(table: Table, names: Sequence[str]) -> NumberFacts:
    """Return figures of columns of numbers by two queries where the rows live.

    Sums are of whole numbers, so that threads, workers and databases give the same digits.
    """
    places = [f"c{table.schema.position(name)}" for name in names]
    rows = table.expression
    asked = {f"low{i}": rows[place].min() for i, place in enumerate(places)}
    asked |= {f"high{i}": rows[place].max() for i, place in enumerate(places)}
    with without_values(table.source.name):
        ends = fetch_one(rows, asked)
    low, high = (
        np.array(
            [
                np.nan if ends[f"{side}{i}"] is None else float(ends[f"{side}{i}"])
                for i in range(len(names))
            ]
        )
        for side in ("low", "high")
    )
    wide = ~np.isfinite(high - low) & ~np.isnan(low)
    if wide.any():
        msg = (
            f"columns {[name for name, is_wide in zip(names, wide, strict=True) if is_wide]} hold"
            " infinite values, or numbers too far apart to be summed.\n\nHint: declare them as"
            " missing or remove them."
        )
        raise DataError(msg)
    whole = [table.schema[name].kind == "integer" for name in names]
    sums = _sums(table, places, low, high, whole)
    return _figures(sums, low, high, whole)


def _sums(
    table: Table, places: Sequence[str], low: Floats, high: Floats, whole: Sequence[bool]
) -> dict[str, int]:
    """Return counts, sums and sums of products of the numbers as whole parts of their range."""
    home = home_of(table.expression)
    spark = home.name == "pyspark"
    whole_type = "DECIMAL(20, 0)" if spark else "HUGEINT"

    def nearest(text: str) -> str:
        return f"rint({text})" if spark else f"round_even({text}, 0)"

    parts, figures = [], []
    for i, place in enumerate(places):
        if not high[i] > low[i]:  # one value, or none: nothing to sum
            parts.append(f"CAST(NULL AS {whole_type}) AS y{i}")
            continue
        share = (
            f"(CAST({place} AS DOUBLE) - CAST('{float(low[i])!r}' AS DOUBLE))"
            f" / CAST('{float(high[i] - low[i])!r}' AS DOUBLE) * {_UNIT}"
        )
        parts.append(f"CAST({nearest(share)} AS {whole_type}) AS y{i}")
        if not whole[i]:
            parts += [
                f"CASE WHEN {nearest(f'{place} * {10**d}')} / {10**d} <> {place} THEN 1 ELSE 0 END"
                f" AS d{i}_{d}"
                for d in range(_MOST_DECIMALS + 1)
            ]
            figures += [f"max(d{i}_{d}) AS d{i}_{d}" for d in range(_MOST_DECIMALS + 1)]
        figures += [f"count(y{i}) AS n{i}", f"sum(y{i}) AS s{i}", f"sum(y{i} * y{i}) AS q{i}"]
    used = [i for i in range(len(places)) if high[i] > low[i]]
    complete = " AND ".join(f"y{i} IS NOT NULL" for i in used) or "FALSE"
    case = "CASE WHEN {} THEN {} END".format
    figures.append(f"count({case(complete, '1')}) AS n")
    for i in used:
        figures.append(f"sum({case(complete, f'y{i}')}) AS c{i}")
        figures += [f"sum({case(complete, f'y{i} * y{j}')}) AS p{i}_{j}" for j in used if j <= i]
    with without_values(table.source.name):
        home._run_pre_execute_hooks(table.expression)  # noqa: SLF001  # shows it rows in memory
        inner = home.compile(table.expression)
        scaled = f"SELECT {', '.join(parts)} FROM ({inner}) AS t"  # noqa: S608
        row = fetch_query(home, f"SELECT {', '.join(figures)} FROM ({scaled}) AS u")  # noqa: S608
    return {name: int(value or 0) for name, value in row.to_pylist()[0].items()}


def _figures(
    sums: Mapping[str, int], low: Floats, high: Floats, whole: Sequence[bool]
) -> NumberFacts:
    size = low.size
    deviation, decimals = np.zeros(size), list[int | None]()
    for i in range(size):
        n, used = sums.get(f"n{i}", 0), high[i] > low[i]
        if used and n > 1:
            square = Fraction(sums[f"q{i}"] * n - sums[f"s{i}"] ** 2, n * (n - 1))
            deviation[i] = float(square) ** 0.5 / _UNIT * (high[i] - low[i])
        fits = (d for d in range(_MOST_DECIMALS + 1) if not sums.get(f"d{i}_{d}", 0))
        decimals.append(0 if whole[i] else next(fits, None))
    correlation = np.eye(size)
    n = sums["n"]
    for i in range(size):
        for j in range(i):
            if f"p{i}_{j}" not in sums or n <= size:
                continue
            products = [
                n * sums[f"p{a}_{b}"] - sums[f"c{a}"] * sums[f"c{b}"]
                for a, b in ((i, j), (i, i), (j, j))
            ]
            if products[1] > 0 and products[2] > 0:
                scale = (float(products[1]) * float(products[2])) ** 0.5
                correlation[i, j] = correlation[j, i] = float(products[0]) / scale
    return NumberFacts(low, high, deviation, decimals, correlation)
