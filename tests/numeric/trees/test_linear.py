"""Linear scores against dense regressions, discriminant analysis of scikit-learn, and noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import veladura as vd
from veladura.numeric.trees.bins import bin_columns
from veladura.numeric.trees.linear import regressions_of, score_rows
from veladura.numeric.trees.regression import RIDGE, Moments, Terms, sums
from veladura.numeric.trees.tree import TrainingRows
from veladura.numeric.trees.variable import variable_of


def binned(frame):
    codes = vd.open(frame).codes(list(frame))
    return codes, bin_columns(dict(codes.items()))[1]


def scored(variable, training, features):
    regressions = regressions_of(variable, training, features)
    return None if regressions is None else score_rows(regressions, training, features)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=700).round(2),
            "n": rng.integers(0, 6, 700).astype(float),
            "c": rng.choice(list("abcde"), 700, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
        }
    )
    frame.loc[::9, "x"] = np.nan
    return frame


def dense(terms, predictors, rows):
    """The design matrix, written out term by term."""
    matrix = np.zeros((rows.size, terms.number))
    matrix[:, 0] = 1
    for i, row in enumerate(rows):
        for f, column in enumerate(terms.features):
            code = terms.start[f] + predictors.bins[row, column]
            for place, value in zip(terms.place[code], terms.value[code], strict=True):
                if place >= 0:
                    matrix[i, place] += value
    return matrix


def twice(z, y, ridge):
    """A ridge regression, and another of what it leaves (twicing), by dense normal equations."""
    once = np.linalg.solve(z.T @ z + ridge, z.T @ y)
    return once + np.linalg.solve(z.T @ z + ridge, z.T @ (y - z @ once))


def test_the_ridge_hardly_holds_back_the_mean_of_a_group():
    """A group of 20 in 400: one more row against its slope took 5 % of it, twicing leaves .25 %."""
    rows = np.arange(400)
    group = np.where(rows % 20 == 0, "b", "a")
    frame = pd.DataFrame({"g": group, "h": np.where(rows % 3 == 0, "p", "q")})
    _, predictors = binned(frame)
    few = predictors.bins[:, 0] == np.bincount(predictors.bins[:, 0]).argmin()
    y = np.where(few, 10.0, 0.0)
    moments = Moments.of(predictors, rows, [0, 1])
    slopes, _ = moments.fit(np.zeros(400, dtype=np.int64), y, twice=True)
    once, _ = moments.fit(np.zeros(400, dtype=np.int64), y)
    matrix = dense(moments.terms, predictors, rows)
    assert few.sum() == 20
    assert (matrix @ slopes[:, 0])[few].mean() == pytest.approx(10, rel=0.005)
    assert (matrix @ once[:, 0])[few].mean() < 9.8


def test_few_rows_have_slopes_of_the_columns_that_explain_most():
    """Of ten columns two matter; with terms for two, these have slopes and all others none."""
    rng, rows = np.random.default_rng(3), np.arange(200)
    frame = pd.DataFrame(
        {f"x{i}": rng.choice(list("abc"), 200) for i in range(8)}
        | {"strong": rng.choice(list("pq"), 200), "number": rng.normal(size=200)}
    )
    _, predictors = binned(frame)
    y = 2.0 * predictors.bins[:, 8] + predictors.bins[:, 9] / 50 + rng.normal(size=200)
    whole = Moments.of(predictors, rows, range(10))
    code = np.zeros(200, dtype=np.int64)
    some = whole.strongest(code, y, 6)
    first = whole.terms.first
    wanted = {0, *range(first[8], first[10])}
    assert set(some.used.tolist()) == wanted
    slopes, _ = some.fit(code, y, twice=True)
    assert set(np.flatnonzero(slopes[:, 0]).tolist()) <= wanted
    z = dense(whole.terms, predictors, rows)[:, sorted(wanted)]
    ridge = RIDGE * np.eye(z.shape[1])
    ridge[0, 0] = 1e-9
    assert slopes[sorted(wanted), 0] == pytest.approx(twice(z, y, ridge), abs=1e-9)
    assert whole.strongest(code, y, whole.terms.number) is whole


def test_slopes_and_predictors_are_those_of_the_normal_equations(people):
    _, predictors = binned(people)
    rows = np.arange(0, 700, 2)
    y = np.random.default_rng(2).normal(size=rows.size)
    moments = Moments.of(predictors, rows, [0, 1, 2])
    terms = moments.terms
    slopes, spread = moments.fit(np.zeros(rows.size, dtype=np.int64), y)
    z = dense(terms, predictors, rows)
    ridge = RIDGE * np.eye(terms.number)
    ridge[0, 0] = 1e-9
    expected = np.linalg.solve(z.T @ z + ridge, z.T @ y)
    assert slopes[:, 0] == pytest.approx(expected, abs=1e-9)
    assert spread[0, 0] == pytest.approx((z @ expected).var())
    scores = sums(predictors.bins, rows, terms.features, terms.start, terms.tables(slopes))
    assert scores[0] + slopes[0, 0] == pytest.approx(z @ expected)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_regression_on_some_columns_and_rows_takes_its_part_of_shared_moments(people, share):
    _, predictors = binned(people)
    rng = np.random.default_rng(4)
    rows = np.sort(rng.integers(0, 700, 700))  # a bootstrap sample
    inside = rng.random(rows.size) < share
    y = rng.normal(size=int(inside.sum()))
    none = np.zeros(y.size, dtype=np.int64)
    part = Moments.of(predictors, rows, [0, 1, 2]).among([2, 0]).at(inside)
    z = dense(part.terms, predictors, rows[inside])
    ridge = RIDGE * np.eye(part.terms.number)
    ridge[0, 0] = 1e-9
    expected = np.linalg.solve(z.T @ z + ridge, z.T @ y)
    slopes, spread = part.fit(none, y)
    assert slopes[:, 0] == pytest.approx(expected, abs=1e-9)
    assert spread[0, 0] == pytest.approx((z @ expected).var())


@pytest.mark.parametrize("features", [[1], [2, 1], [1, 2, 0], [0, 2]])
def test_the_root_of_some_columns_is_that_of_the_normal_equations(people, features):
    """Of the first columns it is a part of the shared one, of others their own."""
    _, predictors = binned(people)
    shared = Moments.of(predictors, np.arange(700), [1, 2, 0])
    part = shared.among(features)
    z = dense(part.terms, predictors, np.arange(700))
    ridge = RIDGE * np.eye(part.terms.number)
    ridge[0, 0] = 1e-9
    assert part.root.T @ part.root @ (z.T @ z + ridge) == pytest.approx(
        np.eye(part.terms.number), abs=1e-7
    )
    assert set(part.terms.features) == set(features)
    assert np.shares_memory(part.root, shared.root) == (features != [0, 2])


@pytest.mark.parametrize("transform", [None, "asinh"])
def test_normal_scores_of_numbers_are_those_of_their_mid_ranks(people, transform):
    codes, _ = binned(people)
    variable = variable_of(codes["n"], transform=transform, spikes=())
    rows = np.flatnonzero(np.random.default_rng(5).random(700) < 0.6)
    share = (stats.rankdata(variable.numbers()[rows]) - 0.5) / rows.size
    assert variable.normal_scores(rows) == pytest.approx(stats.norm.ppf(share), abs=1e-8)


def test_terms_of_numbers_are_standardised_and_missing_has_one(people):
    codes, predictors = binned(people)
    terms = Terms.of(predictors, np.arange(700), np.arange(3))
    z = dense(terms, predictors, np.arange(700))
    assert terms.number == 1 + 3 + 6 + 5  # of six numbers each has its own
    x = people["x"].to_numpy()[codes.rows]
    given = ~np.isnan(x)
    assert z[given, 1].mean() == pytest.approx(0, abs=1e-12)
    assert z[given, 1].std() == pytest.approx(1)
    assert (z[:, 3] == ~given).all()
    assert np.corrcoef(z[given, 1], x[given].argsort().argsort())[0, 1] > 0.95
    assert set(z[:, 4:10].sum(axis=1)) == set(z[:, 10:].sum(axis=1)) == {1.0}


def test_directions_between_categories_are_those_of_discriminant_analysis():
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 3, 1500)
    frame = pd.DataFrame(
        {
            "u": rng.choice(list("pqr"), 1500),
            "v": np.where(rng.random(1500) < 0.5, "abc", "cab"),
        }
    )
    frame["v"] = [text[k] for text, k in zip(frame["v"], kind, strict=True)]
    frame["u"] = np.where(rng.random(1500) < 0.4, np.array(list("pqr"))[kind], frame["u"])
    frame["kind"] = np.array(["one", "two", "six"])[kind]
    codes, predictors = binned(frame)
    variable = variable_of(codes["kind"])
    training = TrainingRows(predictors, np.arange(1500))
    linear, extended, features = scored(variable, training, (0, 1))
    scores = sums(predictors.bins, np.arange(1500), linear.features, linear.start, linear.tables).T
    dummies = pd.get_dummies(frame.iloc[codes.rows][["u", "v"]], drop_first=True).to_numpy(float)
    theirs = LinearDiscriminantAnalysis().fit(dummies, variable.state).transform(dummies)
    assert scores.shape[1] == theirs.shape[1] == 2
    for k in range(2):
        assert abs(np.corrcoef(scores[:, k], theirs[:, k])[0, 1]) > 0.999
    assert features == (0, 1, 3, 4)
    assert extended.predictors.bins.shape == (1500, 5)
    again = linear.extended(predictors, np.arange(1500))
    assert (again.bins == extended.predictors.bins).all()


def test_noise_has_no_score_and_a_relation_has_one(people):
    """Claim: a column that has nothing to do with the others gets no score.

    With 12 terms and 700 rows, noise explains twice as much as on average with a probability of
    about 2 %: of 40 columns of noise no more than 6 have a score but for one run in 100,000.
    """
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(40):
        codes, predictors = binned(people.assign(y=rng.normal(size=700)))
        training = TrainingRows(predictors, np.arange(700))
        found += scored(variable_of(codes["y"]), training, (0, 1, 2)) is not None
    assert found <= 6
    codes, predictors = binned(people.assign(y=rng.normal(size=700) + people["n"] / 4))
    training = TrainingRows(predictors, np.arange(700))
    assert scored(variable_of(codes["y"]), training, (0, 1, 2)) is not None
    assert scored(variable_of(codes["y"]), training, (1,)) is None
