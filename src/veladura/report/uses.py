"""What released data are still good for and what not: figures of utility turned into sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veladura.measures.domain import generalising_step
from veladura.measures.useless import FAR_RATIO, useless
from veladura.measures.utility.pair_table import PairTable
from veladura.report import words

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.measures.assessment import Assessment
    from veladura.measures.measure import Figure


FEW_GONE = 0.01  # share of people left out that no total would show
MOST_NAMED = 3  # relations named in one sentence


@dataclass(frozen=True)
class Use:
    """A use of data, and the figure that says whether the release still serves it.

    Attributes
    ----------
    good, bad
        What is said at these ends; ``{}`` is the figure, ``{column}`` the column it is of, and
        ``{at}`` says that the original was made as coarse as the release before it was measured.
        Between the two nothing is said.
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
        "Single columns: {column} is {} away from the original distribution; do not report it,"
        " alone or with others.",
    ),
    Use(
        "utility.recoded.mean",
        0.2,
        0.2,
        "Detail: coarser columns still tell most of what they told; {} of it is lost on average.",
        "Detail: coarser columns lost {} of what they told, on average; people within a band or a"
        " group cannot be told apart.",
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
        "Prediction{at}: a model trained on the release explains about as much as one trained on"
        " the original (loss of R²: {}).",
        "Prediction{at}: a model trained on the release explains {} less; do not train models on"
        " it.",
    ),
    Use(
        "utility.pmse.ratio",
        10.0,
        FAR_RATIO,
        "Joint distribution{at}: a model can hardly tell released rows from true ones (pMSE ratio"
        " {}).",
        "",  # `useless` says it
    ),
    Use(
        "utility.overlap.mean",
        0.7,
        0.4,
        "Regression{at}: confidence intervals overlap with those of the original by {} on average.",
        "Regression{at}: confidence intervals overlap with those of the original by {} only;"
        " coefficients may differ in size and sign.",
    ),
)


def uses(assessment: Assessment, release: Release) -> tuple[list[str], list[str]]:
    """Return what the release is good for, and what it is not good for."""
    figures = assessment.figures
    at = ", at the released detail" if generalising_step(release) is not None else ""
    good: list[str] = []
    bad: list[str] = []
    for use in USES:
        figure = figures.get(use.figure)
        if figure is None or figure.estimate is None or not math.isfinite(figure.estimate.value):
            continue
        if use.figure == "utility.prediction.lost" and _explains_nothing(figures):
            continue
        value, up = figure.estimate.value, use.best > use.worst
        text = words.number(max(value, 0.0), figure.unit)
        if value >= use.best if up else value <= use.best:
            good.append(use.good.format(text, at=at))
        elif use.bad and (value <= use.worst if up else value >= use.worst):
            bad.append(use.bad.format(text, at=at, column=_column(figure)))
    kept, lost = _totals(figures)
    return [*good, *kept], [*bad, *_relations(assessment), *lost, *useless(assessment, release)]


def _column(figure: Figure) -> str:
    """Return the column that a figure is of, from its note."""
    named = figure.note.removeprefix("Column: ").removesuffix(".")
    return named if named and named != figure.note else "one"


def _explains_nothing(figures: Mapping[str, Figure]) -> bool:
    """Whether a model of the original itself predicts nothing: then nothing can be lost."""
    real = figures.get("utility.prediction.real")
    return real is not None and real.estimate is not None and real.estimate.value <= 0


def _relations(assessment: Assessment) -> list[str]:
    """Return the pairs of columns that moved most, the worst by name."""
    detail = assessment.details.get("utility.pairs")
    moved = detail.notable if isinstance(detail, PairTable) else []
    if not moved:
        return []
    shown = "; ".join(" and ".join(pair) for pair, _ in moved[:MOST_NAMED])
    more = f" and {len(moved) - MOST_NAMED:,} more pairs" if len(moved) > MOST_NAMED else ""
    return [f"Relations of {shown}{more}: they moved most; ask the holder before you rely on them."]


def _totals(figures: Mapping[str, Figure]) -> tuple[list[str], list[str]]:
    """Return how many people were left out of the release, as a use it is good for or not."""
    figure = figures.get("utility.generalisation.completeness")
    if figure is None or figure.estimate is None:
        return [], []
    gone = round((1 - figure.estimate.value) * figure.base)
    if gone > FEW_GONE * figure.base:
        return [], [f"Totals: {gone:,} of {figure.base:,} people are not in the release."]
    who = f"all but {gone:,} of" if gone else "all"
    return [f"Totals: {who} {figure.base:,} people are in the release."], []
