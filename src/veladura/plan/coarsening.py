"""How coarse a column must become until few people are alone by it: round bases, limits, groups.

Every choice is written into the plan as a declared setting, so that a run depends on it and no
longer on who is in the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.errors import DataError
from veladura.methods.masks.dates import PERIODS, start_of
from veladura.methods.masks.recode_rules import REST, Coarser, multiples
from veladura.methods.masks.topcode_limits import Limits, limit_from, round_down
from veladura.table.codes import Column, label_texts

if TYPE_CHECKING:
    from veladura.base.arrays import Ints
    from veladura.table.table import Table

TAIL = 0.005  # people in each tail that are coded together, if it is heavy
SKEWED = 4  # amounts whose 99th percentile is so many times the median are rounded by their size
HEAVY = 2.0  # a tail is heavy if it reaches so many times further than its 99th percentile
SPARE = 4  # people who share a value: rows that are left out later may take some of them away
NEARLY = 10  # so many times more people may share their value with fewer than that
MOST_CODED = 0.05  # share of people who may be coded together at an end, heavy tail or not
FEWEST_VALUES = 8  # a number with fewer multiples than this would say nothing
MOST_MERGED = 0.3  # share of people that a category "other" may take in
MISSING_DECIMALS = 9
ENOUGH_TOLD = 0.8  # of the variance of ranks: a rounding that keeps less is not worth releasing
TINY = 1e-9  # so that a limit that is a multiple of its base stays


@dataclass(frozen=True, eq=False)
class Holders:
    """The values of one column, one row for each person who holds one of them.

    Attributes
    ----------
    column
        The values; a person with several different values has several rows.
    person
        A number for each person.
    people
        How many people there are in the table.
    """

    column: Column
    person: Ints
    people: int

    def alone(self, groups: Any, fewest: int = 2) -> int:
        """Return how many people are in a group of fewer than so many, missing being a group."""
        _, place = np.unique(groups, return_inverse=True)
        place = np.where(self.column.missing, place.max(initial=0) + 1, place.ravel())
        group, person = self._pairs(place)
        return int(np.unique(person[np.bincount(group)[group] < fewest]).size)

    def held_by(self, groups: Ints) -> Ints:
        """Return how many people hold each group, by its number."""
        return np.bincount(self._pairs(groups)[0])

    def _pairs(self, groups: Ints) -> tuple[Ints, Ints]:
        """Return each group with each person in it, once."""
        most = int(self.person.max(initial=0)) + 1
        pairs = np.unique(groups * most + self.person)
        return pairs // most, pairs % most


def holders(table: Table, name: str, person: str | None) -> Holders:
    """Return who holds which value of a column; without a person column every row is somebody."""
    if person is None:
        counts = table.counts([name])
        rows = np.repeat(np.arange(counts.size.size), counts.size)
        return Holders(counts.columns[0].take(rows), np.arange(rows.size), rows.size)
    counts = table.counts([name, person])
    who = counts.columns[1]
    _, number = np.unique(who.values, return_inverse=True)
    number = np.where(who.missing, number.max(initial=0) + 1, number.ravel())
    return Holders(counts.columns[0], number, int(np.unique(number).size))


def coarser_number(held: Holders, most_alone: float) -> tuple[Limits | None, Coarser | None]:
    """Return limits for the tails and a rounding, so that few people are alone by a number.

    Parameters
    ----------
    most_alone
        The share of people who may be alone by it. A rule is None when the values do as they are.
    """
    column, enough = held.column, most_alone * held.people
    upper, lower = _upper(column), _upper(column.with_values(-column.values))
    rule: Coarser | None = None
    for rule in _roundings(held, upper):
        high, low = (_as_rounded(limit, rule) for limit in (upper, lower))
        values = _clipped(column.values, high, low)
        rounded = values if rule is None else rule.rounded(values)
        if not _shared(held, rounded, enough):  # what no rounding brings together: the ends
            high = _lower_of(high, _shared_end(held, rounded))
            low = _lower_of(low, _shared_end(held, -rounded))
            rounded = _clipped(rounded, high, low)
        if _shared(held, rounded, enough):
            break
    if high is None and low is None:
        return None, rule
    return Limits(upper=high, lower=None if low is None else -low), rule


def coarser_weight(held: Holders, most_alone: float) -> tuple[float | None, float | None, int]:
    """Return limits at both ends and significant digits: few people are alone by their weight."""
    for digits in (2, 1):
        rounded = Coarser(digits=digits).rounded(held.column.values)
        if _shared(held, rounded, most_alone * held.people):
            return None, None, digits
    low = _shared_end(held, -rounded)
    return None if low is None else -low, _shared_end(held, rounded), digits


def told_by_ranks(held: Holders, limits: Limits | None, rule: Coarser | None) -> float:
    """Return the share of the variance of ranks that coarser numbers keep (eta squared).

    1 says that they tell the order of people as well as the exact ones did.
    """
    present = ~held.column.missing
    values = held.column.values[present]
    if np.unique(values).size < 2:  # noqa: PLR2004  # there is no order to tell
        return 1.0
    upper, lower = (None, None) if limits is None else (limits.upper, limits.lower)
    low = None if lower is None else -float(lower)
    coarse = _clipped(values, None if upper is None else float(upper), low)
    coarse = coarse if rule is None else rule.rounded(coarse)
    _, place, size = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(size) - (size - 1) / 2)[place.ravel()]
    _, group = np.unique(coarse, return_inverse=True)
    means = np.bincount(group.ravel(), weights=ranks) / np.bincount(group.ravel())
    return float(np.var(means[group.ravel()]) / np.var(ranks))


def _roundings(held: Holders, upper: float | None) -> Iterator[Coarser | None]:
    """Yield rules from none to the coarsest that still says something."""
    column = held.column
    yield None
    values = column.values[~column.missing]
    amounts = np.abs(values[values != 0])  # debts and corrections are rounded by their size too
    if amounts.size > 0:
        middle, high = np.quantile(amounts, [0.5, 0.99])
        if high >= SKEWED * middle:
            yield from (Coarser(digits=digits) for digits in (3, 2, 1))
    for base in _bases(column):
        yield Coarser(round=base)
        if np.unique(multiples(_clipped(values, upper, None), base)).size <= FEWEST_VALUES:
            return


def _clipped(values: Any, upper: float | None, lower: float | None) -> Any:
    """Return values with the tails beyond two limits coded; the lower one with its sign changed."""
    values = values if upper is None else np.minimum(values, upper)
    return values if lower is None else np.maximum(values, -lower)


def _lower_of(first: float | None, second: float | None) -> int | float | None:
    """Return the lower of two limits, where there are any."""
    return min((limit for limit in (first, second) if limit is not None), default=None)


def _shared_end(held: Holders, values: Any) -> int | float | None:
    """Return the highest value that enough people share, if few are above it; None for the top."""
    present = ~held.column.missing
    levels, place = np.unique(values[present], return_inverse=True)
    if levels.size == 0:
        return None
    inside = Holders(held.column.take(np.flatnonzero(present)), held.person[present], held.people)
    shared = np.flatnonzero(inside.held_by(place.ravel()) >= SPARE)
    if shared.size == 0 or shared[-1] == levels.size - 1:
        return None
    limit: int | float = levels[shared[-1]].item()
    above = np.unique(held.person[present][values[present] > limit]).size
    return limit if above <= max(MOST_CODED * held.people, 2 * SPARE) else None


def _shared(held: Holders, values: Any, enough: float) -> bool:
    """Whether few people are alone, and few would be if some of the others were left out."""
    return held.alone(values) <= enough and held.alone(values, SPARE) <= NEARLY * enough


def _as_rounded(limit: float | None, rule: Coarser | None) -> int | float | None:
    """Return the largest limit not above another that a rule leaves as it is."""
    if limit is None or rule is None:
        return limit
    if rule.digits is not None:
        return round_down(limit, rule.digits)
    return _multiple(limit, rule.round or 1)


def _multiple(limit: float, base: float) -> int | float:
    """Return the largest multiple of a base that is not above a limit."""
    below: int | float = multiples(np.array([math.floor(limit / base + TINY) * base]), base)[
        0
    ].item()
    return below


def _upper(column: Column) -> int | float | None:
    """Return the upper limit of a column whose tail is heavy; None for one that is not."""
    values = column.numbers()
    values = values[~np.isnan(values)]
    if values.size == 0:
        return None
    middle, high, top = np.quantile(values, [0.5, 0.99, 1.0])
    if top - middle <= HEAVY * (high - middle) or high <= middle:
        return None
    try:
        limit = limit_from(column, 1 - TAIL)
    except DataError:  # fewer values than a limit needs
        return None
    return limit if isinstance(limit, (int, float)) and limit < top else None


def _bases(column: Column) -> Iterator[int | float]:
    """Yield round bases (1, 2, 5, 10, ...) from the unit of a column to its range."""
    decimals = column.decimals
    start = -(MISSING_DECIMALS if decimals is None else decimals)
    values = column.values[~column.missing].astype(np.float64)
    widest = max(float(np.ptp(values)) if values.size else 1.0, 1.0)
    for power in range(start, math.ceil(math.log10(widest)) + 1):
        for digit in (1, 2, 5):
            base = digit * 10**power if power >= 0 else round(digit * 10.0**power, -power)
            if power > start or digit > 1:
                yield base


def date_period(held: Holders, most_alone: float) -> Coarser | None:
    """Return the finest period of dates at which at most a share of people are alone."""
    if _shared(held, held.column.values, most_alone * held.people):
        return None
    rules = [Coarser(date=period) for period in PERIODS]  # type: ignore[arg-type]
    enough = (
        rule
        for rule in rules
        if _shared(held, start_of(held.column, str(rule.date)), most_alone * held.people)
    )
    return next(enough, rules[-1])


def rare_levels(held: Holders, fewest: int) -> Coarser | None:
    """Return a rule that merges the categories held by too few people; None if there are none.

    The merged category holds at least as many people itself: common ones are added until it does.
    """
    column = held.column
    present = ~column.missing
    texts = label_texts(column)
    if not present.any():
        return None
    kept = Holders(column.take(np.flatnonzero(present)), held.person[present], held.people)
    size = np.zeros(len(texts), dtype=np.int64)
    counted = kept.held_by(kept.column.values.astype(np.int64))
    size[: counted.size] = counted
    order = [level for level in np.argsort(size, kind="stable") if size[level] > 0]
    merged = [level for level in order if size[level] < fewest]
    if not merged:
        return None
    for level in order[len(merged) :]:
        if size[merged].sum() >= fewest and len(merged) > 1:
            break
        merged.append(level)
    kept_labels = [texts[level] for level in sorted(order) if level not in merged]
    rest = REST if REST not in texts else f"{REST} (merged)"
    return Coarser(keep=kept_labels or [rest], other=rest)  # all are rare: nothing else is left


def merged_share(held: Holders, rule: Coarser) -> float:
    """Return the share of people whose category a rule merges into another."""
    stays = set(rule.keep or ())
    texts = np.array([text not in stays for text in label_texts(held.column)] or [False])
    inside = texts[held.column.values.astype(np.int64)] & ~held.column.missing
    return float(np.unique(held.person[inside]).size / max(held.people, 1))
