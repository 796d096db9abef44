"""Seconds that MDAV takes for 10,000 x 10, and how they grow with the number of rows.

Run with ``python -m benchmarks.bench_mdav``.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from veladura.base.streams import Streams
from veladura.methods.masks.kernels import mdav, swap_partners

SIZES = (2_500, 5_000, 10_000, 20_000)
COLUMNS, K = 10, 3
SWAPPED, WINDOW = 1_000_000, 50_000


def seconds_for(rows: int, k: int = K) -> float:
    points = Streams(1)("bench", rows).normal(size=(rows, COLUMNS))
    start = perf_counter()
    mdav(points, k)
    return perf_counter() - start


def main() -> None:
    taken = [seconds_for(rows) for rows in SIZES]
    print(f"MDAV, {COLUMNS} columns, k = {K}")
    for rows, seconds in zip(SIZES, taken, strict=True):
        print(f"  {rows:>7,} rows  {seconds:8.2f} s")
    slope = np.polyfit(np.log(SIZES), np.log(taken), 1)[0]
    print(f"  time grows with the number of rows to the power {slope:.2f} (2 is expected)")
    start = perf_counter()
    swap_partners(Streams(1)("bench", "swap").random(SWAPPED), WINDOW)
    print(f"Rank swapping, {SWAPPED:,} ranks, window {WINDOW:,}: {perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
