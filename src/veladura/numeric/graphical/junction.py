"""Junction trees: which tables of few columns a model of many columns is computed with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Columns = tuple[int, ...]  # positions of columns, ascending
BYTES = 8


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns in an order in which every clique comes after its parent.

    Attributes
    ----------
    shape
        The number of categories of each column.
    cliques
        The columns of each clique, ascending.
    parents
        The place of each clique's parent; -1 for the first clique of a connected part.
    separators
        The columns that a clique shares with its parent.
    """

    shape: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    separators: tuple[Columns, ...]

    def sizes(self, columns: Columns) -> tuple[int, ...]:
        """Return the number of categories of some columns."""
        return tuple(self.shape[column] for column in columns)

    @property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(math.prod(self.sizes(clique)) for clique in self.cliques)

    def holder(self, columns: Iterable[int]) -> int:
        """Return the place of the smallest clique that holds some columns, -1 for none."""
        wanted = set(columns)
        fitting = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(
            fitting, key=lambda place: math.prod(self.sizes(self.cliques[place])), default=-1
        )


def eliminated(shape: Sequence[int], tables: Iterable[Iterable[int]]) -> list[int]:
    """Return the cliques of a triangulated graph as bit sets, by greedy least-weight elimination.

    The column whose neighbours make the smallest table is eliminated first (Koller and Friedman
    2009, section 9.4.3: minimum weight).
    """
    neighbours = [1 << column for column in range(len(shape))]
    for table in tables:
        bits = sum(1 << column for column in table)
        for column in table:
            neighbours[column] |= bits
    logs = [math.log(size) for size in shape]
    left = set(range(len(shape)))
    weights = {column: _weight(neighbours[column], logs) for column in left}
    cliques: list[int] = []
    while left:
        column = min(left, key=lambda c: (weights[c], c))
        clique = neighbours[column]
        cliques.append(clique)
        left.remove(column)
        for other in _columns(clique & ~(1 << column)):
            neighbours[other] = (neighbours[other] | clique) & ~(1 << column)
            weights[other] = _weight(neighbours[other], logs)
    return cliques


def _columns(bits: int) -> list[int]:
    columns = []
    while bits:
        low = bits & -bits
        columns.append(low.bit_length() - 1)
        bits ^= low
    return columns


def _weight(bits: int, logs: Sequence[float]) -> float:
    return sum(logs[column] for column in _columns(bits))


def model_megabytes(shape: Sequence[int], tables: Iterable[Iterable[int]]) -> float:
    """Return the memory of the tables that a model of some measured tables is computed with."""
    cliques = _maximal(eliminated(shape, tables))
    cells = sum(math.prod(shape[column] for column in _columns(bits)) for bits in cliques)
    return cells * BYTES / 2**20


def _maximal(cliques: Sequence[int]) -> list[int]:
    """Return the cliques that no other contains."""
    kept: list[int] = []
    for bits in sorted(cliques, key=int.bit_count, reverse=True):
        if not any(bits & other == bits for other in kept):
            kept.append(bits)
    return kept


def junction_tree(shape: Sequence[int], tables: Iterable[Iterable[int]]) -> JunctionTree:
    """Return a junction tree in which each of some tables has a clique that holds it.

    A spanning tree of most shared columns over the maximal cliques has the running intersection
    property (Koller and Friedman 2009, section 10.4.2).
    """
    cliques = _maximal(eliminated(shape, tables))
    order, parents = [0], [-1]
    best = {
        place: ((bits & cliques[0]).bit_count(), 0) for place, bits in enumerate(cliques) if place
    }
    while best:
        place = max(best, key=lambda p: (best[p][0], -p))
        shared, parent = best.pop(place)
        order.append(place)
        parents.append(order.index(parent) if shared else -1)
        for other in best:
            common = (cliques[other] & cliques[place]).bit_count()
            if common > best[other][0]:
                best[other] = (common, place)
    columns = [tuple(_columns(cliques[place])) for place in order]
    separators = [
        () if parent < 0 else tuple(c for c in columns[i] if c in columns[parent])
        for i, parent in enumerate(parents)
    ]
    return JunctionTree(tuple(shape), tuple(columns), tuple(parents), tuple(separators))
