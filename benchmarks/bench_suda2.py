"""SUDA2 over all sizes of sets: processor seconds, beside one pandas groupby of all columns.

Run with ``python -m benchmarks suda2``; where VELADURA_DATA is set, sdcMicro's test data too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks import data_folder
from veladura.base.streams import Streams

ROWS = 91_600
HOUSEHOLD = (2, 3, 5, 7, 9, 2, 90)  # levels of columns like those of a household survey
SPREAD = (12, 22, 32, 42, 52, 62, 72)
KEYS = ("urbrur", "roof", "water", "electcon", "relat", "age", "sex")
REDRAWN = 0.05  # of the values of stacked rows, so that some people are unique


def household(rows: int, levels: tuple[int, ...] = HOUSEHOLD) -> pd.DataFrame:
    """Return columns that depend on each other, most people near the middle of each."""
    rng = Streams(1)("bench", "suda2", rows)
    common = rng.normal(size=rows)
    columns = [0.5 * common + rng.normal(size=rows) for _ in levels]
    places = [np.clip((z + 3) / 6 * n, 0, n - 1) for z, n in zip(columns, levels, strict=True)]
    return pd.DataFrame({f"c{i}": place.astype(np.int64) for i, place in enumerate(places)})


def independent(rows: int) -> pd.DataFrame:
    """Return columns in which everyone is unique by three or four of them."""
    rng = Streams(1)("bench", "suda2", "independent")
    return pd.DataFrame({f"c{i}": rng.integers(0, n, rows) for i, n in enumerate(SPREAD)})


def stacked() -> pd.DataFrame:
    """Return sdcMicro's test data twenty times over, some values drawn anew from their column."""
    frame = pd.read_csv(data_folder() / "sdcmicro" / "testdata.csv")[list(KEYS)].fillna(-1)
    rng = Streams(1)("bench", "suda2", "stacked")
    many = pd.concat([frame] * (ROWS // len(frame)), ignore_index=True)
    for name in KEYS:
        anew = rng.random(len(many)) < REDRAWN
        many.loc[anew, name] = rng.choice(frame[name].to_numpy(), int(anew.sum()))
    return many


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    def once() -> float:
        start = process_time()
        work()
        return process_time() - start

    return median(once() for _ in range(repeats))


def main() -> None:
    vd.risk.suda2(household(1_000), ["c0", "c1"])  # compiled code warm
    tables = {
        f"household columns, {ROWS:,} x 7": household(ROWS),
        f"independent columns, {ROWS:,} x 7": independent(ROWS),
        "household columns, 1,000,000 x 7": household(1_000_000),
        "household columns, 100,000 x 12": household(100_000, tuple(range(2, 50, 4))),
    }
    if os.environ.get("VELADURA_DATA"):
        tables[f"sdcMicro's test data twenty times over, {ROWS:,} x 7"] = stacked()
    for label, frame in tables.items():
        names, repeats = list(frame), 5 if len(frame) == ROWS else 1
        ours = seconds(lambda frame=frame, names=names: vd.risk.suda2(frame, names), repeats)
        once = seconds(lambda frame=frame, names=names: frame.groupby(names, sort=False).size())
        found = vd.risk.suda2(frame, names)
        print(
            f"  {label}, {2 ** len(names) - 1:,} sets: {ours:.3f} s, {ours / once:.1f} groupbys;"
            f" {sum(int(people) for people in found.sizes.values()):,} minimal sample uniques"
        )


if __name__ == "__main__":
    main()
