"""The quantile function of a column's numbers: means of several people, and a fitted tail."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.numeric.transforms import Transform
from veladura.numeric.trees.bins import bin_of

FEWEST, MOST = 5, 20  # people whose mean is a knot, among the outermost and in the middle
OUTER = (5, 10, 20)  # where the knots of the outermost people end
TAIL_PEOPLE = 20
PERCENT = 0.1  # p of the p-% rule
RANK, TIMES = 3, 3.0  # exceedances are cut at so many times that of the third largest
PRIOR, PRIOR_PEOPLE = 0.2, 10.0  # the shape of a tail, and how many people it counts as
SCALED_PRIOR = 0.0  # on the log scale a tail without shape is a Pareto one
SHAPES = (-0.5, 0.8)
LAST = 4.0  # a tail ends where this many times its people would have one beyond
POINTS = 64
MANY_KNOTS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles:
    """A quantile function that no single person decides. Its repr shows nothing.

    Attributes
    ----------
    shares, numbers
        The knots; straight between them.
    scale
        The transformation that the numbers of the knots have gone through; None for none.
    """

    shares: Floats = field(repr=False)
    numbers: Floats = field(repr=False)
    scale: Transform | None = None

    @classmethod
    def of(
        cls,
        ordered: Floats,
        rows: int = 1,
        percent: float = PERCENT,
        scale: Transform | None = None,
    ) -> Quantiles:
        """Return the quantile function of some sorted numbers.

        A knot is the mean of 20 people, at the ends of 5 or 10. Where the outermost number is more
        than ``percent`` away from the fifth, a generalised Pareto tail stands for the outermost 20
        or more.

        Parameters
        ----------
        rows
            Most rows of a person: five people are in any five times as many rows.
        scale
            A transformation: knots are means of transformed numbers, straight lines and tails are
            on that scale. Who stands out is judged by the numbers themselves.

        Examples
        --------
        >>> quantiles = Quantiles.of(np.arange(1000.0))
        >>> quantiles.at(np.array([0.25, 0.5])).tolist()
        [249.5, 499.5]
        """
        raw, size = ordered, ordered.size
        ordered = raw if scale is None else scale.of(raw)
        edges = _edges(size, rows)
        sums = np.append(0.0, np.cumsum(ordered))
        means = np.diff(sums[edges]) / np.diff(edges)
        shares = (edges[1:] + edges[:-1]) / (2 * size)
        low, high = _ends(ordered, means)
        knots = cls(np.concatenate([[0.0], shares, [1.0]]), np.concatenate([[low], means, [high]]))
        upper = needs_tail(raw, rows, percent)
        prior = PRIOR if scale is None else SCALED_PRIOR
        knots = knots.with_tail(ordered, rows, prior) if upper else knots
        if needs_tail(-raw[::-1], rows, percent):
            knots = knots.turned().with_tail(-ordered[::-1], rows, prior).turned()
        return replace(knots, scale=scale)

    def at(self, shares: Floats) -> Floats:
        """Return the numbers at some shares of the people."""
        if MANY_KNOTS < self.shares.size <= np.iinfo(np.uint16).max:  # np.interp is slower
            below = bin_of(self.shares[1:-1], shares)
            steps = np.diff(self.shares)
            slopes = np.diff(self.numbers) / np.where(steps > 0, steps, 1.0)
            inside = np.clip(shares, self.shares[0], self.shares[-1])
            numbers = self.numbers[below] + slopes[below] * (inside - self.shares[below])
        else:
            numbers = np.interp(shares, self.shares, self.numbers)
        return numbers if self.scale is None else self.scale.undone(numbers)

    def turned(self) -> Quantiles:
        """Return the quantile function of the numbers with the other sign."""
        return Quantiles(1.0 - self.shares[::-1], -self.numbers[::-1])

    def with_tail(self, ordered: Floats, rows: int, prior: float = PRIOR) -> Quantiles:
        """Return the function with a fitted upper tail."""
        size = rows * tail_people(ordered.size // rows)
        start = 1 - size / ordered.size
        kept = self.shares < start
        base = float(self.at(np.array([start]))[0])
        beyond = tail_of(ordered[-size:] - base, rows, prior)
        if ordered[-1] <= 0:  # a tail towards zero does not cross it
            beyond = np.minimum(beyond, -base)
        places = 1 - (1 - start) * _beyond(_survival(size))
        return Quantiles(
            np.concatenate([self.shares[kept], places]),
            np.concatenate([self.numbers[kept], base + beyond]),
        )


def _edges(size: int, rows: int) -> Ints:
    """Return where the people of each knot begin and end, in order of their numbers.

    On a dense grid five people sit on two numbers: knots as fine as that would follow who holds
    which of them, and numbers of one person would come out a tenth less often than those around.
    """
    outer, middle = rows * np.array(OUTER), size - 2 * rows * OUTER[-1]
    if middle < rows * MOST:
        return np.linspace(0, size, max(size // (rows * FEWEST), 1) + 1).astype(np.int64)
    inner = np.linspace(0, middle, middle // (rows * MOST) + 1).astype(np.int64) + outer[-1]
    return np.concatenate([[0], outer[:-1], inner, size - outer[-2::-1], [size]])


def _ends(ordered: Floats, means: Floats) -> tuple[float, float]:
    """Return the ends: the outermost knots stay the means of their people, within the range.

    Where the outermost number could be told from them, a tail is fitted instead.
    """
    if means.size == 1:
        reach = float(np.sqrt(3.0) * ordered.std())
        low, high = float(means[0]) - reach, float(means[0]) + reach
    else:
        low = float(1.5 * means[0] - 0.5 * means[1])
        high = float(1.5 * means[-1] - 0.5 * means[-2])
    return max(low, float(ordered[0])), min(high, float(ordered[-1]))


def tail_people(size: int) -> int:
    """Return how many of n people are in a tail: 3 sqrt(n), at least 20 (Vehtari et al. 2024)."""
    return max(TAIL_PEOPLE, int(min(0.2 * size, 3 * np.sqrt(size))))


def needs_tail(ordered: Floats, rows: int, percent: float) -> bool:
    """Whether the outermost people need a fitted tail, and are enough for one."""
    size = rows * tail_people(ordered.size // rows)
    return size <= ordered.size // 2 and stands_out(ordered[-size:], rows, percent)


def stands_out(tail: Floats, rows: int = 1, percent: float = PERCENT) -> bool:
    """Whether the outermost number can be told from the mean of the outermost five.

    It is more than ``percent`` of itself away from the fifth (the p-% rule), and farther out than
    zero is or than three times the rest of the tail.

    Examples
    --------
    >>> stands_out(np.append(np.arange(100.0, 119.0), 1000.0))
    True
    >>> stands_out(np.arange(1000.0, 1020.0))
    False
    """
    outer, fifth = float(tail[-1]), float(tail[-FEWEST * rows])
    gap = outer - fifth
    away = abs(outer) > abs(fifth) or gap > TIMES * (fifth - float(tail[0]))
    return gap > percent * abs(outer) and away


def tail_of(exceedances: Floats, rows: int = 1, prior: float = PRIOR) -> Floats:
    """Return the quantiles of a generalised Pareto tail at the shares of `_survival`.

    Fitted to exceedances cut at three times the third largest, so that no person carries the fit,
    by probability-weighted moments (Hosking and Wallis 1987, eq. 7): with a0 the mean and a1 that
    of y (1 - F), shape 2 - a0 / (a0 - 2 a1), shrunk as if ten more people had that of the prior.
    The scale is such that the tail, which ends at a quantile, has the mean of the cut exceedances.
    """
    cut = np.sort(np.clip(exceedances, 0.0, TIMES * np.sort(exceedances)[-RANK * rows]))
    size, mean = cut.size, float(cut.mean())
    if mean <= 0:
        return np.zeros(POINTS)
    left = 1 - (np.arange(1, size + 1) - 0.35) / size
    weighted = float((left * cut).mean())
    raw = 2 - mean / max(mean - 2 * weighted, 1e-12 * mean)
    shape = (size * float(np.clip(raw, *SHAPES)) + PRIOR_PEOPLE * prior) / (size + PRIOR_PEOPLE)
    survival = _survival(size)
    quantiles = np.expm1(-shape * np.log(survival)) / shape if shape else -np.log(survival)
    return np.asarray(quantiles * mean / _mean_of(quantiles, _beyond(survival)))


def _survival(people: int) -> Floats:
    """Return the survival function at the knots of a tail, down to 1 in four times its people."""
    return np.geomspace(1.0, 1 / (LAST * people), POINTS)


def _beyond(survival: Floats) -> Floats:
    """Return the same of the tail that ends at its last knot."""
    beyond: Floats = (survival - survival[-1]) / (1 - survival[-1])
    return beyond


def _mean_of(quantiles: Floats, beyond: Floats) -> float:
    """Return the mean of a tail that is straight between its knots."""
    return float(np.sum((quantiles[1:] + quantiles[:-1]) / 2 * -np.diff(beyond)))
