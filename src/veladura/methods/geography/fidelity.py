"""How well new places keep the map: shares in rectangles, smoothed maps, and their contrasts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base.arrays import Floats
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.methods.geography.patterns import Smoother, bandwidth_of, correlation
from veladura.methods.geography.placed import PlacedRelease, Scene
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlaps

RECTANGLES = 400
FEWEST_ROWS = 20  # combinations with fewer people have no smooth map of their own


def rectangle_overlap(release: PlacedRelease) -> float:
    """Return the overlap of intervals in rectangles, averaged over them, then over attributes."""
    boxes = draw_boxes(Streams(0)("rectangles"), bounds_of(release), RECTANGLES)
    shared = [overlaps(*marked(release, name), boxes).overlap for name in release.looked_at]
    if not sum(part.size for part in shared):
        msg = (
            "no attribute varies within rectangles of at least ten people."
            if shared
            else "the release has no attributes whose map could be compared."
        )
        raise NotApplicable(msg)
    return float(np.mean([part.mean() for part in shared if part.size]))


def marked(release: PlacedRelease, name: str) -> tuple[Marked, list[Marked]]:
    """Return the places of the original and of each dataset, marked by an attribute.

    A place is marked where the person has the most frequent value of the attribute.
    """
    counted = pc.value_counts(release.original.arrow.column(name).drop_null()).to_pylist()
    top = max(counted, key=lambda entry: (entry["counts"], str(entry["values"])))["values"]

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


def contrasted(release: PlacedRelease) -> tuple[Smoother, Marked, list[Marked]]:
    """Return the smoother of the first attribute's contrast, and the marked places.

    One bandwidth serves both sides of the contrast: that of the side with fewer people.
    """
    if not release.looked_at:
        msg = "the release has no attributes to contrast."
        raise NotApplicable(msg)
    before, after = marked(release, release.looked_at[0])
    if not before.outcome.any() or before.outcome.all():
        msg = "the first attribute does not vary."
        raise NotApplicable(msg)
    rarer = min((before.points[before.outcome], before.points[~before.outcome]), key=len)
    return Smoother(release.grid, bandwidth_of(rarer)), before, after


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
