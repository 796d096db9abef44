"""The place of an interval in its small picture, in the units of the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veladura.measures.utility.overlap import NORMAL
from veladura.report.words import number

if TYPE_CHECKING:
    from veladura.base.estimate import Estimate
    from veladura.measures.measure import Unit

WIDTH = 200.0
FEWEST_ERRORS, MOST_ERRORS = 4.0, 12.0  # what an axis beside the original reaches to, either way


@dataclass(frozen=True)
class Term:
    """One quantity: its estimates from the release and the original, and the ends of its axis.

    Without ends of its own it shares the axis of its group: None and not NaN, which since Python
    3.13 makes a quantity differ from itself.
    """

    name: str
    released: Estimate
    original: Estimate | None
    axis: tuple[float, float] | None = None


@dataclass(frozen=True)
class Mark:
    """A dot with its interval from 0 to `WIDTH`, and what is behind it.

    Attributes
    ----------
    left, dot, right
        The interval, cut at the ends of the picture.
    beyond
        Which ends were cut: "", "left", "right" or "both".
    band
        The original's interval, or None.
    line
        The place of a thin upright line (no difference, or zero), or None.
    """

    left: float
    dot: float
    right: float
    beyond: str = ""
    band: tuple[float, float] | None = None
    line: float | None = None


def beside(terms: Sequence[Term]) -> tuple[list[Mark | None], str]:
    """Return marks in standard errors of the original, and a sentence on the axis.

    The interval of the original is the band.
    """
    scaled = [_in_errors(term) for term in terms]
    reach = max((abs(end) for ends in scaled if ends is not None for end in ends), default=0.0)
    limit = min(max(reach * 1.05, FEWEST_ERRORS), MOST_ERRORS)
    band = (_at(-NORMAL, -limit, limit), _at(NORMAL, -limit, limit))
    marks = [
        None if ends is None else _mark(ends, -limit, limit, band, WIDTH / 2) for ends in scaled
    ]
    return (
        marks,
        (
            "Grey band: interval of the original, drawn with the same width in every row. Blue bar"
            " and dark line: interval and estimate of the release on the same scale."
        ),
    )


def _in_errors(term: Term) -> tuple[float, float, float] | None:
    """Return lower end, value and upper end of the release in standard errors from the original.

    None where the original has no standard error.
    """
    original, released = term.original, term.released
    if original is None or original.upper <= original.lower:
        return None
    error = (original.upper - original.lower) / (2 * NORMAL)
    lower, value, upper = (
        (end - original.value) / error for end in (released.lower, released.value, released.upper)
    )
    return lower, value, upper


def alone(terms: Sequence[Term], unit: Unit) -> tuple[list[Mark | None], str]:
    """Return marks of the release by itself, and a sentence on the axis."""
    if unit == "share":
        top = max(term.released.upper for term in terms) or 1.0
        return [
            _mark(_ends(term), 0.0, top) for term in terms
        ], f"Blue bar and dark line: interval and estimate. Axis: 0 to {number(top, unit)}."
    axes = [term.axis for term in terms]
    if all(axis is not None for axis in axes):  # each mean on the scale of its own column
        marks = [
            _mark(_ends(term), *axis) if axis is not None and axis[1] > axis[0] else None
            for term, axis in zip(terms, axes, strict=True)
        ]
        return (
            marks,
            (
                "Blue bar and dark line: interval and estimate. Axis: 10th to 90th percentile of"
                " the released values of the column."
            ),
        )
    limit = (
        max(max(abs(term.released.lower), abs(term.released.upper)) for term in terms) * 1.05 or 1.0
    )
    return [
        _mark(_ends(term), -limit, limit, line=WIDTH / 2) for term in terms
    ], "Blue bar and dark line: interval and estimate. Grey line: zero, no association."


def _ends(term: Term) -> tuple[float, float, float]:
    return term.released.lower, term.released.value, term.released.upper


def _mark(
    ends: tuple[float, float, float],
    low: float,
    high: float,
    band: tuple[float, float] | None = None,
    line: float | None = None,
) -> Mark:
    cut = [side for side, out in (("left", ends[0] < low), ("right", ends[2] > high)) if out]
    left, dot, right = (_at(end, low, high) for end in ends)
    return Mark(left, dot, right, "both" if len(cut) > 1 else "".join(cut), band, line)


def _at(value: float, low: float, high: float) -> float:
    """Return the place of a value, cut at both ends."""
    return WIDTH * min(max((value - low) / (high - low), 0.0), 1.0)
