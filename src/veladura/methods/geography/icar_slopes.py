"""Compiled draws of the slopes of covariates, passed to the sweeps of icar_kernels.py.

The conditional of a slope is a sum of several exponentials. A move shifts the slopes of the chosen
cells, each by its factor times the shift; chosen cells and factors stand in the work space.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from veladura.base.jit import handed, inner
from veladura.methods.geography.icar_arrays import (
    DRAW,
    FACTOR,
    INT,
    MODEL,
    REAL,
    RNG,
    SHIFT,
    STATE,
    WEIGH,
    WIDEN,
    Model,
    State,
)

DISTRICTS = 8  # moves of districts in a sweep


@inner(REAL(MODEL, STATE, INT, INT, REAL))
def _gain(model: Model, state: State, j: int, many: int, shift: float) -> float:
    """Return the gain of log likelihood when the slopes of the chosen cells shift."""
    first, member, covariate, totals = (
        model.slope_first,
        model.slope_member,
        model.covariate,
        model.totals,
    )
    rate, boost, chosen, work = state.rate, state.boost, state.chosen, state.work
    base = (j - totals.shape[0] + model.slopes) * totals.shape[1]
    total = 0.0
    for at in range(many):
        i, move = chosen[at], work[FACTOR, at] * shift
        gain = totals[j, i] * move
        for c in range(first[base + i], first[base + i + 1]):
            gain -= rate[i, member[c]] * boost[i, member[c]] * (np.exp(covariate[c] * move) - 1.0)
        total += gain
    return total


@inner(REAL(RNG, MODEL, STATE, INT, INT, REAL, REAL))
def _draw_along(
    rng: Generator, model: Model, state: State, j: int, many: int, slope: float, bend: float
) -> float:
    """Draw a shift of the slopes of the chosen cells by slice sampling, and update the rates.

    Slice sampling as in Neal (2003), figs. 3 and 5. The log prior is slope x shift - bend x shift^2
    / 2; it sets the width, and is all there is where no covariate is.
    """
    first, member, covariate = model.slope_first, model.slope_member, model.covariate
    rate, chosen, work = state.rate, state.chosen, state.work
    base = (j - state.effect.shape[0] + model.slopes) * model.part.size
    occupied = 0
    for at in range(many):
        occupied += first[base + chosen[at] + 1] - first[base + chosen[at]]
    if occupied == 0:
        return float(slope / bend + rng.standard_normal() / np.sqrt(bend))
    width = 2.0 / np.sqrt(bend)
    floor = -rng.standard_exponential()
    low = -width * rng.random()
    high = low + width
    while _gain(model, state, j, many, low) + low * (slope - 0.5 * bend * low) > floor:
        low -= width
    while _gain(model, state, j, many, high) + high * (slope - 0.5 * bend * high) > floor:
        high += width
    shift = low + (high - low) * rng.random()
    while _gain(model, state, j, many, shift) + shift * (slope - 0.5 * bend * shift) <= floor:
        low, high = (shift, high) if shift < 0.0 else (low, shift)
        shift = low + (high - low) * rng.random()
    for at in range(many):
        i = chosen[at]
        for c in range(first[base + i], first[base + i + 1]):
            rate[i, member[c]] *= np.exp(covariate[c] * work[FACTOR, at] * shift)
    return float(shift)


@handed(DRAW)
def draw_slope(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the slopes of a covariate that are independent normals, cell by cell given all else."""
    effect, precision = state.effect, state.precision[j]
    state.work[FACTOR, 0] = 1.0
    for i in range(effect.shape[1]):
        state.chosen[0] = i
        effect[j, i] += _draw_along(rng, model, state, j, 1, -precision * effect[j, i], precision)


@inner(REAL(MODEL, STATE, INT, INT))
def _pull(model: Model, state: State, j: int, i: int) -> float:
    """Return how far cell i stands out, summed over its neighbours."""
    start, neighbour, effect = model.start, model.neighbour, state.effect
    near = 0.0
    for at in range(start[i], start[i + 1]):
        near += effect[j, neighbour[at]]
    return float((start[i + 1] - start[i]) * effect[j, i] - near)


@inner(INT(RNG, MODEL, INT))
def _pick(rng: Generator, model: Model, i: int) -> int:
    """Draw a neighbour of cell i."""
    start = model.start
    return int(model.neighbour[start[i] + int(rng.random() * (start[i + 1] - start[i]))])


