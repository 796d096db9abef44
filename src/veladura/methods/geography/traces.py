"""Traces of the Markov chains and their diagnostics, for the custodian's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import new_figure
from veladura.methods.geography.panels import pages, svg
from veladura.numeric.mcmc.diagnostics import LEAST_ESS, MOST_RHAT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.methods.geography.combinations import Combinations
    from veladura.methods.geography.icar import Draws

ON_A_PAGE = 12
MOST = 24
COLOURS = ("#1f5f8b", "#9c3d2e", "#8a6d1f", "#4b7a47", "#6b4e8a", "#5a5a5a")
POINTS = 400  # of a trace that are drawn


def trace_pictures(
    draws: Draws, groups: Combinations, attributes: Sequence[str], continuous: Sequence[str]
) -> dict[str, bytes]:
    """Return the traces of the scalars: log likelihood, standard deviations, intercepts.

    The title says whether the chains have settled; the worst scalars come first where there are
    more than 24.
    """
    words = scalar_names(draws.traces, groups, attributes, continuous)
    traced = draws.diagnostics
    kept = [name for name in draws.traces if name in traced.rhat]
    if len(kept) > MOST:
        kept = sorted(kept, key=lambda name: traced.ess.get(name, 0.0))[:MOST]
    verdict = "have not settled" if traced.poor else "have settled"
    chains, length = next(iter(draws.traces.values())).shape
    title = (
        f"Traces of the {chains} Markov chains, {length} kept sweeps each of {draws.sweeps:,}: they"
        f" {verdict} (R-hat at most {traced.worst_rhat:.3f}, effective sample size at least"
        f" {traced.least_ess:.0f}; {MOST_RHAT} and {LEAST_ESS:.0f} are good)"
    )
    every = pages(range(len(kept)), ON_A_PAGE)
    return {
        title + (f" (page {number} of {len(every)})" if len(every) > 1 else ""): svg(
            partial(_page, draws, [kept[i] for i in page], words)
        )
        for number, page in enumerate(every, start=1)
        if page
    }


def scalar_names(
    traces: Mapping[str, Floats],
    groups: Combinations,
    attributes: Sequence[str],
    continuous: Sequence[str],
) -> dict[str, str]:
    """Return the traced scalars in the words of the table: attributes and levels by name."""
    words = {}
    for k, attribute in enumerate(attributes):
        for level in range(int(groups.levels[:, k].max()) + 1):
            some = int(np.argmax(groups.levels[:, k] == level))
            words[f"attribute {k} level {level}"] = groups.parts(some)[k] or attribute
    words |= {f"covariate {k}": f"slope of {name}" for k, name in enumerate(continuous)}
    words |= {"common": "everyone", "eps": "extra variation"}

    def put(name: str) -> str:
        for term in sorted(words, key=len, reverse=True):
            if name.endswith(f" of {term}") or f" of {term}," in name:
                return name.replace(f" of {term}", f" of {words[term]}")
        return name

    one_part = not any(name.endswith(", part 1") for name in traces)
    return {name: _plain(put(name), one_part=one_part) for name in traces}


def _plain(name: str, *, one_part: bool) -> str:
    """Return a scalar's name as it stands over its trace."""
    if name.startswith("contrast of "):
        return f"first less second half of cells, {name.removeprefix('contrast of ')}"
    return name.removesuffix(", part 0") if one_part else name


def _page(draws: Draws, names: Sequence[str], words: Mapping[str, str]) -> Figure:
    wide = min(3, len(names))
    rows = -(-len(names) // wide)
    figure = new_figure(3.2 * wide, 1.7 * rows + 0.2)
    for at, name in enumerate(names, start=1):
        panel = figure.add_subplot(rows, wide, at)
        trace = draws.traces[name]
        step = max(trace.shape[1] // POINTS, 1)
        for chain, values in enumerate(trace[:, ::step]):
            sweeps = np.arange(values.size) * step
            panel.plot(sweeps, values, lw=0.5, alpha=0.8, color=COLOURS[chain % len(COLOURS)])
        rhat, ess = draws.diagnostics.rhat[name], draws.diagnostics.ess[name]
        panel.set_title(f"{words[name]}\nR-hat {rhat:.3f}, effective size {ess:.0f}", fontsize=7)
        panel.tick_params(labelsize=6)
        if at + wide > len(names):
            panel.set_xlabel("kept sweep (one colour a chain)", fontsize=7)
    return figure
