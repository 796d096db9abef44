"""Compiled sweeps of the disease-mapping model: arrays in, arrays changed in place.

Every intrinsic CAR effect u holds its own intercept: u_i = mu_p + theta_i for cell i of part p. The
mean of u over a part *is* the intercept and what is left sums to zero, so nothing has to be
recentred (docs/methods/geography.md). The intensity is kept as rate x boost: rate = exp(everything
but eps), boost = exp(eps). Kernels that call each other share this file because Numba's cache does
not notice a change in another one; those of slopes are handed to `run`, so that a model without any
does not wait for them.

Written to be quick to compile, too: scalar loops where slices and array expressions would do, and
no array made anew.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled, handed, inner
from veladura.methods.geography.icar_arrays import (
    AFTER,
    BEFORE,
    BOOL,
    DRAW,
    FACTOR,
    FLOATS,
    INT,
    INTS,
    MODEL,
    NONE,
    REAL,
    RNG,
    SHIFT,
    STATE,
    TABLE,
    WEIGH,
    WIDEN,
    Draw,
    Model,
    State,
    Weigh,
    Widen,
)

NEAR = 0.05  # how near the mode a tangent point has to be
ROUNDS = 60
AIM = 0.44  # accepted share that suits a random walk in one dimension (Roberts and Rosenthal 2001)


@inner(types.UniTuple(REAL, 2)(RNG, REAL, REAL, REAL))
def log_concave(rng: Generator, count: float, rate: float, precision: float) -> tuple[float, float]:
    """Draw t with density proportional to exp(count t - rate e^t - precision t^2 / 2), exactly.

    Returns t and e^t. Both e^t and t^2 lie above their tangents. Replacing the one that bends less
    at the mode by its tangent leaves a normal law or the law of a log gamma variable to propose
    from; at least 1 / sqrt(2) are accepted, about. What is not a number is accepted, so that a
    chain that diverges ends, with a warning, instead of hanging.
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


@inner(NONE(RNG, MODEL, STATE))
def draw_eps(rng: Generator, model: Model, state: State) -> None:
    """Draw every eps given all else (Nunes 2018, eq. 2.14)."""
    counts, rate, eps, boost, precision = (
        model.counts,
        state.rate,
        state.eps,
        state.boost,
        state.precision[-1],
    )
    for i in range(counts.shape[0]):
        for b in range(counts.shape[1]):
            eps[i, b], boost[i, b] = log_concave(rng, counts[i, b], rate[i, b], precision)


@inner(REAL(TABLE, TABLE, INT, INTS, INT, INT))
def _expected(rate: Floats, boost: Floats, i: int, member: Ints, low: int, high: int) -> float:
    """Return the rows expected of some combinations in cell i."""
    total = 0.0
    for at in range(low, high):
        total += rate[i, member[at]] * boost[i, member[at]]
    return total


