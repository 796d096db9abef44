"""The definitions in plain Python: every node of a lattice by itself, no code of the library."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import pandas as pd
from hypothesis import strategies as st

import veladura as vd


@dataclass(frozen=True)
class Small:
    """A small table with explicit hierarchies: quasi-identifiers, then a sensitive value."""

    names: tuple[str, ...]
    ladders: tuple[tuple[tuple[str, ...], ...], ...]  # for each column the rows of its hierarchy
    rows: tuple[tuple[str, ...], ...]
    others: tuple[tuple[str, ...], ...] = ()  # people of the population who are not in the table

    @property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows, columns=[*self.names, "secret"])

    @property
    def population(self) -> pd.DataFrame:
        width = len(self.names)
        return pd.DataFrame(
            [*(row[:width] for row in self.rows), *self.others], columns=list(self.names)
        )

    @property
    def hierarchies(self) -> dict[str, vd.Hierarchy]:
        return {
            name: vd.Hierarchy.explicit(ladder)
            for name, ladder in zip(self.names, self.ladders, strict=True)
        }

    @property
    def nodes(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*(range(len(ladder[0])) for ladder in self.ladders)))

    def raised(self, row: tuple[str, ...], node: tuple[int, ...]) -> tuple[str, ...]:
        steps = [{one[0]: one for one in ladder} for ladder in self.ladders]
        return tuple(steps[c][row[c]][level] for c, level in enumerate(node))


@st.composite
def ladders(draw: st.DrawFn, values: int) -> tuple[tuple[str, ...], ...]:
    """A random nested hierarchy of some values."""
    columns = [[f"v{i}" for i in range(values)]]
    for level in range(draw(st.integers(0, 2))):
        below = sorted(set(columns[-1]))
        above = {one: f"l{level}g{draw(st.integers(0, max(0, len(below) - 1)))}" for one in below}
        columns.append([above[one] for one in columns[-1]])
    columns.append(["*"] * values)
    return tuple(zip(*columns, strict=True))


@st.composite
def small_tables(draw: st.DrawFn, columns: int = 3, rows: int = 14, secrets: int = 4) -> Small:
    """A random small table."""
    width = draw(st.integers(1, columns))
    sizes = [draw(st.integers(1, 4)) for _ in range(width)]
    tuples = st.tuples(*(st.integers(0, size - 1).map("v{}".format) for size in sizes))
    body = draw(
        st.lists(
            st.tuples(tuples, st.integers(0, secrets - 1).map("s{}".format)),
            min_size=5,
            max_size=rows,
        )
    )
    others = draw(st.lists(tuples, max_size=12))
    hierarchies = tuple(draw(ladders(size)) for size in sizes)
    return Small(
        tuple(f"q{c}" for c in range(width)),
        hierarchies,
        tuple((*one, secret) for one, secret in body),
        tuple(others),
    )


def suppressed(table: Small, node, sets, good) -> int:
    """Rows that go: those in a failing class of any quasi-identifier, until none fails."""
    alive = [(table.raised(row, node), row[-1]) for row in table.rows]
    people = [table.raised(tuple(row), node) for row in table.population.itertuples(index=False)]
    while True:
        before = len(alive)
        for columns in sets:
            groups: dict[tuple[str, ...], list[str]] = {}
            for one, secret in alive:
                groups.setdefault(tuple(one[c] for c in columns), []).append(secret)
            shared = Counter(tuple(one[c] for c in columns) for one in people)
            fine = {key for key, secrets in groups.items() if good(secrets, shared[key])}
            alive = [
                (one, secret) for one, secret in alive if tuple(one[c] for c in columns) in fine
            ]
        if len(alive) == before:
            return len(table.rows) - len(alive)


def minimal(
    table: Small, allowed: int, good, sets=None, refused=lambda _node: False
) -> set[tuple[int, ...]]:
    """The good nodes below which there is no other good one."""
    every = sets or (tuple(range(len(table.names))),)
    fine = [
        node
        for node in table.nodes
        if not refused(node) and suppressed(table, node, every, good) <= allowed
    ]
    below = lambda a, b: a != b and all(x <= y for x, y in zip(a, b, strict=True))  # noqa: E731
    return {node for node in fine if not any(below(other, node) for other in fine)}


def someone_absent(table: Small, node) -> bool:
    """Whether people share a combination with no row of the table."""
    held = {table.raised(row, node) for row in table.rows}
    return any(
        table.raised(tuple(row), node) not in held
        for row in table.population.itertuples(index=False)
    )


def distinct(secrets, l):  # noqa: E741
    return len(set(secrets)) >= l


def entropy(secrets, l):  # noqa: E741
    shares = [n / len(secrets) for n in Counter(secrets).values()]
    return -sum(p * math.log(p) for p in shares) >= math.log(l) - 1e-12


def recursive(secrets, l, c):  # noqa: E741
    counts = sorted(Counter(secrets).values(), reverse=True)
    return len(counts) >= l and counts[0] < c * sum(counts[l - 1 :])


def equal(secrets, whole, t):
    p, q = Counter(secrets), Counter(whole)
    return sum(abs(p[v] / len(secrets) - q[v] / len(whole)) for v in q) / 2 <= t + 1e-12


def ordered(secrets, whole, t):
    p, q = Counter(secrets), Counter(whole)
    values, carried, moved = sorted(q), 0.0, 0.0
    for v in values:
        carried += p[v] / len(secrets) - q[v] / len(whole)
        moved += abs(carried)
    return moved / max(len(values) - 1, 1) <= t + 1e-12


def hierarchical(secrets, whole, t, ladder):
    """The earth mover's distance along a tree: level by level, what is left goes up."""
    p, q = Counter(secrets), Counter(whole)
    height = len(ladder[0]) - 1
    extra = {row[0]: p[row[0]] / len(secrets) - q[row[0]] / len(whole) for row in ladder}
    cost = 0.0
    for level in range(1, height + 1):
        parents = {row[level - 1]: row[level] for row in ladder}
        above: dict[str, float] = {}
        for parent in set(parents.values()):
            mine = [extra[child] for child, one in parents.items() if one == parent]
            cost += (
                level / height * min(sum(x for x in mine if x > 0), -sum(x for x in mine if x < 0))
            )
            above[parent] = sum(mine)
        extra = above
    return cost <= t + 1e-12
