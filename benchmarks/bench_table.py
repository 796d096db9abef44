"""A million rows through the table layer, beside DuckDB's own read and write of the same file.

Time: open + codes of every column + replace + write to Parquet, as a ratio to
``COPY (read_parquet) TO parquet``. Memory: growth of the process, as a ratio to the table's Arrow
size.

Run with ``python -m benchmarks.bench_table``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.memory import peak_growth

if TYPE_CHECKING:
    from veladura.table.table import Table

ROWS = 1_000_000
REPEATS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["VELADURA_CUSTODIAN"] = f"{home}/custodian"
        source = Path(home) / "people.parquet"
        generate(source)
        theirs = min(seconds_of_duckdb(source, Path(home) / "copy.parquet") for _ in range(REPEATS))
        parts = min(
            (stages(source, Path(home) / "out.parquet") for _ in range(REPEATS)),
            key=lambda p: sum(p.values()),
        )
        ours = sum(parts.values())
        told = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_table", str(source)],
            capture_output=True,
            text=True,
            check=True,
        )
        memory = json.loads(told.stdout)
    print(f"Table layer, {ROWS:,} rows x 15 columns")
    print(f"  DuckDB read and write      {theirs:6.2f} s")
    print(
        f"  open, codes, replace, write{ours:6.2f} s  "
        + ", ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items())
    )
    print(f"  ratio                      {ours / theirs:6.2f}    (aim: under 4)")
    print(f"  Arrow size                 {memory['arrow'] / 2**20:6.0f} MiB")
    print(f"  peak growth of memory      {memory['growth'] / 2**20:6.0f} MiB")
    print(
        f"  ratio                      {memory['growth'] / memory['arrow']:6.2f}    (aim: under 3)"
    )


def generate(path: Path) -> None:
    """Write a table of 15 columns: words, codes, numbers, dates, some missing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)

    def words(count: int, pattern: str) -> pa.Array:
        return pa.array([pattern.format(i) for i in range(count)]).take(
            pa.array(draw.integers(count, size=ROWS))
        )

    def gaps(values: np.ndarray, share: float = 0.05) -> pa.Array:
        return pa.array(values, mask=draw.random(ROWS) < share)

    columns = {
        "sex": words(2, "sex {}"),
        "region": words(16, "region number {}"),
        "town": words(2_000, "town of {}"),
        "zip": words(30_000, "{:05}"),
        "job": words(400, "occupation {}"),
        "age": gaps(draw.integers(0, 100, ROWS)),
        "children": gaps(draw.poisson(1.2, ROWS)),
        "year": pa.array(draw.integers(1990, 2025, ROWS)),
        "income": gaps(np.round(draw.lognormal(10, 1, ROWS), 2)),
        "wealth": gaps(np.round(draw.lognormal(11, 2, ROWS), 2), 0.3),
        "height": pa.array(np.round(draw.normal(170, 10, ROWS), 1)),
        "lon": pa.array(draw.uniform(14, 24, ROWS)),
        "lat": pa.array(draw.uniform(49, 55, ROWS)),
        "born": pa.array(draw.integers(0, 30_000, ROWS).astype("datetime64[D]")),
        "member": gaps(draw.random(ROWS) < 0.5),
    }
    pq.write_table(pa.table(columns), path)


def seconds_of_duckdb(source: Path, target: Path) -> float:
    import duckdb

    start = perf_counter()
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_parquet('{source}')) TO '{target}' (FORMAT parquet)"  # noqa: S608
        )
    return perf_counter() - start


def stages(source: Path, target: Path) -> dict[str, float]:
    """Return the seconds of each stage of a whole way through."""
    import pyarrow.parquet as pq

    import veladura as vd

    seconds: dict[str, float] = {}
    start = perf_counter()
    table = vd.open(source)
    seconds["open"] = perf_counter() - start
    released = _protect(table, seconds)
    start = perf_counter()
    pq.write_table(
        released.arrow, target, compression="snappy", row_group_size=122_880
    )  # as DuckDB does
    seconds["write"] = perf_counter() - start
    return seconds


def _protect(table: Table, seconds: dict[str, float]) -> Table:
    """Return the table with three columns replaced. As in a recipe.

    The codes go when the release is there.
    """
    from veladura.table.recode import replace

    start = perf_counter()
    codes = table.codes(table.names)
    seconds["codes"] = perf_counter() - start
    start = perf_counter()
    order = np.argsort(codes.rows)
    changed = {name: codes[name].take(order) for name in ("income", "town", "age")}
    released = replace(table, changed, np.arange(table.rows))
    seconds["replace"] = perf_counter() - start
    return released


def measure_memory(source: Path) -> None:
    """Print the growth of this process over one way through, and the table's Arrow size."""
    import veladura as vd

    small = source.with_name("small.parquet")
    _first_rows(source, small)
    stages(
        small, source.with_name("warm.parquet")
    )  # libraries are loaded before memory is looked at
    _, growth = peak_growth(lambda: stages(source, source.with_name("memory.parquet")))
    print(json.dumps({"growth": growth, "arrow": vd.open(source).arrow.nbytes}))


def _first_rows(source: Path, target: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pq.ParquetFile(source).read_row_group(0).slice(0, 1000), target)


if __name__ == "__main__":
    measure_memory(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
