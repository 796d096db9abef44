"""Attacks on released numbers of one column: spikes, the nearest number, the outermost people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.numeric.chance import REACH, counted, listed, roundness
from veladura.numeric.lattice import HoleAttack
from veladura.numeric.trees.tail import PERCENT, RANK, TAIL_PEOPLE, TIMES, stands_out

TENTH = 0.9
MOST_POINTS = 20_000


def spike_attack(released: Ints, targets: Ints, mass: Ints) -> HoleAttack:
    """Name the numbers that are released beyond those around, and count the targets among them.

    Of the released numbers the tenth with the largest excess is named, in standard errors of a
    count. The base rate is the share of targets among the numbers around.

    Parameters
    ----------
    released
        Released numbers in steps of their grid.
    targets
        Numbers of the original that must not be told, sorted.
    mass
        Numbers that enough people share: they are released as they are, and not attacked.

    Examples
    --------
    >>> held = np.sort(np.random.default_rng(0).choice(9000, 900, replace=False))
    >>> spike_attack(np.repeat(held, 3), held, np.empty(0, dtype=np.int64)).ratio > 1.5
    True
    """
    key, count = np.unique(released, return_counts=True)
    points = key[~listed(key, mass)]
    points = points[:: max(1, points.size // MOST_POINTS)]
    if not points.size or not targets.size:
        return HoleAttack()
    around, base, alike = np.zeros((3, points.size))
    for offset in [*range(-REACH, 0), *range(1, REACH + 1)]:
        there = points + offset
        same = (roundness(there) == roundness(points)) & ~listed(there, mass)
        around += np.where(same, counted(there, key, count), 0)
        base += same & listed(there, targets)
        alike += same
    usable = alike > 0
    expected = around[usable] / alike[usable]
    excess = (counted(points[usable], key, count) - expected) / np.sqrt(expected + 0.5)
    named = excess >= np.quantile(excess, TENTH) if excess.size else np.zeros(0, dtype=bool)
    found = int(np.count_nonzero(listed(points[usable][named], targets)))
    chance = float((base[usable] / alike[usable])[named].sum())
    return HoleAttack(int(named.sum()), found, chance, found / targets.size)


def nearer_share(distinct: Floats, holders: Ints, released: Floats) -> tuple[float, int]:
    """Return the share of people whose number is nearer to a released one than a place beside it.

    The place is halfway to the next number of the original, so that people are as dense there:
    half of them by chance. Ties count half. Of numbers that one person holds.

    Parameters
    ----------
    distinct, holders
        The distinct numbers of the original, sorted, and how many people hold each.

    Examples
    --------
    >>> numbers = np.arange(0.0, 100.0, 10.0)
    >>> nearer_share(numbers, np.ones(10, dtype=np.int64), numbers)
    (1.0, 9)
    """
    there = np.unique(released).astype(np.float64)
    own = distinct[:-1][holders[:-1] == 1]
    beside = ((distinct[:-1] + distinct[1:]) / 2)[holders[:-1] == 1]
    if not own.size or there.size < 2:  # noqa: PLR2004
        return 0.5, 0
    mine, other = (_to_nearest(there, points) for points in (own, beside))
    return float(((mine < other) + 0.5 * (mine == other)).mean()), int(own.size)


def _to_nearest(there: Floats, points: Floats) -> Floats:
    place = np.clip(np.searchsorted(there, points), 1, there.size - 1)
    return np.minimum(np.abs(there[place] - points), np.abs(there[place - 1] - points))


@dataclass(frozen=True)
class Outermost:
    """How near an intruder comes to the outermost person of a column, at one end.

    Attributes
    ----------
    error
        The smallest relative error of the intruder's guesses.
    lone
        Whether the number is more than three times as far out as the third.
    between
        Share of pairs of datasets whose outermost numbers are as near to each other as 10 %: how
        often such a guess is right by chance.
    """

    error: float
    lone: bool
    between: float

    @property
    def told(self) -> bool:
        """Whether the number is told within 10 % (the p-% rule)."""
        return self.error < PERCENT


def outermost(original: Floats, released: list[Floats]) -> Outermost | None:
    """Attack the largest number of a column; None where it does not stand out from the fifth.

    The guesses of the intruder: the largest released number, the mean and the median of the
    largest ones of the datasets, and what the mean of the sums leaves for one person beyond the
    usual ones.
    """
    ordered = np.sort(original)
    tail = ordered[-TAIL_PEOPLE:]
    if tail.size < TAIL_PEOPLE or not stands_out(tail) or not all(part.size for part in released):
        return None
    value, base = float(tail[-1]), float(tail[0])
    largest = np.array([part.max() for part in released])
    sums = np.array([part.sum() for part in released])
    usual = float(np.median(np.concatenate(released))) * original.size
    guesses = [largest.max(), largest.mean(), np.median(largest), sums.mean() - usual]
    error = float(np.abs(np.array(guesses) - value).min() / abs(value)) if value else np.inf
    lone = value - base > TIMES * (float(tail[-RANK]) - base)
    return Outermost(error, lone, _between(largest))


def _between(largest: Floats) -> float:
    """Return the share of pairs of numbers that are within 10 % of each other."""
    if largest.size < 2:  # noqa: PLR2004
        return 0.0
    apart = np.abs(largest[:, None] - largest[None]) / np.maximum(np.abs(largest[None]), 1e-300)
    pairs = largest.size * (largest.size - 1)
    return float((np.count_nonzero(apart < PERCENT) - largest.size) / pairs)
