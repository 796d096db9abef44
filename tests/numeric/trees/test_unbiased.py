"""Unbiased splits: columns are compared by what their best split gains above chance."""

from __future__ import annotations

import numpy as np
import pytest
from tests.numeric.trees.test_tree import category_columns, number_columns

from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.tree import FEATURE, Growth, grow, ranks

IMPURITY, GAIN = 0, 1

ROWS = 200


def mixed_columns(rng, size=ROWS):
    """A binary column, one of ten categories, and a number with no ties: none tells anything."""
    categories = category_columns(rng.integers(2, size=size), rng.integers(10, size=size))
    number = number_columns(rng.normal(size=size))
    return Predictors(
        np.ascontiguousarray(np.column_stack([categories.bins, number.bins])),
        np.append(categories.categorical, number.categorical),
        np.append(categories.levels, number.levels),
    )


def first_splits(classes, *, unbiased, tables=300):
    """How often each of three columns of noise has the first split."""
    rng, count = np.random.default_rng(3), np.zeros(3)
    growth = Growth(min_leaf=5, unbiased=unbiased)
    for _ in range(tables):
        predictors = mixed_columns(rng)
        y = rng.integers(classes, size=ROWS) if classes else ranks(rng.normal(size=ROWS))
        tree = grow(predictors, range(3), y, classes=classes, growth=growth)
        count[tree.nodes[0, FEATURE]] += 1
    return count / tables


@pytest.mark.parametrize("classes", [0, 2, 5])
def test_columns_of_noise_have_their_share_of_splits(classes):
    """Claim: none of three columns of noise has the first split in less than 10 % of the tables.

    The handicaps are means, not whole distributions, so that shares are not a third each. Chance
    moves a share by 3 points. Control: without them, the binary column has hardly any split.
    """
    assert first_splits(classes, unbiased=True).min() > 0.10
    assert first_splits(classes, unbiased=False)[0] < 0.05


def test_a_weak_effect_of_two_groups_is_found_among_columns_of_noise():
    rng = np.random.default_rng(4)
    found = {True: 0, False: 0}
    for _ in range(200):
        predictors = mixed_columns(rng)
        y = ranks(0.3 * predictors.bins[:, 0] + rng.normal(size=ROWS))
        for unbiased in found:
            growth = Growth(min_leaf=5, unbiased=unbiased)
            found[unbiased] += int(grow(predictors, range(3), y, growth=growth).nodes[0, 0] == 0)
    assert found[True] > 120
    assert found[False] < 90


def test_a_tree_grows_on_where_nothing_is_above_chance_and_tells_the_whole_gain():
    rng = np.random.default_rng(5)
    predictors, y = mixed_columns(rng), ranks(rng.normal(size=ROWS))
    tree = grow(predictors, range(3), y, growth=Growth(min_leaf=5, unbiased=True))
    assert tree.leaves().size > ROWS // 20
    inner = np.flatnonzero(tree.nodes[:, FEATURE] >= 0)
    for node in inner:
        left = tree.nodes[node, 2]
        lost = tree.risks[node, IMPURITY] - tree.risks[left : left + 2, IMPURITY].sum()
        assert tree.risks[node, GAIN] == pytest.approx(lost, rel=1e-9)


def test_scores_are_compared_by_their_whole_gain():
    """The last columns of the predictors that are marked as scores have no handicap."""
    rng = np.random.default_rng(6)
    taken = {0: 0, 1: 0}
    for _ in range(100):
        predictors, y = mixed_columns(rng), ranks(rng.normal(size=ROWS))
        for scores in taken:
            tree = grow(
                predictors._replace(scores=scores),
                range(3),
                y,
                growth=Growth(min_leaf=5, unbiased=True),
            )
            taken[scores] += int(tree.nodes[0, FEATURE] == 2)
    assert taken[1] > 60
    assert taken[0] < 45
