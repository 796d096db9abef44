"""The law of the leaf: what becomes of a donor's number. Neither a hole nor a spike.

A number that at least five people of the column share is a mass point: it comes out as it is. Any
other number is moved by a random amount. Nothing is refused because of who is in the data, so that
neither the presence nor the absence of a number in the release tells that somebody has it.

Over the m people whose number fewer share, with p the mid-rank share of a person:

- score z = Phi^-1(p); isolation a = half the difference of Phi^-1(p + 5/m) and Phi^-1(p - 5/m);
- within a leaf with mean mu, variance v and robust bandwidth h of its scores (Silverman 1986, eq.
  3.31), the scale s = max(a, sqrt(3) h), and the centre c = mu + (z - mu) sqrt(1 - E[s^2] / (3 v)),
  so that the leaf keeps its variance (the shrunken kernel of Silverman 1986, section 6.4.1); E[s^2]
  and v are over those of the leaf that move;
- the released number is Q(H(c + s U)), U uniform on (-1, 1), where H is the distribution function
  of c + s U over all people of the column and Q the quantile function of their numbers: the column
  keeps its margin;
- where most people of the column hold mass points and scores are taken over all of them, moved
  numbers are stretched about the middle of the column until their mean square is kept (`stretch`).

Strata are synthesised separately: each has scores, H and Q of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.transforms import Transform
from veladura.numeric.trees.crowd import Crowd
from veladura.numeric.trees.habits import Habits
from veladura.numeric.trees.leaf import leaf_steps
from veladura.numeric.trees.numbers import NumberGrid
from veladura.numeric.trees.scores import heights_at, mixture, most_rows, scores_of
from veladura.numeric.trees.stretch import STEPS, Stretch
from veladura.numeric.trees.tail import Quantiles
from veladura.numeric.trees.tree import END, START, Tree
from veladura.numeric.trees.values import Values

MIN_PEOPLE = 5
POOL, POOL_SHARE = 40, 0.1  # fewer moving people are moved among all that may move
CROWD = 20  # and if these are fewer, among all people of the column


@dataclass(frozen=True, eq=False, repr=False)
class Spread:
    """How moved scores spread over a column: the points and heights of H, and a stretch."""

    points: Floats
    heights: Floats
    stretch: Stretch | None


@dataclass(frozen=True, eq=False, repr=False)
class NumberLaw:
    """How the numbers of one column move. Holds original values: its repr shows none.

    Attributes
    ----------
    places
        The number of each row, as a place on the grid of the column.
    numbers
        The same in steps of the grid, as people read them: divisible by ten, or near zero.
    origin
        What was added to the steps for that.
    moves
        Which rows hold a number that fewer than ``min_people`` people share.
    stratum
        The zero-based stratum of each row.
    pool
        The rows that scores are taken over: those that move or, if these are few, all numbers.
    score, isolation
        Of the rows of the pool, within their stratum.
    quantiles
        By stratum; of those in which a number moves.
    ends
        The ends of a coded scale, as places: where enough people hold the smallest or the largest
        number, no other is beyond it.
    common
        By stratum, how moved scores spread over the whole column, where these rows are a part of it
        that moves without leaves; by default over these rows.
    """

    grid: NumberGrid
    places: Floats
    numbers: Floats
    origin: float
    moves: Mask
    stratum: Ints
    pool: Mask
    score: Floats
    isolation: Floats
    quantiles: Mapping[int, Quantiles]
    habits: Habits
    ends: tuple[float, float]
    bandwidth: float = 1.0
    common: Mapping[int, Spread] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        grid: NumberGrid,
        places: Floats,
        present: Mask,
        values: Values,
        *,
        holders: Ints | None = None,
        people: Ints | None = None,
        min_people: int = MIN_PEOPLE,
        all_move: bool = False,
        dates: bool = False,
        bandwidth: float = 1.0,
        stratum: Ints | None = None,
        everyone: Mask | None = None,
        transform: Transform | None = None,
        crowd: Crowd | None = None,
        beyond: Floats | None = None,
        part: bool = False,
    ) -> NumberLaw:
        """Return the law of a column.

        Parameters
        ----------
        places
            The numbers of all rows, as places on the grid.
        present
            Which rows have a number that may move.
        values
            The distinct numbers, and how many people hold them.
        holders
            How many people hold the number of a row; by default those of all rows.
        people
            Whose row each is; every row is a person by default.
        min_people
            A number that at least so many people share stays; with 0 all do.
        all_move
            Whether numbers that many share move too, unless all stay.
        dates
            Whether numbers are dates: the p-% rule counts from their median, and nobody rounds.
        bandwidth
            Factor on the bandwidth of the leaves.
        stratum
            The zero-based stratum of each row; one for all by default.
        everyone
            Which rows have a number at all; by default those that may move.
        transform
            The scale on which Q is straight between its knots, and its tails are fitted.
        crowd
            All people whose number may move, where these rows are a sample of them: they give
            ranks, isolation and quantiles. Only without strata.
        beyond
            The outermost numbers of all rows, as places, where these rows are a sample.
        part
            Whether these rows are people of one kind: their ranks are no sample of those of the
            crowd, and moved scores spread as those of the whole crowd do.
        """
        numbers, origin = as_read(grid, places, present, dates=dates)
        held = values.by_row() if holders is None else holders
        moves = present & ((held < min_people) | (all_move and min_people > 0))
        parts = [0] if moves.any() else []
        if stratum is None:
            stratum = np.broadcast_to(np.int64(0), places.size)  # no memory of their own
        else:
            parts = np.unique(stratum[moves]).tolist()
        pool = np.zeros(places.size, dtype=bool)
        score, isolation = np.zeros(places.size), np.zeros(places.size)
        quantiles, common = {}, {}
        numbered = present if everyone is None else everyone
        for place in parts:
            inside = stratum == place
            if crowd is not None:
                here, ranked = _pool_of(crowd, moves, present, min_people, all_move=all_move)
                pool |= here
                score[here], isolation[here] = ranked.scores_of(places[here])
                read = steps_of(grid, ranked.places, origin)
                quantiles[int(place)] = ranked.quantiles(read, transform)
                if part:
                    centre, scale = ranked.scores_of(ranked.places)
                    common[int(place)] = Spread(*mixture(centre, scale, ranked.holders), None)
                continue
            here = _pool(moves & inside, present & inside, numbered & inside)
            pool |= here
            rows = most_rows(None if people is None else people[here])
            score[here], isolation[here] = scores_of(values.place[here], rows)
            ordered = values.in_order(numbers, here)
            quantiles[place] = Quantiles.of(ordered, rows, scale=transform)
        habits = Habits()
        if grid.decimals is not None and not dates:
            habits = Habits.of(np.rint(numbers[moves]).astype(np.int64))
        return cls(
            grid,
            places,
            numbers,
            origin,
            moves,
            stratum,
            pool,
            score,
            isolation,
            quantiles,
            habits,
            ends_of(values, min_people, beyond),
            bandwidth,
            common,
        )

    def in_leaves(self, tree: Tree) -> LeafLaw:
        """Return the law of the donors of a tree, each in its leaf."""
        leaves, order = tree.leaves(), tree.order
        start, end = (np.ascontiguousarray(tree.nodes[leaves, at]) for at in (START, END))
        centre, scale = leaf_steps(
            self.score,
            self.isolation,
            self.pool,
            self.moves,
            order,
            start,
            end,
            self.bandwidth,
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

    @property
    def everybody(self) -> bool:
        """Whether all rows are donors, each once, and of one stratum."""
        law = self.law
        if self.rows.size != law.places.size or len(law.quantiles) > 1 or law.stratum.any():
            return False
        seen = np.zeros(law.places.size, dtype=bool)
        seen[self.rows] = True
        return bool(seen.all())

    @cached_property
    def margins(self) -> dict[int, tuple[Floats, Floats]]:
        """By stratum, the distribution function H of moved scores: its points and heights.

        Over all people of the pool: those who are no donors here move by their isolation.
        """
        law = self.law
        if law.common:
            return {part: (spread.points, spread.heights) for part, spread in law.common.items()}
        if self.everybody:
            pool = law.pool[self.rows]
            return {part: mixture(self.centre[pool], self.scale[pool]) for part in law.quantiles}
        centre, scale = law.score.copy(), law.isolation.copy()
        centre[self.rows], scale[self.rows] = self.centre, self.scale
        parts = {part: law.pool & (law.stratum == part) for part in law.quantiles}
        return {part: mixture(centre[here], scale[here]) for part, here in parts.items()}

    @cached_property
    def stretches(self) -> dict[int, Stretch]:
        """By stratum, what makes up for the people of the pool who stay."""
        law, found = self.law, {}
        if law.common:
            parts = law.common.items()
            return {part: one.stretch for part, one in parts if one.stretch is not None}
        for part, quantiles in law.quantiles.items():
            pool = law.pool & (law.stratum == part)
            donors = np.flatnonzero((law.moves & pool)[self.rows])
            if donors.size and not law.moves[pool].all():
                scores, ranked = law.score[self.rows[donors]], np.sort(law.score[pool])
                below, above = (np.searchsorted(ranked, scores, side) for side in ("left", "right"))
                own = quantiles.at((below + above) / (2 * ranked.size))
                centre, scale = self.centre[donors], self.scale[donors]
                moved = np.concatenate([centre + step * scale for step in STEPS])
                there = quantiles.at(heights_at(moved, *self.margins[part]))
                found[part] = Stretch.of(quantiles, own, there)
        return found

    @cached_property
    def roundness(self) -> NDArray[np.uint8]:
        """How round the number of each donor is, where it has room to move."""
        found: NDArray[np.uint8] = np.zeros(self.rows.size, dtype=np.uint8)
        if len(self.law.habits.units) == 1:
            return found
        here = np.flatnonzero(self.law.moves[self.rows])
        low, high = (self._numbers(here, np.full(here.size, side)) for side in (-1.0, 1.0))
        steps = np.rint(self.law.numbers[self.rows[here]]).astype(np.int64)
        found[here] = self.law.habits.classes(steps, high - low)
        return found

    def prepared(self) -> LeafLaw:
        """Return itself, with what every draw needs computed before threads share it."""
        _ = self.margins, self.stretches, self.roundness
        return self

    def still(self) -> LeafLaw:
        """Return the law by which no number moves."""
        return replace(self, law=replace(self.law, moves=np.zeros_like(self.law.moves)))

    def drawn(self, rng: Generator, donors: Ints) -> Floats:
        """Return places: those of mass points, and those of other donors moved."""
        return self.moved(donors, 2 * rng.random(donors.size) - 1)

    def moved(self, donors: Ints, steps: Floats) -> Floats:
        """Return places, given a step of every donor in units of its scale, from -1 to 1."""
        law, rows = self.law, self.rows.take(donors)
        places = law.places.take(rows)
        here = np.flatnonzero(law.moves.take(rows))
        if not here.size:
            return places
        donors = donors.take(here)
        far = self._numbers(donors, steps.take(here))
        if law.grid.decimals is None:
            places[here] = far
        else:
            far = law.habits.landed(far, self.roundness.take(donors))
            places[here] = law.grid.written((far - law.origin) * law.grid.step)
        return np.clip(places, *law.ends)

    def _numbers(self, donors: Ints, steps: Floats) -> Floats:
        """Return Q(H(c + s U)) of donors that move."""
        scores = self.centre.take(donors) + self.scale.take(donors) * steps
        if len(self.margins) == 1:
            (part,) = self.margins
            return self._of_scores(part, scores)
        numbers, stratum = np.empty(donors.size), self.law.stratum[self.rows[donors]]
        for part in self.margins:
            here = stratum == part
            numbers[here] = self._of_scores(part, scores[here])
        return numbers

    def _of_scores(self, part: int, scores: Floats) -> Floats:
        """Return the numbers of some scores of a stratum."""
        numbers = self.law.quantiles[part].at(heights_at(scores, *self.margins[part]))
        stretch = self.stretches.get(part)
        return numbers if stretch is None else stretch.at(numbers)


def _pool(moves: Mask, present: Mask, numbered: Mask) -> Mask:
    """Return the rows that scores are taken over: those that move, or more where these are few."""
    moving, may_move = int(np.count_nonzero(moves)), int(np.count_nonzero(present))
    if are_many(moving, may_move):
        return moves
    return present if may_move >= CROWD else numbered


def are_many(moving: int, may_move: int) -> bool:
    """Whether those who move are enough to be ranked among themselves."""
    return moving >= max(POOL, POOL_SHARE * may_move)


def _pool_of(
    crowd: Crowd, moves: Mask, present: Mask, min_people: int, *, all_move: bool
) -> tuple[Mask, Crowd]:
    """Return the rows that scores are taken over, and the people of all who are ranked there."""
    moving = crowd if all_move else crowd.only(crowd.holders < min_people)
    return (moves, moving) if are_many(moving.size, crowd.size) else (present, crowd)


def ends_of(values: Values, min_people: int, beyond: Floats | None = None) -> tuple[float, float]:
    """Return the outermost numbers that enough people hold, if nobody is beyond; else infinity."""
    low = high = np.inf
    if not values.distinct.size:
        return -low, high
    first, last = (values.distinct[0], values.distinct[-1]) if beyond is None else beyond
    if values.holders[0] >= min_people and values.distinct[0] <= first:
        low = -float(values.distinct[0])
    if values.holders[-1] >= min_people and values.distinct[-1] >= last:
        high = float(values.distinct[-1])
    return -low, high


def as_read(
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


def steps_of(grid: NumberGrid, places: Floats, origin: float) -> Floats:
    """Return other places of the column as they are read, given how far zero is from place 0."""
    return places if grid.decimals is None else np.rint(places / grid.step) + origin
