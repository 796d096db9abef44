"""The layout of a model for the kernels, the first state, and one chain."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import native
from veladura.errors import PlanError
from veladura.methods.geography import icar_kernels as kernels
from veladura.methods.geography import icar_slopes as slope_kernels
from veladura.methods.geography.icar_arrays import Draw, Model, State, Weigh, Widen
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.icar_priors import Priors


class Chain(NamedTuple):
    """Intensities (draws, B, G) of a chain, their sum over kept sweeps, traces (kept, scalars).

    Its last state and generator, to go on from.
    """

    intensity: Floats
    total: Floats
    trace: Floats
    state: State
    rng: Generator


def lay_out(counts: CellCounts, graph: Graph, design: EffectDesign, priors: Priors) -> Model:
    """Return the model as the kernels want it: cells first, combinations side by side."""
    combinations, cells = counts.values.shape
    _check(counts, graph, design)
    values = np.ascontiguousarray(counts.values.T, dtype=np.float64)
    dummies = design.dummies
    covariates = (
        np.zeros((0, combinations, cells))
        if priors.slope_variance == 0 and priors.slope == "normal"
        else design.covariates
    )
    slopes = len(covariates)
    totals = np.concatenate(
        [
            dummies @ values.T,
            np.einsum("kbg,gb->kg", covariates.reshape(slopes, combinations, cells), values),
        ]
    )
    group = np.maximum(graph.part, 0)
    slope_first, slope_member, covariate = _compress(
        covariates.reshape(slopes, combinations, cells)
    )
    mean_precision = np.full(len(totals), 1 / priors.intercept_variance)
    smooth = np.ones(len(totals), dtype=np.int64)
    if slopes and priors.slope == "normal":
        smooth[-slopes:] = 0
    elif slopes:
        mean_precision[-slopes:] = 1 / priors.slope_variance if priors.slope_variance > 0 else -1.0
    return Model(
        counts=values,
        start=graph.start,
        neighbour=graph.neighbour,
        part=graph.part,
        group=group,
        size=np.bincount(
            np.where(graph.part < 0, graph.parts, graph.part), minlength=graph.parts + 1
        ).astype(np.float64),
        first=np.concatenate(
            [
                [0],
                np.cumsum(dummies.sum(axis=1, dtype=np.int64)),
                np.full(slopes, dummies.sum(dtype=np.int64)),
            ]
        ),
        member=np.nonzero(dummies)[1].astype(np.int64),
        totals=np.ascontiguousarray(totals, dtype=np.float64),
        group_totals=np.stack([np.bincount(group, row, minlength=graph.parts) for row in totals]),
        slope_first=slope_first,
        slope_member=slope_member,
        covariate=covariate,
        slopes=slopes,
        mean_precision=mean_precision,
        smooth=smooth,
        scale_prior=priors.of_scales(graph, len(totals), slopes),
    )


def _compress(covariates: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the covariates that are not 0 by covariate and cell, in compressed rows."""
    slopes, _, cells = covariates.shape
    by_cell = covariates.transpose(0, 2, 1)
    held = by_cell != 0
    first = np.concatenate([[0], np.cumsum(held.sum(axis=2).ravel())]).astype(np.int64)
    return (
        first if slopes * cells else np.zeros(1, dtype=np.int64),
        np.nonzero(held)[2].astype(np.int64),
        by_cell[held].astype(np.float64),
    )


def _check(counts: CellCounts, graph: Graph, design: EffectDesign) -> None:
    """Refuse arrays that do not fit each other, and a grid without neighbouring cells."""
    combinations, cells = counts.values.shape
    if graph.cells != cells or len(design.codes) != combinations:
        msg = (
            f"counts have {combinations} combinations and {cells} cells, the design"
            f" {len(design.codes)}, the neighbours {graph.cells}."
        )
        raise PlanError(msg)
    if len(design.covariates) and design.covariates.shape[1:] != (combinations, cells):
        msg = (
            f"covariates must have the shape (K, {combinations}, {cells}), got"
            f" {design.covariates.shape}."
        )
        raise PlanError(msg)
    if graph.parts == 0:
        msg = (
            f"no two of the {cells} usable cells are neighbours, so the map cannot be"
            " smoothed.\n\nHint: use a finer grid, or exclude less."
        )
        raise PlanError(msg)


