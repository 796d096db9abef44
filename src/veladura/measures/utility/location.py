"""Map utility of new places: shares in rectangles, Ripley's K, intensity, contrast, Moran's I."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.methods.geography.fidelity import (
    bounds_of,
    contrast_kept,
    intensity_correlations,
    rectangle_overlap,
)
from veladura.methods.geography.patterns import moran, ripley_l
from veladura.methods.geography.placed import PlacedRelease, Scene, placed
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Release

FINE = 0.5  # bandwidths of a fine contrast
MOST_PAIRED = 10_000  # points whose pairs are counted


@dataclass(frozen=True)
class LocationUtility:
    """How well the map is kept.

    Attributes
    ----------
    overlap
        Mean overlap of 95 % intervals for the share of an attribute's most frequent value in random
        rectangles.
    k_function
        Mean difference of Ripley's L between original and release, as a share of the original's,
        over distances up to a quarter of the region's shorter side.
    intensity
        Mean correlation of the smoothed maps of each combination, original and release.
    contrast, contrast_slope
        Correlation and slope of the smoothed log ratio between the most frequent value of the first
        attribute and the rest, original against the mean over the datasets.
    contrast_resampled, contrast_fresh
        The same correlation for resamples of the original, and what tables of other people of the
        same population would have: the most that can be kept without repeating people.
    fine_contrast, fine_slope, fine_resampled, fine_fresh
        These four with half the bandwidth.
    moran
        Difference of Moran's I of the number of people by area, release minus original.
    """

    overlap: Estimate | NotApplicable
    k_function: Estimate | NotApplicable
    intensity: Estimate | NotApplicable
    contrast: Estimate | NotApplicable
    moran: Estimate | NotApplicable
    contrast_slope: Estimate | NotApplicable
    contrast_resampled: Estimate | NotApplicable
    contrast_fresh: Estimate | NotApplicable
    fine_contrast: Estimate | NotApplicable
    fine_slope: Estimate | NotApplicable
    fine_resampled: Estimate | NotApplicable
    fine_fresh: Estimate | NotApplicable


def location(original: Any, release: Release) -> LocationUtility:
    """Return how well a release of new places keeps the map of the original.

    Parameters
    ----------
    original
        The table the release was made from: anything `veladura.open` takes.
    release
        A release of new places.
    """
    subject = Subject(open_quietly(original), release)
    return _utility(placed(subject.original, release))


def _utility(release: PlacedRelease) -> LocationUtility:
    def figure(function: Callable[[PlacedRelease], Estimate]) -> Estimate | NotApplicable:
        try:
            return function(release)
        except NotApplicable as why:
            return why

    coarse, fine = (_contrasts(release, scale) for scale in (1.0, FINE))
    overlap, k_function, intensity, moran_index = (
        figure(function) for function in (_overlap, _k_function, _intensity, _moran)
    )
    return LocationUtility(
        overlap, k_function, intensity, coarse[0], moran_index, *coarse[1:], *fine
    )


def _contrasts(release: PlacedRelease, scale: float) -> list[Estimate | NotApplicable]:
    """Return correlation, slope, and the correlations of resampled and of fresh people."""
    try:
        kept = contrast_kept(release, scale)
    except NotApplicable as why:
        return [why] * 4
    figures = (kept.correlation, kept.slope, kept.resampled, kept.fresh)
    flat = NotApplicable("the map of one group against the rest is flat.")
    return [Estimate.exact(value) if np.isfinite(value) else flat for value in figures]


def _overlap(release: PlacedRelease) -> Estimate:
    return Estimate.exact(rectangle_overlap(release))


def _intensity(release: PlacedRelease) -> Estimate:
    return over_datasets(intensity_correlations(release), lower=-1.0, upper=1.0)


def _k_function(release: PlacedRelease) -> Estimate:
    west, south, east, north = bounds_of(release)
    radii = np.linspace(0, min(east - west, north - south) / 4, 13)[1:]
    area = float(release.grid.area.sum())
    before = ripley_l(_some(release.before.points), area, radii)
    curves = [ripley_l(_some(scene.points), area, radii) for scene in release.after]
    return over_datasets(
        [float(np.mean(np.abs(curve - before)) / before.mean()) for curve in curves]
    )


def _some(points: Floats) -> Floats:
    """Return a random part of very many points: K counts pairs, and is the same on average."""
    if len(points) <= MOST_PAIRED:
        return points
    return points[Streams(0)("pairs").choice(len(points), MOST_PAIRED, replace=False)]


def _moran(release: PlacedRelease) -> Estimate:
    def value(scene: Scene) -> float:
        return moran(
            np.bincount(scene.cell, minlength=release.grid.cells) / release.grid.area,
            release.grid.pairs,
        )

    before = value(release.before)
    differences = [value(scene) - before for scene in release.after]
    if np.isnan(differences).any():
        msg = "the number of people is the same in every cell."
        raise NotApplicable(msg)
    return over_datasets(differences, lower=-2.0, upper=2.0)


def measure(subject: Subject) -> Measured:
    """Measure a release of new places."""
    kept = _utility(placed(subject.original, subject.release))
    return Measured({f.name: getattr(kept, f.name) for f in fields(kept)})


MEASURE = Measure(
    "utility.location",
    figures={
        "overlap": Meaning(
            "Interval overlap on the map: shares in random rectangles, original against release,"
            " mean over rectangles.",
            "high",
            "share",
            headline=True,
        ),
        "k_function": Meaning(
            "Ripley's L: mean difference of clustering between original and release, as a share of"
            " the original's.",
            "low",
            "share",
        ),
        "intensity": Meaning(
            "Intensity: correlation of the smoothed maps, original and release, of each"
            " combination of attributes.",
            "high",
        ),
        "contrast": Meaning(
            "Contrast: correlation of the smoothed log ratio between the most frequent value of"
            " the first attribute and the rest.",
            "high",
        ),
        "contrast_slope": Meaning(
            "Contrast: slope of that log ratio, release on original. 1 keeps it whole, 0 not at"
            " all.",
            "high",
        ),
        "contrast_resampled": Meaning(
            "Contrast, beside it: the correlation that resamples of the original have.", "neither"
        ),
        "contrast_fresh": Meaning(
            "Contrast, beside it: the correlation that tables of other people of the same"
            " population would have, estimated by halves of the original.",
            "neither",
        ),
        "fine_contrast": Meaning(
            "Contrast at half the bandwidth: correlation of the log ratio.", "high"
        ),
        "fine_slope": Meaning("Contrast at half the bandwidth: slope of the log ratio.", "high"),
        "fine_resampled": Meaning(
            "Contrast at half the bandwidth, beside it: the correlation of resamples.", "neither"
        ),
        "fine_fresh": Meaning(
            "Contrast at half the bandwidth, beside it: the correlation of other people.",
            "neither",
        ),
        "moran": Meaning(
            "Moran's I of the number of people by cell, release minus original: 0 is the same.",
            "neither",
        ),
    },
    function=measure,
)
