"""Draws of the intensities from their posterior, and what is needed to trust them."""

from __future__ import annotations

from dataclasses import dataclass

from veladura.context import Context
from veladura.spatial.icar_model import Counts, Design, Floats, Graph, Priors


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """What the chains leave. Holds what was learnt from the original: never released.

    Parameters
    ----------
    intensity
        lambda at m well separated draws, shape (m, B, G); p_ib is ``intensity[d, b] / intensity[d, b].sum()``.
    mean
        Posterior mean of lambda over all kept sweeps of all chains, shape (B, G).
    traces
        Traces of scalars by name, each of shape (chains, kept).
    """

    intensity: Floats
    mean: Floats
    traces: dict[str, Floats]


def sample(
    counts: Counts,
    graph: Graph,
    design: Design,
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
        How many well separated draws of the intensities to keep.
    context
        Streams ("chain", number) under its path, threads and progress.
    sweeps, burn
        Sweeps of each chain, and how many of them are dropped at its beginning.
    thin
        Every ``thin``-th sweep after that enters traces and posterior mean.
    chains
        How many chains; never depends on the number of cores.

    Returns
    -------
    The same bytes for any number of threads. A ChainWarning says when the chains have not mixed.
    """
    raise NotImplementedError
