"""How well new places keep the map: shares in rectangles, smoothed maps, and their contrasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.methods.geography.patterns import Smoother, bandwidth_of, correlation
from veladura.methods.geography.placed import PlacedRelease, Scene
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlaps

RECTANGLES = 400
SPLITS = 12  # random halves of the original
FEWEST_CONTRASTED = 4  # people of a group whose contrast is measured
FEWEST_ROWS = 20  # combinations with fewer people have no smooth map of their own


def rectangle_overlap(release: PlacedRelease) -> float:
    """Return the overlap of intervals in rectangles, averaged over them, then over attributes."""
    boxes = draw_boxes(Streams(0)("rectangles"), bounds_of(release), RECTANGLES)
    shared = [overlaps(*marked(release, name)[:2], boxes).overlap for name in release.looked_at]
    if not sum(part.size for part in shared):
        msg = (
            "no attribute varies within rectangles of at least ten people."
            if shared
            else "the release has no attributes whose map could be compared."
        )
        raise NotApplicable(msg)
    return float(np.mean([part.mean() for part in shared if part.size]))


def marked(
    release: PlacedRelease, name: str, value: object = None
) -> tuple[Marked, list[Marked], object]:
    """Return the places of the original and of each dataset, marked by an attribute, and its value.

    A place is marked where the person has this value; by default the most frequent one.
    """
    column = release.original.arrow.column(name)
    if value is not None:
        top = _of_type(value, column)
        return *_marks(release, name, top), top
    counted = pc.value_counts(column.drop_null()).to_pylist()
    top = max(counted, key=lambda entry: (entry["counts"], str(entry["values"])))["values"]
    return *_marks(release, name, top), top


def _of_type(value: object, column: Any) -> object:
    """Return a value as the column would hold it, so that "1" is found among numbers."""
    try:
        return pa.scalar(value).cast(column.type).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return value


def _marks(release: PlacedRelease, name: str, top: object) -> tuple[Marked, list[Marked]]:
    def marks(table: Any, scene: Scene) -> Marked:
        equal = pc.fill_null(pc.equal(table.arrow.column(name), pa.scalar(top)), False)
        return Marked(scene.points, equal.to_numpy()[scene.rows])

    after = [
        marks(table, scene) for table, scene in zip(release.tables, release.after, strict=True)
    ]
    return marks(release.original, release.before), after


def intensity_correlations(release: PlacedRelease) -> list[float]:
    """Return for each dataset the correlation of smoothed maps, averaged over combinations."""
    mine = release.group[release.before.rows]
    kept = [b for b in np.unique(mine).tolist() if np.count_nonzero(mine == b) >= FEWEST_ROWS]
    if not kept:
        msg = f"no combination of attributes has {FEWEST_ROWS} people."
        raise NotApplicable(msg)
    figures = []
    smoothers = {
        b: Smoother(release.grid, bandwidth_of(release.before.points[mine == b])) for b in kept
    }
    for number, scene in enumerate(release.after):
        group = release.released_group(number)[scene.rows]
        both = [
            (
                smoothers[b].intensity(release.before.points[mine == b]),
                smoothers[b].intensity(scene.points[group == b]),
            )
            for b in kept
        ]
        weights = [float(np.count_nonzero(mine == b)) for b in kept]
        figures.append(float(np.average([correlation(*pair) for pair in both], weights=weights)))
    return figures


@dataclass(frozen=True)
class Contrast:
    """How much of the contrast between two groups a release keeps, at one scale.

    Attributes
    ----------
    correlation, slope
        Of the released log ratio (mean over the datasets) with that of the original, over the map.
    resampled
        The correlation of as many resamples of the original, people of each group with
        replacement: they repeat the chance of who is in the table, which a model should not.
    fresh, fresh_slope
        What as many tables of *other* people of the same population would have: the most that can
        be kept without repeating people. Estimated by halves of the original (Spearman and Brown).
    """

    correlation: float
    slope: float
    resampled: float
    fresh: float
    fresh_slope: float


def contrast_kept(release: PlacedRelease, scale: float = 1.0) -> Contrast:
    """Return the contrast of the first attribute that is kept.

    Parameters
    ----------
    scale
        Bandwidth of the maps, in those of `contrasted`.
    """
    smoother, before, after = contrasted(release, scale)
    rng, m = Streams(0)("contrast"), len(after)
    original = log_ratio(smoother, before)
    combined = np.mean([log_ratio(smoother, places) for places in after], axis=0)
    again = np.mean([log_ratio(smoother, _resampled(rng, before)) for _ in range(m)], axis=0)
    halves = [
        correlation(*(log_ratio(smoother, half) for half in _halves(rng, before)))
        for _ in range(SPLITS)
    ]
    reliable = float(np.clip(np.nanmean(halves), 1e-9, 1.0))
    noise = (1 / reliable - 1) / 2  # variance of chance over that of the contrast, all people
    return Contrast(
        correlation(original, combined),
        _slope(original, combined),
        correlation(original, again),
        float(((1 + noise) * (1 + noise / m)) ** -0.5),
        float(1 / (1 + noise)),
    )


def _slope(original: Floats, other: Floats) -> float:
    apart = original - original.mean()
    return float(apart @ other / (apart @ apart)) if apart.any() else float("nan")


def _sides(marked_places: Marked) -> tuple[Ints, Ints]:
    return np.flatnonzero(marked_places.outcome), np.flatnonzero(~marked_places.outcome)


def _resampled(rng: Generator, marked_places: Marked) -> Marked:
    rows = np.concatenate([rng.choice(side, side.size) for side in _sides(marked_places)])
    return Marked(marked_places.points[rows], marked_places.outcome[rows])


def _halves(rng: Generator, marked_places: Marked) -> list[Marked]:
    """Return the people of both groups in two random halves."""
    halves: list[list[Ints]] = [[], []]
    for side in _sides(marked_places):
        mixed = rng.permutation(side)
        halves[0].append(mixed[::2])
        halves[1].append(mixed[1::2])
    rows = [np.concatenate(half) for half in halves]
    return [Marked(marked_places.points[half], marked_places.outcome[half]) for half in rows]


def contrasted(release: PlacedRelease, scale: float = 1.0) -> tuple[Smoother, Marked, list[Marked]]:
    """Return the smoother of the first attribute's contrast, and the marked places.

    One bandwidth serves both sides of the contrast: that of the side with fewer people, times
    ``scale``.
    """
    if not release.looked_at:
        msg = "the release has no attributes to contrast."
        raise NotApplicable(msg)
    before, after, _ = marked(release, release.looked_at[0])
    rarer = min((before.points[before.outcome], before.points[~before.outcome]), key=len)
    if len(rarer) < FEWEST_CONTRASTED:
        msg = f"fewer than {FEWEST_CONTRASTED} people differ from the rest in the first attribute."
        raise NotApplicable(msg)
    return Smoother(release.grid, scale * bandwidth_of(rarer)), before, after


def log_ratio(smoother: Smoother, marked_places: Marked) -> Floats:
    """Return the log ratio of two smoothed intensities: marked places over the others.

    A tenth of the mean intensity is added to both, so that empty land does not decide (Kelsall and
    Diggle 1995).
    """
    yes, no = (
        smoother.intensity(marked_places.points[mask])
        for mask in (marked_places.outcome, ~marked_places.outcome)
    )
    return np.asarray(np.log(yes + 0.1 * yes.mean()) - np.log(no + 0.1 * no.mean()))


def bounds_of(release: PlacedRelease) -> tuple[float, float, float, float]:
    """Return the bounds of the region in the plane: west, south, east, north."""
    west, south, east, north = release.region.bounds
    x, y = release.plane.forward(np.array([west, east]), np.array([south, north]))
    return float(x[0]), float(y[0]), float(x[1]), float(y[1])
