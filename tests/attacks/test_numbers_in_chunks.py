"""Attacks on numbers of a table that passed in chunks: a method that held a tenth of the people.

Those of `test_numbers`, on the files of a release alone. What decides is what everybody holds:
which numbers fewer than five of all share, and how far each is from others. Fitted to 300 of 3,000
people; the controls are noise without the law, and donors' own numbers. Share of the named numbers
(base rate in brackets) on dense, medium and sparse grids:

============  ================================  ================================
              holes                             spikes
============  ================================  ================================
Noise         .43 (.30) .34 (.33) .35 (.36)     .98 (.93) .73 (.76) .38 (.38)
Noise, 1 %    .26 (.28) .32 (.34) .35 (.36)     .83 (.91) .74 (.75) .38 (.37)
Cart          .00 (.05) .25 (.24) .21 (.20)     .95 (.92) .77 (.73) .38 (.38)
Cart, partly  .14 (.13) .26 (.29) .22 (.21)     .95 (.94) .75 (.73) .39 (.38)
============  ================================  ================================

On dense grids fifty numbers are named. The nearest released number is nearer to a person than to a
place beside for .50 to .51 of the people; no outlier is told within 95 %.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.attacks.test_numbers import (
    DATASETS,
    GAIN,
    GRIDS,
    holes,
    incomes,
    lattice,
    lone_outlier,
    nearer,
    odds,
    spikes,
    told,
)

import veladura as vd
from veladura.table import chunks
from veladura.table.database.connection import read_parquet

HELD = 300
METHODS = {
    "noise": lambda **more: vd.Noise(columns=["income"], fit_rows=HELD, **more),
    "little noise": lambda **more: vd.Noise(columns=["income"], scale=0.01, fit_rows=HELD, **more),
    "cart": lambda **more: vd.Cart(m=DATASETS, fit_rows=HELD, **more),
    "partial cart": lambda **more: vd.Cart(columns=["income"], m=DATASETS, fit_rows=HELD, **more),
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 700)


def released(recipe: vd.Recipe, frame: pd.DataFrame, seed: int, folder) -> list[pd.DataFrame]:
    """The datasets as an intruder reads them from the folder."""
    frame.to_parquet(folder / f"people-{seed}.parquet")
    release = recipe.protect(vd.open(read_parquet(folder / f"people-{seed}.parquet")), seed=seed)
    assert release.manifest["steps"][0]["settings"]["fit_rows"] == HELD
    number = len(list(folder.glob("out/*")))
    out = release.save(folder / f"out/{number}", custodian=folder / f"safe/{number}")
    files = sorted((out / "data").rglob("*.parquet"))
    assert files
    return [pq.read_table(file).to_pandas() for file in files]


def named(method: str, grid: str, folder, **more) -> dict[str, tuple[float, float, int]]:
    """Precision of both attacks over three tables, base rates, and how many were named."""
    parts: dict[str, list[tuple[float, float, int]]] = {"holes": [], "spikes": []}
    for seed in range(3):
        frame = incomes(GRIDS[grid], seed)
        datasets = released(METHODS[method](**more), frame, seed, folder)
        numbers = np.rint(np.concatenate([data["income"] for data in datasets])).astype(int)
        held, count = lattice(frame, numbers)
        for attack, target in ((holes, held == 1), (spikes, held > 0)):
            found = attack(count)
            one = odds(found, target.astype(float)) if found.any() else (0.0, 0.0, 0)
            parts[attack.__name__].append(one)
    results = {}
    for name, three in parts.items():
        precision, base, number = np.array(three).T
        total = max(number.sum(), 1)
        results[name] = (
            float((precision * number).sum() / total),
            float((base * number).sum() / total),
            int(total),
        )
    return results


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("method", METHODS)
def test_neither_holes_nor_spikes_tell_the_numbers_of_people(method, grid, tmp_path):
    """Precision at most 1.2 times the base rate, or within four standard errors of it."""
    for attack, (precision, base, number) in named(method, grid, tmp_path).items():
        slack = 4 * np.sqrt(base * (1 - base) / number)
        assert precision <= max(GAIN * base, base + slack), attack


def test_the_attacks_find_donors_own_numbers(tmp_path):
    """The control: nothing is smoothed."""
    precision, base, number = named("cart", "sparse", tmp_path, smoothing="none")["spikes"]
    assert precision > max(GAIN * base, base + 4 * np.sqrt(base * (1 - base) / number))


@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_released_number_is_not_nearer_to_a_person_than_to_a_place_beside(
    method, tmp_path
):
    """Half of the people by chance, plus four standard errors."""
    shares, people = [], 0
    for seed in range(3):
        frame = incomes(100_000, seed)
        datasets = released(METHODS[method](), frame, seed, tmp_path)
        share, size = nearer(frame, np.concatenate([data["income"] for data in datasets]))
        shares.append(share)
        people += size
    assert np.mean(shares) < 0.5 + 4 * np.sqrt(0.25 / people) + 0.02
    bare = frame["income"].sample(2000, random_state=1).to_numpy()
    assert nearer(frame, bare)[0] > 0.6  # the control: donors' own numbers


@pytest.mark.parametrize("method", METHODS)
def test_a_lone_outlier_is_not_told_within_ten_per_cent(method, tmp_path):
    """Whether the sample has it or not; noise without the law, the control, tells it."""
    for seed in range(8):
        frame, value = lone_outlier(seed)
        datasets = released(METHODS[method](), frame, seed, tmp_path)
        assert told(frame, datasets, value) > 0.1
    if "noise" in method:
        plain = released(METHODS[method](min_people=0), frame, seed, tmp_path)
        assert told(frame, plain, value) < 0.1
