"""Seconds and memory of the risks for 100,000 rows and five releases.

How they grow with the rows.

Run with ``python -m benchmarks.bench_risk``.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from time import process_time

import numpy as np
import pandas as pd

import veladura as vd
from veladura.base.streams import Streams
from veladura.core.release import Dataset, Release, Step
from veladura.measures.measure import Subject
from veladura.measures.registry import measures
from veladura.table.source import open_quietly

SIZES, RELEASES = (25_000, 50_000, 100_000), 5
CATEGORIES, NUMBERS = 10, 5


def people(rows: int) -> pd.DataFrame:
    """Return ten columns of categories or whole numbers and five of numbers."""
    rng = Streams(1)("bench", "people", rows)
    columns = {f"k{j}": rng.integers(0, 2 + j, rows).astype(str) for j in range(CATEGORIES - 2)}
    columns |= {"age": rng.integers(18, 90, rows), "zip": rng.integers(0, 500, rows)}
    return pd.DataFrame(
        {**columns, **{f"y{j}": rng.lognormal(10, 1, rows).round(2) for j in range(NUMBERS)}}
    )


def released(table: pd.DataFrame, i: int) -> pd.DataFrame:
    """Return the table with its numbers drawn anew."""
    rng = Streams(1)("bench", "released", i)
    return table.assign(
        **{f"y{j}": rng.permutation(table[f"y{j}"].to_numpy()) for j in range(NUMBERS)}
    )


def seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def growth(label: str, work: Callable[[int], Callable[[], object]]) -> None:
    """Print the seconds of processor time for each size.

    The power of the rows they grow with.
    """
    work(1_000)()  # compiled kernels load once
    taken = [seconds(work(rows)) for rows in SIZES]
    power = np.polyfit(np.log(SIZES), np.log(np.maximum(taken, 1e-3)), 1)[0]
    told = ", ".join(f"{rows:,} rows {one:.2f} s" for rows, one in zip(SIZES, taken, strict=True))
    print(f"  {label}: {told}; power {power:.2f}")


def match(rows: int, sensitive: list[str], radius: float) -> Callable[[], object]:
    table = people(rows)
    original, datasets = (
        open_quietly(table),
        [open_quietly(released(table, i)) for i in range(RELEASES)],
    )
    return lambda: vd.risk.match(
        original,
        datasets,
        known=["k0", "k1", "k2"],
        sensitive=sensitive,
        radius=radius,
        relative=True,
    )


def subject(rows: int) -> Subject:
    """Return a release of five datasets in which the numbers were drawn anew, with a control."""
    table = people(rows)
    original = vd.open(table)
    datasets = tuple(
        Dataset(open_quietly(released(table, i)), np.arange(rows)) for i in range(RELEASES)
    )
    step = Step("bench", {}, tuple(f"y{j}" for j in range(NUMBERS)))
    return Subject(
        original,
        Release(datasets, original, (step,), (), "partial"),
        open_quietly(people(rows + 1)),
    )


def main() -> None:
    print(f"Match risk, {RELEASES} releases, processor time")
    growth("one number within 10 %", lambda rows: match(rows, ["y0"], 0.1))
    growth("two numbers within 10 %", lambda rows: match(rows, ["y0", "y1"], 0.1))
    work = match(SIZES[-1], ["y0"], 0.1)
    tracemalloc.start()
    work()
    print(
        f"  memory of one number, {SIZES[-1]:,} rows:"
        f" {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB of arrays at the peak"
    )
    tracemalloc.stop()
    print(
        f"Each measure of an assessment, {SIZES[-1]:,} x {CATEGORIES + NUMBERS}, {RELEASES}"
        " releases, with a control, processor time"
    )
    measured = subject(SIZES[-1])
    warm = subject(1_000)
    for measure in measures():
        if measure.name.startswith("risk."):
            measure.apply(warm)
            took = seconds(lambda measure=measure: measure.apply(measured))  # type: ignore[misc]
            print(f"  {measure.name}: {took:.2f} s")


if __name__ == "__main__":
    main()
