"""A picture of match risk: curves over the radius (Martins 2019, fig. 3.13), or bars by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.pictures import INK, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.measures.risk.match_search import MatchRisk

RATES = (
    ("emr", "EMR / n", "#22272e", "o"),
    ("tmr", "TMR", "#3d7ea6", "s"),
    ("fmr", "FMR", "#b35900", "^"),
)


def match_figure(risks: Mapping[Any, MatchRisk]) -> Figure:
    """Return expected match risk, true and false match rates with their intervals."""
    curve = all(isinstance(name, (int, float)) for name in risks)
    with style():
        figure = new_figure(6.0 if curve else max(5.0, 1.2 * len(risks) + 2), 3.5)
        axes = figure.add_subplot()
        (_curves if curve else _bars)(axes, risks)
        axes.set_ylim(0, None)
        axes.set_ylabel("share of people (FMR: of claims)")
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title("Match risk: private, do not share", loc="left", fontsize=10, color=INK)
    return figure


def _ends(risks: Mapping[Any, MatchRisk], rate: str) -> tuple[Any, Any]:
    """Return the values of a rate, and how far its intervals reach below and above.

    Without any claim there are no false ones either: the rate of false ones is then left out.
    """
    found = [getattr(risk, rate) for risk in risks.values()]
    values = np.array([one.value for one in found])
    if rate == "fmr":
        silent = np.array([risk.tmr.value == risk.fmr.value == 0 for risk in risks.values()])
        values[silent] = np.nan
    reach = np.array([[one.value - one.lower, one.upper - one.value] for one in found]).T
    return values, np.maximum(reach, 0)


def _curves(axes: Any, risks: Mapping[Any, MatchRisk]) -> None:
    x = np.array([float(factor) for factor in risks])
    for rate, label, colour, marker in RATES:
        values, reach = _ends(risks, rate)
        axes.errorbar(x, values, yerr=reach, color=colour, marker=marker, markersize=4, label=label)
    if x.size > 1 and x.min() > 0:
        axes.set_xscale("log")
    axes.set_xticks(x, [f"{factor:g}" for factor in x])
    axes.minorticks_off()
    axes.set_xlabel("times the radius l within which the intruder knows the changed numbers")


def _bars(axes: Any, risks: Mapping[Any, MatchRisk]) -> None:
    x = np.arange(len(risks))
    for k, (rate, label, colour, _) in enumerate(RATES):
        values, reach = _ends(risks, rate)
        axes.bar(x + 0.26 * (k - 1), values, 0.24, yerr=reach, color=colour, label=label)
    axes.set_xticks(x, [str(name) for name in risks])
