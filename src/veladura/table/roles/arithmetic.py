"""Whether whole numbers count or measure something, or are codes without arithmetic."""

from __future__ import annotations

from math import gcd

import numpy as np

from veladura.base.arrays import Floats, Ints

_LUMPY = 3.0  # exact repeats against near ones: a smooth distribution has about one
_JAGGED = 6.0  # squared differences of neighbouring frequencies against chance
_ROUND = 5  # a step that counts as rounding
_FULL = 0.7  # share of the range that is filled
_OFTEN = 8  # rows of a value beside which chance leaves no gap
_MOST_CODES = 0.6  # distinct values a row
_FEW_LEVELS = 5
_MANY_LEVELS = 30
_CHANCE = 3  # standard errors
_MOST_RESERVED = 3  # "refused", "does not know", "not asked"


def is_nominal(levels: Ints, sizes: Ints) -> bool:
    """Whether whole numbers are codes: they repeat exactly, and not because they are round.

    In a smooth distribution pairs of rows with the same value are about as many as pairs whose
    values differ by a small given step. Codes and rounded amounts repeat exactly; amounts are
    round.
    """
    if levels.size < 3 or levels.size > _MOST_CODES * sizes.sum():  # noqa: PLR2004
        return False
    levels, sizes = _without_zero(levels, sizes)
    if is_rounded(levels, sizes):
        return False
    if (step := gcd(*np.diff(levels).tolist())) > 1:
        levels = (levels - levels[0]) // step
    if levels.size > _FULL * (int(levels[-1] - levels[0]) + 1):
        return _is_jagged(levels, sizes)
    return _has_gaps(levels, sizes) or _is_lumpy(levels, sizes)


def is_rounded(levels: Ints, sizes: Ints) -> bool:
    """Whether most repeated values are round, and the rounder the more often, as amounts are."""
    weight = sizes * (sizes - 1.0)
    if weight.sum() == 0:
        return False
    step = gcd(*np.diff(levels).tolist())
    if step >= _ROUND and np.all(levels % step == 0):
        levels = levels // step
        return _mass(levels, weight, 5) > 0.45 or _mass(levels, weight, 2) > 0.8  # noqa: PLR2004
    tens = levels % 10 == 0
    if weight[tens].sum() > 0.6 * weight.sum():
        return _mass(levels[tens] // 10, weight[tens], 5) > 0.4  # noqa: PLR2004
    return bool(levels.size > _FEW_LEVELS and _mass(levels, weight, 5) > 0.75)  # noqa: PLR2004


def _without_zero(levels: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return many values without zero and negative ones.

    "None", "not asked": they agree with themselves, zero is round, and neither says anything of
    the others.
    """
    positive = levels > 0
    if np.count_nonzero(positive) <= _MANY_LEVELS or np.count_nonzero(~positive) > _MOST_RESERVED:
        return levels, sizes
    return levels[positive], sizes[positive]


def _mass(levels: Ints, weight: Floats, step: int) -> float:
    return float(weight[levels % step == 0].sum() / max(weight.sum(), 1.0))


def _has_gaps(levels: Ints, sizes: Ints) -> bool:
    """Whether values are absent beside frequent ones, where a count would have some."""
    wide = np.diff(levels) > 1
    frequent = np.minimum(sizes[:-1], sizes[1:]) >= _OFTEN
    return bool(np.count_nonzero(wide & frequent) >= max(1, 0.2 * (levels.size - 1)))


def _is_lumpy(levels: Ints, sizes: Ints) -> bool:
    """Whether rows agree exactly far more often than nearly."""
    near = 0.0
    for distance in (1, 2, 3):
        place = np.searchsorted(levels, levels + distance)
        place[place == levels.size] = 0
        hit = levels[place] == levels + distance
        near += 2 * float((sizes[hit] * sizes[place[hit]]).sum())
    same = float((sizes * (sizes - 1.0)).sum())
    return same > _LUMPY * max(near / 6, 1.0)


def _is_jagged(levels: Ints, sizes: Ints) -> bool:
    """Whether frequencies of neighbours differ far more than chance and rounding allow."""
    if levels.size < _FEW_LEVELS:
        return levels[0] > 1 or not is_unimodal(sizes)
    rest = sizes[levels % _ROUND != 0] if levels.size > 4 * _ROUND else sizes
    bend = rest[1:-1] - (rest[:-2] + rest[2:]) / 2.0
    noise = rest[1:-1] + (rest[:-2] + rest[2:]) / 4.0
    if np.mean(bend**2 / np.maximum(noise, 1)) <= _JAGGED:
        return False
    # digits that people prefer make the frequencies of a measure uneven; sums of five are not
    return levels.size < _MANY_LEVELS or not _is_hill(levels, sizes)


def _is_hill(levels: Ints, sizes: Ints) -> bool:
    """Whether sums over five neighbours rise to one top and fall, but for a seventh of it."""
    sums = np.bincount((levels - levels[0]) // _ROUND, weights=sizes)
    top = int(np.argmax(sums))
    steps = np.diff(sums)
    steps[top:] *= -1
    return bool(np.all(steps > -0.15 * sums[top]))


def is_unimodal(sizes: Ints) -> bool:
    """Whether frequencies rise to one top and fall after it, but for chance."""
    top = int(np.argmax(sizes))
    steps = np.diff(sizes).astype(np.float64)
    steps[top:] *= -1  # now every step should be positive
    error = np.sqrt(sizes[:-1] + sizes[1:] + 1.0)
    return bool(np.all(steps > -_CHANCE * error))


def is_flat(sizes: Ints) -> bool:
    """Whether values are about equally frequent, the last (a 31st) perhaps half as often."""
    return bool(sizes[:-1].min() > 0.4 * sizes.mean() and sizes.max() < 1.8 * sizes.mean())
