"""Attack: the edge of a town after Donut, where a place may be out of reach for all but a few.

Places that are not isolated have circles of their own, and the outer side of an outer one is
nobody else's. The intruder has the released file, a register of all homes, the method and its
settings: from these follows the circle of every home, and how likely each released place is for
each home. Every place is of one person and every person has one place, so the chances are scaled
until they add up to one both ways (Sinkhorn). The intruder names whoever has even odds or better.

Of the towns of 5,000 homes and the rings that were tried (round, square and thinning out; outer
from 100 to 700), most are named in those with a sharp edge, at a ring just wide enough that few
homes are isolated. The base rate is that of isolated homes, one in k + 1. In eight such towns 16 of
40,000 people are named, at most 4 of one town, 13 of them rightly (2.7 by the base rate); in three
towns that thin out nobody is. With k = 0, where nobody shares a circle, it is 62 of 5,000 of such a
town, 55 of them rightly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial import KDTree

import veladura as vd
from veladura.methods.geography.circles import Circles, circles_of

HOMES, SIDE, SPREAD = 5_000, 10_000.0, 3_545.0
INNER, OUTER, K = 52.0, 260.0, 5
pytestmark = pytest.mark.xdist_group("donut-edges")  # one preparation for all of them
TOWNS = [(shape, seed) for shape in ("round", "square") for seed in range(4)]
ODDS = 0.5 - 1e-9


def town(shape: str, seed: int) -> pd.DataFrame:
    """Homes as dense everywhere, up to the edge; or ever less dense outwards."""
    rng = np.random.default_rng(seed)
    if shape == "square":
        place = SPREAD * (rng.random((HOMES, 2)) - 0.5)
    elif shape == "round":
        distance, angle = SPREAD * np.sqrt(rng.random(HOMES) / np.pi), 2 * np.pi * rng.random(HOMES)
        place = np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])
    else:
        place = rng.normal(0, SPREAD / 4, (HOMES, 2))
    return pd.DataFrame((SIDE / 2 + place).round(1), columns=["x", "y"])


def released_places(
    home: pd.DataFrame, seed: int, k: int, folder: Path
) -> tuple[np.ndarray, np.ndarray]:
    """The places in the file of a release, and for the score whose each of them is.

    Rows of the file are in random order; those of the release in memory are not.
    """
    recipe = vd.Donut(x="x", y="y", region=[0, 0, SIDE, SIDE], inner=INNER, outer=OUTER, k=k)
    release = recipe.protect(vd.open(home), seed=seed)
    release.save(folder / "out" / "release", custodian=folder / "safe" / "record")
    place = vd.load(folder / "out" / "release").datasets[0][["x", "y"]].to_numpy()
    held = release.datasets[0][["x", "y"]].to_numpy()
    owner = np.empty(len(place), dtype=int)
    owner[np.lexsort(place.T)] = np.lexsort(held.T)
    assert (place == held[owner]).all()
    return place, owner


def chances(home: np.ndarray, place: np.ndarray, k: int) -> sparse.csr_matrix:
    """How likely each place is for each home, zero where it is out of reach; homes are rows."""
    region = Circles(np.full((1, 2), SIDE / 2), np.array([SIDE / np.sqrt(2)]), np.array([True]))
    circles = circles_of(home, OUTER / np.sqrt(k + 1), OUTER, k, region)
    who, which = [], []
    for i, near in enumerate(KDTree(place).query_ball_point(circles.centre, circles.radius + 0.1)):
        possible = np.array(near, dtype=int)
        step = np.linalg.norm(place[possible] - home[i], axis=1)
        which.append(possible[step >= INNER - 0.1])
        who.append(np.full(which[-1].size, i))
    rows, columns = np.concatenate(who), np.concatenate(which)
    density = 1 / (circles.radius**2 - INNER**2)
    return sparse.csr_matrix((density[rows], (rows, columns)), shape=(len(home), len(place)))


def one_to_one(chance: sparse.csr_matrix) -> sparse.csc_matrix:
    """Scale chances until those of every person and of every place add up to one."""
    by_home = np.ones(chance.shape[0])
    for _ in range(60):
        by_place = 1 / (chance.T @ by_home)
        by_home = 1 / (chance @ by_place)
    scaled = sparse.diags(by_home) @ chance @ sparse.diags(1 / (chance.T @ by_home))
    return scaled.tocsc()


def attack(shape: str, seed: int, k: int, folder: Path) -> tuple[int, int, float]:
    """People named, how many rightly, and how many by the odds that the intruder claims."""
    home = town(shape, seed)
    place, owner = released_places(home, seed, k, folder)
    chance = chances(home.to_numpy(), place, k)
    truth = np.asarray(chance[owner, np.arange(HOMES)])
    assert (truth > 0).all()  # the intruder's picture of the method is right
    odds = one_to_one(chance)
    best, who = odds.max(axis=0).toarray().ravel(), np.asarray(odds.argmax(axis=0)).ravel()
    named = np.flatnonzero(best >= ODDS)
    right = int(np.sum(who[named] == owner[named]))
    return named.size, right, float(best[named].sum())


@pytest.fixture(scope="module")
def towns(tmp_path_factory) -> np.ndarray:
    """What the attack finds in each town with a sharp edge."""
    folder = tmp_path_factory.mktemp("towns")
    return np.array([attack(shape, seed, K, folder / f"{shape}{seed}") for shape, seed in TOWNS])


def test_few_people_at_the_edge_of_a_town_are_named(towns):
    """The bound of all towns is four standard errors above the 16 that are named."""
    named = towns[:, 0]
    assert named.max() <= 7, named
    assert named.sum() <= 32, named


def test_the_odds_that_the_intruder_claims_are_those_that_come_true(towns):
    """Else the attack is not the one it could be: right guesses are as many as claimed."""
    named, right, claimed = towns.sum(axis=0)
    assert named / (K + 1) < claimed <= named + 1e-6
    assert abs(right - claimed) <= 4 * np.sqrt(named) / 2, (named, right, claimed)


def test_a_town_that_thins_out_has_no_edge(tmp_path):
    """Outer homes are isolated there, and share their circles."""
    assert attack("thinning", 0, K, tmp_path)[0] <= 1


def test_the_attack_finds_homes_that_take_a_step_of_their_own(tmp_path):
    """The control: with k = 0 nobody shares a circle, and outer homes are found."""
    named, right, _ = attack("thinning", 0, 0, tmp_path)
    assert named >= 40
    assert right >= 0.5 * named
