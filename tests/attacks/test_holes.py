"""Attacks on released places: holes, spikes, and the place nearest to a home.

Version 0.1.0 never released a place where somebody lives. It filled the rest of the map, so that
the points that stayed empty were the homes. The attacks see the released places alone, and know
their decimals. On that version and this file's generator, lattices of 40, 60 and 90 points a side:

================  ===========  ===========  ===========
hole attack       40           60           90
================  ===========  ===========  ===========
Geography         1.00 (.64)   .91 (.37)    .44 (.19)
NaiveGeography    1.00 (.64)   .91 (.37)    .44 (.18)
Donut             1.00 (.60)   .94 (.39)    .49 (.20)
================  ===========  ===========  ===========

Share of the named points where somebody lives, in brackets its base rate. Points with too many
places were never homes: 0 (.14 to .58). Of 96 lonely homes 96 were found by the place nearest to
them after a step of Donut, and the map of Geography had 5.8 times as many people in their cells as
in the empty ones around.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.numeric.mcmc.diagnostics import ChainWarning

pytestmark = pytest.mark.filterwarnings(f"ignore::{ChainWarning.__module__}.ChainWarning")
PEOPLE, DATASETS, REACH = 1000, 5, 3
SIDES = (40, 60, 90)  # points of the lattice a side: dense, medium and sparse
GAIN = 1.2  # precision that is allowed over the base rate


def homes(side: int, seed: int = 0) -> pd.DataFrame:
    """People on a lattice, half of them in two towns; several may share a home."""
    rng = np.random.default_rng(seed)
    town = np.array([[0.3, 0.6], [0.7, 0.3]])[rng.integers(0, 2, PEOPLE)]
    place = np.where(
        rng.random((PEOPLE, 1)) < 0.5,
        town + 0.12 * rng.standard_normal((PEOPLE, 2)),
        rng.random((PEOPLE, 2)),
    )
    points = np.clip((place * side).astype(int), 0, side - 1)
    frame = pd.DataFrame(points / 100, columns=["x", "y"])
    return frame.assign(ill=np.where(rng.random(PEOPLE) < 0.3, "yes", "no"))


def recipes(side: int) -> dict[str, vd.Recipe]:
    """The three methods that write places, in the square of the lattice."""
    common = {"x": "x", "y": "y", "region": [0, 0, (side - 1) / 100, (side - 1) / 100]}
    chain = {"sweeps": 300, "burn": 100, "chains": 2}
    return {
        "Geography": vd.Geography(**common, attributes=["ill"], grid=(6, 6), m=DATASETS, **chain),
        "NaiveGeography": vd.NaiveGeography(**common, grid=(5, 5), m=DATASETS),
        "Donut": vd.Donut(**common, inner=0.02, outer=side / 800, m=DATASETS),
    }


def counts(frames: list[pd.DataFrame], side: int) -> np.ndarray:
    """How many released places each point of the lattice has, over all datasets."""
    places = pd.concat(frames)[["x", "y"]].to_numpy()
    return np.histogramdd(np.rint(places * 100), bins=[np.arange(side + 1) - 0.5] * 2)[0]


def around(values: np.ndarray) -> np.ndarray:
    """The mean of the points around each one, without itself; the border has fewer of them."""
    inside = np.ones_like(values)
    total, points = np.zeros_like(values), np.zeros_like(values)
    for across in range(-REACH, REACH + 1):
        for up in range(-REACH, REACH + 1):
            if across or up:
                total += shifted(values, across, up)
                points += shifted(inside, across, up)
    return total / points


def shifted(values: np.ndarray, across: int, up: int) -> np.ndarray:
    padded = np.pad(values, REACH)
    side = len(values)
    return padded[REACH + across :, REACH + up :][:side, :side]


def holes(count: np.ndarray) -> np.ndarray:
    """Points without a place, where the points around have the most: at most a tenth of them."""
    expected = np.where(count == 0, around(count), 0.0)
    return expected >= max(np.quantile(expected, 0.9), 0.5)


def spikes(count: np.ndarray) -> np.ndarray:
    """The tenth of the points with the most places over what the points around have."""
    expected = around(count)
    excess = (count - expected) / np.sqrt(expected + 0.5)
    return excess >= np.quantile(excess, 0.9)


def odds(named: np.ndarray, home: np.ndarray) -> tuple[float, float, int]:
    """Precision of named points, its base rate (homes among the points around them), and how many.

    The attacker cannot do better by knowing where homes are dense: the base rate does, too.
    """
    return float(home[named].mean()), float(around(home)[named].mean()), int(named.sum())


def slack(base: float, named: int) -> float:
    """Four standard errors of a share that is the base rate."""
    return 4 * np.sqrt(base * (1 - base) / named)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("method", ["Geography", "NaiveGeography", "Donut"])
def test_neither_holes_nor_spikes_tell_where_people_live(method, side):
    frame = homes(side)
    home = (counts([frame], side) > 0).astype(float)
    count = counts(recipes(side)[method].protect(frame, seed=1).datasets, side)
    for attack in (holes, spikes):
        precision, base, named = odds(attack(count), home)
        assert named > 50
        assert precision <= max(GAIN * base, base + slack(base, named))


K, RELEASES = 5, 8
FAR = {
    "twelve": [(x, y) for x in (15, 45, 75, 95) for y in (40, 70, 95)],
    "one": [(92, 90)],
}


def lonely_homes(world: str) -> tuple[pd.DataFrame, int]:
    """People of whom the first live far from all others, and how many these are."""
    rng = np.random.default_rng(0)
    far = np.array(FAR[world]) + rng.normal(0, 2, (len(FAR[world]), 2))
    town, village = rng.normal((10, 10), 1.5, (250, 2)), rng.normal((85, 12), 1.0, (50, 2))
    place = np.clip(np.vstack([far, town, village]), 0, 100).round(3)
    frame = pd.DataFrame(place, columns=["x", "y"])
    return frame.assign(ill=np.where(rng.random(len(frame)) < 0.3, "yes", "no")), len(far)


def nearest_place(home: np.ndarray, released: np.ndarray, lonely: int) -> tuple[int, int]:
    """The intruder knows a lonely home and takes the released place nearest to it: right, tries."""
    way = np.linalg.norm(home[:lonely, None] - released[None], axis=2)
    return int(np.sum(way.argmin(axis=1) == np.arange(lonely))), lonely


def nearest_home(home: np.ndarray, released: np.ndarray, lonely: int) -> tuple[int, int]:
    """The intruder knows all homes and says of a released place whose it is: the nearest one's.

    Right and tries, where that home is a lonely one.
    """
    whose = np.linalg.norm(released[:, None] - home[None], axis=2).argmin(axis=1)
    named = whose < lonely
    return int(np.sum(whose[named] == np.flatnonzero(named))), int(named.sum())


def found(recipe: vd.Recipe, attack, world: str) -> tuple[int, int]:
    """Right guesses and tries over several releases."""
    frame, lonely = lonely_homes(world)
    home = frame[["x", "y"]].to_numpy()
    results = []
    for seed in range(RELEASES * 12 // lonely):
        released = recipe.protect(frame, seed=seed).datasets[0][["x", "y"]].to_numpy()
        results.append(attack(home, released, lonely))
    right, tries = np.sum(results, axis=0)
    return int(right), int(tries)


@pytest.mark.parametrize("world", FAR)
@pytest.mark.parametrize("attack", [nearest_place, nearest_home])
def test_a_lonely_home_is_found_as_often_as_one_of_k_others(attack, world):
    """Base rate: one of k + 1. Control: with k = 0 every lonely home is found."""
    common = {"x": "x", "y": "y", "region": [0, 0, 100, 100], "inner": 0.5, "outer": 4}
    right, tries = found(vd.Donut(**common, k=K), attack, world)
    base = 1 / (K + 1)
    assert tries >= 50
    assert right / tries <= base + slack(base, tries)
    right, tries = found(vd.Donut(**common, k=0), attack, world)
    assert right == tries


def cells_of(frame: pd.DataFrame, side: int) -> np.ndarray:
    return np.histogramdd(frame[["x", "y"]].to_numpy(), bins=[np.linspace(0, 100, side + 1)] * 2)[0]


def lonely_cells(k: int, side: int) -> float:
    """How much oftener the model places people in cells of lonely homes than in empty ones around.

    The intruder looks for cells with places where the cells around have none.
    """
    frame, lonely = lonely_homes("twelve")
    recipe = vd.Geography(
        x="x",
        y="y",
        region=[0, 0, 100, 100],
        attributes=["ill"],
        grid=(side, side),
        k=k,
        m=5,
        sweeps=400,
        burn=100,
        chains=2,
    )
    alone, lived = cells_of(frame[:lonely], side) > 0, cells_of(frame, side) > 0
    count = np.zeros((side, side))
    for seed in range(RELEASES):
        for data in recipe.protect(frame, seed=seed).datasets:
            count += cells_of(data, side)
    beside = np.maximum.reduce([shifted(alone, i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    return float(count[alone].mean() / count[beside & ~lived].mean())


def test_a_map_does_not_show_the_cell_of_a_lonely_home():
    assert lonely_cells(K, 10) <= GAIN
    assert lonely_cells(0, 10) > 2 * GAIN  # the control
