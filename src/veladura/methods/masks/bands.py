"""Bands: numbers or dates cut at declared points into ordered categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base import shapes
from veladura.base.arrays import Ints
from veladura.base.checks import is_number
from veladura.core.promise import Check, listed
from veladura.core.violations import outside_categories
from veladura.errors import PlanError
from veladura.methods.masks.dates import moment_of, to_number

if TYPE_CHECKING:
    from veladura.table.codes import Column

Cut = int | float | str


def checked_cuts(cuts: object) -> tuple[Cut, ...]:
    """Return cut points in rising order: numbers, or dates as ISO text.

    Examples
    --------
    >>> checked_cuts([18, 65]), checked_cuts(["1950-01-01", "1960-01-01"])
    ((18, 65), ('1950-01-01', '1960-01-01'))
    """
    given = list(cuts) if isinstance(cuts, (list, tuple)) else []
    points = [cut.isoformat() if isinstance(cut, date) else cut for cut in given]
    of_dates = all(isinstance(cut, str) for cut in points)
    if not points or not (of_dates or all(is_number(cut) and np.isfinite(cut) for cut in points)):
        msg = (
            "cuts must list at least one point: all of them numbers, or all of them dates.\n\n"
            "Hint: write cuts = [18, 65], or cuts = ['1950-01-01', '1960-01-01']."
        )
        raise PlanError(msg)
    places = [moment_of("a cut", cut) if isinstance(cut, str) else cut for cut in points]
    zones = {place.tzinfo is None for place in places if hasattr(place, "tzinfo")}
    if len(zones) > 1 or any(low >= high for low, high in pairwise(places)):
        msg = "cuts must rise from each point to the next, dates all with or all without a zone."
        raise PlanError(msg)
    return tuple(points)


def checked_labels(labels: object, cuts: Sequence[Cut], closed: str) -> tuple[str, ...]:
    """Return the names of the bands; without any, intervals in the usual notation.

    Examples
    --------
    >>> checked_labels(None, [18, 65], "left"), checked_labels(None, [2.5], "right")
    (('< 18', '[18, 65)', '>= 65'), ('<= 2.5', '> 2.5'))
    """
    if labels is None:
        return _intervals([_as_text(cut) for cut in cuts], closed)
    names = tuple(labels) if isinstance(labels, (list, tuple)) else ()
    fits = all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
    if not fits or len(names) != len(cuts) + 1:
        msg = (
            f"labels must name each of the {len(cuts) + 1} bands once, lowest first: {len(cuts)}"
            f" cuts make {len(cuts) + 1} bands. Got {len(names)} names."
        )
        raise PlanError(msg)
    return names


def _intervals(cuts: Sequence[str], closed: str) -> tuple[str, ...]:
    low, high, left, right = ("<", ">=", "[", ")") if closed == "left" else ("<=", ">", "(", "]")
    inner = [f"{left}{a}, {b}{right}" for a, b in pairwise(cuts)]
    return (f"{low} {cuts[0]}", *inner, f"{high} {cuts[-1]}")


def _as_text(cut: Cut) -> str:
    return cut if isinstance(cut, str) else f"{Decimal(str(cut)).normalize():f}"


def banded(column: Column, cuts: Sequence[Cut], labels: Sequence[str], closed: str) -> Column:
    """Return a column of numbers or dates as ordered bands; missing values stay missing."""
    points = [to_number(column.field, cut) if isinstance(cut, str) else cut for cut in cuts]
    place: Ints = np.searchsorted(
        np.array(points), column.values, side="right" if closed == "left" else "left"
    ).astype(np.int64)
    field = replace(column.field, kind="ordered", type=pa.string(), order=tuple(labels), labels={})
    codes = np.where(column.missing, 0, place)
    return replace(column, field=field, values=codes, labels=pa.array(labels, pa.string()))


def _sentence(settings: Mapping[str, Any]) -> str:
    return f"Recoding: every value of {listed(settings)} is one of the bands that it was cut into."


BANDS = Check(
    outside_categories,
    _sentence,
    shapes.table(
        {"columns": shapes.mapped(shapes.listed(shapes.text, least=2), 1, keys=shapes.name)}
    ),
    untouched=True,
    by_row=True,
)
