"""New places for 100,000 people: processor time and memory of the release and what follows it.

BENCH_PEOPLE chooses the number of people; 100,000 by default.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks.memory import peak_growth

PEOPLE = int(os.environ.get("BENCH_PEOPLE", "100000"))
SIDE, TOWNS = 30.0, 25
BOXES = {"west": [0, 0, 15, 30], "middle": [10, 10, 20, 20]}
FIGURES = (
    "risk.location.matched_mean",
    "risk.location.same_cell",
    "risk.holes.ratio",
    "utility.location.overlap",
    "utility.location.contrast",
    "utility.location.contrast_slope",
    "utility.location.contrast_resampled",
    "utility.location.fine_contrast",
    "utility.location.fine_slope",
    "utility.location.fine_resampled",
)


def people(rows: int, seed: int = 1) -> pd.DataFrame:
    """Return homes in towns and on the plain; illness rises eastward and around one source."""
    rng = np.random.default_rng(seed)
    centres, spread = rng.uniform(2, SIDE - 2, (TOWNS, 2)), rng.uniform(0.5, 2, TOWNS)
    town = rng.choice(TOWNS, rows, p=rng.dirichlet(np.full(TOWNS, 2.0)))
    near = centres[town] + spread[town][:, None] * rng.standard_normal((rows, 2))
    plain = rng.random(rows)[:, None] < 0.3
    homes = np.abs(np.where(plain, rng.random((rows, 2)) * SIDE, near))
    homes = np.where(homes > SIDE, 2 * SIDE - homes, homes)
    source = np.hypot(*(homes - centres[0]).T)
    odds = np.exp(-2 + homes[:, 0] / SIDE + 1.5 * np.exp(-((source / 3) ** 2)))
    return pd.DataFrame(
        {
            "east": homes[:, 0].round(3),
            "north": homes[:, 1].round(3),
            "ill": np.where(rng.random(rows) < odds / (1 + odds), "yes", "no"),
            "sex": rng.choice(["f", "m"], rows),
        }
    )


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Do a piece of work; print its processor time and by how much the process grew."""
    result = []
    start = time.process_time()
    _, grown = peak_growth(lambda: result.append(work()))
    spent = time.process_time() - start
    print(f"{name:32} {spent:6.1f} s of processor time, {grown / 1e6:6.0f} MB more", flush=True)
    return result[0]


def main() -> None:
    """Print time and memory step by step, and what came out."""
    warnings.simplefilter("ignore")
    frame = people(PEOPLE)
    recipe = vd.Geography(
        x="east",
        y="north",
        attributes=["ill", "sex"],
        region=(0.0, 0.0, SIDE, SIDE),
        grid=(30, 30),
        m=5,
    )
    release = timed("protect", lambda: recipe.protect(frame, seed=1))
    found = timed("assess", lambda: vd.assess(frame, release))
    with tempfile.TemporaryDirectory() as home:
        timed("save, with proofs and pictures", lambda: release.save(Path(home) / "release"))
    timed(
        "shares in two rectangles",
        lambda: vd.utility.rectangle_shares(
            frame, {"model": release}, BOXES, attribute="ill", value="yes"
        ),
    )
    for name in FIGURES:
        print(f"{name:40} {float(found[name]):.3f}")


if __name__ == "__main__":
    main()
