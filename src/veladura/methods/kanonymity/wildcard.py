"""Missing values that match anything: how many rows match each row, and which rows must go.

Matching is not transitive, so there are no groups: a row's count is the number of rows that agree
with it wherever both are known. Taking rows away lowers the counts of others, so suppression is
repeated until nothing changes. What is left is the largest set of rows that all have k matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.core.promise import Evidence, starred_tuples
from veladura.methods.kanonymity.tuples import group_numbers

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def matching_rows(codes: Ints, sizes: Ints) -> Ints:
    """Return for each tuple how many rows match it; a code of -1 is missing and matches anything.

    Tuples with the same columns missing are taken together: two such patterns are compared on
    the columns that both know, by counting, never pair by pair.

    Examples
    --------
    >>> matching_rows(np.array([[1, -1], [1, 2], [1, 3]]), np.array([1, 1, 1])).tolist()
    [3, 2, 2]
    """
    unknown = codes < 0
    pattern = group_numbers(unknown.astype(np.int64)) if len(codes) else np.zeros(0, dtype=np.int64)
    members = [np.flatnonzero(pattern == p) for p in range(int(pattern.max(initial=-1)) + 1)]
    total = np.zeros(len(codes), dtype=np.int64)
    for mine in members:
        for other in members:
            both = ~(unknown[mine[0]] | unknown[other[0]])
            total[mine] += _found(codes[mine][:, both], codes[other][:, both], sizes[other])
    return total


def _found(wanted: Ints, there: Ints, sizes: Ints) -> Ints:
    """Return how many rows of ``there`` equal each tuple of ``wanted``."""
    numbers = group_numbers(np.concatenate([wanted, there]))
    rows = np.bincount(
        numbers[len(wanted) :], weights=sizes, minlength=int(numbers.max(initial=0)) + 1
    )
    return rows[numbers[: len(wanted)]].astype(np.int64)


def matched(codes: Ints, sizes: Ints, k: int) -> Mask:
    """Return the largest set of tuples whose rows all match at least k rows of the set."""
    kept = np.ones(len(codes), dtype=bool)
    while kept.any():
        few = matching_rows(codes[kept], sizes[kept]) < k
        if not few.any():
            break
        kept[np.flatnonzero(kept)[few]] = False
    return kept


def unmatched(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of combinations that fewer than k rows match, missing values matching anything.

    Rows that are suppressed in every column match no one and are not counted.
    """
    counts = evidence.released.counts(settings["columns"])
    left = ~starred_tuples(counts, settings)
    return int(
        np.count_nonzero(matching_rows(counts.codes[left], counts.size[left]) < settings["k"])
    )
