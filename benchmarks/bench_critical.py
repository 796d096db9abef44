"""Critical cells: the whole pass beside Cart replacing the same columns, in one run.

Combinations that do not occur cost nothing.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import veladura as vd

CONFIDENTIAL = ["wage", "rent", "capital", "gifts"]
ROWS, COLUMNS, CRITICAL = 100_000, 20, 0.1


def incomes(rows: int, columns: int = COLUMNS, seed: int = 0) -> pd.DataFrame:
    """Return correlated amounts with heavy tails, and other columns.

    Numbers, codes and categories.
    """
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=rows)
    frame = {
        name: np.round(np.exp(9 + 0.8 * shared + 0.6 * rng.normal(size=rows)), 0)
        for name in CONFIDENTIAL
    }
    for i in range(columns - len(CONFIDENTIAL)):
        kind = i % 4
        if kind == 0:
            frame[f"x{i}"] = np.round(shared + rng.normal(size=rows), 2)
        elif kind == 1:
            frame[f"x{i}"] = rng.integers(0, 60, rows)
        elif kind == 2:
            frame[f"x{i}"] = rng.choice(list("abcde"), rows)
        else:
            frame[f"x{i}"] = np.round(rng.lognormal(3, 1, rows), 1)
    return pd.DataFrame(frame)


def conditions(
    frame: pd.DataFrame, share: float = CRITICAL, names: list[str] | None = None
) -> dict[str, str]:
    return {
        name: f"{name} > {frame[name].quantile(1 - share):.0f}" for name in names or CONFIDENTIAL
    }


def timed(recipe: vd.Recipe, frame: pd.DataFrame) -> tuple[float, float]:  # type: ignore[name-defined]
    """Return seconds and processor seconds of fitting, drawing and proving."""
    table = vd.open(frame)
    wall, cpu = time.perf_counter(), time.process_time()
    recipe.protect(table, seed=1, threads=2)
    return time.perf_counter() - wall, time.process_time() - cpu


def many_columns(columns: int) -> tuple[float, int]:
    """Return processor seconds for so many confidential columns with five combinations.

    Whatever their number.
    """
    rng = np.random.default_rng(0)
    rows, which = 20_000, np.arange(20_000) % 50
    frame = pd.DataFrame(
        {f"y{i}": np.round(rng.lognormal(8, 1, rows), 2) for i in range(columns)}
    ).assign(which=which)
    split = np.array_split(np.arange(columns), 5)
    marks = {f"y{i}": f"which == {k}" for k, part in enumerate(split) for i in part}
    recipe = vd.CriticalCart(
        critical=marks, groups=[list(marks)], m=1, predictors=["which"], keep_inside=False
    )
    _, cpu = timed(recipe, frame)
    return cpu, len(recipe.fit(frame, seed=1).structure)


def main() -> None:
    frame = incomes(ROWS)
    critical = conditions(frame)
    recipes = {
        "Cart": vd.Cart(columns=CONFIDENTIAL, m=5),
        "CriticalCart": vd.CriticalCart(critical=critical, groups=[CONFIDENTIAL], m=5),
        "column by column": vd.CriticalCart(critical=critical, groups=[], m=5),
    }
    small = frame.head(3000)
    for recipe in recipes.values():
        timed(recipe, small)  # compiled code warm
    found = {name: timed(recipe, frame) for name, recipe in recipes.items()}
    print(
        f"{ROWS} rows x {COLUMNS} columns, {len(CONFIDENTIAL)} confidential in one class,"
        f" {CRITICAL:.0%} critical, m = 5, 2 threads"
    )
    for name, (wall, cpu) in found.items():
        print(
            f"  {name:17} {wall:6.2f} s, processor {cpu:6.2f} s, {cpu / found['Cart'][1]:5.2f}"
            " times Cart"
        )
    assert found["CriticalCart"][1] < 2 * found["Cart"][1]
    for columns in (10, 20, 40):
        cpu, combinations = many_columns(columns)
        print(
            f"  {columns} confidential columns, 2^{columns} combinations, {combinations} occur:"
            f" processor {cpu:.2f} s, {cpu / columns:.3f} a column"
        )


if __name__ == "__main__":
    main()
