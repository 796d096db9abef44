"""The Laplace approximation of the disease-mapping model, to compare grids before sampling.

Effects are normal around their posterior mode (Laplace), precisions are the modes of their
approximate marginal law.
It takes seconds where the chains take minutes; a release never comes from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.icar_priors import Priors

ROUNDS = 40  # at most, of mode and precisions in turn
CHANGE = 0.03  # relative, of a precision between rounds: below it, converged
PROBES = 40  # draws that the traces come from, at least
NEWTON = 3  # steps towards the mode in each round: rounds follow each other
ENOUGH = 1e-3  # of a predictor's move
HELD = 0.05  # stands for a common slope variance of 0, which would hold a mean fixed


@dataclass(frozen=True, eq=False, repr=False)
class Approximation:
    """An approximate posterior. Learnt from the original: never released.

    Parameters
    ----------
    intensity
        Approximate draws of lambda, shape (m, B, G).
    mean
        Mean of these and more such draws, shape (B, G).
    precision
        Of each spatial effect, then of eps.
    """

    intensity: Floats
    mean: Floats
    precision: Floats


class _System(NamedTuple):
    """Sparse matrices: predictors by (combination, cell), unknowns by (effect, cell)."""

    matrix: Any  # predictors x unknowns
    rows: list[Any]  # of each effect: D with D'D the structure of its prior
    fixed: Floats  # prior precision of each unknown besides
    free: list[bool]  # whether the precision of an effect is estimated
    ranks: list[int]
    scales: Floats  # a, b, c of the prior of each precision, as `Priors.of_scales` has them


def approximate(
    counts: CellCounts,
    graph: Graph,
    design: EffectDesign,
    priors: Priors,
    *,
    m: int,
    rng: Generator,
) -> Approximation:
    """Return an approximate fit with m approximate draws of the intensities.

    Precisions follow Schall (1991): tau = (rank - tau tr(H^-1 Q) + 2 a) / (u'Qu + 2 b) for a gamma
    prior with a and b, H the precision of the normal law; `_scale` has other priors. Its traces
    come from draws, made by perturbing and solving (Papandreou and Yuille 2010; at least
    ``PROBES``), with the same random numbers in every round.
    """
    system = _system(counts, graph, design, priors)
    values = counts.values.ravel().astype(np.float64)
    offset = np.tile(counts.offset, len(counts.values))
    many = max(m, PROBES)
    noise = [
        rng.standard_normal((size, many))
        for size in (
            values.size,
            *(rows.shape[0] for rows in system.rows),
            system.fixed.size,
            values.size,
        )
    ]
    precision = np.ones(len(system.rows) + 1)
    level = np.log((values.sum() + 0.5) / np.exp(offset).sum())
    effect, eps = np.zeros(system.fixed.size), np.zeros(values.size)
    effect[: graph.cells] = level
    for _ in range(ROUNDS):
        before = precision.copy()
        effect, eps, solve, weight, rate = _mode(system, values, offset, precision, effect, eps)
        spread = _perturb(system, solve, weight, precision, noise)
        # given the predictor's shift, eps follows it with the share that the counts do not hold
        slack = -(rate / (rate + precision[-1]))[:, None] * (system.matrix @ spread)
        slack += noise[-1] / np.sqrt(rate + precision[-1])[:, None]
        precision = _update(system, precision, effect, spread, eps, slack)
        if np.max(np.abs(np.log(precision / before))) < CHANGE:
            break
    linear = (offset + system.matrix @ effect + eps)[:, None] + system.matrix @ spread + slack
    intensity = np.exp(linear).T.reshape(many, *counts.values.shape)
    return Approximation(intensity[:m], intensity.mean(axis=0), precision)


def _system(counts: CellCounts, graph: Graph, design: EffectDesign, priors: Priors) -> _System:
    """Return the sparse matrices of the model."""
    from scipy import sparse

    from veladura.methods.geography.icar_chain import lay_out

    model = lay_out(counts, graph, design, priors)
    cells = graph.cells
    identity = sparse.eye_array(cells, format="csr")
    blocks = [sparse.kron(has[:, None].astype(np.float64), identity) for has in design.dummies]
    blocks += [
        sparse.vstack([sparse.diags_array(row) for row in z])
        for z in design.covariates[: model.slopes]
    ]
    smooth = _differences(graph)
    rows = [smooth if kind else identity for kind in model.smooth]
    held = np.where(model.mean_precision > 0, model.mean_precision, 1 / HELD)
    share = 1 / model.size[model.group]
    fixed = [
        held[j] * share if kind else np.full(cells, 1 / priors.slope_variance)
        for j, kind in enumerate(model.smooth)
    ]
    free = [bool(kind) for kind in model.smooth]
    return _System(
        sparse.hstack(blocks, format="csr"),
        rows,
        np.concatenate(fixed),
        free,
        [graph.rank] * len(rows),
        model.scale_prior,
    )


def _differences(graph: Graph) -> Any:
    """Return D with D'D the ICAR structure.

    A cell without neighbours is tied weakly to all cells of the first part.
    """
    from scipy import sparse

    pairs = graph.pairs
    lone, first = np.flatnonzero(graph.part < 0), np.flatnonzero(graph.part == 0)
    ends = np.concatenate(
        [pairs, np.stack(np.meshgrid(lone, first, indexing="ij"), axis=-1).reshape(-1, 2)]
    )
    size = np.concatenate([np.ones(len(pairs)), np.full(len(ends) - len(pairs), first.size**-0.5)])
    at = np.arange(len(ends))
    entries = (np.concatenate([size, -size]), (np.concatenate([at, at]), ends.T.ravel()))
    return sparse.csr_array(entries, shape=(len(ends), graph.cells))


def _prior(system: _System, precision: Floats) -> Any:
    """Return the prior precision of all effects."""
    from scipy import sparse

    blocks = [
        tau * (rows.T @ rows) if free else 0 * rows
        for tau, rows, free in zip(precision, system.rows, system.free, strict=False)
    ]
    return sparse.block_diag(blocks) + sparse.diags_array(system.fixed)


def _mode(
    system: _System, values: Floats, offset: Floats, precision: Floats, effect: Floats, eps: Floats
) -> tuple[Floats, Floats, Any, Floats, Floats]:
    """Find the mode of effects and eps by Newton's method.

    With eps eliminated its weight on the predictor is rate tau / (rate + tau).
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    prior, tau, matrix = _prior(system, precision), precision[-1], system.matrix
    for _ in range(NEWTON):
        rate = np.exp(offset + matrix @ effect + eps)
        weight = rate * tau / (rate + tau)
        solve = splu(
            sparse.csc_array(matrix.T @ (sparse.diags_array(weight) @ matrix) + prior),
            permc_spec="MMD_AT_PLUS_A",
        ).solve
        slope_eps = values - rate - tau * eps
        slope = matrix.T @ (values - rate - rate / (rate + tau) * slope_eps) - prior @ effect
        move = solve(slope)
        shift = matrix @ move
        bend = (slope_eps - rate * shift) / (rate + tau)
        # a quadratic approximates an exponential over a short step only
        length = min(1.0, 2.0 / max(np.abs(shift + bend).max(), 1e-12))
        effect, eps = effect + length * move, eps + length * bend
        if max(np.abs(shift).max(), np.abs(bend).max()) < ENOUGH:
            break
    return effect, eps, solve, weight, np.exp(offset + matrix @ effect + eps)


def _perturb(
    system: _System, solve: Any, weight: Floats, precision: Floats, noise: list[Floats]
) -> Floats:
    """Return draws from the normal law of the effects around their mode, one in each column."""
    pull = (
        system.matrix.T @ (np.sqrt(weight)[:, None] * noise[0])
        + np.sqrt(system.fixed)[:, None] * noise[-2]
    )
    cells = pull.shape[0] // len(system.rows)
    for j, (rows, free) in enumerate(zip(system.rows, system.free, strict=True)):
        if free:
            pull[j * cells : (j + 1) * cells] += np.sqrt(precision[j]) * (rows.T @ noise[1 + j])
    return np.asarray(solve(pull))


def _update(
    system: _System,
    precision: Floats,
    effect: Floats,
    spread: Floats,
    eps: Floats,
    slack: Floats,
) -> Floats:
    """Return the next precisions (Schall 1991, with the gamma priors)."""
    updated = precision.copy()
    cells = effect.size // len(system.rows)
    for j, rows in enumerate(system.rows):
        if system.free[j]:
            at = slice(j * cells, (j + 1) * cells)
            lost = precision[j] * np.mean(np.sum((rows @ spread[at]) ** 2, axis=0))
            kept = max(system.ranks[j] - lost, 0.0)
            updated[j] = _scale(kept, float(np.sum((rows @ effect[at]) ** 2)), system.scales[j])
    lost = precision[-1] * np.mean(np.sum(slack**2, axis=0))
    updated[-1] = _scale(max(eps.size - lost, 0.0), float(np.sum(eps**2)), system.scales[-1])
    return updated


def _scale(kept: float, squares: float, prior: Floats) -> float:
    """Return the precision at the mode: kept + 2 a + c tau^(-1/2) = tau (squares + 2 b).

    In q = tau^(-1/2) that is (kept + 2 a) q^2 + c q^3 = squares + 2 b, whose one positive root a
    few Newton steps find; without c it has a closed form.
    """
    shape, rate, pull = kept + 2 * prior[0], squares + 2 * prior[1], prior[2]
    if pull == 0:
        return float(shape / rate)
    rate = max(rate, 1e-12)
    q = (rate / pull) ** (1 / 3) + max(-shape / pull, 0.0)  # right of the root: steps only shrink
    for _ in range(60):
        step = (shape * q * q + pull * q**3 - rate) / (2 * shape * q + 3 * pull * q * q)
        q -= step
        if abs(step) < 1e-9 * q:
            break
    return float(q**-2)
