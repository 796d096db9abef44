"""Simple pictures as SVG, written directly: panels with bars or coloured cells, axes and labels.

A page of a synthesis has seven pictures, which Matplotlib takes four seconds of processor time to
draw; they are rectangles and words. Lengths are in points, and y grows downwards, as in SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import INK
from veladura.base.visible import visible

LETTER = 0.58  # width of a letter of a sans-serif font, in font sizes, on average
TICK = 3.0
LABEL, SMALL = 8.0, 7.0  # font sizes: of axes, and of their ticks
SLANT = 0.71  # sine of 45 degrees
# Viridis, every eighth of it: one hue for another also for those who tell few hues apart.
COLOURS = np.array(
    [
        (68, 1, 84),
        (71, 45, 123),
        (59, 82, 139),
        (44, 114, 142),
        (33, 145, 140),
        (40, 174, 128),
        (94, 201, 98),
        (173, 220, 48),
        (253, 231, 37),
    ],
    dtype=float,
)


@dataclass(frozen=True)
class Drawing:
    """A picture of some size, to which shapes and words are added."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def rectangle(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Add a filled rectangle, its upper left corner given."""
        size = f'width="{width:.2f}" height="{height:.2f}"'
        self.parts.append(f'<rect x="{x:.2f}" y="{y:.2f}" {size} fill="{colour}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Add a thin line."""
        ends = f'x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"'
        self.parts.append(f'<line {ends} stroke="{INK}" stroke-width="0.8"/>')

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = LABEL,
        anchor: str = "start",
        turned: float = 0.0,
    ) -> None:
        """Add words whose start, middle or end is at a place, turned by some degrees."""
        if not words:
            return
        turn = f' transform="rotate({turned:g} {x:.2f} {y:.2f})"' if turned else ""
        where = f'x="{x:.2f}" y="{y:.2f}" font-size="{size:g}" text-anchor="{anchor}"'
        self.parts.append(f'<text {where} fill="{INK}"{turn}>{escape(visible(words))}</text>')

    def svg(self) -> bytes:
        """Return the picture as a file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}pt"'
            f' height="{self.height:g}pt" viewBox="0 0 {self.width:g} {self.height:g}"'
            ' font-family="sans-serif" shape-rendering="crispEdges">'
        )
        return "\n".join([head, *self.parts, "</svg>"]).encode()


@dataclass(frozen=True)
class Axis:
    """The numbers at both ends of an axis, and where labels stand."""

    low: float
    high: float
    places: Sequence[float]
    texts: Sequence[str]
    slanted: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a number is, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    @property
    def length(self) -> float:
        """How far labels reach from the axis that they stand beside."""
        return TICK + 3 + SMALL * LETTER * max(map(len, self.texts), default=0)

    @property
    def depth(self) -> float:
        """How far labels reach below a horizontal axis."""
        return SLANT * (self.length + SMALL) if self.slanted else TICK + SMALL + 3


def share_axis(top: float) -> Axis:
    """Return an axis for shares from zero, with round percentages up to the largest."""
    percents = number_axis(100 * top)
    return Axis(
        0.0,
        top,
        [place / 100 for place in percents.places],
        [f"{text} %" for text in percents.texts],
    )


def number_axis(top: float) -> Axis:
    """Return an axis from zero, with round numbers up to the largest."""
    step = _round_step(top)
    places = [i * step for i in range(int(top / step + 1e-9) + 1)]
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return Axis(0.0, top, places, [f"{place:.{decimals}f}" for place in places])


def _round_step(top: float, most: int = 6) -> float:
    """Return the smallest step of 1, 2 or 5 times a power of ten that gives few enough labels."""
    power = 10.0 ** np.floor(np.log10(top / most))
    return float(next(n * power for n in (1, 2, 5, 10) if n * power * most >= top * (1 - 1e-9)))


@dataclass(frozen=True)
class Panel:
    """Some room in a picture with two axes, and the area between them.

    Attributes
    ----------
    room
        Left, top, width and height, all labels included.
    titles
        Those of the panel, of the horizontal and of the vertical axis; none where empty.
    """

    drawing: Drawing
    room: tuple[float, float, float, float]
    across: Axis
    up: Axis
    titles: tuple[str, str, str] = ("", "", "")

    @property
    def left(self) -> float:
        """Where the vertical axis is: as far in as its labels, or slanted ones below, reach."""
        slanted = SLANT * self.across.length if self.across.slanted else 0.0
        return self.room[0] + max(self.up.length + LABEL + 6, slanted)

    @property
    def right(self) -> float:
        """Where the horizontal axis ends."""
        return self.room[0] + self.room[2] - 8

    @property
    def top(self) -> float:
        """Where the vertical axis ends."""
        return self.room[1] + 2 * LABEL + 4

    @property
    def bottom(self) -> float:
        """Where the horizontal axis is."""
        below = self.across.depth + (LABEL + 6 if self.titles[1] else 2)
        return self.room[1] + self.room[3] - below

    def x(self, value: float) -> float:
        """Return where a number of the horizontal axis is."""
        return self.left + (self.right - self.left) * self.across.share(value)

    def y(self, value: float) -> float:
        """Return where a number of the vertical axis is."""
        return self.bottom - (self.bottom - self.top) * self.up.share(value)

    def box(self, ends: tuple[float, float], low: float, high: float, colour: str) -> None:
        """Fill what lies between two numbers across and two up."""
        x, y = self.x(ends[0]), self.y(high)
        self.drawing.rectangle(x, y, self.x(ends[1]) - x, self.y(low) - y, colour)

    def frame(self) -> None:
        """Draw the axes with their labels, and the titles."""
        draw, (title, across, up) = self.drawing, self.titles
        draw.line(self.left, self.bottom, self.right, self.bottom)
        draw.line(self.left, self.top, self.left, self.bottom)
        self._label_across()
        label_up(draw, self.left, self.up, self.y)
        middle = (self.left + self.right) / 2
        draw.text(middle, self.top - 6, title, size=LABEL + 1, anchor="middle")
        draw.text(middle, self.bottom + self.across.depth + LABEL, across, anchor="middle")
        x, y = self.left - self.up.length - 4, (self.top + self.bottom) / 2
        draw.text(x, y, up, anchor="middle", turned=-90)

    def _label_across(self) -> None:
        draw, y = self.drawing, self.bottom + TICK
        for place, text in zip(self.across.places, self.across.texts, strict=True):
            x = self.x(place)
            draw.line(x, self.bottom, x, y)
            if self.across.slanted:
                draw.text(x + 2, y + SMALL, text, size=SMALL, anchor="end", turned=-45)
            else:
                draw.text(x, y + SMALL + 1, text, size=SMALL, anchor="middle")


def label_up(
    drawing: Drawing, x: float, axis: Axis, at: Callable[[float], float], side: int = -1
) -> None:
    """Write the labels of a vertical axis to its left (-1) or right (1)."""
    for place, text in zip(axis.places, axis.texts, strict=True):
        y, end = at(place), x + side * TICK
        drawing.line(x, y, end, y)
        anchor = "end" if side < 0 else "start"
        drawing.text(end + side * 2, y + SMALL / 3, text, size=SMALL, anchor=anchor)


def colour_of(share: float) -> str:
    """Return the colour of a number from 0 to 1."""
    at = min(max(share, 0.0), 1.0) * (len(COLOURS) - 1)
    red, green, blue = (np.interp(at, np.arange(len(COLOURS)), part) for part in COLOURS.T)
    return f"#{round(red):02x}{round(green):02x}{round(blue):02x}"


def fill_cells(panel: Panel, grid: Floats, top: float) -> None:
    """Colour the cells of a grid, each 1 wide and 1 high; those without a number stay blank."""
    for (row, column), value in np.ndenumerate(grid):
        if not np.isnan(value):
            ends = (column - 0.5, column + 0.5)
            panel.box(ends, row - 0.5, row + 0.5, colour_of(value / top))


def colour_key(drawing: Drawing, room: tuple[float, float, float, float], axis: Axis) -> None:
    """Draw the colours of an axis from bottom to top, with their numbers to the right."""
    left, top, width, height = room
    steps = 64
    for i in range(steps):  # each a little higher than its share, so that no gap shows
        y = top + height * (1 - (i + 1) / steps)
        drawing.rectangle(left, y, width, height / steps + 0.5, colour_of((i + 0.5) / steps))
    label_up(drawing, left + width, axis, lambda value: top + height * (1 - axis.share(value)), 1)
