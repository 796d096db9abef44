"""Contrasts of several scales under several priors: what a release keeps, and what it could.

Cases are likelier around two sources; the truth is known, so that tables of other people of the
same population can be drawn. Beside the default stands a donut of equal risk: moves so long that
the matched distance, or the distance of people from their own places, is that of the model. Run as
``python -m benchmarks.geography_priors [tables] [prior ...]``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

import veladura as vd
from veladura.methods.geography.fidelity import contrasted, log_ratio
from veladura.methods.geography.matching import greedy_distances
from veladura.methods.geography.patterns import correlation
from veladura.methods.geography.placed import placed
from veladura.methods.geography.rectangles import Marked

PRIORS = {
    "0.1.0": {"contrast_rate": 0.1},
    "rate 1": {"contrast_rate": 1.0},
    "default": {},  # a rate of 10
    "tight eps": {"extra_rate": 0.1},
    "penalised": {"spatial_sd": 3.0, "contrast_sd": 3.0, "extra_sd": 0.3},
}
# rows, share of cases, radius of the sources, squares along a side, further attributes
WORLDS = {
    "rare, small, 10x10": (3000, 0.05, 0.06, 10, False),
    "rare, small, 20x20": (3000, 0.05, 0.06, 20, False),
    "three attributes": (1500, 0.12, 0.10, 15, True),
    "wide": (1500, 0.12, 0.25, 15, False),
}
TOWNS, M = 12, 5
SCALES = (1.0, 0.5)  # of the bandwidth
STEPS = 8  # of the search for the reach of a donut


class World:
    """Towns on a plain, and two sources that raise the odds of being a case by e^2."""

    def __init__(self, seed: int, share: float, radius: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.centres = self.rng.random((TOWNS, 2))
        self.weights = self.rng.dirichlet(np.full(TOWNS, 2.0))
        self.spread = self.rng.uniform(0.02, 0.08, TOWNS)
        self.share, self.radius = share, radius
        self.sources = self.places(2)

    def places(self, rows: int) -> np.ndarray:
        """Draw homes: four in ten on the plain, the others in towns."""
        rng = self.rng
        town = rng.choice(TOWNS, rows, p=self.weights)
        near = self.centres[town] + self.spread[town][:, None] * rng.standard_normal((rows, 2))
        places = np.abs(np.where(rng.random(rows)[:, None] < 0.4, rng.random((rows, 2)), near))
        return np.where(places > 1, 2 - places, places)

    def people(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw homes, and who is a case."""
        places = self.places(rows)
        way = np.min([np.hypot(*(places - source).T) for source in self.sources], axis=0)
        odds = self.share / (1 - self.share) * np.exp(2 * np.exp(-0.5 * (way / self.radius) ** 2))
        return places, self.rng.random(rows) < odds / (1 + odds)


def table(world: World, rows: int, *, more: bool) -> pd.DataFrame:
    """Return a case-control table."""
    places, case = world.people(rows)
    frame = pd.DataFrame(places.round(4), columns=["x", "y"])
    frame["case"] = pd.Categorical(np.where(case, "case", "control"))
    if more:
        frame["sex"] = pd.Categorical(world.rng.choice(["f", "m"], rows))
        frame["age"] = pd.Categorical(world.rng.choice(["young", "middle", "old"], rows))
    return frame


def figures(frame: pd.DataFrame, world: World, release: vd.Release) -> list[float]:
    """Return correlation and slope of the release, of other people and of resamples.

    At two bandwidths.
    """
    scene = placed(vd.open(frame), release)
    row = []
    for scale in SCALES:
        smoother, before, after = contrasted(scene, scale)
        original = log_ratio(smoother, before)
        others = []
        for _ in range(M):
            places, case = world.people(4 * len(frame))
            cases, rest = np.flatnonzero(case), np.flatnonzero(~case)
            chosen = np.r_[
                cases[: np.count_nonzero(~before.outcome)], rest[: np.count_nonzero(before.outcome)]
            ]
            others.append(Marked(places[chosen], ~case[chosen]))
        for sets in (after, others, resamples(world, before)):
            row += kept(original, [log_ratio(smoother, each) for each in sets])
    return row


def kept(original: np.ndarray, maps: list[np.ndarray]) -> list[float]:
    """Return correlation and slope of the mean of some maps on the original's."""
    mean = np.mean(maps, axis=0)
    slope = np.cov(original, mean)[0, 1] / original.var(ddof=1)
    return [correlation(original, mean), float(slope)]


