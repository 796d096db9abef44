"""Compiled sweeps of the disease-mapping model: arrays in, arrays changed in place.

Every intrinsic CAR effect u holds its own intercept: u_i = mu_p + theta_i for cell i of part p. The mean of u over
a part *is* the intercept and what is left sums to zero, so nothing has to be recentred (docs/methods/geography.md).
The intensity is kept as rate x boost: rate = exp(everything but eps), boost = exp(eps). Kernels that call each other
share this file because Numba's cache does not notice a change in another one. Hot loops take arrays out of the tuples
first: a call that passes a tuple copies two hundred words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numpy.random import Generator
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEAR = 0.05  # how near the mode a tangent point has to be
ROUNDS = 60
AIM = 0.44  # accepted share that suits a random walk in one dimension (Roberts and Rosenthal 2001)


class Model(NamedTuple):
    """What stays fixed while a chain runs. G cells, B combinations, P parts, F effects: the last K are slopes of covariates."""

    counts: Floats  # G x B
    start: Ints  # neighbours of each cell, in compressed rows
    neighbour: Ints
    part: Ints  # -1: no neighbours
    group: Ints  # the part whose mean a cell shares: its own, the first for a cell without neighbours
    size: Floats  # P + 1: cells of each part, then those without neighbours
    first: Ints  # combinations of each effect, in compressed rows; none for slopes
    member: Ints
    totals: Floats  # F x G: counts of an effect's combinations, each times its covariate for slopes
    group_totals: Floats  # F x P: their sums
    slope_first: Ints  # K G + 1: combinations with a covariate that is not 0, by covariate and cell, in compressed rows
    slope_member: Ints
    covariate: Floats
    slopes: int  # K
    mean_precision: Floats  # F: prior precision of an effect's mean over a part; below 0: the mean is held at 0
    smooth: Ints  # F: 1 for intrinsic CAR, 0 for independent normals of fixed precision
    gamma: Floats  # shape and rate of the effects' precisions, then of the precision of eps


class State(NamedTuple):
    """Where a chain stands."""

    effect: Floats  # F x G
    mean: Floats  # F x P: of the effect over each part
    apart: Floats  # F: sum over cells without neighbours of their distance to the first part's mean
    precision: Floats  # F + 1: of the effects, then of eps
    eps: Floats  # G x B
    rate: Floats  # G x B
    boost: Floats  # G x B
    trial: Floats  # G x B: work space
    step: Floats  # F + 1: random-walk steps of the log precisions, tuned in burn-in
    work: Floats  # 4 x G: work space


_I, _V, _M = types.int64[::1], types.float64[::1], types.float64[:, ::1]
MODEL = types.NamedTuple((_M, _I, _I, _I, _I, _V, _I, _I, _M, _M, _I, _I, _V, types.int64, _V, _I, _V), Model)
STATE = types.NamedTuple((_M, _M, _V, _V, _M, _M, _M, _M, _V, _M), State)
RNG, INT, REAL, NONE = types.npy_rng, types.int64, types.float64, types.void
PAIR = types.UniTuple(types.float64, 2)
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(PAIR(RNG, REAL, REAL, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def log_concave(rng: Generator, count: float, rate: float, precision: float) -> tuple[float, float]:
    """Draw t from a law proportional to exp(count t - rate e^t - precision t^2 / 2), exactly; return t and e^t.

    Both e^t and t^2 lie above their tangents. Replacing the one that bends less at the mode by its tangent leaves a
    normal law or the law of a log gamma variable to propose from; at least 1 / sqrt(2) are accepted, about.
    What is not a number is accepted, so that a chain gone astray ends, and is told, instead of hanging.
    """
    mode, height = 0.0, 1.0
    if count > rate:
        mode = count / precision
        if mode > 1.0:
            mode = min(mode, np.log(count / rate))
        height = np.exp(mode)
    for _ in range(ROUNDS):
        move = (count - rate * height - precision * mode) / (precision + rate * height)
        if abs(move) < NEAR:
            break
        mode += move
        height = np.exp(mode)
    bend = rate * height
    if bend > precision and count > precision * mode:
        shape = count - precision * mode
        while True:
            high = rng.standard_gamma(shape) / rate
            new = np.log(high)
            if not 0.5 * precision * (new - mode) ** 2 >= rng.standard_exponential():
                return new, high
    centre, spread = (count - bend) / precision, 1.0 / np.sqrt(precision)
    while True:
        new = centre + spread * rng.standard_normal()
        high = np.exp(new)
        if not rate * high - bend * (1.0 + new - mode) >= rng.standard_exponential():
            return new, high


@njit(NONE(RNG, MODEL, STATE), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_eps(rng: Generator, model: Model, state: State) -> None:
    """Draw every eps given all else (Nunes 2018, eq. 2.14)."""
    counts, rate, eps, boost, precision = model.counts, state.rate, state.eps, state.boost, state.precision[-1]
    for i in range(counts.shape[0]):
        for b in range(counts.shape[1]):
            eps[i, b], boost[i, b] = log_concave(rng, counts[i, b], rate[i, b], precision)


@njit(REAL(_V, _I, INT, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def _near(effect: Floats, neighbour: Ints, first: int, end: int) -> float:
    """Return the sum of an effect over the neighbours of a cell."""
    total = 0.0
    for at in range(first, end):
        total += effect[neighbour[at]]
    return total


@njit(REAL(_V, _V, _I), **OPTIONS)  # type: ignore[untyped-decorator]
def _expected(rate: Floats, boost: Floats, member: Ints) -> float:
    """Return the rows expected of some combinations in one cell."""
    total = 0.0
    for b in member:
        total += rate[b] * boost[b]
    return total


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_effect(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw effect j cell by cell given all else (Nunes 2018, eqs. 2.12 and 2.13).

    A cell moves the mean of its part, which has a prior and on which cells without neighbours hang.
    """
    start, neighbour, part, size = model.start, model.neighbour, model.part, model.size
    member, totals = model.member[model.first[j] : model.first[j + 1]], model.totals[j]
    effect, mean, rate, boost = state.effect[j], state.mean[j], state.rate, state.boost
    precision, held, alone, apart = state.precision[j], model.mean_precision[j], size[-1], state.apart[j]
    for i in range(totals.size):
        p = part[i]
        if p < 0:
            slope, bend = -precision * (effect[i] - mean[0]), precision
        else:
            degree, share = start[i + 1] - start[i], 1.0 / size[p]
            slope = -precision * (degree * effect[i] - _near(effect, neighbour, start[i], start[i + 1])) - held * mean[p] * share
            bend = precision * degree + held * share * share
            if p == 0:
                slope += precision * apart * share
                bend += precision * alone * share * share
        away = slope / bend  # from here to the prior's mean given the neighbours
        back = np.exp(away)
        new, high = log_concave(rng, totals[i], _expected(rate[i], boost[i], member) * back, bend)
        factor, shift = high * back, new + away
        for b in member:
            rate[i, b] *= factor
        effect[i] += shift
        if p < 0:
            apart += shift
        else:
            mean[p] += shift / size[p]
            if p == 0:
                apart -= alone * shift / size[0]
    state.apart[j] = apart


