"""Cell suppression: single cells of rare rows become missing, so that the rows can stay.

In each row as few cells as possible are suppressed, by trying every set of columns, smallest sets
first. The choice is greedy, so it need not be the smallest number over all rows together; that
problem is NP-hard (Meyerson and Williams 2004).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.methods.kanonymity.tuples import group_rows

MOST_SETS = 3000  # of columns of one size; a size with more sets is not tried


def blank_cells(
    codes: Ints,
    missing: Mask,
    sizes: Ints,
    k: int,
    *,
    wildcard: bool,
    strata: Sequence[int] = (),
) -> tuple[Mask, Mask]:
    """Return which cells to blank, and which tuples cannot stay even so.

    Parameters
    ----------
    codes
        The tuples at the levels chosen for all rows.
    missing
        Cells that are missing already.
    wildcard
        Whether a missing cell matches anything. Then a row needs k rows that agree with it in the
        cells it keeps. Otherwise missing is a value of its own, and k rows must be blanked alike.
    strata
        Columns that are never blanked: rows must be alike within each stratum.

    References
    ----------
    Meyerson, A. and Williams, R. (2004). On the complexity of optimal k-anonymity. PODS, 223-228.
    Templ, M., Kowarik, A. and Meindl, B. (2015). Statistical disclosure control for micro-data
    using the R package sdcMicro. Journal of Statistical Software 67(4), sec. 4.2.
    """
    visible = np.where(missing, -1, codes)
    rare = group_rows(visible, sizes) < k
    blank = np.zeros(codes.shape, dtype=bool)
    for columns in _column_sets(codes, strata):
        if not rare.any():
            break
        (_settle_matching if wildcard else _settle_alike)(visible, sizes, k, columns, rare, blank)
    return blank, rare


def _column_sets(codes: Ints, strata: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield sets of columns, small ones first.

    Columns with more values come first: they make rows rare.
    """
    values = {c: np.unique(codes[:, c]).size for c in range(codes.shape[1]) if c not in strata}
    order = sorted(values, key=lambda c: (-values[c], c))
    for number in range(1, len(order)):
        if comb(len(order), number) <= MOST_SETS:
            yield from combinations(order, number)
    yield tuple(sorted(order))


def _settle_matching(
    visible: Ints, sizes: Ints, k: int, columns: tuple[int, ...], rare: Mask, blank: Mask
) -> None:
    """Blank the columns in rows that k rows agree with elsewhere.

    Blanking others later only adds to the matches.
    """
    rest = np.delete(visible, columns, axis=1)
    done = rare & (group_rows(rest, sizes) >= k)
    blank[np.ix_(done, np.array(columns))] = True
    rare[done] = False


def _settle_alike(
    visible: Ints, sizes: Ints, k: int, columns: tuple[int, ...], rare: Mask, blank: Mask
) -> None:
    """Blank the columns in rows that then form a class of k, or join one that stands."""
    tried = np.where(blank, -1, visible)
    tried[np.ix_(rare, np.array(columns))] = -1
    done = rare & (group_rows(tried, sizes) >= k)
    blank[np.ix_(done, np.array(columns))] = True
    rare[done] = False