def matched(frame: pd.DataFrame, release: vd.Release) -> float:
    """Return the mean matched distance of cases and of controls, over all people and datasets."""
    return float(
        np.mean(
            [
                greedy_distances(places(frame, label), places(data, label)).sum()
                for data in release.datasets
                for label in ("case", "control")
            ]
        )
        * 2
        / len(frame)
    )


def places(data: pd.DataFrame, label: str) -> np.ndarray:
    """Return the places of cases or of controls."""
    return data.loc[data["case"] == label, ["x", "y"]].to_numpy(dtype=float)


def moved(frame: pd.DataFrame, release: vd.Release) -> float:
    """Return how far a person's places lie from the true one, averaged over the datasets."""
    home = frame[["x", "y"]].to_numpy(dtype=float)
    mean = np.mean([data[["x", "y"]].to_numpy(dtype=float) for data in release.datasets], axis=0)
    return float(np.hypot(*(mean - home).T).mean())


def donut_of_equal_risk(frame: pd.DataFrame, release: vd.Release, risk: Risk) -> vd.Release:
    """Return a donut with the mean distance of a release.

    One dataset: the mean of a person's places over several would come near the true one.
    """
    aim = risk(frame, release)
    low, high = np.log(1e-3), np.log(1.4)
    for _ in range(STEPS):
        outer = float(np.exp((low + high) / 2))
        found = vd.Donut(
            x="x", y="y", region=[0, 0, 1, 1], inner=outer / 4, outer=outer, m=1
        ).protect(frame, seed=1)
        low, high = (np.log(outer), high) if risk(frame, found) < aim else (low, np.log(outer))
    return found


def beside_donuts(frame: pd.DataFrame, release: vd.Release) -> list[list[float]]:
    """Return what donuts of equal risk keep, and both risks of the release and of each donut."""
    scene = placed(vd.open(frame), release)
    maps = [contrasted(scene, scale)[:2] for scale in SCALES]
    found = []
    for risk in RISKS.values():
        donut = donut_of_equal_risk(frame, release, risk)
        (data,) = donut.datasets
        after = Marked(
            data[["x", "y"]].to_numpy(dtype=float), (data["case"] == "control").to_numpy()
        )
        row = []
        for smoother, before in maps:
            row += kept(log_ratio(smoother, before), [log_ratio(smoother, after)])
        found.append(
            row + [each(frame, one) for one in (release, donut) for each in RISKS.values()]
        )
    return found


Risk = Callable[[pd.DataFrame, vd.Release], float]
RISKS: dict[str, Risk] = {"matched": matched, "moved": moved}


def resamples(world: World, before: Marked) -> list[Marked]:
    """Draw the rows of each label again with replacement: the chance of this table is repeated."""
    labels = [np.flatnonzero(before.outcome == value) for value in (True, False)]
    drawn = [
        np.concatenate([world.rng.choice(rows, rows.size) for rows in labels]) for _ in range(M)
    ]
    return [Marked(before.points[rows], before.outcome[rows]) for rows in drawn]


def main(tables: int = 8, priors: tuple[str, ...] = tuple(PRIORS)) -> None:
    """Print a line for each world and prior, and one for the donut beside the default."""
    print("release, other people, resamples: correlation, slope; then at half the bandwidth")
    print("donuts: correlation, slope; then at half; matched, moved by model, and by donut")
    for name, (rows, share, radius, side, more) in WORLDS.items():
        for prior in priors:
            lines, donuts = [], []
            for seed in range(tables):
                world = World(100 + seed, share, radius)
                frame = table(world, rows, more=more)
                recipe = vd.Geography(
                    x="x",
                    y="y",
                    attributes=list(frame)[2:],
                    region=[0, 0, 1, 1],
                    grid=(side, side),
                    m=M,
                    sweeps=1200,
                    burn=400,
                    chains=2,
                    most_sweeps=1200,
                    priors=PRIORS[prior],
                )
                release = recipe.protect(frame, seed=seed)
                lines.append(figures(frame, world, release))
                if prior == "default":
                    donuts.append(beside_donuts(frame, release))
            show(name, prior, lines)
            for risk, each in zip(RISKS, zip(*donuts, strict=True), strict=False):
                show(name, f"donut, {risk}", list(each))


def show(name: str, what: str, lines: list[list[float]]) -> None:
    """Print means over the tables."""
    means = " ".join(f"{value:5.2f}" for value in np.mean(lines, axis=0))
    print(f"{name:20} {what:14} {means}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8, tuple(sys.argv[2:]) or tuple(PRIORS))
