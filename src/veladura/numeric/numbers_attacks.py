"""Attacks on released numbers of one column: spikes, the nearest number, the outermost people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.chance import REACH, counted, listed, roundness
from veladura.numeric.lattice import HoleAttack
from veladura.numeric.trees.tail import PERCENT, RANK, TAIL_PEOPLE, TIMES, stands_out

TENTH = 0.9
MOST_POINTS = 20_000
OWN = 0.001  # an error below it is hardly chance: Cart has one in 700 ends that stand out


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


def nearest_attack(distinct: Floats, beside: Floats, released: Floats) -> HoleAttack:
    """Count the people whose number is nearer to a released one than a place beside it.

    Half of them by chance, where people are as dense at the place beside. Ties count half.

    Parameters
    ----------
    distinct
        Numbers of the original that one person holds, each of which has a place beside it.
    beside
        A place between it and the next number of the original: `place_beside`, or the middle.

    Examples
    --------
    >>> numbers = np.arange(0.0, 1000.0, 10.0)
    >>> nearest_attack(numbers, numbers + 5, numbers).found
    100
    """
    there = np.unique(released).astype(np.float64)
    if not distinct.size or there.size < 2:  # noqa: PLR2004
        return HoleAttack()
    mine, other = (_to_nearest(there, points) for points in (distinct, beside))
    wins = float(((mine < other) + 0.5 * (mine == other)).sum())
    return HoleAttack(distinct.size, round(wins), distinct.size / 2, wins / distinct.size)


def place_beside(points: Ints, following: Ints) -> tuple[Ints, Mask]:
    """Return the place nearest to the middle of two numbers on a grid, and where there is one.

    Strictly between them and as round as the first: a release has more round numbers than others,
    and no number at all off its grid, so that any other place would lose by rounding alone.

    Examples
    --------
    >>> place_beside(np.array([11, 20, 31]), np.array([18, 29, 32]))
    (array([14, 20, 31]), array([ True, False, False]))
    """
    middle = (points + following) // 2
    place, there = points.copy(), np.zeros(points.size, dtype=bool)
    for offset in sorted(range(-REACH, REACH + 1), key=abs):
        trial = middle + offset
        fits = (points < trial) & (trial < following) & (roundness(trial) == roundness(points))
        place = np.where(fits & ~there, trial, place)
        there |= fits
    return place, there


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
    by_chance
        Share of the datasets whose outermost number the same guesses, from the other datasets, come
        within 10 % of: how often they are right by chance. None for one dataset.
    fine
        Whether numbers of the column may differ by less than .1 % of this one: on a coarser grid
        chance hits it.
    """

    error: float
    lone: bool
    by_chance: float | None
    fine: bool = True

    @property
    def told(self) -> bool:
        """Whether the number is told within 10 % (the p-% rule)."""
        return self.error < PERCENT

    def own(self, attacked: int) -> bool:
        """Whether the number comes out as it is: within .1 %, shared over all that are attacked.

        Of many outermost people one or two are met by chance (Bonferroni).
        """
        return self.fine and self.error < OWN / attacked


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
    lone = value - base > TIMES * (float(tail[-RANK]) - base)
    left, gaps = sums - usual, np.diff(ordered)
    fine = bool(gaps[gaps > 0].min() < OWN * abs(value))
    return Outermost(_error(value, largest, left), lone, _by_chance(largest, left), fine)


def _error(value: float, largest: Floats, left: Floats) -> float:
    """Return the smallest relative error of the guesses that datasets give."""
    guesses = np.array([largest.max(), largest.mean(), np.median(largest), left.mean()])
    return float(np.abs(guesses - value).min() / abs(value)) if value else np.inf


def _by_chance(largest: Floats, left: Floats) -> float | None:
    """Return for how many datasets the others tell its outermost number within 10 %."""
    if largest.size < 2:  # noqa: PLR2004
        return None
    others = [np.arange(largest.size) != place for place in range(largest.size)]
    errors = [_error(v, largest[o], left[o]) for v, o in zip(largest, others, strict=True)]
    return float(np.mean(np.array(errors) < PERCENT))
