"""Posterior draws of the intensities of the disease-mapping model, with diagnostics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.context import Context
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph, Priors
from veladura.numeric.mcmc.chain import check_lengths, run_chains, separated
from veladura.numeric.mcmc.diagnostics import Diagnostics


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """Posterior draws and traces of all chains. Learnt from the original: never released.

    Parameters
    ----------
    intensity
        lambda at m well separated draws, shape (m, B, G); p_ib is ``intensity[d, b] / intensity[d,
        b].sum()``.
    mean
        Posterior mean of lambda over all kept sweeps of all chains, shape (B, G).
    traces
        Traces of scalars by name, each of shape (chains, kept).
    diagnostics
        R-hat and effective sample size of each scalar.
    """

    intensity: Floats
    mean: Floats
    traces: dict[str, Floats]
    diagnostics: Diagnostics


def sample(
    counts: CellCounts,
    graph: Graph,
    design: EffectDesign,
    priors: Priors,
    *,
    m: int,
    context: Context,
    sweeps: int = 5000,
    burn: int = 1000,
    thin: int = 4,
    chains: int = 4,
) -> Draws:
    """Draw from the posterior of the intensities.

    Parameters
    ----------
    counts, graph, design, priors
        The model.
    m
        Number of well separated draws of the intensities to keep.
    context
        Streams ("chain", number) under its path, threads and progress.
    sweeps, burn
        Sweeps of each chain, and how many of them are burn-in.
    thin
        Every ``thin``-th sweep after that enters traces and posterior mean.
    chains
        Number of chains; it never depends on the number of cores.

    Returns
    -------
    The same bytes for any number of threads. A ChainWarning says that chains have not converged.
    """
    from veladura.methods.geography.icar_chain import lay_out, names_of_scalars, run_chain

    check_lengths(sweeps=sweeps, burn=burn, thin=thin, chains=chains, m=m)
    model = lay_out(counts, graph, design, priors)
    kept = (sweeps - burn) // thin
    places = separated(m, chains, kept)
    runs = run_chains(
        "Sampling the map",
        lambda number, rng: run_chain(
            rng, model, counts.offset, priors, burn=burn, kept=kept, thin=thin, draws=places[number]
        ),
        chains,
        context,
    )
    names = names_of_scalars(model, list(design.names[: len(model.totals)]))
    traces = {name: np.stack([run.trace[:, at] for run in runs]) for at, name in enumerate(names)}
    diagnostics = Diagnostics.of(traces)
    longer = diagnostics.longer
    diagnostics.warn(
        f"let the chains run longer:\n  sweeps = {longer * sweeps}\n  burn = {longer * burn}\n"
        "or use a coarser grid, or merge rare levels of the attributes."
    )
    intensity = np.stack([runs[d % chains].intensity[d // chains] for d in range(m)])
    return Draws(
        intensity,
        sum((run.total for run in runs), np.zeros(counts.values.shape)) / (chains * kept),
        traces,
        diagnostics,
    )
