"""The law of the leaf: what becomes of a donor's number. Neither a hole nor a spike.

A number that at least five people of the column share is a mass point: it comes out as it is. Any
other number is moved by a random amount. Nothing is refused because of who is in the data, so that
neither the presence nor the absence of a number in the release tells that somebody has it.

Over the m people whose number fewer share, with p the mid-rank share of a person:

- score z = Phi^-1(p); isolation a = half the difference of Phi^-1(p + 5/m) and Phi^-1(p - 5/m);
- within a leaf with mean mu, variance v and robust bandwidth h of its scores (Silverman 1986, eq.
  3.31), the scale s = max(a, sqrt(3) h), and the centre c = mu + (z - mu) sqrt(1 - E[s^2] / (3 v)),
  so that the leaf keeps its variance (the shrunken kernel of Silverman 1986, section 6.4.1);
- the released number is Q(H(c + s U)), U uniform on (-1, 1), where H is the distribution function
  of c + s U over all people of the column and Q the quantile function of their numbers: the column
  keeps its margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.trees.habits import Habits
from veladura.numeric.trees.leaf import leaf_steps
from veladura.numeric.trees.numbers import NumberGrid
from veladura.numeric.trees.tail import FEWEST, Quantiles
from veladura.numeric.trees.tree import END, START, Tree

MIN_PEOPLE = 5
POOL, POOL_SHARE = 40, 0.1  # fewer moving people are moved among all people of the column
CELLS = 4096


@dataclass(frozen=True, eq=False, repr=False)
class NumberLaw:
    """How the numbers of one column move. Holds original values: its repr shows none.

    Attributes
    ----------
    places
        The number of each row, as a place on the grid of the column.
    numbers
        The same in steps of the grid, as people read them: divisible by ten, or near zero.
    moves
        Which rows hold a number that fewer than ``min_people`` people share.
    pool
        The rows that scores are taken over: those that move or, if these are few, all numbers.
    score, isolation
        Of the rows of the pool.
    """

    grid: NumberGrid
    places: Floats
    numbers: Floats
    origin: float
    moves: Mask
    pool: Mask
    score: Floats
    isolation: Floats
    quantiles: Quantiles
    habits: Habits
    bandwidth: float = 1.0

    @classmethod
    def of(
        cls,
        grid: NumberGrid,
        places: Floats,
        present: Mask,
        people: Ints,
        *,
        min_people: int = MIN_PEOPLE,
        dates: bool = False,
        bandwidth: float = 1.0,
    ) -> NumberLaw:
        """Return the law of a column.

        Parameters
        ----------
        places
            The numbers of all rows, as places on the grid.
        present
            Which rows have a number that may move.
        people
            Whose row each is.
        min_people
            A number that at least so many people share stays; with 0 all do.
        dates
            Whether numbers are dates: the p-% rule counts from their median, and nobody rounds.
        bandwidth
            Factor on the bandwidth of the leaves.
        """
        numbers, origin = _as_read(grid, places, present, dates=dates)
        moves = present & ~_shared(numbers, present, people, min_people)
        moving = int(np.count_nonzero(moves))
        few = moving < max(POOL, POOL_SHARE * np.count_nonzero(present))
        pool = (present if few else moves) if moving else np.zeros(moves.size, dtype=bool)
        score, isolation, habits = np.zeros(numbers.size), np.zeros(numbers.size), Habits()
        quantiles = Quantiles(np.zeros(1), np.zeros(1))
        if moving:
            score[pool], isolation[pool] = _scores(numbers[pool])
            quantiles = Quantiles.of(np.sort(numbers[pool]))
            if grid.decimals is not None and not dates:
                habits = Habits.of(np.rint(numbers[moves]).astype(np.int64))
        return cls(
            grid, places, numbers, origin, moves, pool, score, isolation, quantiles, habits, bandwidth
        )

    def in_leaves(self, tree: Tree) -> LeafLaw:
        """Return the law of the donors of a tree, each in its leaf."""
        leaves, order = tree.leaves(), tree.order
        start, end = (np.ascontiguousarray(tree.nodes[leaves, at]) for at in (START, END))
        centre, scale = leaf_steps(
            self.score[order], self.isolation[order], self.pool[order], start, end, self.bandwidth
        )
        return LeafLaw(self, order, centre, scale).prepared()

    def alone(self, rows: Ints) -> LeafLaw:
        """Return the law of some rows without leaves: they move by their isolation."""
        return LeafLaw(self, rows, self.score[rows], self.isolation[rows]).prepared()


@dataclass(frozen=True, eq=False, repr=False)
class LeafLaw:
    """How the donors of a tree move: centre and scale of each, in the order of the tree."""

    law: NumberLaw
    rows: Ints
    centre: Floats
    scale: Floats

    @cached_property
    def margin(self) -> tuple[Floats, Floats]:
        """The distribution function H of moved scores over the pool: its points and heights."""
        pool = self.law.pool[self.rows]
        return _mixture(self.centre[pool], self.scale[pool])

    @cached_property
    def roundness(self) -> Ints:
        """How round the number of each donor is, where it has room to move."""
        if len(self.law.habits.units) == 1:
            return np.zeros(self.rows.size, dtype=np.int64)
        room = self._numbers(self.centre + self.scale) - self._numbers(self.centre - self.scale)
        return self.law.habits.classes(np.rint(self.law.numbers[self.rows]).astype(np.int64), room)

    def prepared(self) -> LeafLaw:
        """Return itself, with what every draw needs computed before threads share it."""
        if self.law.pool[self.rows].any():
            _ = self.margin, self.roundness
        return self

    def drawn(self, rng: Generator, donors: Ints) -> Floats:
        """Return places: those of mass points, and those of other donors moved."""
        return self.moved(donors, 2 * rng.random(donors.size) - 1)

    def moved(self, donors: Ints, steps: Floats) -> Floats:
        """Return places, given a step of every donor in units of its scale, from -1 to 1."""
        law, rows = self.law, self.rows[donors]
        places = law.places[rows]
        here = np.flatnonzero(law.moves[rows])
        if not here.size:
            return places
        at = donors[here]
        far = self._numbers(self.centre[at] + self.scale[at] * steps[here])
        if law.grid.decimals is None:
            places[here] = far
        else:
            far = law.habits.landed(far, self.roundness[at])
            places[here] = law.grid.written((far - law.origin) * law.grid.step)
        return places

    def _numbers(self, scores: Floats) -> Floats:
        points, heights = self.margin
        return self.law.quantiles.at(np.interp(scores, points, heights))


def _as_read(
    grid: NumberGrid, places: Floats, present: Mask, *, dates: bool
) -> tuple[Floats, float]:
    """Return numbers in steps of the grid as people read them, and how far zero is from place 0."""
    if grid.decimals is None:
        return places, 0.0
    steps = np.rint(places / grid.step)
    origin = grid.base / grid.unit if grid.whole else 0.0
    if dates and present.any():
        origin = -float(np.rint(np.median(steps[present])))
    return steps + origin, origin


def _shared(numbers: Floats, present: Mask, people: Ints, least: int) -> Mask:
    """Return which rows hold a number that at least so many people share."""
    distinct, place = np.unique(numbers[present], return_inverse=True)
    place = place.reshape(-1)
    who = people[present]
    pairs = np.unique(place * (int(who.max(initial=0)) + 1) + who)
    holders = np.bincount(pairs // (int(who.max(initial=0)) + 1), minlength=distinct.size)
    shared = np.zeros(numbers.size, dtype=bool)
    shared[present] = holders[place] >= least
    return shared


def _scores(numbers: Floats) -> tuple[Floats, Floats]:
    """Return normal scores of mid-ranks, and the isolation of each: the way to five others."""
    from scipy.special import ndtri

    distinct, place, count = np.unique(numbers, return_inverse=True, return_counts=True)
    size = numbers.size
    middle = (np.cumsum(count) - count / 2) / size
    end = 0.5 / size
    score = ndtri(middle)
    up = ndtri(np.clip(middle + FEWEST / size, end, 1 - end)) - score
    down = score - ndtri(np.clip(middle - FEWEST / size, end, 1 - end))
    cut_up, cut_down = middle + FEWEST / size > 1 - end, middle - FEWEST / size < end
    isolation = np.where(cut_up, np.maximum(up, down), (up + down) / 2)
    isolation = np.where(cut_down, np.maximum(up, down), isolation)
    del distinct
    place = place.reshape(-1)
    return score[place], isolation[place]


def _mixture(centre: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return the distribution function of centre + scale U over some people, on a fine grid.

    The density is a sum of boxes: each goes up at its left end and down at its right one. Ends
    between two points of the grid are shared between them.
    """
    wide = np.maximum(scale, 1e-9)
    low, high = float((centre - wide).min()), float((centre + wide).max())
    cell = (high - low) / (CELLS - 3)
    points = low + cell * (np.arange(CELLS) - 1)
    rise = np.zeros(CELLS)
    for ends, sign in ((centre - wide, 1.0), (centre + wide, -1.0)):
        at = (ends - points[0]) / cell
        below = np.floor(at).astype(np.int64)
        part = at - below
        weight = sign / (2 * wide)
        rise += np.bincount(below, (1 - part) * weight, CELLS)
        rise += np.bincount(np.minimum(below + 1, CELLS - 1), part * weight, CELLS)
    density = np.cumsum(rise)
    heights = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2)) * cell / centre.size
    heights = np.maximum.accumulate(np.clip(heights, 0.0, None))
    return points, heights / heights[-1]
