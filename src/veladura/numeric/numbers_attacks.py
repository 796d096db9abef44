"""Attacks on released numbers of one column: spikes, the nearest number, the outermost people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.chance import REACH, counted, listed, roundness
from veladura.numeric.lattice import HoleAttack
from veladura.numeric.trees.tail import FEWEST, PERCENT, RANK, TAIL_PEOPLE, TIMES, stands_out

TENTH = 0.9
MOST_POINTS = 20_000
OWN = 0.001  # a share of the way to the fifth person that chance hardly hits
DIGITS = 5  # rounding to units this much smaller than that way is not felt


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
    hit
        The share of the way to the fifth person that lies at least as near to the number as the
        best guess, grid included: how likely a guess that knows nothing of it comes so near.
    guesses
        How many different guesses there are: each has its chance.
    """

    error: float
    lone: bool
    by_chance: float | None
    hit: float = 0.0
    guesses: int = 1

    @property
    def told(self) -> bool:
        """Whether the number is told within 10 % (the p-% rule)."""
        return self.error < PERCENT

    def own(self, attacked: int) -> bool:
        """Whether the number comes out as it is, nearer than chance comes.

        Of many outermost people one or two are met by chance, and one of several guesses, so that
        the level is shared over all that are attacked and all guesses (Bonferroni).
        """
        return self.hit < OWN / (attacked * self.guesses)


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
    left = sums - usual
    guesses = _guesses(largest, left)
    errors = np.abs(guesses - value)
    isolation = value - float(tail[-FEWEST])
    step = _step(value, isolation, ordered, [np.sort(part)[-TAIL_PEOPLE:-1] for part in released])
    return Outermost(
        _relative(errors, value),
        lone,
        _by_chance(largest, left),
        (float(errors.min()) + step / 2) / isolation,
        np.unique(guesses).size,
    )


def _guesses(largest: Floats, left: Floats) -> Floats:
    """Return the guesses that datasets give."""
    return np.array([largest.max(), largest.mean(), np.median(largest), left.mean()])


def _relative(errors: Floats, value: float) -> float:
    return float(errors.min() / abs(value)) if value else np.inf


def _step(value: float, isolation: float, ordered: Floats, others: list[Floats]) -> float:
    """Return how far apart the numbers are among which chance hits a given one.

    The grid of the column, or a unit that the number is a multiple of, times the share of the other
    outermost released numbers that are multiples of it too: where people round, chance does.
    """
    gaps = np.diff(ordered)
    steps = [float(gaps[gaps > 0].min())]
    outer, power = np.concatenate(others), int(np.floor(np.log10(isolation)))
    units = [n * 10.0**k for k in range(power - DIGITS, power + 1) for n in (1, 5)]
    steps += [
        unit * float(_multiples(outer, unit).mean())
        for unit in units
        if outer.size and _multiples(np.array([value]), unit)[0]
    ]
    return max(steps)


def _multiples(numbers: Floats, unit: float) -> Mask:
    """Return which numbers are multiples of a unit, but for the rounding of floats."""
    near: Mask = np.abs(numbers - unit * np.rint(numbers / unit)) <= 1e-9 * np.abs(numbers)
    return near


def _by_chance(largest: Floats, left: Floats) -> float | None:
    """Return for how many datasets the others tell its outermost number within 10 %."""
    if largest.size < 2:  # noqa: PLR2004
        return None
    others = [np.arange(largest.size) != place for place in range(largest.size)]
    errors = [
        _relative(np.abs(_guesses(largest[o], left[o]) - v), v)
        for v, o in zip(largest, others, strict=True)
    ]
    return float(np.mean(np.array(errors) < PERCENT))
