"""A picture of coefficients with their intervals, one row a term."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.pictures import new_figure

if TYPE_CHECKING:
    from veladura.inference.analysis import Analysis

COLOUR, BAND = "#1f4e79", "#9db8d2"
BESIDE, BESIDE_BAND = "#8a4b08", "#e3c49d"
INTERCEPT = "Intercept"


def draw_coefficients(
    analysis: Analysis, path: Path, *, beside: Analysis | None = None, exponentiate: bool = False
) -> Path:
    """Write the picture, PNG, SVG or PDF by the name of the file.

    The intercept is left out where there are other terms.
    """
    frame = analysis.table(exponentiate=exponentiate)
    names = [name for name in frame.index if name != INTERCEPT] or list(frame.index)
    figure = new_figure(7, 1.5 + (0.32 if beside is None else 0.42) * len(names))
    axis = figure.subplots()
    places = np.arange(len(names))[::-1].astype(float)
    shift = 0.0 if beside is None else 0.17
    _rows(axis, frame.loc[names], places + shift, COLOUR, BAND, "release")
    if beside is not None:
        other = beside.table(exponentiate=exponentiate)
        shown = [name for name in names if name in other.index]
        _rows(
            axis,
            other.loc[shown],
            places[[names.index(name) for name in shown]] - shift,
            BESIDE,
            BESIDE_BAND,
            "original",
        )
        axis.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.12 - 0.4 / len(names)),
            ncols=2,
            frameon=False,
            fontsize=8,
        )
    axis.axvline(1.0 if exponentiate else 0.0, color="#777777", linewidth=0.8, zorder=0)
    if exponentiate:
        axis.set_xscale("log")
        _plain_ticks(axis)
    axis.set_yticks(places, names, fontsize=8)
    axis.set_ylim(-0.6, len(names) - 0.4)
    # terms of different size share one scale: the numbers show the small ones
    errors = (
        {} if beside is None or exponentiate else dict(analysis.beside(beside)["relative_error"])
    )
    for place, row in zip(places, frame.loc[names].itertuples(), strict=True):
        numbers = f"{row.estimate:.3g} ({row.lower:.3g} to {row.upper:.3g})"
        if np.isfinite(off := errors.get(row.Index, np.nan)):
            numbers += f"  {off:+.1%} of original"
        axis.text(
            1.02,
            place + shift,
            numbers,
            transform=axis.get_yaxis_transform(),
            va="center",
            fontsize=8,
            color=COLOUR,
        )
    axis.spines[["top", "right"]].set_visible(False)
    what = (
        ("odds ratio" if "binomial" in analysis.family else "ratio")
        if exponentiate
        else "coefficient"
    )
    level = f"{100 * analysis.coefficients.level:.4g} %"
    axis.set_xlabel(f"{what} with {level} confidence interval")
    warning = "" if beside is None else "\nprivate, do not share: it shows the original"
    axis.set_title(f"{analysis.formula}{warning}", loc="left", fontsize=9)
    figure.savefig(path, dpi=150)
    return path


def _rows(axis: Any, frame: Any, places: Any, colour: str, band: str, label: str) -> None:
    axis.hlines(places, frame["lower"], frame["upper"], color=band, linewidth=5)
    axis.plot(frame["estimate"], places, "o", color=colour, markersize=4, label=label)


def _plain_ticks(axis: Any) -> None:
    """Write ratios as numbers, not as powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
