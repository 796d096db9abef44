"""Contrasts of several scales under several priors: what a release keeps, and what it could.

Cases are likelier around two sources; the truth is known, so that tables of other people of the
same population can be drawn. Run as ``python -m benchmarks.geography_priors [tables]``.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd

import veladura as vd
from veladura.methods.geography.fidelity import contrasted, log_ratio
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
    for scale in (1.0, 0.5):
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
            mean = np.mean([log_ratio(smoother, each) for each in sets], axis=0)
            slope = np.cov(original, mean)[0, 1] / original.var(ddof=1)
            row += [correlation(original, mean), float(slope)]
    return row


def resamples(world: World, before: Marked) -> list[Marked]:
    """Draw the rows of each label again with replacement: the chance of this table is repeated."""
    labels = [np.flatnonzero(before.outcome == value) for value in (True, False)]
    drawn = [
        np.concatenate([world.rng.choice(rows, rows.size) for rows in labels]) for _ in range(M)
    ]
    return [Marked(before.points[rows], before.outcome[rows]) for rows in drawn]


def main(tables: int = 8) -> None:
    """Print a line for each world and prior."""
    print("release, other people, resamples: correlation, slope; then at half the bandwidth")
    for name, (rows, share, radius, side, more) in WORLDS.items():
        for prior, settings in PRIORS.items():
            lines = []
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
                    priors=settings,
                )
                lines.append(figures(frame, world, recipe.protect(frame, seed=seed)))
            means = " ".join(f"{value:5.2f}" for value in np.mean(lines, axis=0))
            print(f"{name:20} {prior:10} {means}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
