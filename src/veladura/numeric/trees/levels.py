"""Rare levels: categories that few people hold, merged into others before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.association import coarse_codes
from veladura.numeric.trees.values import Values
from veladura.table.codes import Column, label_texts

OTHER = ("other", "others", "other/unknown", "misc", "miscellaneous", "rest", "elsewhere")
MOST_COLUMNS = 20  # whose profile is compared
SHRUNK = 2  # people like everybody else that are added to a category before it is compared
SMALLEST = 1e-300


def merge_rare(
    column: Column,
    people: Ints | None,
    least: int,
    others: Sequence[Column],
    *,
    ordered: bool,
    holders: Ints | None = None,
) -> Column | None:
    """Return a column without levels that fewer people hold; None where there are none.

    Parameters
    ----------
    people
        Whose row each is; every row is a person by default.
    least
        Fewest people who hold a level.
    others
        The columns that say which categories are similar.
    ordered
        Whether levels have an order: a rare one is merged into its neighbour, else into a category
        for others or the one that its people most probably have by their other columns.
    holders
        People who hold each level, where they were counted in more rows than these.
    """
    present = ~column.missing
    found = Values.of_column(column).held_by(people, present)
    levels, place = found.distinct, found.place[present]
    holders = found.holders if holders is None else holders
    rare = holders < least
    if not rare.any() or levels.size < 2:  # noqa: PLR2004
        return None
    if rare.all():
        target = _grouped(holders, least)
    elif ordered:
        target = _neighbours(levels.astype(np.float64), rare)
    else:
        target = _similar(
            column, levels, place, rare, [one.take(np.flatnonzero(present)) for one in others]
        )
    values = column.values.copy()
    values[present] = levels[target[place]]
    return column.with_values(values)


def _neighbours(levels: Floats, rare: Mask) -> Ints:
    """Return for each level itself, or the nearest one that is not rare.

    Examples
    --------
    >>> _neighbours(np.array([1.0, 2.0, 9.0, 10.0]), np.array([False, True, True, False])).tolist()
    [0, 0, 3, 3]
    """
    common = np.flatnonzero(~rare)
    above = np.minimum(np.searchsorted(common, np.arange(levels.size)), common.size - 1)
    below = np.maximum(above - 1, 0)
    nearer = np.abs(levels - levels[common[below]]) <= np.abs(levels - levels[common[above]])
    target = np.where(nearer, common[below], common[above])
    return np.where(rare, target, np.arange(levels.size))


def _grouped(holders: Ints, least: int) -> Ints:
    """Return the largest level of each group of neighbours that enough people hold together."""
    target = np.zeros(holders.size, dtype=np.int64)
    begin, count = 0, 0
    groups: list[tuple[int, int]] = []
    for i, people in enumerate(holders):
        count += int(people)
        if count >= least:
            groups.append((begin, i + 1))
            begin, count = i + 1, 0
    if begin < holders.size:  # the last few join the group before them
        groups = [*groups[:-1], (groups[-1][0] if groups else 0, holders.size)]
    for start, end in groups:
        target[start:end] = start + int(np.argmax(holders[start:end]))
    return target


def _similar(
    column: Column, levels: Floats, place: Ints, rare: Mask, others: Sequence[Column]
) -> Ints:
    """Return for each level itself, or the category that its people are merged into.

    That is one they probably have by their other columns (naive Bayes): n_c times the mean over
    them of prod_j p(x_j | c), with p(x_j | c) shrunk to everybody's share. By profiles alone, not
    shrunk and whatever their size, the smallest categories would take most: theirs are far from
    everybody's by chance.
    """
    common = np.flatnonzero(~rare)
    target = np.arange(levels.size)
    if column.labels is not None:
        texts = label_texts(column)
        named = [i for i in common if texts[int(levels[i])].strip().lower() in OTHER]
        if named:
            target[rare] = named[0]
            return target
    held = np.bincount(place, minlength=levels.size).astype(np.float64)
    likely = np.zeros((levels.size - common.size, common.size))
    for other in others[:MOST_COLUMNS]:
        codes = coarse_codes(other.key())
        bins = int(codes.max(initial=0)) + 1
        table = np.bincount(place * bins + codes, minlength=levels.size * bins)
        table = table.reshape(levels.size, bins)
        everybody = table.sum(axis=0) / place.size
        shrunk = (table[common] + SHRUNK * everybody) / (held[common] + SHRUNK)[:, None]
        own = table[rare] / np.maximum(held[rare], 1)[:, None]
        likely += own @ np.log(np.maximum(shrunk, SMALLEST)).T
    target[rare] = common[_shared_out(likely, held[rare], held[common])]
    return target


def _shared_out(likely: Floats, sizes: Floats, common: Floats) -> Ints:
    """Return for each rare level the place of its category, the largest levels first.

    Seats are given by the highest averages (D'Hondt), with sum_j log p(x_j | c) beside log n_c:
    categories grow in proportion, and none takes all.

    Examples
    --------
    >>> _shared_out(np.zeros((6, 2)), np.ones(6), np.array([21.0, 10.0])).tolist()
    [0, 0, 1, 0, 0, 1]
    """
    chosen, taken = np.zeros(sizes.size, dtype=np.int64), np.zeros(common.size)
    size = np.log(np.maximum(common, 1))
    for level in np.argsort(-sizes, kind="stable"):
        place = int(np.argmax(likely[level] + size - np.log(taken + sizes[level])))
        chosen[level] = place
        taken[place] += sizes[level]
    return chosen
