"""A panel that is extended by its third wave, beside one that is drawn at once, in one run.

BENCH_HOMES chooses the households of the generated survey; 20,000 by default.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np
import pandas as pd

import veladura as vd
from veladura.example.survey import Design, make_panel

HOMES = int(os.environ.get("BENCH_HOMES", "20000"))
BEFORE, LAST = 2024, 2025
ROLES = {
    "household": {"role": "household"},
    "person": {"role": "person"},
    "stratum": {"role": "strata"},
    "area": {"role": "cluster", "kind": "category"},
    "weight": {"role": "weight"},
}


def changes(frame: pd.DataFrame) -> dict[str, float]:
    """Return what happens between the last two waves."""
    income, work, age = (
        frame.set_index(["person", "year"])[name].unstack()  # noqa: PD010  # no value is a mean
        for name in ("income", "work", "age")
    )
    seen = frame.groupby(["household", "year"]).person.nunique()
    homes = seen.unstack(fill_value=0)  # noqa: PD010  # no value is a mean
    homes = homes[homes[BEFORE] > 0]
    paid = income[[BEFORE, LAST]].dropna()
    logs = np.log(paid[(paid > 0).all(axis=1)])
    step = logs[LAST] - logs[BEFORE]
    both = work[[BEFORE, LAST]].dropna()
    return {
        "log income, correlation with the year before": np.corrcoef(logs.T)[0, 1],
        "its mean change": step.mean(),
        "standard deviation of the change": step.std(),
        "full time, and full time before": (
            both[LAST][both[BEFORE] == "full time"] == "full time"
        ).mean(),
        "no work, and none before": (both[LAST][both[BEFORE] == "none"] == "none").mean(),
        "a year older": (age[LAST] - age[BEFORE]).dropna().eq(1).mean(),
        "people who leave": income[LAST][income[BEFORE].notna()].isna().mean(),
        "households that leave": (homes[LAST] == 0).mean(),
        "households that split": ((homes[LAST] > 0) & (homes[LAST] != homes[BEFORE])).mean(),
    }


def without_past(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a panel whose last wave is drawn without the rows before: the broken control."""
    made, last = frame.copy(), frame.year == LAST
    columns = ["age", "work", "income"]
    rows = made.loc[last, columns].sample(frac=1, random_state=1)
    made.loc[last, columns] = rows.to_numpy()
    return made.astype({"age": int, "income": int})


def main() -> None:
    """Print processor seconds and figures."""
    design = Design(areas=max(HOMES // 160, 2))
    frame = make_panel(2024, 3, design)
    recipe = vd.HouseholdCart(m=1)
    start = time.process_time()
    once = recipe.protect(vd.open(frame, ROLES), seed=5)
    at_once = time.process_time() - start
    first = recipe.protect(vd.open(frame[frame.year < LAST], ROLES), seed=1)
    with tempfile.TemporaryDirectory() as home:
        folder = first.save(f"{home}/out/first", custodian=f"{home}/safe/first")
        start = time.process_time()
        new = vd.extend(recipe, vd.open(frame, ROLES), folder, seed=2)
        extended = time.process_time() - start
    print(f"{len(frame):,} rows, m = 1: three waves at once {at_once:.1f} s,")
    print(f"the third extending two {extended:.1f} s (with the checks of the earlier folder)")
    tables = {
        "original": frame,
        "other sample": make_panel(77, 3, design),
        "at once": once.datasets[0],
        "extended": new.datasets[0],
        "without a past": without_past(new.datasets[0]),
    }
    print(
        pd.DataFrame({name: changes(table) for name, table in tables.items()}).round(3).to_string()
    )


if __name__ == "__main__":
    main()
