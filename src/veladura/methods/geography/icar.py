"""Posterior draws of the intensities of the disease-mapping model, with diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats
from veladura.base.context import Context
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.icar_priors import Priors
from veladura.numeric.mcmc.chain import check_lengths, run_chains, separated
from veladura.numeric.mcmc.diagnostics import Diagnostics

if TYPE_CHECKING:
    from veladura.methods.geography.icar_chain import Chain


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
    sweeps
        Sweeps that each chain took.
    """

    intensity: Floats
    mean: Floats
    traces: dict[str, Floats]
    diagnostics: Diagnostics
    sweeps: int = 0


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
    most_sweeps: int | None = None,
) -> Draws:
    """Draw from the posterior of the intensities.

    Chains whose R-hat or effective sample size is poor go on, twice as long each time; all that
    came before is then burn-in.

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
    most_sweeps
        Sweeps that a chain may take in all until it has settled; no more than ``sweeps`` by
        default.

    Returns
    -------
    The same bytes for any number of threads. A ChainWarning says that chains have not converged.
    """
    from veladura.methods.geography.icar_chain import lay_out, names_of_scalars, run_chain

    check_lengths(sweeps=sweeps, burn=burn, thin=thin, chains=chains, m=m)
    model = lay_out(counts, graph, design, priors)
    names = names_of_scalars(model, list(design.names[: len(model.totals)]))
    kept, done = (sweeps - burn) // thin, sweeps
    runs: list[Chain] = []
    label = "Sampling the map"
    while True:
        go = partial(run_chain, model=model, offset=counts.offset, priors=priors)
        ahead = _Stretch(go, runs, burn, kept, thin, separated(m, chains, kept))
        runs = run_chains(label, ahead, chains, context)
        traces = {
            name: np.stack([run.trace[:, at] for run in runs]) for at, name in enumerate(names)
        }
        diagnostics = Diagnostics.of(traces)
        if not diagnostics.poor or done + 2 * kept * thin > (most_sweeps or sweeps):
            break
        kept *= 2
        done += kept * thin
        label = f"Sampling the map (on to {done:,} sweeps: not settled)"
    diagnostics.warn(_advice(diagnostics, sweeps, burn, done))
    intensity = np.stack([runs[d % chains].intensity[d // chains] for d in range(m)])
    total = sum((run.total for run in runs), np.zeros(counts.values.shape))
    return Draws(intensity, total / (chains * kept), traces, diagnostics, done)


@dataclass(frozen=True, eq=False)
class _Stretch:
    """A stretch of every chain: its first one, or one that goes on from where it was."""

    run: Callable[..., Chain]
    before: list[Chain]
    burn: int
    kept: int
    thin: int
    draws: list[list[int]]

    def __call__(self, number: int, rng: Generator) -> Chain:
        """Run chain ``number``; the stream is used where it begins."""
        ahead = partial(self.run, kept=self.kept, thin=self.thin, draws=self.draws[number])
        if not self.before:
            return ahead(rng, burn=self.burn)
        last = self.before[number]
        return ahead(last.rng, burn=0, state=last.state)


def _advice(diagnostics: Diagnostics, sweeps: int, burn: int, done: int) -> str:
    """Return what to do about chains that have not settled."""
    times = diagnostics.longer * -(-done // sweeps)
    return (
        f"let the chains run longer (each took {done:,} sweeps):\n  sweeps = {times * sweeps}\n"
        f"  burn = {times * burn}\nor use a coarser grid, or merge rare levels of the attributes."
    )
