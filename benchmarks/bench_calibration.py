"""Calibration of 100,000 weights to 40 totals: processor time of the whole step, aim a second.

Five columns of 6 to 10 categories, totals within a tenth of what the weights add up to; with and
without bounds, by a cross of two columns, and with 16 replicate weights.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

import veladura as vd
from veladura.numeric.calibration import rake

ROWS, LEVELS, REPLICATES = 100_000, {"a": 10, "b": 10, "c": 8, "d": 6, "e": 6}, 16
PEOPLE = 1e7


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, most, ROWS).astype(str) for name, most in LEVELS.items()}
    return pd.DataFrame(columns).assign(w=rng.uniform(50, 150, ROWS))


def near(frame: pd.DataFrame, names: list[str]) -> dict[Any, float]:
    """Return totals within a tenth of those of the weights, of ten million people."""
    rng = np.random.default_rng([2, len(names)])
    sums = frame.groupby(names)["w"].sum()
    moved = sums * rng.uniform(0.9, 1.1, sums.size)
    return {key: float(value) for key, value in (moved / moved.sum() * PEOPLE).items()}


def timed(what: str, recipe: vd.Calibrate, table: Any) -> None:
    start = time.process_time()
    recipe.protect(table)
    print(f"  {what:45} {time.process_time() - start:6.2f} s")


def main() -> None:
    frame = survey()
    table = vd.open(frame, {"w": {"role": "weight"}})
    totals: dict[str, Any] = {
        name: {key[0]: total for key, total in near(frame, [name]).items()} for name in LEVELS
    }
    vd.Calibrate(column="w", totals={"a": totals["a"]}).protect(table)  # loads what it needs
    print(f"{ROWS:,} weights, {sum(LEVELS.values())} totals, processor time:")
    sides = np.column_stack([frame[n] == c for n, own in totals.items() for c in own])
    wanted = np.array([total for own in totals.values() for total in own.values()])
    start = time.process_time()
    assert rake(frame["w"].to_numpy(), sides.astype(float), wanted) is not None
    print(f"  {'the equations alone, without bounds':45} {time.process_time() - start:6.2f} s")
    timed("the step, factors of 0.2 to 5", vd.Calibrate(column="w", totals=totals), table)
    crossed: dict[str, dict[str, float]] = {}
    for (outer, inner), total in near(frame, ["c", "d"]).items():
        crossed.setdefault(outer, {})[inner] = total
    both = {"c, d": crossed, "a": totals["a"]}
    timed("48 totals of a cross, and 10 of a column", vd.Calibrate(column="w", totals=both), table)
    rng = np.random.default_rng(3)
    half = {f"r{i}": frame["w"] * 2 * (rng.random(ROWS) < 0.5) for i in range(REPLICATES)}
    roles = {"w": {"role": "weight"}} | {n: {"role": "replicate weight"} for n in half}
    more = vd.open(frame.assign(**half), roles)
    timed(f"with {REPLICATES} replicate weights", vd.Calibrate(column="w", totals=totals), more)


if __name__ == "__main__":
    main()
