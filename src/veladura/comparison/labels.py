"""Labels beside points so that none covers another: a greedy search in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# In points: the width of a letter, the height of a line, from a point to its label, half a marker.
LETTER, HEIGHT, GAP, MARKER = 6.2, 12.0, 8.0, 5.0
# Degrees, the most readable first.
ANGLES = (0, 180, 30, -30, 150, -150, 60, -60, 120, -120, 90, -90)
RINGS = (1.0, 2.2, 3.6, 5.2, 7.0, 9.0, 11.0)  # distances that are tried, in gaps


class Box(NamedTuple):
    """A rectangle, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def shared(self, other: Box) -> float:
        """Return the area that two rectangles have in common."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(wide, 0.0) * max(high, 0.0)

    def outside(self, other: Box) -> float:
        """Return the area that is not in another rectangle."""
        return (self.right - self.left) * (self.top - self.bottom) - self.shared(other)


@dataclass(frozen=True)
class Label:
    """The place of a label.

    Attributes
    ----------
    left, middle
        The left end and the height of its middle.
    led
        Whether it is so far from its point that it needs a line.
    """

    name: str
    left: float
    middle: float
    led: bool

    @property
    def box(self) -> Box:
        """What the name covers."""
        return Box(
            self.left,
            self.middle - HEIGHT / 2,
            self.left + LETTER * len(self.name),
            self.middle + HEIGHT / 2,
        )


def placed(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    obstacles: Sequence[Box],
    frame: Box,
) -> list[Label]:
    """Return a place for each label: the nearest one that covers nothing, else the least bad one.

    Labels are placed from the top of the picture down, so that the order of the points does not
    matter.
    """
    taken = [*obstacles, *(Box(x - MARKER, y - MARKER, x + MARKER, y + MARKER) for x, y in points)]
    labels: dict[int, Label] = {}
    for i in sorted(range(len(points)), key=lambda i: (-points[i][1], points[i][0], names[i])):
        tried = [_tried(points[i], names[i], ring, angle) for ring in RINGS for angle in ANGLES]
        cost = [
            sum(label.box.shared(other) for other in taken) + 2 * label.box.outside(frame)
            for label in tried
        ]
        labels[i] = tried[min(range(len(tried)), key=lambda j: (round(cost[j], 6), j))]
        taken.append(labels[i].box)
    return [labels[i] for i in range(len(points))]


def _tried(point: tuple[float, float], name: str, ring: float, angle: int) -> Label:
    """Return a label at a distance and angle from its point; on the left it ends there."""
    x = point[0] + GAP * ring * math.cos(math.radians(angle))
    y = point[1] + (GAP * ring + HEIGHT / 4) * math.sin(math.radians(angle))
    width = LETTER * len(name)
    left = x - width / 2 if abs(angle) == 90 else x if abs(angle) < 90 else x - width  # noqa: PLR2004
    return Label(name, left, y, ring > RINGS[0])


def along(first: tuple[float, float], last: tuple[float, float], half: float = 1.0) -> list[Box]:
    """Return small rectangles that a line covers.

    Examples
    --------
    >>> len(along((0.0, 0.0), (30.0, 40.0)))
    6
    """
    steps = max(math.ceil(math.dist(first, last) / 10), 1)
    spots = [
        (first[0] + (last[0] - first[0]) * i / steps, first[1] + (last[1] - first[1]) * i / steps)
        for i in range(steps + 1)
    ]
    return [Box(x - half, y - half, x + half, y + half) for x, y in spots]
