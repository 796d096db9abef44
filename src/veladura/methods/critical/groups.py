"""Correlation groups: given or proposed, merged into classes, and the order in which columns are replaced."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.methods.cart.order import SAMPLED, coarse_codes, cramer
from veladura.methods.critical.cells import CriticalWarning
from veladura.numeric.trees.tree import DEPTH, FEATURE, Tree, ranks

if TYPE_CHECKING:
    from veladura.table.codes import Codes, Column


@dataclass(frozen=True)
class Tie:
    """How strongly two columns hang together, and by which measure."""

    first: str
    second: str
    strength: float
    measure: str


@dataclass(frozen=True)
class Class:
    """Columns whose joint structure is kept: an equivalence class of the correlation groups.

    Attributes
    ----------
    confidential
        Its columns with critical cells, in the order of replacement.
    others
        Its other columns.
    """

    confidential: tuple[str, ...]
    others: tuple[str, ...] = ()


def find_ties(codes: Codes, confidential: Sequence[str], names: Sequence[str]) -> list[Tie]:
    """Return the tie of every pair with a confidential column, strongest first.

    Two columns with an order: Spearman's rank correlation, its sign left out. Otherwise Cramér's V
    of the columns cut into at most eight bins. On at most 5000 evenly spaced rows where neither is
    missing.
    """
    rows = np.unique(np.linspace(0, codes.rows.size - 1, SAMPLED).astype(np.int64))
    taken = {name: codes[name].take(rows) for name in names}
    pairs = [pair for pair in combinations(names, 2) if set(pair) & set(confidential)]
    return sorted((_tie(taken[a], taken[b]) for a, b in pairs), key=lambda tie: -tie.strength)


def _tie(a: Column, b: Column) -> Tie:
    both = ~a.missing & ~b.missing
    x, y = a.values[both], b.values[both]
    if not both.any():
        return Tie(a.name, b.name, 0.0, "none")
    if all(column.labels is None or column.field.kind == "ordered" for column in (a, b)):
        first, second = (ranks(values.astype(np.float64)).astype(np.float64) for values in (x, y))
        scale = math.sqrt(float(first @ first) * float(second @ second))
        return Tie(
            a.name, b.name, abs(float(first @ second)) / scale if scale > 0 else 0.0, "Spearman"
        )
    return Tie(a.name, b.name, cramer(coarse_codes(x), coarse_codes(y)), "Cramér's V")


def propose(ties: Sequence[Tie], least: float) -> tuple[tuple[str, str], ...]:
    """Return the pairs that hang together at least so strongly."""
    return tuple((tie.first, tie.second) for tie in ties if tie.strength >= least)


def find_classes(
    groups: Sequence[Sequence[str]], order: Sequence[str], names: Sequence[str]
) -> list[Class]:
    """Return the equivalence classes of "in one group, or linked by a chain of groups", first those replaced first.

    A group without a confidential column is left out. A confidential column in no group is a class
    of its own.

    Examples
    --------
    >>> find_classes([("a", "b"), ("b", "x"), ("y", "z")], ["b", "c", "a"], ["a", "b", "c", "x", "y", "z"])
    [Class(confidential=('b', 'a'), others=('x',)), Class(confidential=('c',), others=())]
    """
    root = {name: name for name in names}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = name = root[root[name]]
        return name

    for group in groups:
        for name in group[1:]:
            root[find(name)] = find(group[0])
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(find(name), []).append(name)
    groups_found = [group for name in order if (group := members.pop(find(name), []))]
    return [
        Class(tuple(n for n in order if n in group), tuple(n for n in group if n not in order))
        for group in groups_found
    ]


def report_groups(groups: Sequence[Sequence[str]], confidential: Sequence[str]) -> None:
    """Warn of groups that cannot matter, and of those that share columns and become one."""
    if idle := [list(group) for group in groups if not set(group) & set(confidential)]:
        msg = (
            "groups without a confidential column are left out, for nothing in them changes:"
            f" {idle}."
        )
        warnings.warn(msg, CriticalWarning, stacklevel=2)
    useful = [group for group in groups if set(group) & set(confidential)]
    if merged := [[list(a), list(b)] for a, b in combinations(useful, 2) if set(a) & set(b)]:
        msg = f"groups that share columns are treated as one: {merged}."
        warnings.warn(msg, CriticalWarning, stacklevel=2)


def order_columns(
    count: Mapping[str, int],
    tree_of: Callable[[str, Sequence[str]], tuple[Tree | None, Mapping[int, str]]],
) -> list[str]:
    """Return columns by their number of critical cells, most first; among equals the less dependent one first.

    The dependence of a column on those it is tied with is the smallest depth at which one of them
    splits its tree: the larger, the earlier. Then the order of the table.

    Parameters
    ----------
    tree_of
        Returns the tree of a column, given those it is tied with, and which feature of the tree is
        which of them.
    """
    names = list(count)
    depth = dict.fromkeys(names, math.inf)
    for name in names:
        if tied := [other for other in names if other != name and count[other] == count[name] > 0]:
            depth[name] = first_split(*tree_of(name, tied))
    return sorted(names, key=lambda name: (-count[name], -depth[name], names.index(name)))


def first_split(tree: Tree | None, features: Mapping[int, str]) -> float:
    """Return the smallest depth at which one of some features splits; infinite if none ever does."""
    if tree is None:
        return math.inf
    hits: NDArray[np.int64] = tree.nodes[np.isin(tree.nodes[:, FEATURE], list(features)), DEPTH]
    return float(hits.min()) if hits.size else math.inf
