"""Calibrated draws: means by dense regressions, donors of the same leaf only, as often as asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.numeric.trees.bins import bin_columns
from veladura.numeric.trees.linear import regressions_of
from veladura.numeric.trees.model import grow_pair
from veladura.numeric.trees.tree import END, START, Growth, TrainingRows
from veladura.numeric.trees.variable import variable_of

LEVEL = 1e-5
ROWS = 1200


def people(seed: int) -> pd.DataFrame:
    """Return five predictors, a category of four levels, an answer, and a rounded number."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=ROWS).round(1) for i in range(3)})
    frame["c"] = rng.choice(list("abcd"), ROWS, p=[0.5, 0.3, 0.15, 0.05])
    frame["d"] = rng.choice(list("pq"), ROWS)
    together = frame[["x0", "x1", "x2"]].sum(axis=1) + (frame["c"] == "b") - (frame["d"] == "q")
    frame["number"] = (100 + 10 * together + 15 * rng.normal(size=ROWS)).round()
    frame["answer"] = np.where(together + rng.logistic(size=ROWS) > 0, "yes", "no")
    frame["level"] = np.array(list("klmn"))[
        np.clip(np.round(1.5 + together / 3 + rng.normal(size=ROWS)), 0, 3).astype(int)
    ]
    return frame


def case(name: str, seed: int = 0):
    """Return the trees of a column with their calibration, and predictors of other people."""
    codes = vd.open(people(seed)).codes(list(people(seed)))
    binnings, predictors = bin_columns(dict(codes.items()))
    other = vd.open(people(seed + 1)).codes(list(people(seed)))
    bins = [binnings[n].codes(other[n].values, other[n].missing) for n in binnings]
    there = predictors._replace(bins=np.ascontiguousarray(np.column_stack(bins)))
    training = TrainingRows(predictors, np.arange(ROWS))
    variable = variable_of(codes[name])
    found = regressions_of(variable, training, (0, 1, 2, 3, 4))
    pair = found.calibrated(grow_pair(variable, training, (0, 1, 2, 3, 4), Growth()))
    return variable, pair, found, there


def shares(calibration):
    """The share of each kind by leaf, with those that a leaf has not."""
    cells = np.diff(calibration.first)
    share = np.zeros((cells.size, calibration.own.max() + 1))
    share[np.repeat(np.arange(cells.size), cells), calibration.own] = calibration.share
    return share


def design(terms, predictors):
    """The design matrix of all rows, written out term by term."""
    matrix = np.zeros((ROWS, terms.number))
    matrix[:, 0] = 1
    for f, column in enumerate(terms.features):
        code = terms.start[f] + predictors.bins[:, column].astype(int)
        for entry in range(terms.place.shape[1]):
            place = terms.place[code, entry]
            here = np.flatnonzero(place >= 0)
            matrix[here, place[here]] += terms.value[code[here], entry]
    return matrix


@pytest.mark.parametrize("name", ["number", "answer", "level"])
def test_means_of_leaves_are_moved_to_the_regression_of_the_original(name):
    """Two rounds leave less than a third of the bias of every term: by least squares."""
    _, pair, found, there = case(name)
    tree, calibration = (
        (pair.numbers, pair.number_calibration)
        if name == "number"
        else (pair.states, pair.state_calibration)
    )
    rows = np.arange(ROWS)
    leaf = calibration.leaf[tree.find(there)]
    shift = calibration.shifts(there, rows, tree.find(there))
    share = shares(calibration)
    mean, most = (share, 0.75 * np.minimum(share, 1 - share))
    if calibration.single:
        mean, most = calibration.mean[:, None], most[:, :1] * calibration.gap[:, None]
    z = design(found.moments.terms, there)
    before = mean[leaf] - z @ calibration.slopes
    left, bias = (np.linalg.lstsq(z, r, rcond=None)[0] for r in (before + shift, before))
    size = [np.sqrt(np.mean((z @ gamma) ** 2)) for gamma in (left, bias)]
    assert size[0] < size[1] / 3
    assert (np.abs(shift) <= most[leaf] + 1e-12).all()
    if shift.shape[1] > 1:
        assert shift.sum(axis=1) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", ["number", "answer", "level"])
def test_donors_stay_in_their_leaf_and_are_drawn_as_often_as_asked(name):
    """Kinds of donors, over many draws of the same rows, have the shares that were asked for."""
    _, pair, _, there = case(name)
    tree, calibration = (
        (pair.numbers, pair.number_calibration)
        if name == "number"
        else (pair.states, pair.state_calibration)
    )
    rng, rows, nodes = np.random.default_rng(5), np.arange(ROWS), tree.find(there)
    leaf = calibration.leaf[nodes]
    start, end = tree.nodes[nodes, START], tree.nodes[nodes, END]
    shift, share = calibration.shifts(there, rows, nodes), shares(calibration)
    if shift.shape[1] == 1:
        up = shift[:, 0] / np.maximum(calibration.gap[leaf], 1e-12)
        shift = np.column_stack([-up, up])
    expected = (share[leaf] + shift).sum(axis=0)
    variance = ((share[leaf] + shift) * (1 - share[leaf] - shift)).sum(0)
    counts, plain = np.zeros(shift.shape[1]), np.zeros(shift.shape[1])
    upward = np.argsort(-shift[:, 1])[:300]  # rows that are to have more of one kind
    here = np.zeros(2)
    draws = 200
    for _ in range(draws):
        donors = start + (rng.random(ROWS) * (end - start)).astype(int)
        moved = calibration.corrected(rng, there, rows, nodes, donors)
        assert ((moved >= start) & (moved < end)).all()
        counts += np.bincount(calibration.kind[moved], minlength=counts.size)
        plain += np.bincount(calibration.kind[donors], minlength=counts.size)
        here += [np.sum(calibration.kind[d][upward] == 1) for d in (moved, donors)]
    z = (counts / draws - expected) / np.sqrt(variance / draws)
    assert (np.abs(z) < stats.norm.isf(LEVEL / 8)).all()
    wanted = (share[leaf] + shift)[upward, 1]
    error = np.sqrt((wanted * (1 - wanted)).sum() / draws)
    assert abs(here[0] / draws - wanted.sum()) < stats.norm.isf(LEVEL) * error
    assert abs(here[1] / draws - wanted.sum()) > stats.norm.isf(LEVEL) * error  # not calibrated


def test_a_large_table_is_calibrated_by_the_slopes_of_all_its_rows():
    rng, rows = np.random.default_rng(8), 60_000
    frame = pd.DataFrame(rng.normal(size=(rows, 3)).round(1), columns=["x0", "x1", "x2"])
    frame["y"] = (frame.sum(axis=1) + rng.normal(size=rows)).round(1)
    fitted = vd.Cart(columns=["y"], m=1).fit(frame, seed=1)
    calibration = fitted.models[0][0].model.pairs[0].number_calibration
    terms, code = calibration.terms, fitted.base.bins[:, :3]
    score = stats.norm.ppf((stats.rankdata(frame["y"].iloc[fitted.codes.rows]) - 0.5) / rows)
    matrix = np.zeros((rows, terms.number))
    matrix[:, 0] = 1
    for f in range(3):
        at = terms.start[f] + code[:, f].astype(int)
        for entry in range(terms.place.shape[1]):
            matrix[np.arange(rows), terms.place[at, entry]] += terms.value[at, entry]
    by_hand = np.linalg.lstsq(matrix, score, rcond=None)[0]
    fits = [matrix @ slopes for slopes in (by_hand, calibration.slopes[:, 0])]
    assert np.abs(fits[0] - fits[1]).max() < 0.01
