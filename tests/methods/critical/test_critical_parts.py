"""The pieces of tuple-wise replacement, each against something that does not share its code."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.cart.cart import Bounds
from veladura.methods.critical.cells import Cells, Condition, read_condition, read_conditions
from veladura.methods.critical.cluster_kernels import divide, moments
from veladura.methods.critical.constraints import common_node
from veladura.methods.critical.groups import find_classes, find_ties, first_split, order_columns
from veladura.methods.critical.single import restricted
from veladura.methods.critical.tuples import JointSteps
from veladura.numeric.trees.bins import binning_of, stack
from veladura.numeric.trees.leaf import leaf_steps
from veladura.numeric.trees.tree import END, FEATURE, LEFT, PARENT, START, Tree, grow, ranks

NAMES = list("abcdefgh")


def codes_of(frame):
    codes = vd.open(frame).codes(list(frame.columns))
    back = np.argsort(codes.rows)
    return {name: column.take(back) for name, column in codes.items()}


# Cells


@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=40))
def test_patterns_are_the_combinations_that_occur(rows):
    marks = np.array(rows)
    cells = Cells({}, dict(zip(NAMES, marks.T, strict=False)))
    found = {
        pattern.columns: sorted(pattern.rows.tolist()) for pattern in cells.patterns(NAMES[:4])
    }
    expected: dict = {}
    for i, row in enumerate(rows):
        if any(row):
            expected.setdefault(tuple(n for n, z in zip(NAMES, row, strict=False) if z), []).append(
                i
            )
    assert found == expected


def test_no_number_of_columns_is_too_many_for_a_pattern():
    marks = {f"y{i}": np.array([i % 2 == 0, i == 130, False]) for i in range(200)}
    found = Cells({}, marks).patterns(list(marks))
    assert {pattern.columns for pattern in found} == {
        tuple(f"y{i}" for i in range(0, 200, 2)),
        ("y130",),
    }


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("x > 2", [False, False, True, False]),
        (Bounds(min=2, max=2.5), [False, True, False, False]),
        (Bounds(max=2), [True, True, False, False]),
        ("all", [True] * 4),
        ("x is missing", [False, False, False, True]),
    ],
)
def test_conditions_and_closed_intervals_mark_what_they_say(given_, expected):
    assert (
        read_condition("x", given_)
        .marks(codes_of(pd.DataFrame({"x": [1.0, 2.0, 3.0, None]})))
        .tolist()
        == expected
    )


def test_an_interval_without_ends_is_refused():
    with pytest.raises(PlanError, match="needs a min, a max"):
        read_condition("x", Bounds())


def test_a_new_value_is_judged_beside_the_other_columns_of_its_row():
    columns = codes_of(pd.DataFrame({"x": [1, 2, 3], "y": [0, 5, 2]}))
    condition = read_conditions({"x": "x > y"})["x"]
    assert condition.fits(columns, np.array([0, 1, 2]), np.array([4, 4, 2])).tolist() == [
        True,
        False,
        False,
    ]
    assert not condition.alone
    assert Condition("x").alone


# Classes and order


@given(
    st.lists(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4), max_size=6),
    st.lists(st.sampled_from(NAMES), unique=True, max_size=5),
)
def test_classes_are_connected_components(groups, order):
    index = {name: i for i, name in enumerate(NAMES)}
    edges = [(index[a], index[b]) for group in groups for a in group for b in group]
    graph = coo_array(
        (np.ones(len(edges)), tuple(np.array(edges).T) if edges else ([], [])), shape=(8, 8)
    )
    label = connected_components(graph, directed=False)[1]
    expected = {
        frozenset(n for n in NAMES if label[index[n]] == label[index[name]]) for name in order
    }
    found = find_classes(groups, order, NAMES)
    assert {frozenset((*one.confidential, *one.others)) for one in found} == expected
    assert [name for one in found for name in one.confidential if name == one.confidential[0]] == [
        name for name in order if name in {one.confidential[0] for one in found}
    ]
    assert all(
        list(one.confidential) == [name for name in order if name in one.confidential]
        for one in found
    )


def test_ties_are_rank_correlations_and_cramers_v():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "g": rng.choice(list("ab"), 300)}).assign(
        y=lambda f: f["x"] ** 3 + rng.normal(size=300)
    )
    frame.loc[:9, "y"] = np.nan
    codes = vd.open(frame).codes(["x", "g", "y"])
    found = {(tie.first, tie.second): tie for tie in find_ties(codes, ["y"], ["x", "g", "y"])}
    assert set(found) == {
        ("x", "y"),
        ("g", "y"),
    }  # pairs without a confidential column do not matter
    known = frame.dropna()
    assert found["x", "y"].strength == pytest.approx(
        abs(stats.spearmanr(known["x"], known["y"]).statistic)
    )
    assert found["g", "y"].measure == "Cramér's V"


def chain(splits):
    """A tree that splits by one feature at each depth."""
    nodes = []
    for depth, feature in enumerate(splits):
        nodes.append([feature, 0, 2 * depth + 1, 0, -1, 0, 9, -1, depth])
        nodes.append([-1, 0, 0, 0, -1, 0, 9, 0, depth + 1])
    return Tree(
        np.arange(9),
        np.array(nodes),
        np.zeros((len(nodes), 2)),
        np.zeros(0, dtype=np.uint64),
        np.zeros(len(nodes), dtype=np.int64),
    )


def test_columns_with_more_critical_cells_come_first_and_the_less_dependent_of_equals():
    trees = {"a": chain([9, 1]), "b": chain([0]), "c": None}
    feature = {"a": 0, "b": 1, "c": 2}

    def tree_of(name, tied):
        return trees[name], {feature[other]: other for other in tied}

    # b splits by a at the root, a by b one level down, c by neither: c, a, b; d has most cells of
    # all.
    assert order_columns({"a": 5, "b": 5, "c": 5, "d": 9, "e": 1}, tree_of) == [
        "d",
        "c",
        "a",
        "b",
        "e",
    ]
    assert first_split(chain([3, 1, 1]), {1: "b"}) == 1
    assert first_split(None, {}) == math.inf


# Clusters


def rmsstd(values):
    return math.sqrt(
        ((values - values.mean(axis=0)) ** 2).sum() / (values.shape[1] * (len(values) - 1))
    )


@settings(deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 80),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.3]),
)
def test_clusters_part_the_rows_and_keep_their_minima(seed, rows, min_rows, distinct, small):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (rows, 3)).astype(float)
    inner = np.ascontiguousarray(points[:, :2])
    order, nodes, spread = divide(points, inner, inner.astype(np.int64), min_rows, distinct, small)
    assert sorted(order.tolist()) == list(range(rows))
    assert nodes[0, [START, END, PARENT]].tolist() == [0, rows, -1]
    for node, row in enumerate(nodes):
        here = order[row[START] : row[END]]
        if len(here) > 1:
            assert spread[node] == pytest.approx(rmsstd(inner[here]))
        if row[PARENT] >= 0:
            assert len(here) >= min_rows
            assert all(np.unique(column[here]).size >= distinct for column in inner.T)
        if row[FEATURE] >= 0:
            left, right = nodes[row[LEFT]], nodes[row[LEFT] + 1]
            assert (left[START], left[END], right[END]) == (row[START], right[START], row[END])
            parts = [inner[order[child[START] : child[END]]] for child in (left, right)]
            squares = sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)
            assert math.sqrt(squares / (2 * (len(here) - 2))) < spread[node]
            assert spread[node] > small


def test_separate_heaps_are_found():
    rng = np.random.default_rng(0)
    heap = rng.integers(0, 2, 60)
    points = rng.normal(size=(60, 3)) * 0.1 + heap[:, None] * [3.0, -3.0, 0.0]
    order, nodes, _ = divide(points, points, np.arange(60).reshape(-1, 1), 5, 2, 0.5)
    assert len(nodes) == 3
    assert len(set(heap[order[: nodes[1, END]]])) == 1


def test_one_outlier_does_not_end_the_splitting():
    points = np.append(np.linspace(0, 1, 59), 1000.0)[:, None]
    _, nodes, _ = divide(points, points, np.arange(60).reshape(-1, 1), 5, 2, 0.0)
    assert (nodes[:, FEATURE] < 0).sum() > 4


def test_moments_are_those_of_numpy_and_a_column_at_rest_stays_there():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3))
    values[15:, 1] = 7.0
    known = np.ones(30, dtype=bool)
    known[3] = False
    mean, root, size = moments(values, known, np.array([0, 15]), np.array([15, 30]))
    first = np.delete(values[:15], 3, axis=0)
    np.testing.assert_allclose(mean[0], first.mean(axis=0))
    np.testing.assert_allclose(root[0] @ root[0].T, np.cov(first.T))
    np.testing.assert_allclose(root[1] @ root[1].T, np.cov(values[15:].T), atol=1e-12)
    assert not root[1][1].any()
    assert size.tolist() == [14, 15]


# Joint steps keep mean and covariance of a leaf's scores


LEAF = np.random.default_rng(5).multivariate_normal([5, -3], [[2, 1.2], [1.2, 1]], 12)
DRAWS, LEVEL = 40_000, 1e-5


def moved_apart(rng, chosen, *, shrink=True, joint=True):
    """Donors of one leaf moved as the law of the leaf and the joint steps say."""
    everyone = np.ones(len(LEAF), dtype=bool)
    start, end, order = np.array([0]), np.array([len(LEAF)]), np.arange(len(LEAF))
    parts = [
        leaf_steps(
            np.ascontiguousarray(x), np.zeros(12), everyone, everyone, order, start, end, 1.0
        )
        for x in LEAF.T
    ]
    roots = moments(LEAF, everyone, start, end)[1]
    steps = JointSteps.of(roots, np.zeros(12, dtype=np.int64)).steps(rng, chosen)
    if not joint:
        steps = rng.uniform(-1, 1, steps.shape)
    centre, scale = (np.column_stack(part) for part in zip(*parts, strict=True))
    return (centre if shrink else LEAF)[chosen] + scale[chosen] * steps


def unshrunken(rng, chosen):
    """Slip: the step is added, and the variance grows."""
    return moved_apart(rng, chosen, shrink=False)


def each_by_itself(rng, chosen):
    """Slip: columns are moved independently, and the correlation fades."""
    return moved_apart(rng, chosen, joint=False)


def off_centre(rng, chosen):
    """Slip: drawn back towards nought instead of the mean."""
    return 0.9 * moved_apart(rng, chosen)


def kept_pvalue(move, seed):
    """Claim: moved donors have mean, variances and covariance of the leaf.

    The correlation of uniform steps is 6/pi asin(r/2) for a normal one of r (Pearson 1907), and
    that of the donors shrinks by the share of the variance that they keep.
    """
    rng = np.random.default_rng(seed)
    moved = move(rng, rng.integers(len(LEAF), size=DRAWS))
    cov = np.cov(LEAF.T, ddof=0)
    r = cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    share = [(0.9 * 12**-0.2 * width(x)) ** 2 / x.var() for x in LEAF.T]  # of the step
    kept = np.sqrt((1 - share[0]) * (1 - share[1])) * r
    both = kept + np.sqrt(share[0] * share[1]) * 6 / np.pi * np.arcsin(r / 2)
    centred = moved - LEAF.mean(axis=0)
    products = np.column_stack(
        [centred, centred[:, 0] ** 2, centred[:, 1] ** 2, centred[:, 0] * centred[:, 1]]
    )
    truth = [0, 0, cov[0, 0], cov[1, 1], both * np.sqrt(cov[0, 0] * cov[1, 1])]
    z = (products.mean(axis=0) - truth) / (products.std(axis=0) / np.sqrt(DRAWS))
    return float(min(1.0, 5 * 2 * stats.norm.sf(np.abs(z).max())))


def width(x):
    return min(x.std(ddof=1), np.subtract(*np.quantile(x, [0.75, 0.25])) / 1.34)


def test_joint_steps_keep_mean_and_covariance_of_a_leaf():
    assert kept_pvalue(moved_apart, 0) > LEVEL


@pytest.mark.parametrize("broken", [unshrunken, each_by_itself, off_centre])
def test_the_check_of_the_steps_sees(broken):
    assert kept_pvalue(broken, 0) < LEVEL


# Trees


def test_the_common_node_of_leaves_is_their_lowest_ancestor():
    rng = np.random.default_rng(0)
    codes = vd.open(pd.DataFrame({"x": rng.normal(size=200)})).codes(["x"])
    binning = binning_of(codes["x"])
    tree = grow(
        stack([binning.codes(codes["x"].values, codes["x"].missing)], [binning]),
        [0],
        ranks(codes["x"].values),
    )

    def above(node):
        return [] if node < 0 else [*above(tree.nodes[node, PARENT]), node]

    leaves = tree.leaves()
    for _ in range(20):
        some = rng.choice(leaves, 3)
        shared = set.intersection(*(set(above(node)) for node in some))
        assert common_node(tree, some) == max(shared, key=lambda node: len(above(node)))


def test_a_tree_of_all_rows_hands_out_critical_donors_only_and_enough_of_them():
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    codes = vd.open(pd.DataFrame({"x": x})).codes(["x"])
    binning = binning_of(codes["x"])
    base = stack([binning.codes(codes["x"].values, codes["x"].missing)], [binning])
    donors = codes["x"].values > 1.7
    tree = restricted(grow(base, [0], ranks(codes["x"].values)), donors, 5)
    leaves = tree.find(base)
    for leaf in np.unique(leaves):
        inside = tree.order[tree.nodes[leaf, START] : tree.nodes[leaf, END]]
        assert donors[inside].all()
        assert len(inside) >= 5
    assert (
        restricted(grow(base, [0], ranks(codes["x"].values)), np.zeros(400, dtype=bool), 5) is None
    )


def test_numbers_that_nobody_has_decided_on_get_a_threshold(tmp_path):
    """A plan is drafted for scores whose names say nothing; one in twenty is above the limit."""
    from veladura.plan.draft import drafted

    scores = np.random.default_rng(8).normal(50, 12, 600).round(1)
    pd.DataFrame({"q7": scores, "sex": ["f", "m"] * 300}).to_csv(tmp_path / "a.csv", index=False)
    plan = drafted(str(tmp_path / "a.csv"), method="critical-cart", home=tmp_path)
    assert plan.guesses["q7"].role == "undecided"
    limit = float(plan.text.partition('q7 = "q7 > ')[2].partition('"')[0])
    assert 0 < np.mean(scores > limit) <= 1 / 3
