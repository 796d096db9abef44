"""How well synthetic places keep the map: shares in rectangles, clustering, intensity, and autocorrelation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.measures.measure import (
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
    over_datasets,
)
from veladura.methods.geography.patterns import Smoother, bandwidth_of, correlation, moran, ripley_l
from veladura.methods.geography.placed import PlacedRelease, Scene, placed
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlaps

if TYPE_CHECKING:
    from veladura.core.recipe import Release

Floats = NDArray[np.float64]
RECTANGLES = 400
FEWEST_ROWS = 20  # combinations with fewer rows have no smooth map of their own


@dataclass(frozen=True)
class LocationUtility:
    """What is left of the map.

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
    contrast
        Correlation of the smoothed log ratio between the most frequent value of the first attribute
        and the rest, original against the mean over the datasets.
    moran
        Difference of Moran's I of the number of rows by area, release less original.
    """

    overlap: Estimate | NotApplicable
    k_function: Estimate | NotApplicable
    intensity: Estimate | NotApplicable
    contrast: Estimate | NotApplicable
    moran: Estimate | NotApplicable


def location(original: Any, release: Release) -> LocationUtility:
    """Return how well a release of new places keeps the map of the original."""
    return _utility(placed(Subject(open_quietly(original), release)))


def _utility(release: PlacedRelease) -> LocationUtility:
    def figure(function: Callable[[PlacedRelease], Estimate]) -> Estimate | NotApplicable:
        try:
            return function(release)
        except NotApplicable as why:
            return why

    return LocationUtility(
        *(
            figure(function)
            for function in (overlap_of, _k_function, intensity_of, _contrast, _moran)
        )
    )


def overlap_of(release: PlacedRelease) -> Estimate:
    """Return the overlap of intervals in rectangles, averaged over them, then over attributes."""
    boxes = draw_boxes(Streams(0)("rectangles"), _bounds(release), RECTANGLES)
    found = [overlaps(*_marked(release, name), boxes).overlap for name in release.looked_at]
    if not sum(one.size for one in found):
        msg = (
            "no attribute varies within rectangles of at least ten rows."
            if found
            else "the places have no attributes to look at."
        )
        raise NotApplicable(msg)
    return Estimate.exact(float(np.mean([one.mean() for one in found if one.size])))


def _marked(release: PlacedRelease, name: str) -> tuple[Marked, list[Marked]]:
    """Return places with whether their row holds the most frequent value of an attribute."""
    counted = pc.value_counts(release.subject.original.arrow.column(name).drop_null()).to_pylist()
    top = max(counted, key=lambda one: (one["counts"], str(one["values"])))["values"]

    def marks(table: Any, scene: Scene) -> Marked:
        equal = pc.fill_null(pc.equal(table.arrow.column(name), pa.scalar(top)), False)
        return Marked(scene.points, equal.to_numpy()[scene.rows])

    after = [
        marks(table, scene)
        for table, scene in zip(release.subject.tables, release.after, strict=True)
    ]
    return marks(release.subject.original, release.before), after


def _k_function(release: PlacedRelease) -> Estimate:
    west, south, east, north = _bounds(release)
    radii = np.linspace(0, min(east - west, north - south) / 4, 13)[1:]
    area = float(release.grid.area.sum())
    before = ripley_l(release.before.points, area, radii)
    return over_datasets(
        [
            float(np.mean(np.abs(ripley_l(scene.points, area, radii) - before)) / before.mean())
            for scene in release.after
        ]
    )


def intensity_of(release: PlacedRelease) -> Estimate:
    """Return the correlation of the smoothed maps of each combination, averaged by their rows."""
    mine = release.group[release.before.rows]
    kept = [b for b in np.unique(mine).tolist() if np.count_nonzero(mine == b) >= FEWEST_ROWS]
    if not kept:
        msg = f"no combination has {FEWEST_ROWS} rows."
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
    return over_datasets(figures, lower=-1.0, upper=1.0)


def _contrast(release: PlacedRelease) -> Estimate:
    smoother, one, others = contrasted(release)
    combined = np.mean([log_ratio(smoother, marked) for marked in others], axis=0)
    return Estimate.exact(correlation(log_ratio(smoother, one), combined))


def contrasted(release: PlacedRelease) -> tuple[Smoother, Marked, list[Marked]]:
    """Return how the contrast of the first attribute is smoothed, and the places it is of: the original's and each dataset's."""
    if not release.looked_at:
        msg = "the places have no attributes to contrast."
        raise NotApplicable(msg)
    one, others = _marked(release, release.looked_at[0])
    if not one.outcome.any() or one.outcome.all():
        msg = "the first attribute does not vary."
        raise NotApplicable(msg)
    rarer = min((one.points[one.outcome], one.points[~one.outcome]), key=len)
    return (
        Smoother(release.grid, bandwidth_of(rarer)),
        one,
        others,
    )  # one bandwidth for both, that of the fewer rows


def log_ratio(smoother: Smoother, marked: Marked) -> Floats:
    """Return the log ratio of two smoothed intensities, those of yes over those of no; a little is added to both.

    What is added is a tenth of the mean intensity, so that empty land does not decide (Kelsall and
    Diggle 1995).
    """
    yes, no = (
        smoother.intensity(marked.points[mask]) for mask in (marked.outcome, ~marked.outcome)
    )
    return np.asarray(np.log(yes + 0.1 * yes.mean()) - np.log(no + 0.1 * no.mean()))


def _moran(release: PlacedRelease) -> Estimate:
    def value(scene: Scene) -> float:
        return moran(
            np.bincount(scene.cell, minlength=release.grid.cells) / release.grid.area,
            release.grid.pairs,
        )

    before = value(release.before)
    found = [value(scene) - before for scene in release.after]
    if np.isnan(found).any():
        msg = "the number of rows is the same in every cell."
        raise NotApplicable(msg)
    return over_datasets(found, lower=-2.0, upper=2.0)


def _bounds(release: PlacedRelease) -> tuple[float, float, float, float]:
    """Return the bounds of the region in the plane."""
    west, south, east, north = release.region.bounds
    x, y = release.plane.forward(np.array([west, east]), np.array([south, north]))
    return float(x[0]), float(y[0]), float(x[1]), float(y[1])


@measure(
    "utility.location",
    figures={
        "overlap": Meaning(
            "Mean overlap of intervals for shares in random rectangles of the map, original against"
            " release.",
            "high",
            "share",
            headline=True,
        ),
        "k_function": Meaning(
            "Mean difference of clustering (Ripley's L) as a share of the original's.",
            "low",
            "share",
        ),
        "intensity": Meaning(
            "Correlation of the smoothed maps of each combination of attributes.", "high"
        ),
        "contrast": Meaning(
            "Correlation of the smoothed contrast between the most frequent value of the first"
            " attribute and the rest.",
            "high",
        ),
        "moran": Meaning(
            "Moran's I of the rows by cell, release less original; 0 is the same.", "neither"
        ),
    },
)
def measure_location(subject: Subject) -> Measured:
    """Measure a release of new places."""
    found = _utility(placed(subject))
    return Measured({f.name: getattr(found, f.name) for f in fields(found)})


__all__: Sequence[str] = [
    "LocationUtility",
    "contrasted",
    "intensity_of",
    "location",
    "log_ratio",
    "measure_location",
    "overlap_of",
]
