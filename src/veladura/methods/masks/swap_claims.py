"""What swapping promises: the values of the source, none of them carried far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base import shapes
from veladura.base.arrays import Floats, Ints
from veladura.core.moved_numbers import MOVED_NUMBERS, people_of
from veladura.core.promise import Check, Evidence, listed
from veladura.core.violations import source_column
from veladura.numeric.trees.values import Values
from veladura.table.codes import label_texts

if TYPE_CHECKING:
    from veladura.table.codes import Column


def foreign_values(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the values more frequent in the release than in the source, or turned missing."""
    foreign = 0
    for name in settings["columns"]:
        turned, surplus, _ = _surplus(evidence, name, settings)
        foreign += turned + int(np.clip(surplus, 0, None).sum())
    return foreign


def lost_values(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many values that enough people share are missing from the release.

    Numbers that were moved may land on one of them, so that it may be more frequent. If a later
    step dropped rows, only missing values are compared.
    """
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    people, lost = people_of(evidence.original), 0
    for name in settings["columns"]:
        turned, surplus, cell = _surplus(evidence, name, settings)
        lost += turned
        source = source_column(evidence, name)
        if evidence.rows is None or evidence.rows.size < source.size:
            continue
        held = Values.of(source.values.astype(np.float64), ~source.missing, people).by_row()
        shared = np.unique(cell[~source.missing & (held >= settings["people"])])
        lost += int(np.clip(-surplus[shared], 0, None).sum())
    return lost


def _surplus(
    evidence: Evidence, name: str, settings: Mapping[str, Any]
) -> tuple[int, Floats, Ints]:
    """Return the values turned missing or present; by cell, how much oftener it is released.

    A cell is a value in a group of similar people; at last the cell of each row of the source.
    """
    groups, here = _groups(evidence, settings)
    source, old, new = _comparable(evidence, name)
    turned = int(np.count_nonzero((old < 0) != (new < 0)))
    wide = source.size + new.size + 1
    both = np.concatenate([groups * wide + source, here * wide + new])
    held = np.concatenate([source, new]) >= 0
    cells, place = np.unique(both, return_inverse=True)
    sign = np.repeat([-1.0, 1.0], [source.size, new.size])
    surplus: Floats = np.bincount(place.reshape(-1)[held], sign[held], cells.size).astype(float)
    return turned, surplus, place.reshape(-1)[: source.size]


def carried_too_far(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the values outside the window of their row's rank, however ties are broken."""
    far = 0
    groups, here = _groups(evidence, settings)
    for name in settings["columns"]:
        source, old, new = _comparable(evidence, name)
        for group in np.unique(groups):
            mine = here == group
            far += _too_far(
                source[groups == group],
                old[mine],
                new[mine],
                settings["window"],
                moved=name in settings.get("moved", ()),
            )
    return far


def _too_far(source: Ints, old: Ints, new: Ints, window: float, *, moved: bool = False) -> int:
    """Return how many values of one group are outside the window.

    Ranks are those of the source and of the release. Where numbers moved and a later step dropped
    rows, each of these may stand for one rank.
    """
    size, present = int(np.count_nonzero(source >= 0)), (old >= 0) & (new >= 0)
    allowed, left = ranks_within(window, size), int(np.count_nonzero(present))
    if left == size or moved:
        moves = rank_moves(old[present], new[present])
        allowed += size - left
    else:
        moves = _least_moves(source[source >= 0], old[present], new[present])
    return int(np.count_nonzero(moves > allowed))


def _groups(evidence: Evidence, settings: Mapping[str, Any]) -> tuple[Ints, Ints]:
    """Return the group of similar people of each row of the source, and of its released rows."""
    names = settings.get("within", [])
    first = source_column(evidence, settings["columns"][0])
    columns = [source_column(evidence, name) for name in names]
    groups = group_numbers(columns, first.size)
    return groups, groups[evidence.rows]


def group_numbers(columns: Sequence[Column], rows: int) -> Ints:
    """Return the number of the combination of values that each row has; missing is a value."""
    groups = np.zeros(rows, dtype=np.int64)
    for column in columns:
        _, code = np.unique(column.key(), return_inverse=True)
        both = groups * (int(code.max(initial=0)) + 2) + np.where(
            column.missing, int(code.max(initial=0)) + 1, code.reshape(-1)
        )
        groups = np.unique(both, return_inverse=True)[1].reshape(-1)
    return groups


def _same_values(settings: Mapping[str, Any]) -> str:
    return (
        f"{_kind(settings)}: the values of {listed(settings)} are those of the source, in other"
        f" rows{_among(settings)}."
    )


def _shared_values(settings: Mapping[str, Any]) -> str:
    return (
        f"{_kind(settings)}: values of {listed(settings)} that at least {settings['people']} people"
        f" share are those of the source, in other rows{_among(settings)}."
    )


def _rank_window(settings: Mapping[str, Any]) -> str:
    return (
        f"Rank swapping: no value of {listed(settings)} moved by more than"
        f" {100 * settings['window']:g} % of the ranks{_among(settings)}."
    )


def _kind(settings: Mapping[str, Any]) -> str:
    return "Swapping" if settings.get("within") else "Rank swapping"


def _among(settings: Mapping[str, Any]) -> str:
    names = settings.get("within")
    return f" of people with the same {', '.join(names)}" if names else ""


def ranks_within(window: float, size: int) -> int:
    """Return the window in ranks, rounded down safely against 4.999999; never less than one.

    Examples
    --------
    >>> ranks_within(0.07, 100), ranks_within(0.01, 10)
    (7, 1)
    """
    return max(1, math.floor(window * size + 1e-9))


def rank_moves(old: Ints, new: Ints) -> Ints:
    """Return how far each row moved, under the ranks that make the longest move shortest.

    Rows of one old value take its ranks in the order of their new values, and the other way
    round. Sorting both sides never lengthens the longest move, so if any ranks keep within a
    window, these do.

    Examples
    --------
    >>> rank_moves(np.array([0, 0, 1]), np.array([1, 0, 0])).tolist()
    [1, 0, 1]
    """
    before, after = np.empty(old.size, dtype=np.int64), np.empty(old.size, dtype=np.int64)
    before[np.lexsort((new, old))] = np.arange(old.size)
    after[np.lexsort((old, new))] = np.arange(old.size)
    moves: Ints = np.abs(before - after)
    return moves


def _least_moves(source: Ints, old: Ints, new: Ints) -> Ints:
    """Return the least move of each row by itself, for a release without some of the rows."""
    counts = np.bincount(source, minlength=int(max(source.max(), new.max(initial=0))) + 1)
    last = np.cumsum(counts) - 1
    first = last - counts + 1
    least: Ints = np.maximum(0, np.maximum(first[new] - last[old], first[old] - last[new]))
    return least


def _comparable(evidence: Evidence, name: str) -> tuple[Ints, Ints, Ints]:
    """Return ordered codes, -1 where missing: of the source, its released rows, and the release."""
    source, after = source_column(evidence, name), evidence.column(name)
    values = np.concatenate([_ordered_values(source, source), _ordered_values(after, source)])
    missing = np.concatenate([source.missing, after.missing])
    codes = np.where(missing, -1, np.unique(values, return_inverse=True)[1])
    return codes[: source.size], codes[: source.size][evidence.rows], codes[source.size :]


def _ordered_values(column: Column, source: Column) -> NDArray[Any]:
    """Return values that compare across tables: for labels, codes into those of the source."""
    if column.labels is None or source.labels is None:
        return column.values
    number = {label: code for code, label in enumerate(label_texts(source))}
    codes = [number.get(label, len(number)) for label in label_texts(column)] or [0]
    values: NDArray[Any] = np.array(codes, dtype=np.int64)[column.values]
    return values


SAME_VALUES = Check(
    foreign_values,
    _same_values,
    shapes.table({"columns": shapes.names}, {"within": shapes.names}),
)
SHARED_VALUES = Check(
    lost_values,
    _shared_values,
    shapes.table({"columns": shapes.names, "people": shapes.whole(2)}, {"within": shapes.names}),
    untouched=True,
)
RANK_WINDOW = Check(
    carried_too_far,
    _rank_window,
    shapes.table(
        {"columns": shapes.names, "window": shapes.number(0, 1, above=True)},
        {"within": shapes.names, "moved": shapes.names},
    ),
)
CHECKS = {
    "same-values": SAME_VALUES,
    "shared-values": SHARED_VALUES,
    "moved-numbers": replace(MOVED_NUMBERS, untouched=True),
    "rank-window": RANK_WINDOW,
}
