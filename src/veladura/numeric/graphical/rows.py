"""Rows that follow a graphical model as closely as whole numbers allow."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.numeric.graphical.model import Beliefs


def draw_rows(beliefs: Beliefs, size: int, rng: np.random.Generator) -> list[Ints]:
    """Return rows as the categories of each column, by systematic sampling clique by clique.

    Given the columns that a clique shares with its parent, the rows of each group get the other
    columns of the clique by one systematic sample: every count is the expected one rounded up or
    down, and right on average. Rows of a group are in random order, so columns that no clique
    joins are independent given those between.
    """
    tree = beliefs.model.tree
    columns: list[Ints] = [np.zeros(size, dtype=np.int64) for _ in tree.shape]
    for clique, separator, conditional in zip(
        tree.cliques, tree.separators, beliefs.conditionals, strict=True
    ):
        rest = [column for column in clique if column not in separator]
        axes = [clique.index(column) for column in (*separator, *rest)]
        groups = int(np.prod(tree.sizes(separator)))
        laws = np.transpose(conditional, axes).reshape(groups, -1)
        group = (
            np.ravel_multi_index([columns[c] for c in separator], tree.sizes(separator))
            if separator
            else np.zeros(size, dtype=np.int64)
        )
        drawn = systematic(laws, group, rng)
        for column, codes in zip(
            rest, np.unravel_index(drawn, tree.sizes(tuple(rest))), strict=True
        ):
            columns[column] = codes
    return columns


def systematic(laws: Floats, group: Ints, rng: np.random.Generator) -> Ints:
    """Return a category for each row by the law of its group, one systematic sample a group."""
    order = np.lexsort((rng.random(group.size), group))
    counts = np.bincount(group, minlength=len(laws))
    starts = np.cumsum(counts) - counts
    sorted_groups = group[order]
    rank = np.arange(group.size) - starts[sorted_groups]
    place = (rank + rng.random(len(laws))[sorted_groups]) / counts[sorted_groups]
    ends = np.cumsum(laws, axis=1)
    ends /= ends[:, -1:]
    ends[:, -1] = 1.0
    flat = (ends + np.arange(len(laws))[:, None]).ravel()
    drawn = np.searchsorted(flat, sorted_groups + place, side="right")
    cells = np.empty_like(group)
    cells[order] = np.minimum(drawn - sorted_groups * laws.shape[1], laws.shape[1] - 1)
    return cells
