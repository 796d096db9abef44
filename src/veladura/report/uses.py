"""What released data are still good for and what not: figures of utility turned into sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veladura.report import words

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.measures.measure import Figure
    from veladura.table.table import Table

HOPELESS = 100.0  # a pMSE ratio beyond this: the release has little to do with the original


@dataclass(frozen=True)
class Use:
    """A use of data, and the figure that says whether the release still serves it.

    Attributes
    ----------
    good, bad
        What is said at these ends; ``{}`` is the figure. Between the two limits nothing is said.
    best, worst
        The figure is good up to the first, bad from the second: starting points, not standards.
    """

    figure: str
    best: float
    worst: float
    good: str
    bad: str


USES = (
    Use(
        "utility.columns.worst",
        0.1,
        0.3,
        "Single columns: at the released level of detail no distribution is more than {} away from"
        " the original.",
        "Single columns: one is {} away from the original distribution; do not report it.",
    ),
    Use(
        "utility.detail.two",
        0.15,
        0.4,
        "Tables of two columns: {} of the people would have to move to restore them, on average.",
        "Tables of two columns: {} of the people are in the wrong cell on average; cross tables"
        " at the original detail mislead.",
    ),
    Use(
        "utility.prediction.lost",
        0.05,
        0.2,
        "Prediction: a model trained on the release explains about as much as one trained on the"
        " original (at most {} less).",
        "Prediction: a model trained on the release explains {} less; do not train models on it.",
    ),
    Use(
        "utility.pmse.ratio",
        10.0,
        HOPELESS,
        "Joint distribution: a model can hardly tell released rows from true ones (pMSE ratio {}).",
        "Joint distribution: a model tells released rows from true ones at once (pMSE ratio {});"
        " the release is useless for analyses of several columns. Use less noise, finer levels or"
        " a smaller k.",
    ),
)
OVERLAP = Use(
    "utility.overlap.mean",
    0.7,
    0.4,
    "Regression: confidence intervals overlap with those of the original by {} on average.",
    "Regression: confidence intervals overlap with those of the original by {} only; coefficients"
    " may differ in size and sign.",
)


def uses(figures: Mapping[str, Figure], release: Release) -> tuple[list[str], list[str]]:
    """Return what the release is good for, and what it is not good for."""
    good, bad = [], []
    for use in (*USES, OVERLAP):
        figure = figures.get(use.figure)
        if figure is None or figure.estimate is None or not math.isfinite(figure.estimate.value):
            continue
        value, up = figure.estimate.value, use.best > use.worst
        text = words.number(max(value, 0.0), figure.unit)
        if value >= use.best if up else value <= use.best:
            good.append(use.good.format(text))
        elif value <= use.worst if up else value >= use.worst:
            bad.append(use.bad.format(text))
    if people := _lost(figures):
        bad.append(people)
    return good, [*bad, *empty_columns(release.tables[0].table)]


def _lost(figures: Mapping[str, Figure]) -> str:
    """Return how many people were left out of the release, in words."""
    figure = figures.get("utility.generalisation.completeness")
    if figure is None or figure.estimate is None or figure.estimate.value >= 1:
        return ""
    gone = round((1 - figure.estimate.value) * figure.base)
    return f"Totals: {gone:,} of {figure.base:,} people are not in the release." if gone else ""


def empty_columns(table: Table) -> list[str]:
    """Return a sentence on columns that hold a single value: nothing can be learnt from them."""
    columns = [column.name for column in table.schema if column.role != "weight"]
    same = [name for name in columns if table.counts([name]).size.size == 1]
    if not same or table.rows < 2:  # noqa: PLR2004
        return []
    hold, them = ("these columns hold", "them") if len(same) > 1 else ("this column holds", "it")
    sentence = (
        f"{words.enumerated(same)}: {hold} one value for everybody, so that nothing can be learnt"
        f" from {them}. Use another level or a smaller k to keep more."
    )
    return [sentence]
