"""Criteria of splits against scikit-learn, and against every split there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.numeric.trees.test_tree import category_columns, number_columns

from veladura.numeric.trees.criteria import number_target, with_variance
from veladura.numeric.trees.tree import END, FEATURE, LEFT, START, Growth, grow, ranks


def heavy(seed, size=600):
    """Skewed, rounded, heaped numbers on three columns."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 40, (size, 3)).astype(float)
    noise = rng.standard_t(3, size).clip(-8, 8)
    y = np.round(1000 * np.exp(x[:, 0] / 15 + (x[:, 1] > 20) + noise), -1)
    return x, y


def means(tree, predictors, y):
    leaf = tree.find(predictors)
    return np.array([y[leaf == node].mean() for node in leaf])


def test_squares_of_values_give_the_tree_of_scikit_learn():
    x, y = heavy(1)
    predictors = number_columns(*x.T)
    ours = grow(predictors, range(3), number_target(y, "values"), growth=Growth(min_leaf=15))
    theirs = DecisionTreeRegressor(min_samples_leaf=15, random_state=0).fit(x, y)
    assert ours.leaves().size == theirs.get_n_leaves()
    np.testing.assert_allclose(means(ours, predictors, y), theirs.predict(x), rtol=1e-9)
    by_rank = grow(predictors, range(3), ranks(y), growth=Growth(min_leaf=15))
    assert not np.allclose(means(by_rank, predictors, y), theirs.predict(x))  # the control


def classes_on_numbers(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(250, 3))
    noise = rng.random(250) < 0.2
    return x, ((x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5) + noise).astype(np.int64)


def test_deviance_gives_the_entropy_tree_of_scikit_learn():
    x, y = classes_on_numbers(4)  # a table in which no two splits are equally good
    predictors = number_columns(*x.T)
    growth = Growth(min_leaf=10, classes="deviance")
    ours = grow(predictors, range(3), y, classes=4, growth=growth)
    theirs = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=10, random_state=0)
    theirs.fit(x, y)
    leaf = ours.find(predictors)
    count = np.array([np.bincount(y[leaf == node], minlength=4) for node in leaf])
    assert ours.leaves().size == theirs.get_n_leaves()
    shares = (count / count.sum(axis=1, keepdims=True))[:, theirs.classes_]
    np.testing.assert_allclose(shares, theirs.predict_proba(x))


@pytest.mark.parametrize("seed", range(4))
def test_every_split_by_deviance_is_the_best_cut_of_its_rows(seed):
    x, y = classes_on_numbers(seed)
    growth = Growth(min_leaf=10, classes="deviance")
    tree = grow(number_columns(*x.T), range(3), y, classes=4, growth=growth)
    for node in np.flatnonzero(tree.nodes[:, FEATURE] >= 0):
        rows = tree.order[slice(*tree.nodes[node, START : END + 1])]
        best = 0.0
        for column in x[rows].T:
            sorted_y = y[rows][np.argsort(column)]
            for cut in range(10, rows.size - 9):
                parts = entropy(sorted_y[:cut]) + entropy(sorted_y[cut:])
                best = max(best, entropy(sorted_y) - parts)
        assert tree.risks[node, 1] == pytest.approx(best)


def misclassified(y):
    return y.size - int(np.bincount(y).max()) if y.size else 0


def entropy(y):
    share = np.bincount(y) / max(y.size, 1)
    share = share[share > 0]
    return float(-y.size * (share * np.log(share)).sum())


@pytest.mark.parametrize(
    ("criterion", "impurity"), [("misclassification", misclassified), ("deviance", entropy)]
)
def test_the_first_split_of_two_classes_is_the_best_of_all_subsets(criterion, impurity):
    """With two classes the order of shares holds the best subset (Breiman et al., theorem 4.5)."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 6, (200, 2))
        y = (rng.random(200) < 0.2 + 0.1 * x[:, 0]).astype(np.int64)
        growth = Growth(min_leaf=10, classes=criterion)
        tree = grow(category_columns(*x.T), range(2), y, classes=2, growth=growth)
        best = 0.0
        for column in x.T:
            for size in range(1, 6):
                for left in combinations(range(6), size):
                    inside = np.isin(column, left)
                    if min(inside.sum(), (~inside).sum()) >= 10:
                        parts = impurity(y[inside]) + impurity(y[~inside])
                        best = max(best, impurity(y) - parts)
        assert tree.risks[0, 0] == pytest.approx(impurity(y))
        assert tree.risks[0, 1] == pytest.approx(best, abs=1e-9)


def test_missing_numbers_strata_and_forests_grow_by_deviance_too():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 2))
    y = ((x[:, 0] > 0) + 2 * (x[:, 1] > 0)).astype(np.int64)
    x[rng.random(400) < 0.2, 0] = np.nan
    predictors = number_columns(*x.T)
    growth = Growth(min_leaf=5, classes="deviance", tried=1)
    groups = rng.integers(0, 2, 400)
    tree = grow(predictors, range(2), y, classes=4, groups=groups, growth=growth, seed=7)
    assert (np.sort(tree.order) == np.arange(400)).all()
    leaf = tree.find(predictors, None, groups)
    for node in tree.leaves():  # rows fall to the leaf that they were grown in
        start, end = tree.nodes[node, START : END + 1]
        assert (leaf[tree.order[start:end]] == node).all()
        assert end - start >= 5


def test_no_leaf_has_less_than_the_least_variance():
    x, y = heavy(4)
    values = np.log(y + 20)
    predictors = number_columns(*x.T)
    tree = grow(predictors, range(3), number_target(values, "values"), growth=Growth(min_leaf=5))
    least = 0.8 * values.var()
    cut = with_variance(tree, values, least)
    leaf = cut.find(predictors)
    spread = [values[leaf == node].var() for node in np.unique(leaf)]
    assert len(spread) > 1
    assert min(spread) >= least
    whole = tree.find(predictors)
    assert min(values[whole == node].var() for node in np.unique(whole)) < least  # the control
    # and no more is cut than that: above every stop a child has less
    for node in np.flatnonzero((cut.stop > 0) & (tree.nodes[:, FEATURE] >= 0)):
        left = tree.nodes[node, LEFT]
        parts = [
            values[tree.order[slice(*tree.nodes[child, START : END + 1])]].var()
            for child in (left, left + 1)
        ]
        assert min(parts) < least