def begin(rng: Generator, model: Model, offset: Floats, priors: Priors) -> State:
    """Return a first state: the overall level, and precisions that differ from chain to chain."""
    effects, cells = model.totals.shape
    combinations = model.counts.shape[1]
    precision = np.exp(rng.normal(0.5, 1.0, effects + 1))
    precision[:-1][model.smooth == 0] = 1 / priors.slope_variance if priors.slope_variance else 1.0
    effect = np.zeros((effects, cells))
    effect[0] = np.log(
        (model.counts.sum() + 0.5) / (combinations * np.exp(offset).sum())
    ) + rng.normal(0, 0.5)
    return settle(model, offset, effect, np.zeros((cells, combinations)), precision)


def settle(model: Model, offset: Floats, effect: Floats, eps: Floats, precision: Floats) -> State:
    """Return the state with these effects (F, G), extra variation (G, B) and precisions (F + 1)."""
    cells = offset.size
    linear = np.repeat(offset[:, None], eps.shape[1], axis=1)
    for j, values in enumerate(effect):
        linear[:, model.member[model.first[j] : model.first[j + 1]]] += values[:, None]
    # covariate and cell of each entry
    row = np.repeat(np.arange(model.slopes * cells), np.diff(model.slope_first))
    slopes = effect[len(effect) - model.slopes :].ravel()
    np.add.at(linear, (row % cells, model.slope_member), model.covariate * slopes[row])
    # a cell without neighbours has part -1: the last row, which belongs to no part
    parts = np.eye(model.size.size)[model.part, :-1] / model.size[:-1]
    mean = effect @ parts
    return State(
        effect=effect,
        mean=mean,
        apart=(effect[:, model.part < 0] - mean[:, :1]).sum(axis=1),
        precision=precision,
        eps=eps,
        rate=np.exp(linear),
        boost=np.exp(eps),
        step=np.full(len(effect) + 1, 0.5),
        trial=np.zeros_like(eps),
        work=np.zeros((4, cells)),
        chosen=np.zeros(cells, dtype=np.int64),
    )


def sweep(
    rng: Generator, model: Model, state: State, burn: int, thin: int, trace: Floats, total: Floats
) -> None:
    """Sweep as `icar_kernels.run` says, with the kernels that this model's slopes need."""
    kernels.run(rng, model, state, *_slope_kernels(model), burn, thin, trace, total)


def _slope_kernels(model: Model) -> tuple[Draw, Weigh, Widen]:
    """Return the kernels that draw, weigh and widen slopes.

    Where there are none, kernels that are part of a sweep anyway stand in and are not called.
    """
    if not model.slopes:
        draw, weigh, widen = kernels.draw_effect, kernels.weigh_effect, kernels.widen_effect
    else:
        draw = slope_kernels.draw_smooth_slope if model.smooth[-1] else slope_kernels.draw_slope
        weigh, widen = slope_kernels.weigh_slope, slope_kernels.widen_slope
    return native(draw), native(weigh), native(widen)


def run_chain(
    rng: Generator,
    model: Model,
    offset: Floats,
    priors: Priors,
    *,
    burn: int,
    kept: int,
    thin: int,
    draws: list[int],
    state: State | None = None,
) -> Chain:
    """Run one chain: burn-in, then ``kept`` times ``thin`` sweeps.

    Parameters
    ----------
    draws
        The kept sweeps after which the intensities are stored.
    state
        Where to go on from; a first state by default.
    """
    state = begin(rng, model, offset, priors) if state is None else state
    trace = np.zeros((kept, scalars(model)))
    total = np.zeros_like(model.counts)
    sweep(rng, model, state, burn, 1, trace[:0], total)
    intensity = []
    done = 0
    for last in draws:
        sweep(rng, model, state, 0, thin, trace[done : last + 1], total)
        intensity.append((state.rate * state.boost).T)
        done = last + 1
    sweep(rng, model, state, 0, thin, trace[done:], total)
    drawn = np.array(intensity).reshape(len(draws), *total.T.shape)
    return Chain(drawn, total.T, trace, state, rng)


def scalars(model: Model) -> int:
    """Return the number of scalars that are traced."""
    return len(names_of_scalars(model, [""] * len(model.totals)))


def names_of_scalars(model: Model, effects: list[str]) -> list[str]:
    """Return the names of the traced scalars, in the order of the kernels."""
    parts = range(model.size.size - 1)
    spreads = [f"log sd of {name}" for name in (*effects, "eps")]
    of_effects = [
        [*(f"mean of {name}, part {p}" for p in parts), f"contrast of {name}"] for name in effects
    ]
    return ["log likelihood", *spreads, *chain.from_iterable(of_effects)]
