"""Correlation groups: given or proposed, merged into classes; and the order of replacement."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints
from veladura.methods.critical.cells import CriticalWarning
from veladura.numeric.association import coarse_codes, cramer, evenly_spaced
from veladura.numeric.trees.tree import DEPTH, FEATURE, Tree, ranks

if TYPE_CHECKING:
    from veladura.table.codes import Codes, Column


@dataclass(frozen=True)
class Tie:
    """The strength of association of two columns, and the measure of it."""

    first: str
    second: str
    strength: float
    measure: str


@dataclass(frozen=True)
class ColumnClass:
    """Columns whose joint distribution is kept: correlation groups that share columns, merged.

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
    """Return the association of every pair with a confidential column, strongest first.

    For two columns with an order, the absolute value of Spearman's rank correlation. Otherwise
    Cramér's V of the columns cut into at most eight bins. On at most 5000 evenly spaced rows where
    neither is missing.
    """
    rows = evenly_spaced(codes.rows.size)
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
    """Return the pairs whose association is at least so strong."""
    return tuple((tie.first, tie.second) for tie in ties if tie.strength >= least)


def find_classes(
    groups: Sequence[Sequence[str]], order: Sequence[str], names: Sequence[str]
) -> list[ColumnClass]:
    """Return the connected components of the groups, in the order of replacement.

    A group without a confidential column is left out. A confidential column in no group is a class
    of its own.

    Examples
    --------
    >>> groups = [("a", "b"), ("b", "x"), ("y", "z")]
    >>> classes = find_classes(groups, ["b", "c", "a"], ["a", "b", "c", "x", "y", "z"])
    >>> [(one.confidential, one.others) for one in classes]
    [(('b', 'a'), ('x',)), (('c',), ())]
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
    components = [group for name in order if (group := members.pop(find(name), []))]
    return [
        ColumnClass(
            tuple(name for name in order if name in group),
            tuple(name for name in group if name not in order),
        )
        for group in components
    ]


def report_groups(groups: Sequence[Sequence[str]], confidential: Sequence[str]) -> None:
    """Warn of groups that have no effect, and of those that share columns and become one."""
    if idle := [list(group) for group in groups if not set(group) & set(confidential)]:
        msg = (
            "groups without a confidential column have no effect, because nothing in them is"
            f" replaced: {idle}."
        )
        warnings.warn(msg, CriticalWarning, stacklevel=2)
    useful = [group for group in groups if set(group) & set(confidential)]
    if merged := [[list(a), list(b)] for a, b in combinations(useful, 2) if set(a) & set(b)]:
        msg = f"groups that share columns are merged into one: {merged}."
        warnings.warn(msg, CriticalWarning, stacklevel=2)


def order_columns(
    count: Mapping[str, int],
    tree_of: Callable[[str, Sequence[str]], tuple[Tree | None, Mapping[int, str]]],
) -> list[str]:
    """Return the order of replacement: the column with most critical cells first.

    Of columns with equally many, the one that depends least on the others comes first: the one in
    whose tree another of them splits at the greatest depth. Then the order of the table decides.

    Parameters
    ----------
    tree_of
        Returns the tree of a column, given the others with equally many critical cells, and which
        feature of the tree is which of them.
    """
    names = list(count)
    depth = dict.fromkeys(names, math.inf)
    for name in names:
        if equal := [other for other in names if other != name and count[other] == count[name] > 0]:
            depth[name] = first_split(*tree_of(name, equal))
    return sorted(names, key=lambda name: (-count[name], -depth[name], names.index(name)))


def first_split(tree: Tree | None, features: Mapping[int, str]) -> float:
    """Return the smallest depth at which one of some features splits; infinite if none does."""
    if tree is None:
        return math.inf
    hits: Ints = tree.nodes[np.isin(tree.nodes[:, FEATURE], list(features)), DEPTH]
    return float(hits.min()) if hits.size else math.inf
