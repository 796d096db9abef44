"""Leaves by people: where a person has several rows, a leaf holds enough different people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veladura.base.arrays import Ints
from veladura.numeric.trees.model import Grow
from veladura.numeric.trees.tree import END, FEATURE, LEFT, START, Growth, TrainingRows, Tree


def with_people(tree: Tree, people: Ints, least: int) -> Tree:
    """Return the tree, cut where a split would leave a leaf with fewer people.

    Parameters
    ----------
    people
        Whose row each is.
    """
    size = np.array(
        [
            np.unique(people[tree.order[start:end]]).size
            for start, end in tree.nodes[:, START : END + 1]
        ]
    )
    inner = np.flatnonzero(tree.nodes[:, FEATURE] >= 0)
    left = tree.nodes[inner, LEFT]
    stop = tree.stop.copy()
    stop[inner[np.minimum(size[left], size[left + 1]) < least]] = 1
    return replace(tree, stop=stop)


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
