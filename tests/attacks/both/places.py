"""Attacks on released places, and marks inside a class of rows."""

from __future__ import annotations

import struct
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tests.attacks.both.common import Attack, Outcome

import veladura as vd

SIDE, PEOPLE = 40, 1000
FAR = [(x, y) for x in (15, 45, 75, 95) for y in (40, 70, 95)]


def homes() -> pd.DataFrame:
    """Return people on a lattice of two decimals, half of them in two towns."""
    rng = np.random.default_rng(0)
    town = np.array([[0.3, 0.6], [0.7, 0.3]])[rng.integers(0, 2, PEOPLE)]
    spread = town + 0.12 * rng.standard_normal((PEOPLE, 2))
    place = np.where(rng.random((PEOPLE, 1)) < 0.5, spread, rng.random((PEOPLE, 2)))
    points = np.clip((place * SIDE).astype(int), 0, SIDE - 1)
    frame = pd.DataFrame(points / 100, columns=["x", "y"])
    return frame.assign(ill=np.where(rng.random(PEOPLE) < 0.3, "yes", "no"))


def counted(frames: list[pd.DataFrame]) -> np.ndarray:
    places = np.rint(pd.concat(frames)[["x", "y"]].to_numpy() * 100)
    return np.histogramdd(places, bins=[np.arange(SIDE + 1) - 0.5] * 2)[0]


def around(values: np.ndarray) -> np.ndarray:
    """Return the mean of the points in a square of seven around each one, without itself."""
    total, points = np.zeros_like(values), np.zeros_like(values)
    padded, inside = np.pad(values, 3), np.pad(np.ones_like(values), 3)
    for across in range(7):
        for up in range(7):
            if (across, up) != (3, 3):
                total += padded[across:, up:][:SIDE, :SIDE]
                points += inside[across:, up:][:SIDE, :SIDE]
    return total / points


def holes(recipe: vd.Recipe) -> Outcome:
    """Name the empty points whose neighbours have the most places; how many are homes?"""
    frame = homes()
    home = (counted([frame]) > 0).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count = counted(recipe.protect(frame, seed=1).datasets)
    expected = np.where(count == 0, around(count), 0.0)
    named = expected >= max(np.quantile(expected, 0.9), 0.5)
    right, base, tries = home[named].mean(), around(home)[named].mean(), named.sum()
    error = np.sqrt(base * (1 - base) / tries)
    words = f"{right:.2f} of {tries} empty points are homes, {base:.2f} of the points around"
    return bool(right > base + 4 * error), words


def holes_geography(_home: Path) -> Outcome:
    edge = (SIDE - 1) / 100
    chain = {"sweeps": 300, "burn": 100, "chains": 2}
    region = {"x": "x", "y": "y", "region": [0, 0, edge, edge], "m": 5}
    return holes(vd.Geography(**region, attributes=["ill"], grid=(6, 6), **chain))


def holes_donut(_home: Path) -> Outcome:
    edge = (SIDE - 1) / 100
    return holes(
        vd.Donut(x="x", y="y", region=[0, 0, edge, edge], inner=0.02, outer=SIDE / 800, m=5)
    )


def nearest(worlds: list[np.ndarray], lonely: int, size: float) -> Outcome:
    """Take the released place nearest to each of the first homes; by chance one of six is right."""
    right = 0
    region = [0, 0, size, size]
    for seed, place in enumerate(worlds):
        recipe = vd.Donut(x="x", y="y", region=region, inner=0.5, outer=4)
        frame = pd.DataFrame(place, columns=["x", "y"])
        new = recipe.protect(frame, seed=seed).datasets[0].to_numpy()
        way = np.linalg.norm(place[:lonely, None] - new[None], axis=2)
        right += int(np.sum(way.argmin(axis=1) == np.arange(lonely)))
    tries = lonely * len(worlds)
    base = tries / 6
    return right > base + 4 * np.sqrt(base * 5 / 6), f"{right} of {tries} homes found"


def lonely_homes(_home: Path) -> Outcome:
    rng = np.random.default_rng(0)
    far = np.array(FAR) + rng.normal(0, 2, (len(FAR), 2))
    town, village = rng.normal((10, 10), 1.5, (250, 2)), rng.normal((85, 12), 1.0, (50, 2))
    place = np.clip(np.vstack([far, town, village]), 0, 100).round(3)
    return nearest([place] * 8, len(FAR), 100)


def lonely_neighbours(_home: Path) -> Outcome:
    """A farm beside a hamlet whose people must hide another farm, further away."""
    worlds = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        farms = np.array([[515.0, 500.0], [400.0, 500.0]]) + rng.normal(0, 1, (2, 2))
        towns = [rng.normal(at, 4, (100, 2)) for at in (100, 900)]
        worlds.append(np.vstack([farms, rng.normal(500, 0.6, (6, 2)), *towns]).round(3))
    return nearest(worlds, 1, 1000)


def marked(values: list[float | None], keys: str, home: Path) -> Outcome:
    """Look for a row that differs in its bits from all others of its class, on every way out."""
    score = pa.array(values, pa.float64(), from_pandas=False)
    table = pa.table({"score": score, "sex": ["f"] * len(values)})
    recipe = vd.KAnonymity(quasi_identifiers=[keys], k=5, hierarchies={keys: vd.Hierarchy.star()})
    release = recipe.protect(table)
    release.save(home / "out" / "release", custodian=home / "safe" / "release")
    written = pq.read_table(next((home / "out" / "release").glob("data/*.parquet")))
    least = min(
        min(Counter(map(bits, rows["score"].to_pylist())).values())
        for rows in (written, release.datasets[0])
    )
    return least < 5, f"a row looks like {least} of {len(values)} rows"


def bits(value: object) -> bytes:
    return struct.pack("<d", value) if isinstance(value, float) else str(value).encode()


def negative_zero(home: Path) -> Outcome:
    return marked([0.0] * 19 + [-0.0], "score", home)


def nan_beside_missing(home: Path) -> Outcome:
    return marked([None] * 19 + [float("nan")], "sex", home)


ATTACKS: dict[str, Attack] = {
    "holes in a map, Geography": holes_geography,
    "holes in a map, Donut": holes_donut,
    "lonely home, nearest place": lonely_homes,
    "lonely home whose neighbours hide another": lonely_neighbours,
    "-0.0 inside a class": negative_zero,
    "NaN beside missing inside a class": nan_beside_missing,
}
