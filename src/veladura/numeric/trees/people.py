"""Leaves by people: where a person has several rows, a leaf holds enough different people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.jit import compiled
from veladura.numeric.trees.model import Grow
from veladura.numeric.trees.tree import END, FEATURE, LEFT, START, Growth, TrainingRows, Tree


def with_people(tree: Tree, people: Ints, least: int) -> Tree:
    """Return the tree, cut where a split would leave a leaf with fewer people.

    Parameters
    ----------
    people
        Whose row each is.
    """
    ends = [np.ascontiguousarray(tree.nodes[:, i], dtype=np.int64) for i in (START, END)]
    inside = np.ascontiguousarray(people[tree.order], dtype=np.int64)
    size = distinct_up_to(inside, ends[0], ends[1], least)
    inner = np.flatnonzero(tree.nodes[:, FEATURE] >= 0)
    left = tree.nodes[inner, LEFT]
    stop = tree.stop.copy()
    stop[inner[np.minimum(size[left], size[left + 1]) < least]] = 1
    return replace(tree, stop=stop)


@compiled("int64[::1](int64[::1], int64[::1], int64[::1], int64)", wraparound=False)
def distinct_up_to(people: Ints, start: Ints, end: Ints, most: int) -> Ints:
    """Return how many different people are in each stretch of rows; no more than ``most``.

    A stretch is left as soon as enough are found, so that large nodes cost no more than small ones.
    """
    counts = np.zeros(start.size, dtype=np.int64)
    found = np.zeros(max(most, 1), dtype=np.int64)
    for node in range(start.size):
        number = 0
        for row in range(start[node], end[node]):
            new = True
            for i in range(number):
                if found[i] == people[row]:
                    new = False
                    break
            if new:
                found[number] = people[row]
                number += 1
                if number >= most:
                    break
        counts[node] = number
    return counts


def growing_people(grow: Grow, people: Ints) -> Grow:
    """Return how trees are grown with at least ``min_leaf`` different people in every leaf."""

    def grown(
        training: TrainingRows,
        features: Sequence[int],
        target: Ints,
        classes: int,
        growth: Growth,
        seed: int,
    ) -> Tree:
        tree = grow(training, features, target, classes, growth, seed)
        return with_people(tree, people, growth.min_leaf)

    return grown
