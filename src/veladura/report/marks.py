"""Where an interval stands in its little picture: lengths in the units of the drawing, nothing else."""

from __future__ import annotations

import math
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
    """One quantity: its interval from the original, if that is known, and from the release; and the ends of its axis."""

    name: str
    released: Estimate
    original: Estimate | None
    low: float = math.nan
    high: float = math.nan


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
        Where a thin upright line stands (no difference, or nought), or None.
    """

    left: float
    dot: float
    right: float
    beyond: str = ""
    band: tuple[float, float] | None = None
    line: float | None = None


def beside(terms: Sequence[Term]) -> tuple[list[Mark | None], str]:
    """Return marks in standard errors of the original, whose own interval is the band, and what the axis is."""
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
            "Grey band: the interval of the original, the same width in every row. Blue bar and"
            " dark line: interval and estimate of the release, on that scale."
        ),
    )


def _in_errors(term: Term) -> tuple[float, float, float] | None:
    """Return lower end, value and upper end of the release in standard errors from the original's estimate; None where it has no error."""
    original, released = term.original, term.released
    if original is None or original.upper <= original.lower:
        return None
    error = (original.upper - original.lower) / (2 * NORMAL)
    lower, value, upper = (
        (end - original.value) / error for end in (released.lower, released.value, released.upper)
    )
    return lower, value, upper


def alone(terms: Sequence[Term], unit: Unit) -> tuple[list[Mark | None], str]:
    """Return marks of the release by itself, and what the axis is."""
    if unit == "share":
        top = max(term.released.upper for term in terms) or 1.0
        return [
            _mark(_ends(term), 0.0, top) for term in terms
        ], f"Blue bar and dark line: interval and estimate, from 0 to {number(top, unit)}."
    if all(math.isfinite(term.low) for term in terms):  # each mean on the scale of its own column
        marks = [
            _mark(_ends(term), term.low, term.high) if term.high > term.low else None
            for term in terms
        ]
        return (
            marks,
            (
                "Blue bar and dark line: interval and estimate, each between the values that a"
                " tenth of the released rows is below and a tenth above."
            ),
        )
    limit = (
        max(max(abs(term.released.lower), abs(term.released.upper)) for term in terms) * 1.05 or 1.0
    )
    return [
        _mark(_ends(term), -limit, limit, line=WIDTH / 2) for term in terms
    ], "Blue bar and dark line: interval and estimate. Grey line: no relation."


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
    """Return where a value stands, cut at both ends."""
    return WIDTH * min(max((value - low) / (high - low), 0.0), 1.0)