@njit(NONE(_V, _V, _M, _I, _I, _V), **OPTIONS)  # type: ignore[untyped-decorator]
def _lift(effect: Floats, mean: Floats, rate: Floats, member: Ints, group: Ints, shift: Floats) -> None:
    """Shift an effect by group, in the rates too."""
    for p in range(mean.size):
        mean[p] += shift[p]
    factor = np.exp(shift[: mean.size])
    for i in range(group.size):
        effect[i] += shift[group[i]]
        for b in member:
            rate[i, b] *= factor[group[i]]


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_intercept(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the mean of effect j over each part given all else, eps among it (Nunes 2018, eqs. 2.10 and 2.11)."""
    member, group, mean = model.member[model.first[j] : model.first[j + 1]], model.group, state.mean[j]
    rate, boost, total, shift = state.rate, state.boost, state.work[0], state.work[1]
    total[: mean.size] = 0.0
    for i in range(group.size):
        total[group[i]] += _expected(rate[i], boost[i], member)
    for p in range(mean.size):
        new, _ = log_concave(rng, model.group_totals[j, p], total[p] * np.exp(-mean[p]), model.mean_precision[j])
        shift[p] = new - mean[p]
    _lift(state.effect[j], mean, rate, member, group, shift)


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_centred_intercept(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the mean of effect j over each part given all intensities: what it gains, eps loses."""
    member, group, mean = model.member[model.first[j] : model.first[j + 1]], model.group, state.mean[j]
    eps, boost, total, shift, count = state.eps, state.boost, state.work[0], state.work[1], state.work[2]
    total[: mean.size] = 0.0
    count[: mean.size] = 0.0
    for i in range(group.size):
        for b in member:
            total[group[i]] += eps[i, b]
        count[group[i]] += member.size
    for p in range(mean.size):
        bend = count[p] * state.precision[-1] + model.mean_precision[j]
        pull = total[p] * state.precision[-1] - mean[p] * model.mean_precision[j]
        shift[p] = pull / bend + rng.standard_normal() / np.sqrt(bend)
    _lift(state.effect[j], mean, state.rate, member, group, shift)
    factor = np.exp(-shift[: mean.size])
    for i in range(group.size):
        for b in member:
            eps[i, b] -= shift[group[i]]
            boost[i, b] *= factor[group[i]]


@njit(REAL(_V, REAL, _I, _I, _I), **OPTIONS)  # type: ignore[untyped-decorator]
def roughness(effect: Floats, mean: float, start: Ints, neighbour: Ints, part: Ints) -> float:
    """Return the sum of squared differences over pairs of neighbours, and to the mean for cells without any."""
    total = 0.0
    for i in range(effect.size):
        if part[i] < 0:
            total += (effect[i] - mean) ** 2
        for at in range(start[i], start[i + 1]):
            total += 0.5 * (effect[i] - effect[neighbour[at]]) ** 2
    return total


@njit(NONE(RNG, MODEL, STATE), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_precisions(rng: Generator, model: Model, state: State) -> None:
    """Draw the precisions given effects and eps (Nunes 2018, eqs. 2.15 to 2.17, with the rank: cells less parts, not cells)."""
    gamma, parts = model.gamma, state.mean.shape[1]
    for j in range(state.effect.shape[0]):
        if model.smooth[j] == 1:
            rough = roughness(state.effect[j], state.mean[j, 0], model.start, model.neighbour, model.part)
            shape = gamma[0] + 0.5 * (model.part.size - parts)
            state.precision[j] = rng.standard_gamma(shape) / (gamma[1] + 0.5 * rough)
    squares = 0.0
    for value in state.eps.flat:
        squares += value * value
    state.precision[-1] = rng.standard_gamma(gamma[2] + 0.5 * state.eps.size) / (gamma[3] + 0.5 * squares)


@njit(types.boolean(RNG, _V, _V, _V, INT, REAL, REAL, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _accept(
    rng: Generator, gamma: Floats, precision: Floats, step: Floats, j: int, walk: float, gain: float, tune: float
) -> bool:  # fmt: skip
    """Decide on a walk of log precision j that gains so much likelihood; tune the next step in burn-in only."""
    at = 0 if j < precision.size - 1 else 2
    gain += gamma[at] * walk - gamma[at + 1] * precision[j] * (np.exp(walk) - 1.0)
    if tune > 0.0:
        step[j] *= np.exp(tune * (np.exp(min(gain, 0.0)) - AIM))
    if gain > -rng.standard_exponential():
        precision[j] *= np.exp(walk)
        return True
    return False


@njit(REAL(_V, _V, _V, _V, _V, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _level(mean: Floats, totals: Floats, before: Floats, after: Floats, shift: Floats, held: float) -> float:
    """Find the shifts of the means that leave the rows expected in each part as before; return what they gain."""
    gain = 0.0
    for p in range(mean.size):
        shift[p] = np.log(before[p] / after[p])
        gain += totals[p] * shift[p] - held * shift[p] * (mean[p] + 0.5 * shift[p])
    return gain


@njit(NONE(RNG, MODEL, STATE, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def scale_effect(rng: Generator, model: Model, state: State, j: int, tune: float) -> None:
    """Walk the precision of effect j with the whitened effect held: its distances to the mean widen or shrink with it.

    The mean moves too, so that the rows expected in a part stay; shifting by what does not depend on the
    mean itself keeps volumes.
    """
    member, group, mean = model.member[model.first[j] : model.first[j + 1]], model.group, state.mean[j]
    effect, rate, boost, totals = state.effect[j], state.rate, state.boost, model.totals[j]
    before, after, shift, factor = state.work[0], state.work[1], state.work[2], state.work[3]
    walk = state.step[j] * rng.standard_normal()
    scale = np.exp(-0.5 * walk)
    before[: mean.size] = 0.0
    after[: mean.size] = 0.0
    gain = 0.0
    for i in range(group.size):
        change = (scale - 1.0) * (effect[i] - mean[group[i]])
        expected = _expected(rate[i], boost[i], member)
        factor[i] = np.exp(change)
        before[group[i]] += expected
        after[group[i]] += expected * factor[i]
        gain += totals[i] * change
    gain += _level(mean, model.group_totals[j], before, after, shift, model.mean_precision[j])
    if _accept(rng, model.gamma, state.precision, state.step, j, walk, gain, tune):
        for i in range(group.size):
            effect[i] += (scale - 1.0) * (effect[i] - mean[group[i]])
            for b in member:
                rate[i, b] *= factor[i]
        state.apart[j] *= scale
        _lift(effect, mean, rate, member, group, shift)


@njit(NONE(RNG, MODEL, STATE, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def scale_eps(rng: Generator, model: Model, state: State, tune: float) -> None:
    """Walk the precision of eps with the whitened eps held; the common effect's mean keeps the rows expected."""
    counts, group, mean, last = model.counts, model.group, state.mean[0], state.effect.shape[0]
    eps, rate, boost, trial = state.eps, state.rate, state.boost, state.trial
    before, after, shift = state.work[0], state.work[1], state.work[2]
    walk = state.step[last] * rng.standard_normal()
    scale = np.exp(-0.5 * walk)
    before[: mean.size] = 0.0
    after[: mean.size] = 0.0
    gain = 0.0
    for i in range(counts.shape[0]):
        for b in range(counts.shape[1]):
            trial[i, b] = np.exp(scale * eps[i, b])
            before[group[i]] += rate[i, b] * boost[i, b]
            after[group[i]] += rate[i, b] * trial[i, b]
            gain += counts[i, b] * (scale - 1.0) * eps[i, b]
    gain += _level(mean, model.group_totals[0], before, after, shift, model.mean_precision[0])
    if _accept(rng, model.gamma, state.precision, state.step, last, walk, gain, tune):
        eps[:] *= scale
        boost[:] = trial
        _lift(state.effect[0], mean, rate, model.member[: model.first[1]], group, shift)


@njit(REAL(_V, _V, _I, _V, REAL, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _tilted(rate: Floats, boost: Floats, member: Ints, covariate: Floats, total: float, shift: float) -> float:
    """Return the gain of log likelihood when the slope of one cell shifts."""
    gain = total * shift
    for at in range(member.size):
        gain -= rate[member[at]] * boost[member[at]] * (np.exp(covariate[at] * shift) - 1.0)
    return gain


_SLOPE = (_M, _M, _I, _I, _V, _V, _I, _V)


@njit(REAL(*_SLOPE, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _gain(
    rate: Floats, boost: Floats, first: Ints, member: Ints, covariate: Floats, totals: Floats, cells: Ints, sign: Floats, shift: float
) -> float:  # fmt: skip
    """Return the gain of log likelihood when the slopes of some cells shift, by ``sign`` times as much each."""
    gain = 0.0
    for at in range(cells.size):
        i = cells[at]
        low, high = first[i], first[i + 1]
        gain += _tilted(rate[i], boost[i], member[low:high], covariate[low:high], totals[i], sign[at] * shift)
    return gain


@njit(REAL(RNG, *_SLOPE, REAL, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _draw_along(
    rng: Generator, rate: Floats, boost: Floats, first: Ints, member: Ints, covariate: Floats, totals: Floats, cells: Ints, sign: Floats,
    slope: float, bend: float,
) -> float:  # fmt: skip
    """Draw a shift of the slopes of some cells by slice sampling (Neal 2003, figs. 3 and 5), and put it into the rates.

    The log prior is slope x shift - bend x shift^2 / 2; it sets the width, and is all there is where no covariate is.
    """
    occupied = 0
    for i in cells:
        occupied += first[i + 1] - first[i]
    if occupied == 0:
        return float(slope / bend + rng.standard_normal() / np.sqrt(bend))
    width = 2.0 / np.sqrt(bend)
    floor = -rng.standard_exponential()
    low = -width * rng.random()
    high = low + width
    while _gain(rate, boost, first, member, covariate, totals, cells, sign, low) + low * (slope - 0.5 * bend * low) > floor:
        low -= width
    while _gain(rate, boost, first, member, covariate, totals, cells, sign, high) + high * (slope - 0.5 * bend * high) > floor:
        high += width
    shift = low + (high - low) * rng.random()
    while _gain(rate, boost, first, member, covariate, totals, cells, sign, shift) + shift * (slope - 0.5 * bend * shift) <= floor:
        low, high = (shift, high) if shift < 0.0 else (low, shift)
        shift = low + (high - low) * rng.random()
    for at in range(cells.size):
        i = cells[at]
        for c in range(first[i], first[i + 1]):
            rate[i, member[c]] *= np.exp(covariate[c] * sign[at] * shift)
    return float(shift)


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_slope(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the slopes of a covariate that are independent normals, cell by cell given all else."""
    base = (j - state.effect.shape[0] + model.slopes) * model.part.size
    first, effect, totals = model.slope_first[base : base + model.part.size + 1], state.effect[j], model.totals[j]
    precision, one, cells = state.precision[j], np.ones(1), np.zeros(1, np.int64)
    for i in range(model.part.size):
        cells[0] = i
        effect[i] += _draw_along(
            rng, state.rate, state.boost, first, model.slope_member, model.covariate, totals, cells, one, -precision * effect[i], precision
        )  # fmt: skip


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_smooth_slope(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the slopes of a covariate that are intrinsic CAR: neighbours against each other, then every cell and part by itself.

    The first kind of move keeps the means, so it serves also where they are held at 0; the others are left out there.
    """
    base = (j - state.effect.shape[0] + model.slopes) * model.part.size
    start, neighbour, part = model.start, model.neighbour, model.part
    first, effect, mean, totals = model.slope_first[base : base + part.size + 1], state.effect[j], state.mean[j], model.totals[j]
    precision, held = state.precision[j], model.mean_precision[j]
    cells, sign = np.zeros(2, np.int64), np.array([1.0, -1.0])
    for i in range(part.size):
        if part[i] < 0:
            slope, bend, many = -precision * (effect[i] - mean[0]), precision, 1
        else:
            other = neighbour[start[i] + int(rng.random() * (start[i + 1] - start[i]))]
            here = (start[i + 1] - start[i]) * effect[i] - _near(effect, neighbour, start[i], start[i + 1])
            there = (start[other + 1] - start[other]) * effect[other] - _near(effect, neighbour, start[other], start[other + 1])
            slope, many = -precision * (here - there), 2
            bend = precision * (start[i + 1] - start[i] + start[other + 1] - start[other] + 2)
            cells[1] = other
        cells[0] = i
        shift = _draw_along(
            rng, state.rate, state.boost, first, model.slope_member, model.covariate, totals, cells[:many], sign[:many], slope, bend
        )  # fmt: skip
        for at in range(many):
            effect[cells[at]] += sign[at] * shift
    if held > 0.0:
        for p in range(mean.size):
            whole = np.flatnonzero(model.group == p).astype(np.int64)
            shift = _draw_along(
                rng, state.rate, state.boost, first, model.slope_member, model.covariate, totals, whole, np.ones(whole.size),
                -held * mean[p], held,
            )  # fmt: skip
            mean[p] += shift
            effect[whole] += shift


@njit(NONE(RNG, MODEL, STATE, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def scale_slope(rng: Generator, model: Model, state: State, j: int, tune: float) -> None:
    """Walk the precision of slope j with the whitened slopes held."""
    base = (j - state.effect.shape[0] + model.slopes) * model.part.size
    first, effect, rate = model.slope_first[base : base + model.part.size + 1], state.effect[j], state.rate
    change, cells = state.work[0], np.arange(model.part.size)
    walk = state.step[j] * rng.standard_normal()
    for i in cells:
        change[i] = (np.exp(-0.5 * walk) - 1.0) * (effect[i] - state.mean[j, model.group[i]])
    gain = _gain(rate, state.boost, first, model.slope_member, model.covariate, model.totals[j], cells, change, 1.0)
    if _accept(rng, model.gamma, state.precision, state.step, j, walk, gain, tune):
        for i in cells:
            effect[i] += change[i]
            for at in range(first[i], first[i + 1]):
                rate[i, model.slope_member[at]] *= np.exp(model.covariate[at] * change[i])


@njit(NONE(MODEL, STATE), **OPTIONS)  # type: ignore[untyped-decorator]
def keep_books(model: Model, state: State) -> None:
    """Compute the means of the effects anew, so that rounding does not pile up."""
    part, size = model.part, model.size
    for j in range(state.effect.shape[0]):
        effect, mean = state.effect[j], state.mean[j]
        mean[:] = 0.0
        for i in range(part.size):
            if part[i] >= 0:
                mean[part[i]] += effect[i] / size[part[i]]
        apart = 0.0
        for i in range(part.size):
            if part[i] < 0:
                apart += effect[i] - mean[0]
        state.apart[j] = apart


@njit(NONE(RNG, MODEL, STATE, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def sweep(rng: Generator, model: Model, state: State, tune: float) -> None:
    """Advance the chain: every block given all others, and the moves that let precisions mix."""
    keep_books(model, state)
    draw_eps(rng, model, state)
    scale_eps(rng, model, state, tune)
    levels = state.effect.shape[0] - model.slopes
    for j in range(levels):
        draw_effect(rng, model, state, j)
        draw_intercept(rng, model, state, j)
        draw_centred_intercept(rng, model, state, j)
        scale_effect(rng, model, state, j, tune)
    for j in range(levels, state.effect.shape[0]):
        if model.smooth[j] == 1:
            draw_smooth_slope(rng, model, state, j)
            scale_slope(rng, model, state, j, tune)
        else:
            draw_slope(rng, model, state, j)
    draw_precisions(rng, model, state)


@njit(NONE(MODEL, STATE, _V), **OPTIONS)  # type: ignore[untyped-decorator]
def summarise(model: Model, state: State, trace: Floats) -> None:
    """Note the scalars of one sweep: log likelihood, log standard deviations, then of each effect the means and a contrast."""
    effects, cells = state.effect.shape
    parts = state.mean.shape[1]
    counts, rate, boost = model.counts, state.rate, state.boost
    trace[0] = 0.0
    for i in range(cells):
        for b in range(counts.shape[1]):
            expected = rate[i, b] * boost[i, b]
            trace[0] -= expected
            if counts[i, b] > 0.0:
                trace[0] += counts[i, b] * np.log(expected)
    for j in range(effects + 1):
        trace[1 + j] = -0.5 * np.log(state.precision[j])
    at = effects + 2
    for j in range(effects):
        for p in range(parts):
            trace[at] = state.mean[j, p]
            at += 1
        trace[at] = 0.0
        for i in range(cells):
            trace[at] += state.effect[j, i] / cells if 2 * i < cells else -state.effect[j, i] / cells
        at += 1


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def burn_in(rng: Generator, model: Model, state: State, sweeps: int) -> None:
    """Sweep and tune the steps, less and less (Robbins and Monro 1951)."""
    for number in range(sweeps):
        sweep(rng, model, state, min(0.5, 5.0 / (1.0 + number) ** 0.6))


@njit(NONE(RNG, MODEL, STATE, INT, _M, _M), **OPTIONS)  # type: ignore[untyped-decorator]
def run(rng: Generator, model: Model, state: State, thin: int, trace: Floats, total: Floats) -> None:
    """Sweep ``thin`` times for each row of the trace, and add the intensities at each to ``total``."""
    rate, boost = state.rate, state.boost
    for row in range(trace.shape[0]):
        for _ in range(thin):
            sweep(rng, model, state, 0.0)
        summarise(model, state, trace[row])
        for i in range(total.shape[0]):
            for b in range(total.shape[1]):
                total[i, b] += rate[i, b] * boost[i, b]
