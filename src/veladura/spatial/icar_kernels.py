"""Compiled sweeps of the disease-mapping model: arrays in, arrays changed in place.

Every intrinsic CAR effect u holds its own intercept: u_i = mu_p + theta_i for cell i of part p. The mean of u over
a part *is* the intercept and what is left sums to zero, so nothing has to be recentred (docs/methods/geography.md).
The intensity is kept as rate x boost: rate = exp(everything but eps), boost = exp(eps). Kernels that call each other
share this file because Numba's cache does not notice a change in another one.
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
    size: Floats  # P + 1: cells of each part, then those without neighbours
    first: Ints  # combinations of each effect, in compressed rows; none for slopes
    member: Ints
    totals: Floats  # F x G: counts of an effect's combinations, each times its covariate for slopes
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
    work: Floats  # 3 x G: work space


_I, _V, _M = types.int64[::1], types.float64[::1], types.float64[:, ::1]
MODEL = types.NamedTuple((_M, _I, _I, _I, _V, _I, _I, _M, _I, _I, _V, types.int64, _V, _I, _V), Model)
STATE = types.NamedTuple((_M, _M, _V, _V, _M, _M, _M, _M, _V, _M), State)
RNG, INT, REAL, NONE = types.npy_rng, types.int64, types.float64, types.void
PAIR = types.UniTuple(types.float64, 2)
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(PAIR(RNG, REAL, REAL, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def log_concave(rng: Generator, count: float, rate: float, precision: float) -> tuple[float, float]:
    """Draw t from a law proportional to exp(count t - rate e^t - precision t^2 / 2), exactly; return t and e^t.

    Both e^t and t^2 lie above their tangents. Replacing the one that bends less at the mode by its tangent leaves a
    normal law or the law of a log gamma variable to propose from; at least 1 / sqrt(2) are accepted, about.
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
            if 0.5 * precision * (new - mode) ** 2 < rng.standard_exponential():
                return new, high
    centre, spread = (count - bend) / precision, 1.0 / np.sqrt(precision)
    while True:
        new = centre + spread * rng.standard_normal()
        high = np.exp(new)
        if rate * high - bend * (1.0 + new - mode) < rng.standard_exponential():
            return new, high


