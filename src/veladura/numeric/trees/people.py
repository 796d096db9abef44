"""Leaves by people: where a person has several rows, a leaf holds enough different people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.jit import compiled
from veladura.numeric.trees.model import Grow
from veladura.numeric.trees.tree import (
    DEPTH,
    END,
    FEATURE,
    LEFT,
    PARENT,
    SET,
    START,
    Growth,
    TrainingRows,
    Tree,
)


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
    """Return how trees are grown with at least ``min_leaf`` different people in every leaf.

    The best split of a node may leave too few people on one side where a slightly worse one does
    not. A node that is cut is grown again with twice as many rows in every leaf, and so on: else
    hundreds of rows would stay one leaf because of the five that were to leave it.
    """

    def grown(
        training: TrainingRows,
        features: Sequence[int],
        target: Ints,
        classes: int,
        growth: Growth,
        seed: int,
    ) -> Tree:
        tree = with_people(
            grow(training, features, target, classes, growth, seed), people, growth.min_leaf
        )
        rows = 2 * growth.min_leaf
        # a share of the impurity of the root means another one below it
        while growth.complexity == 0 and (cut := _cut_nodes(tree, 2 * rows)).size:
            tree, cut = _without_cut(tree, cut)
            start, end = tree.nodes[cut, START], tree.nodes[cut, END]
            inside = np.concatenate([tree.order[a:b] for a, b in zip(start, end, strict=True)])
            which = np.repeat(np.arange(cut.size), end - start)
            again = replace(growth, min_leaf=rows)
            below = TrainingRows(training.predictors, inside, which)
            branches = grow(below, features, target, classes, again, seed)
            tree = with_people(_grafted(tree, cut, branches), people, growth.min_leaf)
            rows *= 2
        return tree

    return grown


def _cut_nodes(tree: Tree, rows: int) -> Ints:
    """Return the leaves of a tree that were cut and hold at least so many rows."""
    leaves = tree.leaves()
    cut = leaves[(tree.nodes[leaves, FEATURE] >= 0) & (tree.stop[leaves] > 0)]
    large: Ints = cut[tree.nodes[cut, END] - tree.nodes[cut, START] >= rows]
    return large


def _without_cut(tree: Tree, nodes: Ints) -> tuple[Tree, Ints]:
    """Return the tree without what is below its leaves, and where some of its nodes now are."""
    leaves = tree.leaves()
    kept = np.zeros(len(tree.nodes), dtype=bool)
    kept[leaves] = True
    for node in range(len(kept) - 1, -1, -1):  # parents come before their children
        parent = tree.nodes[node, PARENT]
        if parent >= 0 and kept[node]:
            kept[parent] = True
    place = np.cumsum(kept) - 1
    table = tree.nodes.copy()
    table[leaves, FEATURE] = table[leaves, LEFT] = -1
    table = table[kept]
    for column in (LEFT, PARENT):
        here = table[:, column] >= 0
        table[here, column] = place[table[here, column]]
    stop = np.zeros(len(table), dtype=np.int64)
    return replace(tree, nodes=table, risks=tree.risks[kept], stop=stop), place[nodes]


def _grafted(tree: Tree, leaves: Ints, branches: Tree) -> Tree:
    """Return a tree with branches in place of some leaves: as many roots as there are leaves."""
    roots = leaves.size
    place = np.append(leaves, len(tree.nodes) + np.arange(len(branches.nodes) - roots))
    start = tree.nodes[leaves, START]
    table = branches.nodes.copy()
    root = np.zeros(len(table), dtype=np.int64)
    root[:roots] = np.arange(roots)
    for node in range(roots, len(table)):  # parents come before their children
        root[node] = root[table[node, PARENT]]
    shift = (start - branches.nodes[:roots, START])[root]
    table[:, START] += shift
    table[:, END] += shift
    table[:, DEPTH] += tree.nodes[leaves, DEPTH][root]
    table[:, SET] += np.where(table[:, SET] >= 0, tree.sets.size, 0)
    for column in (LEFT, PARENT):
        here = table[:, column] >= 0
        table[here, column] = place[table[here, column]]
    table[:roots, PARENT] = tree.nodes[leaves, PARENT]
    nodes, order = np.vstack([tree.nodes, table[roots:]]), tree.order.copy()
    nodes[leaves] = table[:roots]
    ends = branches.nodes[:roots, START : END + 1]
    for first, (a, b) in zip(start, ends, strict=True):
        order[first : first + b - a] = branches.order[a:b]
    risks = np.vstack([tree.risks, branches.risks[roots:]])
    risks[leaves] = branches.risks[:roots]
    sets = np.append(tree.sets, branches.sets)
    stop = np.append(tree.stop, branches.stop[roots:])
    stop[leaves] = branches.stop[:roots]
    return Tree(order, np.ascontiguousarray(nodes), risks, sets, stop)
