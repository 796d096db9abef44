"""Releases of the study by method and grid, and what is measured on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.core.release import Release
from veladura.methods.geography.geography import Geography
from veladura.methods.geography.matching import greedy_distances
from veladura.methods.geography.naive import NaiveGeography
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlaps
from veladura.studies.nunes.places import COMBINATIONS, SIDE, of_combination, points, simulate
from veladura.studies.study import Setting

if TYPE_CHECKING:
    import pandas as pd

BOUNDS = (0.0, 0.0, SIDE, SIDE)
ATTRIBUTES = ("y", "x1", "x2")
PRIORS: dict[str, dict[str, Any]] = {
    "model": {},
    "Z normal": {"continuous": ("z",), "priors": {"slope": "normal"}},
    "Z vague": {"continuous": ("z",), "priors": {"slope": "normal", "slope_variance": 100.0}},
    "Z ICAR": {"continuous": ("z",), "priors": {"slope": "icar"}},
}
LINES = (
    ("model", 10),
    ("naive", 10),
    *((prior, side) for prior in ("Z normal", "Z ICAR") for side in (5, 10, 20)),
)
RECTANGLES = 1000


@dataclass(frozen=True, eq=False)
class Made:
    """One data set and its release by one method."""

    frame: pd.DataFrame
    release: Release
    fitted: Any

    @property
    def rhat(self) -> float:
        """The worst R-hat of the chains; nan for the naive mask."""
        posterior = getattr(self.fitted, "posterior", None)
        return float("nan") if posterior is None else float(posterior.diagnostics.worst_rhat)


@dataclass(frozen=True, eq=False)
class Measured:
    """Over repetitions: matched distances by combination, overlaps, shares that stay, R-hat."""

    smallest: Floats
    mean: Floats
    overlap: Floats
    stay: Floats
    rhat: Floats


def recipe(name: str, side: int, *, sweeps: int = 1500) -> Geography | NaiveGeography:
    """Return what is compared: a prior, or the naive mask, on one grid."""
    common: dict[str, Any] = {
        "x": "east",
        "y": "north",
        "region": BOUNDS,
        "grid": (side, side),
        "m": 5,
    }
    if name == "naive":
        return NaiveGeography(**common)
    common |= {"attributes": ATTRIBUTES, "sweeps": sweeps, "burn": sweeps // 3, "chains": 2}
    return Geography(**common, **PRIORS[name])


def data_set(setting: Setting, number: int) -> pd.DataFrame:
    """Return one of the simulated data sets; every method sees the same."""
    return simulate(setting.streams("data", number))


def made(setting: Setting, name: str, side: int, number: int) -> Made:
    """Release one data set."""
    frame = data_set(setting, number)
    chosen = recipe(name, side, sweeps=setting.times(900, 3000))
    streams = setting.streams.within("release", name, side, number)
    fitted = chosen.fit(frame, streams)
    return Made(frame, fitted.sample(streams), fitted)


def measured(setting: Setting, each: list[Made]) -> Measured:
    """Return what is measured on the releases of several data sets."""
    smallest, mean, shared, stay = [], [], [], []
    for number, one in enumerate(each):
        low, middle = distances(one)
        smallest.append(low)
        mean.append(middle)
        boxes = draw_boxes(setting.streams("boxes", number), BOUNDS, RECTANGLES)
        shared.append(overlap_in(one, boxes))
        stay.append(stays(one))
    return Measured(
        np.array(smallest),
        np.array(mean),
        np.array(shared),
        np.array(stay),
        np.array([one.rhat for one in each]),
    )


def distances(one: Made) -> tuple[Floats, Floats]:
    """Return the smallest and mean greedy distance by combination, over the datasets."""
    before = points(one.frame)
    least, middle = [], []
    for key in COMBINATIONS:
        mine = of_combination(one.frame, key)
        found = [greedy_distances(before[mine], points(d)[mine]) for d in one.release.datasets]
        if not mine.any():
            least.append(np.nan)
            middle.append(np.nan)
            continue
        least.append(float(np.mean([each.min() for each in found])))
        middle.append(float(np.mean([each.mean() for each in found])))
    return np.array(least), np.array(middle)


def marked(data: pd.DataFrame) -> Marked:
    """Return places and outcome of a data set."""
    return Marked(points(data), (data["y"].astype(str) == "1").to_numpy())


def overlap_in(one: Made, boxes: Floats) -> float:
    """Return the mean overlap of intervals for the share of y in rectangles."""
    found = overlaps(marked(one.frame), [marked(d) for d in one.release.datasets], boxes)
    return found.mean


def stays(one: Made) -> float:
    """Return the share of rows whose new place is in their own cell."""
    cells = one.release.manifest["steps"][0]["settings"]["grid"][0]
    width = SIDE / cells
    home = np.floor(points(one.frame) / width)
    return float(
        np.mean([(np.floor(points(d) / width) == home).all(axis=1) for d in one.release.datasets])
    )