@njit(NONE(RNG, MODEL, STATE), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_eps(rng: Generator, model: Model, state: State) -> None:
    """Draw every eps given all else."""
    cells, combinations = model.counts.shape
    precision = state.precision[-1]
    for i in range(cells):
        for b in range(combinations):
            state.eps[i, b], state.boost[i, b] = log_concave(rng, model.counts[i, b], state.rate[i, b], precision)


@njit(PAIR(MODEL, STATE, INT, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def _pull(model: Model, state: State, j: int, i: int) -> tuple[float, float]:
    """Return slope and curvature (its sign turned) of effect j's log prior in a shift of cell i."""
    precision, here, part = state.precision[j], state.effect[j, i], model.part[i]
    if model.smooth[j] == 0:
        return -precision * here, precision
    if part < 0:
        return -precision * (here - state.mean[j, 0]), precision
    near = 0.0
    for at in range(model.start[i], model.start[i + 1]):
        near += state.effect[j, model.neighbour[at]]
    degree, size = model.start[i + 1] - model.start[i], model.size[part]
    held = max(model.mean_precision[j], 0.0)
    slope = -precision * (degree * here - near) - held * state.mean[j, part] / size
    bend = precision * degree + held / (size * size)
    if part == 0:  # cells without neighbours are spread around the first part's mean, which this cell moves
        slope += precision * state.apart[j] / size
        bend += precision * model.size[-1] / (size * size)
    return slope, bend


@njit(NONE(MODEL, STATE, INT, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _move(model: Model, state: State, j: int, i: int, shift: float) -> None:
    """Shift effect j in cell i, keeping the books of its means."""
    state.effect[j, i] += shift
    part = model.part[i]
    if part < 0:
        state.apart[j] += shift
        return
    state.mean[j, part] += shift / model.size[part]
    if part == 0:
        state.apart[j] -= model.size[-1] * shift / model.size[0]


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_effect(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw effect j cell by cell given all else."""
    for i in range(model.counts.shape[0]):
        slope, bend = _pull(model, state, j, i)
        total = 0.0
        for at in range(model.first[j], model.first[j + 1]):
            total += state.rate[i, model.member[at]] * state.boost[i, model.member[at]]
        back = np.exp(slope / bend)  # from here to the prior's mean given the neighbours
        new, high = log_concave(rng, model.totals[j, i], total * back, bend)
        for at in range(model.first[j], model.first[j + 1]):
            state.rate[i, model.member[at]] *= high * back
        _move(model, state, j, i, new + slope / bend)


@njit(NONE(MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def _sum_expected(model: Model, state: State, j: int) -> None:
    """Put the expected counts of effect j's combinations by cell into the first row of the work space."""
    for i in range(model.counts.shape[0]):
        total = 0.0
        for at in range(model.first[j], model.first[j + 1]):
            total += state.rate[i, model.member[at]] * state.boost[i, model.member[at]]
        state.work[0, i] = total


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_intercept(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the mean of effect j over each part given all else, eps among it."""
    cells, combinations, parts = model.counts.shape[0], model.first[j + 1] - model.first[j], state.mean.shape[1]
    _sum_expected(model, state, j)
    for p in range(parts):
        total, count = 0.0, 0.0
        for i in range(cells):
            if max(model.part[i], 0) == p:
                total += state.work[0, i]
                count += model.totals[j, i]
        new, high = log_concave(rng, count, total * np.exp(-state.mean[j, p]), model.mean_precision[j])
        shift, factor = new - state.mean[j, p], high * np.exp(-state.mean[j, p])
        state.mean[j, p] = new
        for i in range(cells):
            if max(model.part[i], 0) == p:
                state.effect[j, i] += shift
                for at in range(model.first[j], model.first[j] + combinations):
                    state.rate[i, model.member[at]] *= factor


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_centred_intercept(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the mean of effect j over each part given all intensities: what it gains, eps loses."""
    cells = model.counts.shape[0]
    for p in range(state.mean.shape[1]):
        total, count = 0.0, 0.0
        for i in range(cells):
            if max(model.part[i], 0) == p:
                for at in range(model.first[j], model.first[j + 1]):
                    total += state.eps[i, model.member[at]]
                    count += 1.0
        bend = count * state.precision[-1] + model.mean_precision[j]
        pull = total * state.precision[-1] - state.mean[j, p] * model.mean_precision[j]
        shift = pull / bend + rng.standard_normal() / np.sqrt(bend)
        factor = np.exp(shift)
        state.mean[j, p] += shift
        for i in range(cells):
            if max(model.part[i], 0) == p:
                state.effect[j, i] += shift
                for at in range(model.first[j], model.first[j + 1]):
                    b = model.member[at]
                    state.eps[i, b] -= shift
                    state.rate[i, b] *= factor
                    state.boost[i, b] /= factor


@njit(REAL(MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def roughness(model: Model, state: State, j: int) -> float:
    """Return the sum over neighbours of squared differences of effect j, with that of cells without neighbours to the mean."""
    total = 0.0
    for i in range(model.counts.shape[0]):
        here = state.effect[j, i]
        if model.part[i] < 0:
            total += (here - state.mean[j, 0]) ** 2
        for at in range(model.start[i], model.start[i + 1]):
            total += 0.5 * (here - state.effect[j, model.neighbour[at]]) ** 2
    return total


@njit(NONE(RNG, MODEL, STATE), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_precisions(rng: Generator, model: Model, state: State) -> None:
    """Draw the precisions given effects and eps; the rank of an intrinsic CAR law is cells less parts."""
    cells, parts = model.counts.shape[0], state.mean.shape[1]
    for j in range(state.effect.shape[0]):
        if model.smooth[j] == 1:
            shape, rate = model.gamma[0] + 0.5 * (cells - parts), model.gamma[1] + 0.5 * roughness(model, state, j)
            state.precision[j] = rng.standard_gamma(shape) / rate
    squares = 0.0
    for value in state.eps.flat:
        squares += value * value
    state.precision[-1] = rng.standard_gamma(model.gamma[2] + 0.5 * state.eps.size) / (model.gamma[3] + 0.5 * squares)


@njit(types.boolean(RNG, MODEL, STATE, INT, REAL, REAL, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _accept(rng: Generator, model: Model, state: State, j: int, walk: float, gain: float, tune: float) -> bool:
    """Decide on a walk of log precision j that gains so much likelihood; tune the next step in burn-in only."""
    at = 0 if j < state.effect.shape[0] else 2
    gain += model.gamma[at] * walk - model.gamma[at + 1] * state.precision[j] * (np.exp(walk) - 1.0)
    taken = gain > -rng.standard_exponential()
    if tune > 0.0:
        state.step[j] *= np.exp(tune * (min(1.0, np.exp(min(gain, 0.0))) - AIM))
    if taken:
        state.precision[j] *= np.exp(walk)
    return taken


@njit(REAL(MODEL, STATE, INT, REAL, REAL, REAL, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def _level(model: Model, state: State, j: int, count: float, before: float, after: float, p: int) -> float:
    """Return what is gained when the mean of effect j over part p moves so that as many rows are expected as before."""
    shift = np.log(before / after)
    state.work[2, p] = shift
    return float(count * shift - model.mean_precision[j] * shift * (state.mean[j, p] + 0.5 * shift))


@njit(NONE(RNG, MODEL, STATE, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def scale_effect(rng: Generator, model: Model, state: State, j: int, tune: float) -> None:
    """Walk the precision of effect j with the whitened effect held: its distances to the mean widen or shrink with it.

    The mean moves too, so that the rows expected in a part stay; shifting by what does not depend on the
    mean itself keeps volumes.
    """
    walk = state.step[j] * rng.standard_normal()
    scale = np.exp(-0.5 * walk)
    _sum_expected(model, state, j)
    gain = 0.0
    for p in range(state.mean.shape[1]):
        before, after, count = 0.0, 0.0, 0.0
        for i in range(model.counts.shape[0]):
            if max(model.part[i], 0) == p:
                shift = (scale - 1.0) * (state.effect[j, i] - state.mean[j, p])
                state.work[1, i] = np.exp(shift)
                before += state.work[0, i]
                after += state.work[0, i] * state.work[1, i]
                count += model.totals[j, i]
                gain += model.totals[j, i] * shift
        gain += _level(model, state, j, count, before, after, p)
    if _accept(rng, model, state, j, walk, gain, tune):
        state.apart[j] *= scale
        for i in range(model.counts.shape[0]):
            p = max(model.part[i], 0)
            factor = state.work[1, i] * np.exp(state.work[2, p])
            state.effect[j, i] = state.mean[j, p] + state.work[2, p] + scale * (state.effect[j, i] - state.mean[j, p])
            for at in range(model.first[j], model.first[j + 1]):
                state.rate[i, model.member[at]] *= factor
        for p in range(state.mean.shape[1]):
            state.mean[j, p] += state.work[2, p]


@njit(NONE(RNG, MODEL, STATE, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def scale_eps(rng: Generator, model: Model, state: State, tune: float) -> None:
    """Walk the precision of eps with the whitened eps held; the common effect's mean keeps the rows expected."""
    cells, combinations = model.counts.shape
    last = state.effect.shape[0]
    walk = state.step[last] * rng.standard_normal()
    scale = np.exp(-0.5 * walk)
    gain = 0.0
    for p in range(state.mean.shape[1]):
        before, after, count = 0.0, 0.0, 0.0
        for i in range(cells):
            if max(model.part[i], 0) == p:
                for b in range(combinations):
                    state.trial[i, b] = np.exp(scale * state.eps[i, b])
                    before += state.rate[i, b] * state.boost[i, b]
                    after += state.rate[i, b] * state.trial[i, b]
                    gain += model.counts[i, b] * (scale - 1.0) * state.eps[i, b]
                count += model.totals[0, i]
        gain += _level(model, state, 0, count, before, after, p)
    if _accept(rng, model, state, last, walk, gain, tune):
        state.eps[:] *= scale
        state.boost[:] = state.trial
        for i in range(cells):
            shift = state.work[2, max(model.part[i], 0)]
            state.effect[0, i] += shift
            state.rate[i] *= np.exp(shift)
        for p in range(state.mean.shape[1]):
            state.mean[0, p] += state.work[2, p]


@njit(REAL(MODEL, STATE, INT, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _gain_of_slope(model: Model, state: State, j: int, i: int, shift: float) -> float:
    """Return the gain of log likelihood when slope j of cell i shifts."""
    row = (j - (state.effect.shape[0] - model.slopes)) * model.counts.shape[0] + i
    gain = float(model.totals[j, i] * shift)
    for at in range(model.slope_first[row], model.slope_first[row + 1]):
        b = model.slope_member[at]
        gain -= state.rate[i, b] * state.boost[i, b] * (np.exp(model.covariate[at] * shift) - 1.0)
    return gain


@njit(NONE(MODEL, STATE, INT, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _tilt(model: Model, state: State, j: int, i: int, shift: float) -> None:
    """Put a shift of slope j of cell i into the rates."""
    row = (j - (state.effect.shape[0] - model.slopes)) * model.counts.shape[0] + i
    for at in range(model.slope_first[row], model.slope_first[row + 1]):
        state.rate[i, model.slope_member[at]] *= np.exp(model.covariate[at] * shift)


@njit(REAL(MODEL, STATE, INT, INT, INT, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _gain_along(model: Model, state: State, j: int, i: int, other: int, p: int, shift: float) -> float:
    """Return the likelihood gained when slope j shifts in cell i (and back in ``other``, if any), or in all of part p."""
    if i >= 0:
        gain = _gain_of_slope(model, state, j, i, shift)
        return float(gain + _gain_of_slope(model, state, j, other, -shift)) if other >= 0 else float(gain)
    gain = 0.0
    for cell in range(model.counts.shape[0]):
        if max(model.part[cell], 0) == p:
            gain += _gain_of_slope(model, state, j, cell, shift)
    return float(gain)


@njit(REAL(RNG, MODEL, STATE, INT, INT, INT, INT, REAL, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def _slice(rng: Generator, model: Model, state: State, j: int, i: int, other: int, p: int, slope: float, bend: float) -> float:
    """Draw a shift along one direction by slice sampling (Neal 2003, figs. 3 and 5); the prior sets the width."""
    width = 2.0 / np.sqrt(bend)
    floor = -rng.standard_exponential()
    low = float(-width * rng.random())
    high = float(low + width)
    while _gain_along(model, state, j, i, other, p, low) + low * (slope - 0.5 * bend * low) > floor:
        low -= width
    while _gain_along(model, state, j, i, other, p, high) + high * (slope - 0.5 * bend * high) > floor:
        high += width
    while True:
        shift = low + (high - low) * rng.random()
        if _gain_along(model, state, j, i, other, p, shift) + shift * (slope - 0.5 * bend * shift) > floor:
            return shift
        if shift < 0.0:
            low = shift
        else:
            high = shift


@njit(NONE(RNG, MODEL, STATE, INT), **OPTIONS)  # type: ignore[untyped-decorator]
def draw_slope(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw slope j cell by cell, each against a neighbour where the mean is held at 0; then their means."""
    cells = model.counts.shape[0]
    for i in range(cells):
        slope, bend = _pull(model, state, j, i)
        other = -1
        if model.mean_precision[j] < 0.0 and model.part[i] >= 0:
            other = model.neighbour[model.start[i] + int(rng.random() * (model.start[i + 1] - model.start[i]))]
            slope_there, bend_there = _pull(model, state, j, other)
            slope -= slope_there
            bend += bend_there + 2.0 * state.precision[j]
            if model.part[i] == 0:  # the first part's mean stays, and so does what hangs on it
                bend -= 2.0 * state.precision[j] * model.size[-1] / (model.size[0] * model.size[0])
        shift = _slice(rng, model, state, j, i, other, 0, slope, bend)
        _tilt(model, state, j, i, shift)
        _move(model, state, j, i, shift)
        if other >= 0:
            _tilt(model, state, j, other, -shift)
            _move(model, state, j, other, -shift)
    if model.smooth[j] == 1 and model.mean_precision[j] > 0.0:
        for p in range(state.mean.shape[1]):
            shift = _slice(rng, model, state, j, -1, -1, p, -model.mean_precision[j] * state.mean[j, p], model.mean_precision[j])
            state.mean[j, p] += shift
            for i in range(cells):
                if max(model.part[i], 0) == p:
                    state.effect[j, i] += shift
                    _tilt(model, state, j, i, shift)


@njit(NONE(RNG, MODEL, STATE, INT, REAL), **OPTIONS)  # type: ignore[untyped-decorator]
def scale_slope(rng: Generator, model: Model, state: State, j: int, tune: float) -> None:
    """Walk the precision of slope j with the whitened slopes held."""
    walk = state.step[j] * rng.standard_normal()
    scale = np.exp(-0.5 * walk)
    gain = 0.0
    for i in range(model.counts.shape[0]):
        state.work[0, i] = (scale - 1.0) * (state.effect[j, i] - state.mean[j, max(model.part[i], 0)])
        gain += _gain_of_slope(model, state, j, i, state.work[0, i])
    if _accept(rng, model, state, j, walk, gain, tune):
        state.apart[j] *= scale
        for i in range(model.counts.shape[0]):
            state.effect[j, i] += state.work[0, i]
            _tilt(model, state, j, i, state.work[0, i])


@njit(NONE(MODEL, STATE), **OPTIONS)  # type: ignore[untyped-decorator]
def keep_books(model: Model, state: State) -> None:
    """Compute the means of the effects anew, so that rounding does not pile up."""
    state.mean[:] = 0.0
    state.apart[:] = 0.0
    for j in range(state.effect.shape[0]):
        for i in range(model.counts.shape[0]):
            if model.part[i] >= 0:
                state.mean[j, model.part[i]] += state.effect[j, i] / model.size[model.part[i]]
        for i in range(model.counts.shape[0]):
            if model.part[i] < 0:
                state.apart[j] += state.effect[j, i] - state.mean[j, 0]


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
        draw_slope(rng, model, state, j)
        if model.smooth[j] == 1:
            scale_slope(rng, model, state, j, tune)
    draw_precisions(rng, model, state)


@njit(NONE(MODEL, STATE, _V), **OPTIONS)  # type: ignore[untyped-decorator]
def summarise(model: Model, state: State, trace: Floats) -> None:
    """Note the scalars of one sweep: log likelihood, log standard deviations, then of each effect the means and a contrast."""
    effects, cells = state.effect.shape
    parts = state.mean.shape[1]
    trace[0] = 0.0
    for i in range(cells):
        for b in range(model.counts.shape[1]):
            expected = state.rate[i, b] * state.boost[i, b]
            trace[0] -= expected
            if model.counts[i, b] > 0.0:
                trace[0] += model.counts[i, b] * np.log(expected)
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
    for row in range(trace.shape[0]):
        for _ in range(thin):
            sweep(rng, model, state, 0.0)
        summarise(model, state, trace[row])
        for i in range(total.shape[0]):
            for b in range(total.shape[1]):
                total[i, b] += state.rate[i, b] * state.boost[i, b]
