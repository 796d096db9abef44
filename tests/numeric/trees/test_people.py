"""Leaves by people: different people of every node, against sets."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.people import distinct_up_to, growing_people, with_people
from veladura.numeric.trees.tree import END, FEATURE, LEFT, START, Growth, TrainingRows, grow_on


@pytest.mark.parametrize("most", [1, 2, 5, 50])
def test_different_people_are_counted_up_to_as_many_as_are_needed(most):
    rng = np.random.default_rng(most)
    people = rng.integers(0, 12, 300)
    start = rng.integers(0, 300, 80)
    end = np.minimum(start + rng.integers(0, 40, 80), 300)
    brute = [min(len({*people[a:b].tolist()}), most) for a, b in zip(start, end, strict=True)]
    assert distinct_up_to(people, start, end, most).tolist() == brute


@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("classes", [0, 3])
def test_a_node_that_is_cut_is_grown_again_with_more_rows(classes, strata):
    """Homes of ten rows, numbers that follow the row within: five rows are of one or two homes."""
    rng = np.random.default_rng(5)
    rows = np.arange(900)
    home = rows // 10
    bins = np.column_stack([rng.permutation(rows) // 4, home, rows % 7]).astype(np.uint16)
    predictors = Predictors(bins, np.array([False, False, True]), np.array([226, 91, 7]))
    target = (bins[:, 0].astype(int) + 3 * home + rng.integers(0, 40, rows.size)).astype(np.int64)
    target = target % classes if classes else target
    groups = rows % 2 if strata else None
    given = (TrainingRows(predictors, rows, groups), (0, 1, 2), target, classes, Growth(), 1)
    plain = with_people(grow_on(*given), home, 5)
    tree = growing_people(grow_on, home)(*given)
    assert tree.leaves().size > plain.leaves().size
    assert np.sort(tree.order).tolist() == rows.tolist()
    leaves = tree.leaves()
    homes = [np.unique(home[tree.order[a:b]]).size for a, b in tree.nodes[leaves][:, [START, END]]]
    assert min(homes) >= 5
    # every row finds the leaf that holds it, and children share the rows of their parent
    held = np.empty(rows.size, dtype=np.int64)
    for leaf in leaves:
        held[tree.order[tree.nodes[leaf, START] : tree.nodes[leaf, END]]] = leaf
    assert tree.find(predictors, root=groups).tolist() == held.tolist()
    for node in np.flatnonzero((tree.nodes[:, FEATURE] >= 0) & (tree.stop == 0)):
        left, right = tree.nodes[tree.nodes[node, LEFT]], tree.nodes[tree.nodes[node, LEFT] + 1]
        assert (left[START], left[END], right[END]) == (
            tree.nodes[node, START],
            right[START],
            tree.nodes[node, END],
        )