@handed(DRAW)
def draw_effect(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw effect j cell by cell given all else (Nunes 2018, eqs. 2.12 and 2.13).

    A cell moves the mean of its part, which has a prior and on which cells without neighbours hang.
    """
    start, neighbour, part, size = model.start, model.neighbour, model.part, model.size
    member, low, high, totals = model.member, model.first[j], model.first[j + 1], model.totals
    effect, mean, rate, boost = state.effect, state.mean, state.rate, state.boost
    precision, held, alone, apart = (
        state.precision[j],
        model.mean_precision[j],
        size[-1],
        state.apart[j],
    )
    for i in range(part.size):
        p = part[i]
        if p < 0:
            slope, bend = -precision * (effect[j, i] - mean[j, 0]), precision
        else:
            degree, share = start[i + 1] - start[i], 1.0 / size[p]
            near = 0.0
            for at in range(start[i], start[i + 1]):
                near += effect[j, neighbour[at]]
            slope = -precision * (degree * effect[j, i] - near) - held * mean[j, p] * share
            bend = precision * degree + held * share * share
            if p == 0:
                slope += precision * apart * share
                bend += precision * alone * share * share
        away = slope / bend  # from here to the prior's mean given the neighbours
        back = np.exp(away)
        new, rise = log_concave(
            rng, totals[j, i], _expected(rate, boost, i, member, low, high) * back, bend
        )
        factor, shift = rise * back, new + away
        for at in range(low, high):
            rate[i, member[at]] *= factor
        effect[j, i] += shift
        if p < 0:
            apart += shift
        else:
            mean[j, p] += shift / size[p]
            if p == 0:
                apart -= alone * shift / size[0]
    state.apart[j] = apart


@inner(NONE(TABLE, TABLE, TABLE, TABLE, INTS, INTS, INTS, INT))
def _lift(
    effect: Floats,
    mean: Floats,
    rate: Floats,
    work: Floats,
    group: Ints,
    first: Ints,
    member: Ints,
    j: int,
) -> None:
    """Shift effect j by group, in the rates too."""
    for p in range(mean.shape[1]):
        mean[j, p] += work[SHIFT, p]
        work[FACTOR, p] = np.exp(work[SHIFT, p])
    for i in range(group.size):
        effect[j, i] += work[SHIFT, group[i]]
        factor = work[FACTOR, group[i]]
        for at in range(first[j], first[j + 1]):
            rate[i, member[at]] *= factor


@inner(DRAW)
def draw_intercept(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the mean of effect j over each part given all else, eps included.

    Nunes (2018), eqs. 2.10 and 2.11.
    """
    member, low, high, group = model.member, model.first[j], model.first[j + 1], model.group
    mean, rate, boost, work = state.mean, state.rate, state.boost, state.work
    for p in range(mean.shape[1]):
        work[BEFORE, p] = 0.0
    for i in range(group.size):
        work[BEFORE, group[i]] += _expected(rate, boost, i, member, low, high)
    for p in range(mean.shape[1]):
        new, _ = log_concave(
            rng,
            model.group_totals[j, p],
            work[BEFORE, p] * np.exp(-mean[j, p]),
            model.mean_precision[j],
        )
        work[SHIFT, p] = new - mean[j, p]
    _lift(
        state.effect, state.mean, state.rate, state.work, model.group, model.first, model.member, j
    )


@inner(DRAW)
def draw_centred_intercept(rng: Generator, model: Model, state: State, j: int) -> None:
    """Draw the mean of effect j over each part given all intensities: what it gains, eps loses."""
    member, low, high, group = model.member, model.first[j], model.first[j + 1], model.group
    mean, eps, boost, work = state.mean, state.eps, state.boost, state.work
    precision, held = state.precision[-1], model.mean_precision[j]
    for p in range(mean.shape[1]):
        work[BEFORE, p] = 0.0
        work[AFTER, p] = 0.0
    for i in range(group.size):
        total = work[BEFORE, group[i]]
        for at in range(low, high):
            total += eps[i, member[at]]
        work[BEFORE, group[i]] = total
        work[AFTER, group[i]] += high - low
    for p in range(mean.shape[1]):
        bend = work[AFTER, p] * precision + held
        pull = work[BEFORE, p] * precision - mean[j, p] * held
        work[SHIFT, p] = pull / bend + rng.standard_normal() / np.sqrt(bend)
    _lift(
        state.effect, state.mean, state.rate, state.work, model.group, model.first, model.member, j
    )
    for p in range(mean.shape[1]):
        work[FACTOR, p] = np.exp(-work[SHIFT, p])
    for i in range(group.size):
        shift, factor = work[SHIFT, group[i]], work[FACTOR, group[i]]
        for at in range(low, high):
            eps[i, member[at]] -= shift
            boost[i, member[at]] *= factor


@inner(NONE(RNG, TABLE, FLOATS, INT, REAL, REAL))
def draw_precision(
    rng: Generator, prior: Floats, precision: Floats, j: int, rank: float, squares: float
) -> None:
    """Draw precision j given the squares of its effect.

    The prior's last part, exp(-c tau^(-1/2)), is no gamma law: the draw of the rest is accepted
    with the ratio of it, and without that part always.
    """
    shape, pull = prior[j, 0] + 0.5 * rank, prior[j, 2]
    if shape <= 0.0:
        return
    new = rng.standard_gamma(shape) / (prior[j, 1] + 0.5 * squares)
    if (
        pull == 0.0
        or pull * (1.0 / np.sqrt(new) - 1.0 / np.sqrt(precision[j])) < rng.standard_exponential()
    ):
        precision[j] = new


@inner(NONE(RNG, MODEL, STATE))
def draw_precisions(rng: Generator, model: Model, state: State) -> None:
    """Draw the precisions given effects and eps (Nunes 2018, eqs. 2.15 to 2.17).

    The rank of an effect is the number of cells less that of parts, not the number of cells.
    """
    prior, start, neighbour, part = model.scale_prior, model.start, model.neighbour, model.part
    effect, eps, precision = state.effect, state.eps, state.precision
    for j in range(effect.shape[0]):
        if model.smooth[j] == 1:
            # squared differences over pairs of neighbours, and to the mean for cells without any
            rough = 0.0
            for i in range(part.size):
                if part[i] < 0:
                    rough += (effect[j, i] - state.mean[j, 0]) ** 2
                for at in range(start[i], start[i + 1]):
                    rough += 0.5 * (effect[j, i] - effect[j, neighbour[at]]) ** 2
            rank = float(part.size - state.mean.shape[1])
            draw_precision(rng, prior, precision, j, rank, rough)
    squares = 0.0
    for i in range(eps.shape[0]):
        for b in range(eps.shape[1]):
            squares += eps[i, b] * eps[i, b]
    draw_precision(rng, prior, precision, effect.shape[0], float(eps.size), squares)


@inner(REAL(TABLE, TABLE, TABLE, REAL, INT))
def _level(mean: Floats, group_totals: Floats, work: Floats, held: float, j: int) -> float:
    """Return the gain from shifts of effect j's means that keep the expected counts by part."""
    gain = 0.0
    for p in range(mean.shape[1]):
        shift = np.log(work[BEFORE, p] / work[AFTER, p])
        gain += group_totals[j, p] * shift - held * shift * (mean[j, p] + 0.5 * shift)
        work[SHIFT, p] = shift
    return gain


@handed(WEIGH)
def weigh_effect(model: Model, state: State, j: int, walk: float) -> float:
    """Return the gain of log likelihood from a step of log precision j with the effect whitened.

    The distances of the effect to its mean widen or shrink.

    The mean moves too, so that the rows expected in a part stay; shifting by what does not depend
    on the mean itself keeps volumes.
    """
    member, low, high, group = model.member, model.first[j], model.first[j + 1], model.group
    effect, mean, rate, boost, work = state.effect, state.mean, state.rate, state.boost, state.work
    scale = np.exp(-0.5 * walk)
    for p in range(mean.shape[1]):
        work[BEFORE, p] = 0.0
        work[AFTER, p] = 0.0
    gain = 0.0
    for i in range(group.size):
        change = (scale - 1.0) * (effect[j, i] - mean[j, group[i]])
        expected = _expected(rate, boost, i, member, low, high)
        work[FACTOR, i] = np.exp(change)
        work[BEFORE, group[i]] += expected
        work[AFTER, group[i]] += expected * work[FACTOR, i]
        gain += model.totals[j, i] * change
    return float(gain + _level(state.mean, model.group_totals, work, model.mean_precision[j], j))


@handed(WIDEN)
def widen_effect(model: Model, state: State, j: int, walk: float) -> None:
    """Do what `weigh_effect` has weighed."""
    member, low, high, group = model.member, model.first[j], model.first[j + 1], model.group
    effect, mean, rate, work = state.effect, state.mean, state.rate, state.work
    scale = np.exp(-0.5 * walk)
    for i in range(group.size):
        effect[j, i] += (scale - 1.0) * (effect[j, i] - mean[j, group[i]])
        factor = work[FACTOR, i]
        for at in range(low, high):
            rate[i, member[at]] *= factor
    state.apart[j] *= scale
    _lift(
        state.effect, state.mean, state.rate, state.work, model.group, model.first, model.member, j
    )


@inner(WEIGH)
def weigh_eps(model: Model, state: State, j: int, walk: float) -> float:
    """Return the gain of log likelihood from a step of the log precision of eps, eps whitened.

    Effect j shifts so that the expected counts stay.
    """
    counts, group = model.counts, model.group
    eps, rate, boost, trial, work = state.eps, state.rate, state.boost, state.trial, state.work
    scale = np.exp(-0.5 * walk)
    for p in range(state.mean.shape[1]):
        work[BEFORE, p] = 0.0
        work[AFTER, p] = 0.0
    gain = 0.0
    for i in range(counts.shape[0]):
        before, after = work[BEFORE, group[i]], work[AFTER, group[i]]
        for b in range(counts.shape[1]):
            high = np.exp(scale * eps[i, b])
            before += rate[i, b] * boost[i, b]
            after += rate[i, b] * high
            gain += counts[i, b] * (scale - 1.0) * eps[i, b]
            trial[i, b] = high
        work[BEFORE, group[i]], work[AFTER, group[i]] = before, after
    return float(gain + _level(state.mean, model.group_totals, work, model.mean_precision[j], j))


@inner(WIDEN)
def widen_eps(model: Model, state: State, j: int, walk: float) -> None:
    """Do what `weigh_eps` has weighed."""
    eps, boost, trial = state.eps, state.boost, state.trial
    scale = np.exp(-0.5 * walk)
    for i in range(eps.shape[0]):
        for b in range(eps.shape[1]):
            eps[i, b] *= scale
            boost[i, b] = trial[i, b]
    _lift(
        state.effect, state.mean, state.rate, state.work, model.group, model.first, model.member, j
    )


@inner(REAL(RNG, FLOATS, INT))
def _walk(rng: Generator, step: Floats, j: int) -> float:
    """Propose a step of log precision j."""
    return float(step[j] * rng.standard_normal())


@inner(BOOL(RNG, TABLE, FLOATS, FLOATS, INT, REAL, REAL, REAL))
def _accept(
    rng: Generator,
    prior: Floats,
    precision: Floats,
    step: Floats,
    j: int,
    walk: float,
    gain: float,
    tune: float,
) -> bool:
    """Accept or reject a step of log precision j; tune the step size in burn-in only."""
    gain += prior[j, 0] * walk - prior[j, 1] * precision[j] * (np.exp(walk) - 1.0)
    if prior[j, 2] > 0.0:
        gain -= prior[j, 2] / np.sqrt(precision[j]) * (np.exp(-0.5 * walk) - 1.0)
    if tune > 0.0:
        step[j] *= np.exp(tune * (np.exp(min(gain, 0.0)) - AIM))
    if gain > -rng.standard_exponential():
        precision[j] *= np.exp(walk)
        return True
    return False


@inner(NONE(MODEL, STATE))
def keep_books(model: Model, state: State) -> None:
    """Compute the means of the effects anew, so that rounding does not pile up."""
    part, size, effect, mean = model.part, model.size, state.effect, state.mean
    for j in range(effect.shape[0]):
        for p in range(mean.shape[1]):
            mean[j, p] = 0.0
        for i in range(part.size):
            if part[i] >= 0:
                mean[j, part[i]] += effect[j, i] / size[part[i]]
        apart = 0.0
        for i in range(part.size):
            if part[i] < 0:
                apart += effect[j, i] - mean[j, 0]
        state.apart[j] = apart


@inner(NONE(MODEL, STATE, FLOATS))
def summarise(model: Model, state: State, trace: Floats) -> None:
    """Record the scalars of one sweep.

    Log likelihood, log standard deviations, then for each effect its means and a contrast.
    """
    effect, mean, counts, rate, boost = (
        state.effect,
        state.mean,
        model.counts,
        state.rate,
        state.boost,
    )
    effects, cells = effect.shape
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
        for p in range(mean.shape[1]):
            trace[at] = mean[j, p]
            at += 1
        trace[at] = 0.0
        for i in range(cells):
            trace[at] += effect[j, i] / cells if 2 * i < cells else -effect[j, i] / cells
        at += 1


@inner(NONE(STATE, TABLE))
def _add(state: State, total: Floats) -> None:
    """Add the intensities to a total."""
    rate, boost = state.rate, state.boost
    for i in range(total.shape[0]):
        for b in range(total.shape[1]):
            total[i, b] += rate[i, b] * boost[i, b]


@compiled(
    NONE(
        RNG,
        MODEL,
        STATE,
        *(types.FunctionType(kind) for kind in (DRAW, WEIGH, WIDEN)),
        INT,
        INT,
        TABLE,
        TABLE,
    )
)
def run(
    rng: Generator,
    model: Model,
    state: State,
    draw_slope: Draw,
    weigh_slope: Weigh,
    widen_slope: Widen,
    burn: int,
    thin: int,
    trace: Floats,
    total: Floats,
) -> None:
    """Sweep: every block given all others, and the moves that let precisions mix.

    The first ``burn`` sweeps tune the steps, less and less (Robbins and Monro 1951); then every
    ``thin``-th is kept, as many as the trace has rows, and its intensities are added to ``total``.
    The kernels of slopes come from icar_slopes.py.
    """
    effects, prior, precision, step = (
        state.effect.shape[0],
        model.scale_prior,
        state.precision,
        state.step,
    )
    for number in range(burn + thin * trace.shape[0]):
        tune = min(0.5, 5.0 / (1.0 + number) ** 0.6) if number < burn else 0.0
        keep_books(model, state)
        draw_eps(rng, model, state)
        walk = _walk(rng, step, effects)
        if _accept(
            rng, prior, precision, step, effects, walk, weigh_eps(model, state, 0, walk), tune
        ):
            widen_eps(model, state, 0, walk)
        for j in range(effects - model.slopes):
            draw_effect(rng, model, state, j)
            draw_intercept(rng, model, state, j)
            draw_centred_intercept(rng, model, state, j)
            walk = _walk(rng, step, j)
            if _accept(
                rng, prior, precision, step, j, walk, weigh_effect(model, state, j, walk), tune
            ):
                widen_effect(model, state, j, walk)
        for j in range(effects - model.slopes, effects):
            draw_slope(rng, model, state, j)
            if model.smooth[j] == 1:
                walk = _walk(rng, step, j)
                if _accept(
                    rng, prior, precision, step, j, walk, weigh_slope(model, state, j, walk), tune
                ):
                    widen_slope(model, state, j, walk)
        draw_precisions(rng, model, state)
        if number >= burn and (number - burn) % thin == thin - 1:
            summarise(model, state, trace[(number - burn) // thin])
            _add(state, total)
