"""Large tables: time beside DuckDB's own work on the same file, memory, and growth with rows.

Run with ``python -m benchmarks scale``, or a part of it with ``python -m benchmarks.bench_scale
[rows | distinct | growth | hundred | cart | spark | shuffle | workers]``. Every figure is of
processes of their own, with ``VELADURA_MEMORY`` as told beside it. ``VELADURA_SCALE`` divides the
numbers of rows, for a look; files are generated once with ``VELADURA_SCALE_FOLDER``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.bench_kanonymity import seconds_of_duckdb
from benchmarks.memory import peak_growth
from benchmarks.people import QUASI, generate, recipe_of
from benchmarks.processes import spent_by

SHORT = int(os.environ.get("VELADURA_SCALE", "1"))
KEPT = os.environ.get("VELADURA_SCALE_FOLDER")  # where generated files are looked for, and kept
COLUMNS = 15


def main() -> None:
    chosen = [part for part in sys.argv[1:] if part in PARTS] or list(PARTS)
    for part in chosen:
        PARTS[part]()


def rows() -> None:
    """10,000,000 rows: at most 2.2 times DuckDB to protect and prove, under 4 with everything."""
    _beside_duckdb(10_000_000, "2 GiB", distinct=False)


def distinct() -> None:
    """The same with all combinations of the quasi-identifiers distinct; less coarsens first."""
    _beside_duckdb(10_000_000, "3 GiB", distinct=True)


def growth() -> None:
    """30,000,000 rows: memory that does not grow with rows."""
    _beside_duckdb(30_000_000, "2 GiB", distinct=False)


def hundred() -> None:
    """100,000,000 rows of eight columns within 4 GiB on two cores."""
    _beside_duckdb(100_000_000, "4 GiB", distinct=False, columns=8)


def cart() -> None:
    """Full synthesis of 15 columns within 4 GiB: seconds from 1,000,000 to 10,000,000 rows."""
    found = {}
    for size in (1_000_000 // SHORT, 10_000_000 // SHORT):
        with tempfile.TemporaryDirectory() as home:
            source = Path(home) / "people.parquet"
            numbers(source, size)
            found[size] = _process("cart", source, "4 GiB")
        one = found[size]
        print(
            f"Cart, {size:,} x {COLUMNS}, fitted to 200,000 rows, memory 4 GiB: drawn and proved"
            f" {one['protected']:.0f} s, with assessment, reports and package {one['seconds']:.0f}"
            f" s, peak {one['peak'] / 2**30:.2f} GiB",
            flush=True,
        )
    few, many = found.values()
    print(
        f"  10 times the rows: {many['protected'] / few['protected']:.1f} times the time to draw"
        f" and prove, {many['seconds'] / few['seconds']:.1f} with everything (aim 10.5)"
    )


def spark() -> None:
    """The same file through Spark on two threads and through DuckDB: the overhead."""
    size, found = 1_000_000 // SHORT, {}
    with tempfile.TemporaryDirectory() as home:
        source = _people(Path(home), size, distinct=False, columns=12)
        for what in ("k-anonymity", "k-anonymity on Spark"):
            found[what] = _process(what, source, "2 GiB")
    duckdb, other = found.values()
    print(
        f"k-anonymity, {size:,} x 12, processor seconds with those of the JVM: DuckDB"
        f" {duckdb['protected']:.1f} s, everything {duckdb['seconds']:.1f} s; Spark local[2]"
        f" {other['protected']:.1f} s and {other['seconds']:.1f} s, of which starting it took"
        f" {other['started']:.1f} s",
        flush=True,
    )


def shuffle() -> None:
    """Jobs, stages and shuffled bytes of each method on Spark."""
    from benchmarks.spark_shuffle import tell

    with tempfile.TemporaryDirectory() as home:
        os.environ["VELADURA_CUSTODIAN"] = f"{home}/custodian"
        os.environ["VELADURA_HELD_CELLS"] = "0"
        for size in (100_000 // SHORT, 400_000 // SHORT):
            tell(_people(Path(home), size, distinct=False, columns=12), size, Path(home))


def workers() -> None:
    """Spark with two workers of one core each against one, on a cluster on the loopback."""
    from benchmarks.spark_workers import compare

    with tempfile.TemporaryDirectory() as home:
        compare(_people(Path(home), 2_000_000 // SHORT, distinct=False, columns=12))


def _beside_duckdb(size: int, memory: str, *, distinct: bool, columns: int = 12) -> None:
    size //= SHORT
    with tempfile.TemporaryDirectory() as home:
        source = _people(Path(home), size, distinct=distinct, columns=columns)
        theirs = seconds_of_duckdb(source, Path(home) / "copy.parquet")
        (Path(home) / "copy.parquet").unlink()
        ours = _process("k-anonymity", source, memory)
    label = "all combinations distinct" if distinct else f"{ours['tuples']:,} combinations"
    print(f"k-anonymity, {size:,} x {columns} ({label}), memory {memory}")
    print(f"  DuckDB: GROUP BY {theirs[0]:.1f} s, scan and write {theirs[1]:.1f} s")
    print(
        f"  protected and proved {ours['protected']:.1f} s, {ours['protected'] / sum(theirs):.2f}"
        f" times (aim 2.2); with assessment, reports and package {ours['seconds']:.1f} s,"
        f" {ours['seconds'] / sum(theirs):.2f} times (aim 4); verified {ours['verified']:.1f} s"
    )
    print(
        f"  peak {ours['peak'] / 2**30:.2f} GiB, of verify {ours['verify_peak'] / 2**30:.2f} GiB;"
        f" {ours['files']} data files",
        flush=True,
    )


def _people(home: Path, size: int, *, distinct: bool, columns: int) -> Path:
    """Return a file of people, made now or kept from an earlier run."""
    folder = Path(KEPT) if KEPT else home
    path = folder / f"people-{size}-{columns}{'-distinct' if distinct else ''}.parquet"
    if not path.exists():
        generate(path, size, distinct=distinct, columns=columns)
    return path


def _process(what: str, source: Path, memory: str) -> dict[str, float]:
    """Do one piece of work in a process of its own; return its figures."""
    with tempfile.TemporaryDirectory() as home:
        told = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_scale", "--one", what, str(source), home],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={
                **os.environ,
                "VELADURA_CUSTODIAN": f"{home}/custodian",
                "VELADURA_MEMORY": memory,
                "VELADURA_HELD_CELLS": "0",
            },
        )
    figures: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    return figures


def one(what: str, source: Path, home: Path) -> None:
    """Protect a file, write the package, verify it; print seconds and memory as JSON."""
    import veladura as vd

    laps = [_seconds()]
    place: dict[str, Any] = {"source": source}
    if what.endswith("Spark"):
        from veladura.table.database.spark import connect_spark

        connect_spark("spark:local[2]")
        place = {"source": "spark:local[2]", "table": f"parquet.`{source}`"}
    laps.append(_seconds())

    def work() -> None:
        if what == "cart":
            release = vd.Cart(m=1, fit_rows=200_000).protect(vd.open(source), seed=1)
        else:
            declared = {name: {"role": "quasi-identifier"} for name in QUASI}
            release = recipe_of().protect(vd.open(columns=declared, **place))
        laps.append(_seconds())
        release.save(home / "out" / "release", custodian=home / "safe" / "record")
        laps.append(_seconds())

    _, peak = peak_growth(work)
    data = [path for path in (home / "out" / "release" / "data").rglob("*") if path.is_file()]
    figures = {
        "started": laps[1] - laps[0],
        "protected": laps[2] - laps[0],
        "seconds": laps[3] - laps[0],
        "peak": peak,
        "files": len(data),
        "tuples": 0,
    }
    if what != "cart":
        lines = []
        start = process_time()
        _, figures["verify_peak"] = peak_growth(
            lambda: lines.extend(vd.verify(home / "out" / "release"))
        )
        figures["verified"] = process_time() - start
        assert all(line.status != "broken" for line in lines)
        figures["tuples"] = _tuples(source)
    print(json.dumps(figures))


def _seconds() -> float:
    """Return the processor seconds of this process and of those that it started."""
    return sum(spent_by(os.getpid(), lambda _: "all").values())


def _tuples(source: Path) -> int:
    import duckdb

    names = ", ".join(QUASI)
    sql = f"SELECT approx_count_distinct(hash({names})) FROM '{source}'"  # noqa: S608
    return int(duckdb.connect().execute(sql).fetchall()[0][0])


def numbers(path: Path, size: int) -> None:
    """Write fifteen dependent columns: categories, whole numbers and amounts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(11)
    words = pa.array([f"word {i}" for i in range(30)])
    writer = None
    for start in range(0, size, 500_000):
        rows = min(500_000, size - start)
        base = rng.normal(size=rows)
        table = {}
        for i in range(5):
            place = np.clip(15 + 4 * base + 4 * rng.normal(size=rows), 0, 29).astype(int)
            table[f"word{i}"] = words.take(pa.array(place))
        for i in range(5):
            table[f"count{i}"] = pa.array(rng.poisson(np.exp(1 + 0.3 * base)))
        for i in range(5):
            table[f"amount{i}"] = pa.array(np.round(np.exp(8 + base + rng.normal(size=rows)), 2))
        whole = pa.table(table)
        writer = writer or pq.ParquetWriter(path, whole.schema)
        writer.write_table(whole)
    if writer:
        writer.close()


PARTS = {
    "rows": rows,
    "distinct": distinct,
    "growth": growth,
    "cart": cart,
    "hundred": hundred,
    "spark": spark,
    "shuffle": shuffle,
    "workers": workers,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