@inner(INT(RNG, MODEL, STATE))
def _pick_district(rng: Generator, model: Model, state: State) -> int:
    """Choose a random cell and the cells nearest to it by steps over borders; return how many.

    At least one of its part is left out; 0 for a cell without neighbours. The seen cells have a 1
    in a row of the work space. Nothing here depends on the slopes.
    """
    start, neighbour, part = model.start, model.neighbour, model.part
    chosen, seen = state.chosen, state.work[SHIFT]
    seen[:] = 0.0
    centre = int(rng.random() * part.size)
    share = rng.random()
    if part[centre] < 0:
        return 0
    # sizes of all scales: uniform in the logarithm
    many = int(np.exp(share * np.log(model.size[part[centre]])))
    many = min(many, int(model.size[part[centre]]) - 1)
    chosen[0], seen[centre] = centre, 1.0
    held, at = 1, 0
    while held < many:
        for a in range(start[chosen[at]], start[chosen[at] + 1]):
            if held < many and seen[neighbour[a]] == 0.0:
                chosen[held], seen[neighbour[a]] = neighbour[a], 1.0
                held += 1
        at += 1
    return many


@inner(DRAW)
def _move_district(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw a shift of a random district against the rest of its part, whose mean stays.

    Moves of two cells alone need thousands of sweeps for a slope that changes slowly over the map.
    """
    start, neighbour, part = model.start, model.neighbour, model.part
    effect, chosen, seen, work = state.effect, state.chosen, state.work[SHIFT], state.work
    many = _pick_district(rng, model, state)
    if many == 0:
        return
    p, total = part[chosen[0]], int(model.size[part[chosen[0]]])
    apart, pull, borders = total / (total - many), 0.0, 0
    for at in range(many):
        i = chosen[at]
        work[FACTOR, at] = 1.0
        for a in range(start[i], start[i + 1]):
            if seen[neighbour[a]] == 0.0:
                pull += effect[j, i] - effect[j, neighbour[a]]
                borders += 1
    every = many
    for i in range(part.size):
        if part[i] == p and seen[i] == 0.0:
            chosen[every], work[FACTOR, every] = i, 1.0 - apart
            every += 1
    precision = state.precision[j]
    shift = _draw_along(
        rng, model, state, j, every, -precision * apart * pull, precision * apart * apart * borders
    )
    for at in range(every):
        effect[j, chosen[at]] += work[FACTOR, at] * shift


@handed(DRAW)
def draw_smooth_slope(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the slopes of a covariate with an ICAR prior.

    Neighbours move against each other, then districts against the rest, then every part by itself.
    The first two kinds of moves keep the means, so they serve also where these are held at 0; the
    last is left out there.
    """
    start, part, group = model.start, model.part, model.group
    effect, mean, chosen, work = state.effect, state.mean, state.chosen, state.work
    precision, held = state.precision[j], model.mean_precision[j]
    work[FACTOR, 0] = 1.0
    for i in range(part.size):
        chosen[0] = i
        if part[i] < 0:
            slope, bend, many = -precision * (effect[j, i] - mean[j, 0]), precision, 1
        else:
            other = _pick(rng, model, i)
            slope, many = (
                -precision * (_pull(model, state, j, i) - _pull(model, state, j, other)),
                2,
            )
            bend = precision * (start[i + 1] - start[i] + start[other + 1] - start[other] + 2)
            chosen[1], work[FACTOR, 1] = other, -1.0
        shift = _draw_along(rng, model, state, j, many, slope, bend)
        for at in range(many):
            effect[j, chosen[at]] += work[FACTOR, at] * shift
    for _ in range(DISTRICTS):
        _move_district(rng, model, state, j)
    if held > 0.0:
        for p in range(mean.shape[1]):
            many = 0
            for i in range(group.size):
                if group[i] == p:
                    chosen[many], work[FACTOR, many] = i, 1.0
                    many += 1
            shift = _draw_along(rng, model, state, j, many, -held * mean[j, p], held)
            mean[j, p] += shift
            for at in range(many):
                effect[j, chosen[at]] += shift


@handed(WEIGH)
def weigh_slope(model: Model, state: State, j: int, walk: float) -> float:
    """Return the gain of log likelihood from a step of log precision j, slopes whitened."""
    group, effect, mean, work = model.group, state.effect, state.mean, state.work
    for i in range(group.size):
        state.chosen[i] = i
        work[FACTOR, i] = (np.exp(-0.5 * walk) - 1.0) * (effect[j, i] - mean[j, group[i]])
    return float(_gain(model, state, j, group.size, 1.0))


@handed(WIDEN)
def widen_slope(
    model: Model,
    state: State,
    j: int,
    walk: float,  # noqa: ARG001
) -> None:  # all of it is weighed before
    """Do what `weigh_slope` has weighed."""
    first, member, covariate = model.slope_first, model.slope_member, model.covariate
    effect, rate, work = state.effect, state.rate, state.work
    base = (j - effect.shape[0] + model.slopes) * effect.shape[1]
    for i in range(effect.shape[1]):
        effect[j, i] += work[FACTOR, i]
        for c in range(first[base + i], first[base + i + 1]):
            rate[i, member[c]] *= np.exp(covariate[c] * work[FACTOR, i])
