"""Trees against scikit-learn and against every split there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from veladura.numeric.trees.bins import MAX_BINS, Binning, cuts, stack
from veladura.numeric.trees.prune import collapse, pruned_by
from veladura.numeric.trees.tree import (
    END,
    FEATURE,
    START,
    Growth,
    TrainingRows,
    grow,
    ranks,
)


def number_columns(*columns):
    binnings = [Binning(cuts(x[~np.isnan(x)]).size + 2, cuts(x[~np.isnan(x)])) for x in columns]
    return stack(
        [b.codes(np.nan_to_num(x), np.isnan(x)) for b, x in zip(binnings, columns, strict=True)],
        binnings,
    )


def category_columns(*columns):
    binnings = [Binning(int(x.max()) + 2, None) for x in columns]
    return stack(
        [b.codes(x, np.zeros(x.size, dtype=bool)) for b, x in zip(binnings, columns, strict=True)],
        binnings,
    )


def squares(y):
    return float(np.sum((y - y.mean()) ** 2)) if y.size else 0.0


def gini(y):
    return y.size - float(np.sum(np.bincount(y) ** 2.0)) / y.size if y.size else 0.0


def test_a_regression_tree_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, (800, 4)).astype(float)
    y = ranks(x[:, 0] * x[:, 1] + 5 * x[:, 2] + rng.normal(size=800))
    ours = grow(number_columns(*x.T), range(4), y, growth=Growth(min_leaf=20))
    theirs = DecisionTreeRegressor(min_samples_leaf=20, random_state=0).fit(x, y)
    leaves = ours.find(number_columns(*x.T))
    means = np.array([y[leaves == leaf].mean() for leaf in leaves])
    assert ours.leaves().size == theirs.get_n_leaves()
    np.testing.assert_allclose(means, theirs.predict(x))


def test_a_classification_tree_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 40, (900, 3)).astype(float)
    y = (x[:, 0] // 14 + (x[:, 1] > 20) + rng.integers(0, 2, 900)).astype(np.int64)
    ours = grow(number_columns(*x.T), range(3), y, classes=5, growth=Growth(min_leaf=25))
    theirs = DecisionTreeClassifier(min_samples_leaf=25, random_state=0).fit(x, y)
    leaves = ours.find(number_columns(*x.T))
    shares = np.array(
        [np.bincount(y[leaves == leaf], minlength=5) / np.sum(leaves == leaf) for leaf in leaves]
    )
    assert (
        abs(ours.leaves().size - theirs.get_n_leaves()) <= 1
    )  # equal gains may be broken the other way
    impurity = sum(gini(y[leaves == leaf]) for leaf in np.unique(leaves))
    node = theirs.apply(x)
    assert impurity == pytest.approx(
        sum(gini(y[node == leaf]) for leaf in np.unique(node)), rel=0.02
    )
    assert np.abs(shares - theirs.predict_proba(x)).mean() < 0.02


@pytest.mark.parametrize("classes", [0, 2])
def test_the_subset_split_is_the_best_of_all_subsets(classes):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 6, 120)
    y = (
        ranks(rng.normal(size=120) + (x % 3))
        if classes == 0
        else ((rng.random(120) < 0.2 + 0.1 * x) * 1).astype(np.int64)
    )
    loss = squares if classes == 0 else gini
    tree = grow(category_columns(x), [0], y, classes=classes, growth=Growth(min_leaf=5))
    left = tree.order[tree.nodes[tree.nodes[0, 2], START] : tree.nodes[tree.nodes[0, 2], END]]
    mask = np.isin(np.arange(120), left)
    found = loss(y[mask]) + loss(y[~mask])
    every = [np.isin(x, subset) for size in range(1, 6) for subset in combinations(range(6), size)]
    best = min(loss(y[part]) + loss(y[~part]) for part in every if 5 <= part.sum() <= 115)
    assert found == pytest.approx(best)


def test_the_split_of_many_classes_is_close_to_the_best_of_all_subsets():
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(20):
        x = rng.integers(0, 7, 300)
        y = np.array([rng.choice(5, p=p) for p in rng.dirichlet(np.ones(5), size=7)[x]])
        tree = grow(
            category_columns(x), [0], y, classes=5, growth=Growth(min_leaf=5, complexity=1e-9)
        )
        left = np.isin(
            np.arange(300),
            tree.order[tree.nodes[tree.nodes[0, 2], START] : tree.nodes[tree.nodes[0, 2], END]],
        )
        found = gini(y) - gini(y[left]) - gini(y[~left])
        every = [
            np.isin(x, subset) for size in range(1, 7) for subset in combinations(range(7), size)
        ]
        shares.append(
            found
            / max(
                gini(y) - gini(y[part]) - gini(y[~part]) for part in every if 5 <= part.sum() <= 295
            )
        )
    assert np.mean(shares) > 0.9


def test_missing_values_take_the_better_direction():
    x = np.array([np.nan] * 20 + list(range(40)), dtype=float)
    y = ranks(np.where(np.isnan(x), 5.0, (x > 19) * 10.0))
    predictors = number_columns(x)
    tree = grow(predictors, [0], y)
    leaves = tree.find(predictors)
    assert len(set(leaves[:20])) == 1
    assert set(leaves[:20]).isdisjoint(leaves[20:])


def test_categories_the_tree_never_saw_go_to_both_sides_in_proportion():
    """A third of the rows is on one side: so are, by chance, 4,000 new categories (1e-5)."""
    x = np.array([0] * 30 + [1] * 60 + [4_001])
    every = category_columns(x)
    seen = every._replace(bins=every.bins[:90])
    tree = grow(seen, [0], (x[:90] * 10).astype(np.int64))
    few, many = tree.find(seen)[[0, -1]]
    new = every._replace(bins=np.arange(2, 4_002, dtype=np.uint16)[:, None])
    found = tree.find(new)
    assert set(found) == {few, many}
    expected = 4_000 / 3
    assert abs((found == few).sum() - expected) < 4.4 * np.sqrt(expected * 2 / 3)
    assert np.array_equal(found, tree.find(new))


def test_leaves_hold_enough_rows_and_values():
    rng = np.random.default_rng(4)
    predictors = number_columns(*rng.normal(size=(3, 500)))
    y = rng.integers(0, 6, 500)
    tree = grow(predictors, range(3), y, growth=Growth(min_leaf=7, min_distinct=3))
    for leaf in tree.leaves():
        inside = tree.order[tree.nodes[leaf, START] : tree.nodes[leaf, END]]
        assert inside.size >= 7
        assert np.unique(y[inside]).size >= 3


def test_heavy_tails_do_not_swallow_the_splits():
    rng = np.random.default_rng(5)
    x = rng.normal(size=2000)
    y = np.exp(3 * x + 3 * rng.normal(size=2000))
    smaller = {}
    for name, target in {"ranks": ranks(y), "raw": np.rint(y * 10).astype(np.int64)}.items():
        tree = grow(number_columns(x), [0], target)
        left = tree.nodes[tree.nodes[0, 2]]
        smaller[name] = min(left[END] - left[START], 2000 - left[END] + left[START])
    assert smaller["ranks"] > 400
    assert smaller["raw"] < 300  # the tail is split off first


def test_few_values_are_binned_exactly_and_many_by_quantiles():
    rng = np.random.default_rng(6)
    assert cuts(np.repeat(np.arange(255.0), 3)).size == 254
    many = cuts(rng.standard_cauchy(10_000))
    assert many.size <= MAX_BINS - 1
    counts = np.bincount(np.searchsorted(many, rng.standard_cauchy(10_000)))
    assert counts.max() < 4 * counts.mean()


def test_each_stratum_has_a_tree_of_its_own():
    rng = np.random.default_rng(7)
    x = rng.normal(size=400)
    group = rng.integers(0, 2, 400)
    y = ranks(np.where(group == 0, x, -x))
    predictors = number_columns(x)
    tree = grow(predictors, [0], y, groups=group)
    leaves = tree.find(predictors, root=group)
    for leaf in np.unique(leaves):
        inside = tree.order[tree.nodes[leaf, START] : tree.nodes[leaf, END]]
        assert np.unique(group[inside]).size == 1


def test_prices_of_pruning_are_those_of_scikit_learn():
    rng = np.random.default_rng(8)
    x = rng.integers(0, 50, (400, 2)).astype(float)
    y = ranks(x[:, 0] + 10 * rng.normal(size=400))
    tree = grow(number_columns(*x.T), range(2), y, growth=Growth(min_leaf=10))
    path = DecisionTreeRegressor(min_samples_leaf=10, random_state=0).cost_complexity_pruning_path(
        x, y
    )
    ours = np.unique(
        np.round(
            collapse(tree.nodes, np.ascontiguousarray(tree.risks[:, 0]))[
                tree.nodes[:, FEATURE] >= 0
            ]
            / 400,
            6,
        )
    )
    np.testing.assert_allclose(ours, np.unique(np.round(path.ccp_alphas[1:], 6)), rtol=1e-6)


def test_pruning_cuts_noise_away_and_keeps_what_predicts():
    rng = np.random.default_rng(9)
    x = rng.normal(size=1000)
    training = TrainingRows(number_columns(x), np.arange(1000))
    noise = pruned_by(5)(training, [0], ranks(rng.normal(size=1000)), 0, Growth(), 0)
    signal = pruned_by(5)(training, [0], ranks((x > 0) * 5 + rng.normal(size=1000)), 0, Growth(), 0)
    assert noise.leaves().size <= 3
    assert 2 <= signal.leaves().size <= 8


def walk(tree, predictors, row, node):
    """Follow one row down the tree, a step at a time."""
    while tree.nodes[node, FEATURE] >= 0:
        f, cut, left, missing_left, first = tree.nodes[node, :5]
        code, levels = int(predictors.bins[row, f]), int(predictors.levels[f])
        if predictors.categorical[f]:
            code = min(code, levels)
            goes_left = bool(int(tree.sets[first + code // 64]) >> (code % 64) & 1)
        else:
            goes_left = bool(missing_left) if code >= levels - 1 else code <= cut
        node = left if goes_left else left + 1
    return node


@pytest.mark.parametrize("classes", [0, 4])
def test_rows_that_go_down_together_end_where_each_would_alone(classes):
    """Missing numbers, few categories, more than a byte holds; large and small nodes, strata."""
    rng = np.random.default_rng(10)
    x = np.where(rng.random(6000) < 0.1, np.nan, rng.normal(size=6000))
    few, many = rng.integers(0, 5, 6000), rng.integers(0, 700, 6000)
    binnings = [
        Binning(cuts(x[~np.isnan(x)]).size + 2, cuts(x[~np.isnan(x)])),
        Binning(6, None),
        Binning(701, None),
    ]
    none = np.zeros(6000, dtype=bool)
    columns = [
        binnings[0].codes(np.nan_to_num(x), np.isnan(x)),
        binnings[1].codes(few, none),
        binnings[2].codes(many, none),
    ]
    predictors = stack(columns, binnings)
    signal = np.nan_to_num(x) + few + (many % 7) + rng.normal(size=6000)
    y = (
        ranks(signal)
        if classes == 0
        else np.digitize(signal, np.quantile(signal, [0.25, 0.5, 0.75]))
    )
    group = rng.integers(0, 2, 6000)
    tree = grow(predictors, range(3), y, classes=classes, groups=group)
    found = tree.find(predictors, root=group)
    assert [walk(tree, predictors, row, group[row]) for row in range(0, 6000, 37)] == found[
        ::37
    ].tolist()
    for leaf in np.unique(found):
        inside = tree.order[tree.nodes[leaf, START] : tree.nodes[leaf, END]]
        assert sorted(inside) == np.flatnonzero(found == leaf).tolist()


def test_histograms_by_difference_grow_the_tree_of_plain_counts():
    """Every split has the gain of a search from scratch, in nodes of all sizes."""
    rng = np.random.default_rng(11)
    x = rng.integers(0, 40, (5000, 3)).astype(float)
    y = ranks(x[:, 0] + 3 * (x[:, 1] > 20) + 10 * rng.normal(size=5000))
    tree = grow(number_columns(*x.T), range(3), y, growth=Growth(min_leaf=30))
    for node in np.flatnonzero(tree.nodes[:, FEATURE] >= 0):
        rows = tree.order[tree.nodes[node, START] : tree.nodes[node, END]]
        best = 0.0
        for column in x[rows].T:
            for cut in np.unique(column)[:-1]:
                left = column <= cut
                if 30 <= left.sum() <= rows.size - 30:
                    best = max(
                        best, squares(y[rows]) - squares(y[rows][left]) - squares(y[rows][~left])
                    )
        assert tree.risks[node, 1] == pytest.approx(best, rel=1e-9)


def test_leaves_are_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, levels - 1, 60_000).astype(np.uint16) for levels in (40, 300, 7)]

    class Many:
        def __init__(self, levels):
            self.categorical, self.levels = levels == 300, levels

    predictors = stack(codes, [Many(levels) for levels in (40, 300, 7)])
    tree = grow(predictors, [0, 1, 2], rng.integers(0, 1000, 60_000))
    alone, together = tree.find(predictors), tree.find(predictors, threads=3)
    assert np.unique(alone).size > 1000
    assert alone.tobytes() == together.tobytes()
