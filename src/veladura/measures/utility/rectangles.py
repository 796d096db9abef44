"""Shares of people in rectangles of a map, with intervals: original and release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.measures.measure import Subject
from veladura.methods.geography.fidelity import bounds_of, marked
from veladura.methods.geography.placed import PlacedRelease, placed
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlap, overlaps, share_in
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Release

Corners = Sequence[float]


@dataclass(frozen=True)
class Share:
    """The share of a value among the people in one rectangle.

    Attributes
    ----------
    source
        "original", or the name of the release.
    people
        In the rectangle; the mean over the datasets of a release.
    """

    rectangle: str
    source: str
    people: float
    share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class RectangleShares:
    """Shares in rectangles: the original is private, do not share it.

    Attributes
    ----------
    value
        What is counted, as "column = value".
    overlap
        By release, the mean overlap of its intervals with the original's: the geometric mean of the
        two shares of an interval that the other covers.
    """

    value: str
    shares: tuple[Share, ...]
    overlap: Mapping[str, float] = field(default_factory=dict)
    level: float = 0.95

    def to_frame(self) -> Any:
        """Return the shares as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([vars(share) for share in self.shares])

    def __str__(self) -> str:
        wide = max(len(share.rectangle) for share in self.shares)
        long = max(len(share.source) for share in self.shares)
        rows = [
            f"{s.rectangle:{wide}}  {s.source:{long}}  {s.people:8.0f} people  {s.share:6.3f}"
            f"  ({s.lower:.3f} to {s.upper:.3f})"
            for s in self.shares
        ]
        ends = [f"overlap of {name}: {value:.3f}" for name, value in self.overlap.items()]
        return "\n".join([self._title, *rows, *ends])

    @property
    def _title(self) -> str:
        return f"Share of people with {self.value}, {100 * self.level:g} % intervals"

    def picture(self) -> bytes:
        """Return the intervals as SVG, a row for each rectangle and source."""
        from veladura.base.pictures import image_of, new_figure, style

        with style():
            figure = new_figure(6.0, 0.9 + 0.26 * len(self.shares))
            panel = figure.add_subplot()
            sources = list(dict.fromkeys(share.source for share in self.shares))
            colours = ["#9c3d2e", "#1f5f8b", "#8a6d1f", "#4b7a47", "#6b4e8a"]
            for row, share in enumerate(reversed(self.shares)):
                colour = colours[sources.index(share.source) % len(colours)]
                panel.plot([share.lower, share.upper], [row, row], color=colour, lw=2)
                panel.plot([share.share], [row], "o", color=colour, ms=4)
            labels = [f"{s.rectangle}: {s.source}" for s in reversed(self.shares)]
            panel.set_yticks(range(len(labels)), labels)
            panel.set_xlabel(self._title)
            panel.set_xlim(0, 1)
            return image_of(figure)


def rectangle_shares(
    original: Any,
    release: Release | Mapping[str, Release],
    rectangles: Mapping[str, Corners],
    *,
    attribute: str | None = None,
    value: object = None,
    level: float = 0.95,
) -> RectangleShares:
    """Return the share of a value in chosen rectangles, with intervals.

    Intervals of the original are those of a share; those of m datasets are combined (Nunes 2018,
    sec. 3.3 and fig. 4).

    Parameters
    ----------
    original
        The table the releases were made from: anything `veladura.open` takes.
    release
        A release of new places, or several by name, such as {"model": ..., "naive": ...}.
    rectangles
        By name, [west, south, east, north] in the coordinates of the table.
    attribute, value
        What is counted; by default the first attribute of the model, and its most frequent value.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import veladura as vd
    >>> rng = np.random.default_rng(1)
    >>> homes = pd.DataFrame(rng.random((200, 2)).round(4), columns=["x", "y"])
    >>> homes["ill"] = np.where(rng.random(200) < 0.6, "yes", "no")
    >>> release = vd.NaiveGeography(x="x", y="y", region=[0, 0, 1, 1]).protect(homes, seed=1)
    >>> west = {"west": [0, 0, 0.5, 1]}
    >>> found = vd.utility.rectangle_shares(homes, release, west, attribute="ill", value="yes")
    >>> [share.source for share in found.shares]
    ['original', 'release']
    """
    table = open_quietly(original)
    releases = release if isinstance(release, Mapping) else {"release": release}
    scenes = {name: placed(Subject(table, each).original, each) for name, each in releases.items()}
    first = next(iter(scenes.values()))
    column = _attribute(first, attribute)
    boxes = {name: _box(name, corners, first) for name, corners in rectangles.items()}
    sources: dict[str, Sequence[Marked]] = {}
    top: object = value
    for name, scene in scenes.items():
        before, after, top = marked(scene, column, value)
        sources.setdefault("original", [before])
        sources[name] = after
    return shares_of(boxes, sources, f"{column} = {top}", level)


