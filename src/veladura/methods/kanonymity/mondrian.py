"""Mondrian: the table is cut at medians, again and again, as long as every part keeps k rows.

Numbers, dates and ordered categories become ranges between cuts; categories their closest common
ancestor in a declared hierarchy, else the set of those that occur together. The smallest and the
largest value are never released: the outer ranges are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.methods.kanonymity.recoding import Recoding, Released, text_field, text_labels
from veladura.methods.kanonymity.tuples import Tuples
from veladura.numeric.hierarchies.hierarchy import TOP
from veladura.numeric.hierarchies.levels import Levels


@dataclass(frozen=True, eq=False)
class Axis:
    """One quasi-identifier as cuts see it.

    Attributes
    ----------
    rank
        Where each value stands in the order that cuts follow; values under one ancestor stand
        together. Missing is last.
    ranged
        Whether parts are released as ranges.
    """

    level: Levels = field(repr=False)
    rank: Ints = field(repr=False)
    ranged: bool

    @property
    def present(self) -> int:
        """Number of values that are not missing."""
        return int(np.count_nonzero(~self.level.base.missing))


def mondrian(tuples: Tuples, k: int) -> Recoding:
    """Return the recoding by strict multidimensional partitioning.

    Each part is cut at the median of the column that is widest in it, as a share of all its
    values, at which both sides keep k rows; rows of one value are never taken apart.

    References
    ----------
    LeFevre, K., DeWitt, D. J. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity.
    ICDE, sec. 3.1 and 4.
    """
    axes = [_axis(level) for level in tuples.levels]
    ranks = np.column_stack([axis.rank[tuples.places[:, c]] for c, axis in enumerate(axes)])
    parts = _cut(ranks, tuples.people, k, np.array([max(axis.rank.max(), 1) for axis in axes]))
    columns, losses = {}, []
    for c, (name, axis) in enumerate(zip(tuples.names, axes, strict=True)):
        labels, code = [], np.empty(len(ranks), dtype=np.int64)
        loss = np.empty(len(ranks))
        for i, part in enumerate(parts):
            label, lost = _label(axis, ranks[part.tuples, c], part.low[c], part.high[c])
            labels.append(label)
            code[part.tuples], loss[part.tuples] = i, lost
        losses.append(loss)
        field_ = text_field(axis.level.base.field)
        columns[name] = Released(field_, pa.array(labels, pa.string()), code)
    everyone = np.ones(len(ranks), dtype=bool)
    return Recoding(columns, everyone, ~everyone, np.column_stack(losses))


def _axis(level: Levels) -> Axis:
    """Return the order of a column's values: by size, or those of one ancestor together."""
    count = level.base.size
    ranged = level.base.field.kind not in ("category", "text")
    keys: list[Ints] = [np.arange(count), *(() if ranged else level.codes[1:-1])]
    order = np.lexsort([*keys, level.base.missing.astype(np.int64)])
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return Axis(level, rank, ranged)


@dataclass(frozen=True, eq=False)
class Part:
    """Tuples that are released alike, with ranks from low up to, but not including, high."""

    tuples: Ints
    low: Ints
    high: Ints


def _cut(ranks: Ints, sizes: Ints, k: int, widths: Ints) -> list[Part]:
    """Return the parts, none of which can be cut further."""
    waiting = [Part(np.arange(len(ranks)), np.zeros(len(widths), dtype=np.int64), widths + 1)]
    done = []
    while waiting:
        part = waiting.pop()
        halves = _halves(part, ranks[part.tuples], sizes[part.tuples], k, widths)
        waiting += halves
        done += [] if halves else [part]
    return done


def _halves(part: Part, ranks: Ints, sizes: Ints, k: int, widths: Ints) -> list[Part]:
    """Return both sides of the first allowed median cut, widest column first."""
    if int(sizes.sum()) < 2 * k:
        return []
    spread = (ranks.max(axis=0) - ranks.min(axis=0)) / widths
    for c in np.argsort(-spread, kind="stable").tolist():
        if spread[c] == 0:
            break
        limit = _median_cut(ranks[:, c], sizes, k)
        if limit is not None:
            left = ranks[:, c] < limit
            high, low = part.high.copy(), part.low.copy()
            high[c] = low[c] = limit
            return [
                Part(part.tuples[left], part.low, high),
                Part(part.tuples[~left], low, part.high),
            ]
    return []


def _median_cut(ranks: Ints, sizes: Ints, k: int) -> int | None:
    """Return the rank where the right side starts; None if a side had fewer than k rows."""
    values, place = np.unique(ranks, return_inverse=True)
    reached = np.cumsum(np.bincount(place, weights=sizes))
    middle = int(np.searchsorted(reached, reached[-1] / 2))
    for at in (middle + 1, middle):  # the median goes left, else right where left would be all
        if 0 < at < values.size and min(reached[at - 1], reached[-1] - reached[at - 1]) >= k:
            return int(values[at])
    return None


def _label(axis: Axis, ranks: Ints, low: int, high: int) -> tuple[str | None, float]:
    """Return what a part shows in one column, and how much of its values it leaves open."""
    missing = ranks >= axis.present
    if missing.all():
        return None, 0.0
    if missing.any():
        return TOP, 1.0
    inner = np.unique(ranks)
    if axis.ranged:
        return _range_label(axis, inner, low, min(high, axis.present))
    if axis.level.hierarchy.rule == "flat":
        return _set_label(axis, inner)
    return _ancestor_label(axis, inner)


def _range_label(axis: Axis, inner: Ints, low: int, high: int) -> tuple[str, float]:
    texts = text_labels(axis.level, 0)
    if inner.size == 1:
        return str(texts[inner[0]]), 0.0
    if low == 0 and high >= axis.present:
        return TOP, 1.0
    loss = (high - low - 1) / max(axis.present - 1, 1)
    if low == 0:
        return f"< {texts[high]}", loss
    if high >= axis.present:
        return f">= {texts[low]}", loss
    return f"[{texts[low]}, {texts[high]})", loss


def _set_label(axis: Axis, inner: Ints) -> tuple[str, float]:
    texts = sorted(str(text) for text in _texts(axis, inner))
    if len(texts) == 1:
        return texts[0], 0.0
    if len(texts) == axis.present:
        return TOP, 1.0
    return "{" + ", ".join(texts) + "}", (len(texts) - 1) / max(axis.present - 1, 1)


def _texts(axis: Axis, inner: Ints) -> Sequence[str | None]:
    texts = text_labels(axis.level, 0)
    values = np.argsort(axis.rank)[inner]
    return [texts[value] for value in values]


def _ancestor_label(axis: Axis, inner: Ints) -> tuple[str, float]:
    """Return the lowest label of the hierarchy that covers all values of a part."""
    values = np.argsort(axis.rank)[inner]
    for height, codes in enumerate(axis.level.codes):
        if np.unique(codes[values]).size == 1:
            label = text_labels(axis.level, height)[codes[values[0]]]
            return str(label), height / axis.level.height
    return TOP, 1.0
