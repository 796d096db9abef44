"""Attack, written apart from the measure: gaps and peaks of a map, judged by people who are absent.

The intruder compares the released places at each point of the lattice with a smooth map of the
places around, and names the points with far fewer (holes) or far more (spikes). The base rate is
exact: the same points on forty maps of other people, drawn from the same village, hamlet and
lonely farms. Whatever the release tells about the population holds for them too; a gain over them
is about the people in the data. Version 0.1.0, twelve releases of 20 datasets, precision of holes
with the base rate in brackets: Geography .87 (.50),
Donut 1.00 (.65); spikes were never homes, 0 (.35 and .50). Now .21 (.21) and .22 (.21).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import gaussian_filter

import veladura as vd
from veladura.numeric.mcmc.diagnostics import ChainWarning

pytestmark = pytest.mark.filterwarnings(f"ignore::{ChainWarning.__module__}.ChainWarning")
SIDE = 100  # points of the lattice a side: two decimals
FARMS = 50
WIDTH = 1.5  # of the smoothing, in points


def world(seed: int, decimals: int = 2) -> pd.DataFrame:
    """People of a village, a hamlet and lonely farms; the farms come last."""
    rng = np.random.default_rng(seed)
    village, hamlet = (
        rng.normal((0.3, 0.35), 0.05, (300, 2)),
        rng.normal((0.75, 0.7), 0.02, (150, 2)),
    )
    place = np.clip(np.vstack([village, hamlet, rng.random((FARMS, 2))]), 0, 0.999)
    frame = pd.DataFrame(np.floor(place * 10**decimals) / 10**decimals, columns=["x", "y"])
    return frame.assign(ill=rng.choice(["yes", "no"], len(frame)))


def recipe(method: str, m: int, k: int = 5) -> vd.Recipe:
    common = {"x": "x", "y": "y", "region": [0, 0, 0.999, 0.999], "m": m, "k": k}
    if method == "Donut":
        return vd.Donut(**common, inner=0.01, outer=0.05)
    return vd.Geography(**common, attributes=["ill"], grid=(8, 8), sweeps=200, burn=50, chains=2)


def on_lattice(frames: list[pd.DataFrame]) -> np.ndarray:
    points = np.rint(pd.concat(frames)[["x", "y"]].to_numpy() * SIDE).astype(int)
    count = np.zeros((SIDE, SIDE))
    np.add.at(count, tuple(np.clip(points, 0, SIDE - 1).T), 1)
    return count


def named(count: np.ndarray) -> dict[str, np.ndarray]:
    """The tenth of the points that are furthest below, and above, what is around them."""
    itself = 1 / (2 * np.pi * WIDTH**2)  # the point's own part of the smooth map
    smooth = [
        gaussian_filter(part, WIDTH, mode="constant") for part in (count, np.ones_like(count))
    ]
    around = ((smooth[0] - itself * count) / (smooth[1] - itself)).ravel()
    excess = (count.ravel() - around) / np.sqrt(around + 0.5)
    dense = np.flatnonzero(around > 1)
    order = dense[np.argsort(excess[dense], kind="stable")]
    tenth = max(30, dense.size // 10)
    return {"holes": order[:tenth], "spikes": order[-tenth:]}


def gain(method: str, m: int, worlds: int) -> dict[str, tuple[float, float, int]]:
    """Precision, exact base rate and number of points, over several worlds."""
    strangers = np.mean([on_lattice([world(1000 + s)]).ravel() > 0 for s in range(40)], axis=0)
    total = {"holes": np.zeros(3), "spikes": np.zeros(3)}
    for seed in range(worlds):
        frame = world(seed)
        home = on_lattice([frame]).ravel() > 0
        datasets = recipe(method, m).protect(frame, seed=seed).datasets
        for kind, points in named(on_lattice(datasets)).items():
            total[kind] += [home[points].sum(), strangers[points].sum(), points.size]
    return {kind: (a / n, b / n, int(n)) for kind, (a, b, n) in total.items()}


def allowed(base: float, points: int) -> float:
    return 1.1 * base + 4 * float(np.sqrt(base * (1 - base) / points))


@pytest.mark.parametrize("method", ["Geography", "Donut"])
@pytest.mark.parametrize("m", [5, 20])
def test_a_map_tells_no_more_of_its_people_than_of_others(method, m):
    """At most four standard errors above the base rate, and a tenth of it: cells are public."""
    for kind, (precision, base, points) in gain(method, m, worlds=4).items():
        assert points > 150, kind
        assert precision <= allowed(base, points), (kind, precision, base)


def test_the_attack_finds_homes_that_a_map_avoids():
    """The control: a map of the village that leaves out its homes, as version 0.1.0 did."""
    frame = world(0)
    home = on_lattice([frame]).ravel() > 0
    map_ = on_lattice([world(50 + s) for s in range(20)])
    map_.ravel()[home] = 0
    points = named(map_)["holes"]
    strangers = np.mean([on_lattice([world(1000 + s)]).ravel() > 0 for s in range(40)], axis=0)
    base = strangers[points].mean()
    assert home[points].mean() > allowed(base, points.size)


def found_farms(release: vd.Release, frame: pd.DataFrame) -> tuple[int, int]:
    """Farms whose nearest released place is their own, and how many were tried."""
    home = frame[["x", "y"]].to_numpy()[-FARMS:]
    right = 0
    for data in release.datasets:
        way = np.linalg.norm(home[:, None] - data[["x", "y"]].to_numpy()[None], axis=2)
        right += int(np.sum(way.argmin(axis=1) == np.arange(len(frame) - FARMS, len(frame))))
    return right, FARMS * len(release.datasets)


@pytest.mark.parametrize("decimals", [2, 3])
@pytest.mark.parametrize("m", [1, 5, 20])
def test_a_lonely_farm_is_not_the_nearest_place_to_itself(decimals, m):
    """One of k + 1 by chance; and `risk.location` says of everybody what the attack finds."""
    frame = world(3, decimals)
    for method in ("Geography", "Donut"):
        release = recipe(method, m).protect(frame, seed=4)
        right, tries = found_farms(release, frame)
        base = 1 / 6
        assert right / tries <= base + 4 * np.sqrt(base * (1 - base) / tries), (method, right)
        told = vd.risk.location(frame, release)
        assert float(told.isolated_own) <= base + 4 * np.sqrt(base * (1 - base) / 20)
        assert float(told.nearest_own) * len(frame) * len(release.datasets) >= 0.5 * right - 1
    control = recipe("Donut", m, k=0).protect(frame, seed=4)
    right, tries = found_farms(control, frame)
    assert right / tries > 0.3
    assert float(vd.risk.location(frame, control).isolated_own) > 0.5