def shares_of(
    rectangles: Mapping[str, Corners],
    sources: Mapping[str, Sequence[Marked]],
    value: str,
    level: float = 0.95,
) -> RectangleShares:
    """Return the shares in rectangles for several sources, in the plane of their points.

    Parameters
    ----------
    sources
        By name, the datasets; "original" is one, with which the others are compared.
    value
        What is counted, in words.
    """
    boxes = np.array(list(rectangles.values()), dtype=np.float64)
    shares: list[Share] = []
    ends: dict[str, tuple[Floats, Floats]] = {}
    for name, datasets in sources.items():
        rows, middle, low, high = share_in(datasets, boxes, level)
        ends[name] = low, high
        shares += _rows(rectangles, name, rows, middle, low, high)
    truth = ends.pop("original", None)
    mean = {
        name: float(np.mean(overlap(truth, each)))
        for name, each in ends.items()
        if truth is not None
    }
    order = {name: number for number, name in enumerate(rectangles)}
    listed = sorted(shares, key=lambda share: order[share.rectangle])
    return RectangleShares(value, tuple(listed), mean, level)


def rectangle_overlap(
    original: Any,
    release: Release,
    *,
    attribute: str | None = None,
    value: object = None,
    number: int = 1000,
    sides: tuple[float, float] = (0.2, 0.4),
    level: float = 0.95,
    seed: int = 0,
) -> float:
    """Return the mean overlap of intervals in random rectangles (Nunes 2018, sec. 3.3).

    Parameters
    ----------
    number
        Rectangles to draw; those with ten people and both outcomes in the original count.
    sides
        Smallest and largest side, as shares of those of the region.
    """
    scene = placed(Subject(open_quietly(original), release).original, release)
    before, after, _ = marked(scene, _attribute(scene, attribute), value)
    boxes = draw_boxes(Streams(seed)("rectangles"), bounds_of(scene), number, sides)
    return overlaps(before, after, boxes, level).mean


def _attribute(scene: PlacedRelease, attribute: str | None) -> str:
    if attribute is not None:
        scene.original.schema.check("attribute", [attribute])
        if attribute in scene.changed:
            msg = f"{attribute!r} is replaced in the release: name one that is released exactly."
            raise PlanError(msg)
        return attribute
    if not scene.looked_at:
        msg = "the release has no attributes.\n\nHint: name the column whose share is wanted."
        raise PlanError(msg)
    return scene.looked_at[0]


def _box(name: str, corners: Corners, scene: PlacedRelease) -> list[float]:
    """Return a rectangle in the plane."""
    if len(corners) != 4 or corners[0] >= corners[2] or corners[1] >= corners[3]:  # noqa: PLR2004
        msg = f"rectangle {name!r} must be [west, south, east, north], west < east, south < north."
        raise PlanError(msg)
    x, y = scene.plane.forward(
        np.array(corners[0::2], dtype=float), np.array(corners[1::2], dtype=float)
    )
    return [float(x[0]), float(y[0]), float(x[1]), float(y[1])]


def _rows(
    rectangles: Mapping[str, Corners],
    source: str,
    rows: Floats,
    share: Floats,
    low: Floats,
    high: Floats,
) -> list[Share]:
    return [
        Share(name, source, float(rows[i]), float(share[i]), float(low[i]), float(high[i]))
        for i, name in enumerate(rectangles)
    ]


__all__ = ["Marked", "RectangleShares", "Share", "rectangle_overlap", "rectangle_shares"]
