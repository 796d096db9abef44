"""assess: a fully synthetic release of 100,000 x 15, m = 5, measure by measure.

Growth with rows; a lazy k-anonymised table.

Processor time beside wall time, as machines are shared. BENCH_ASSESS_ROWS chooses the sizes, as in
25000,50000,100000.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import veladura as vd
from benchmarks.bench_cart import mixed
from veladura.measures.measure import Subject
from veladura.measures.registry import measures

SIZES = (25_000, 100_000)
AIM = 60.0


def timed(rows: int, *, each: bool) -> tuple[float, float]:
    """Return wall and processor seconds of one assessment with defaults."""
    frame = mixed(rows)
    table = vd.open(frame)
    release = vd.Cart(m=5).protect(table, seed=1)
    if each:
        by_measure(table, release)
    wall, cpu = time.perf_counter(), time.process_time()
    vd.assess(table, release)
    return time.perf_counter() - wall, time.process_time() - cpu


def by_measure(table: Any, release: Any) -> None:
    """Print the processor time of every measure by itself."""
    subject = Subject(table.without_identifiers(), release)
    for measure in measures():
        cpu = time.process_time()
        with threadpool_limits(
            1, user_api="blas"
        ):  # as assess does: threads that wait for each other cost processor time too
            measure.apply(subject)
        if (seconds := time.process_time() - cpu) > 0.3:
            print(f"  {measure.name:24} {seconds:6.1f} s of processor", flush=True)


def lazy(rows: int = 1_000_000) -> None:
    """Assess a k-anonymised file that stays a file, its columns of numbers all different.

    Once, and again from what is known.
    """
    frame = mixed(rows)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "people.parquet"
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        keys = {name: {"role": "quasi-identifier"} for name in ("sex", "age", "school")}
        table = vd.open(path, keys)
        release = vd.KAnonymity(quasi_identifiers=tuple(keys), k=5).protect(table)
        assert not release.tables[0].table.in_memory
        seconds = []
        for _ in range(2):
            cpu = time.process_time()
            vd.assess(table, release)
            seconds.append(time.process_time() - cpu)
    print(
        f"lazy, {rows:,} rows, 3 quasi-identifiers: {seconds[0]:.1f} s of processor, again"
        f" {seconds[1]:.2f} s"
    )


def main() -> None:
    sizes = [
        int(size) for size in os.environ.get("BENCH_ASSESS_ROWS", "").split(",") if size
    ] or list(SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vd.assess(small := mixed(500), vd.Cart(m=2).protect(small, seed=1))  # compiled code warm
        before = None
        for rows in sizes:
            wall, cpu = timed(rows, each=rows == max(sizes))
            more = (
                ""
                if before is None
                else (
                    f"; {rows / before[0]:.0f} times the rows cost {cpu / before[1]:.1f} times the"
                    " processor time"
                )
            )
            aim = (
                f" (aim under {AIM:.0f} s on 2 cores: {2 * AIM:.0f} s of processor)"
                if rows == 100_000
                else ""
            )
            print(
                f"assess, {rows:,} x 15, m = 5: {wall:.1f} s, {cpu:.1f} s of processor{aim}{more}",
                flush=True,
            )
            before = (rows, cpu)
        lazy()


if __name__ == "__main__":
    main()
