"""How to read `utility.location.contrast`.

Beside resamples of the original, beside shuffled labels, and beside contrasts that were planted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import veladura as vd
from veladura.base.streams import Streams
from veladura.core.release import Release
from veladura.measures.utility.location import location
from veladura.methods.geography.fidelity import contrasted, log_ratio
from veladura.methods.geography.patterns import correlation
from veladura.methods.geography.placed import placed
from veladura.methods.geography.rectangles import Marked

SHUFFLES = 499
RESAMPLES = 40
TELLING = 0.05
Range = tuple[float, float, float]


@dataclass(frozen=True)
class Reading:
    """The measure, and what it would be otherwise.

    Attributes
    ----------
    release
        The measure: correlation of the original's log ratio with its mean over the m datasets.
    resampled
        2.5 %, 50 % and 97.5 % of the same figure when the m datasets are resamples of the original,
        as many rows of each label: what is lost to chance alone.
    shuffled
        The same when they are the original with its labels shuffled: no contrast at all.
    chance
        How often shuffled labels vary over the map, by the standard deviation of the log ratio, as
        much as the original's (Kelsall and Diggle 1995, sec. 5): near 1, the original has no
        contrast that could be kept.
    """

    release: float
    resampled: Range
    shuffled: Range
    chance: float

    @property
    def telling(self) -> bool:
        """Whether the original has a contrast at all."""
        return self.chance < TELLING

    @property
    def kept(self) -> bool:
        """Whether the release shows more of it than shuffled labels do."""
        return self.release > self.shuffled[2]

    def __str__(self) -> str:
        def told(figures: Range) -> str:
            return f"{figures[1]:.2f} ({figures[0]:.2f} to {figures[2]:.2f})"

        return (
            f"contrast {self.release:.2f}; resampled {told(self.resampled)}; labels shuffled"
            f" {told(self.shuffled)}; shuffled labels vary as much in {self.chance:.3f}"
        )


def contrast_of(frame: pd.DataFrame, release: Release) -> float:
    """Return the measure alone."""
    return float(location(frame, release).contrast)  # type: ignore[arg-type]


def read(frame: pd.DataFrame, release: Release) -> Reading:
    """Return the contrast that a release keeps, beside what chance makes of it."""
    smoother, one, others = contrasted(placed(vd.open(frame), release))
    rng, m = Streams(1995)("contrast"), len(others)
    original = log_ratio(smoother, one)

    def shuffle() -> Marked:
        return Marked(one.points, rng.permutation(one.outcome))

    def resample() -> Marked:
        rows = np.concatenate(
            [
                rng.choice(mine, mine.size)
                for mine in (np.flatnonzero(one.outcome), np.flatnonzero(~one.outcome))
            ]
        )
        return Marked(one.points[rows], one.outcome[rows])

    def maps(draw: Callable[[], Marked], number: int) -> np.ndarray:
        return np.array([log_ratio(smoother, draw()) for _ in range(number)])

    def figures(drawn: np.ndarray) -> Range:
        sets = drawn[: len(drawn) // m * m].reshape(-1, m, drawn.shape[1]).mean(axis=1)
        low, middle, high = np.quantile(
            [correlation(original, combined) for combined in sets], [0.025, 0.5, 0.975]
        )
        return float(low), float(middle), float(high)

    shuffled = maps(shuffle, SHUFFLES)
    chance = (1 + np.count_nonzero(shuffled.std(axis=1) >= original.std())) / (1 + SHUFFLES)
    return Reading(
        contrast_of(frame, release),
        figures(maps(resample, RESAMPLES * m)),
        figures(shuffled),
        float(chance),
    )


def planted(frame: pd.DataFrame, strength: float, seed: int) -> pd.DataFrame:
    """Return the same places with as many cases, likelier to the east.

    Log odds rise by ``strength`` a standard deviation.
    """
    rng = Streams(1995)("planted", seed)
    cases = int((frame["mark"] == "case").sum())
    score = strength * (frame["x"] - frame["x"].mean()) / frame["x"].std() + rng.gumbel(
        size=len(frame)
    )
    chosen = score >= np.sort(score)[-cases]
    return frame.assign(mark=pd.Categorical(np.where(chosen, "case", "control")))
