"""Belief propagation against enumeration, fits against least squares, rows against their model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from veladura.numeric.graphical.fit import NoisyTable, fit, merged
from veladura.numeric.graphical.junction import junction_tree, model_megabytes
from veladura.numeric.graphical.model import LogLinear
from veladura.numeric.graphical.rows import draw_rows

pytestmark = pytest.mark.quick


def random_model(rng):
    """Return a model of up to six columns with random tables and structural zeros."""
    d = int(rng.integers(1, 7))
    shape = tuple(rng.integers(1, 4, d).tolist())
    tables = {
        tuple(sorted(rng.choice(d, int(rng.integers(1, min(3, d) + 1)), replace=False).tolist()))
        for _ in range(int(rng.integers(1, 8)))
    }
    zeros = ()
    if d > 1 and rng.random() < 0.5:
        columns = tuple(sorted(rng.choice(d, 2, replace=False).tolist()))
        possible = (rng.random([shape[c] for c in columns]) > 0.3).astype(float)
        possible.flat[0] = 1.0
        zeros = ((columns, possible),)
    reference = tuple(rng.dirichlet(np.ones(size)) for size in shape)
    return LogLinear(shape, tuple(tables), zeros, reference if rng.random() < 0.5 else ())


def enumerated(model, theta):
    """Return the log constant and the shares of all cells, by brute force."""
    axes = range(len(model.shape))
    scores = np.zeros(model.shape)

    def wide(values, columns):
        return np.reshape(values, [model.shape[c] if c in columns else 1 for c in axes])

    for table, place in zip(model.tables, model.places, strict=True):
        scores = scores + wide(theta[place], table)
    for column, share in enumerate(model.reference):
        scores = scores + wide(np.log(share), (column,))
    for columns, possible in model.zeros:
        scores = np.where(wide(possible, columns) > 0, scores, -np.inf)
    total = np.log(np.exp(scores).sum())
    return total, np.exp(scores - total)


def test_beliefs_are_those_of_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(60):
        model = random_model(rng)
        theta = 2 * rng.normal(size=model.size)
        total, shares = enumerated(model, theta)
        beliefs = model.beliefs(theta)
        assert beliefs.log_total == pytest.approx(total, abs=1e-8)
        axes = range(len(model.shape))
        for size in (1, 2, 3):
            for columns in combinations(axes, size):
                wanted = shares.sum(axis=tuple(c for c in axes if c not in columns))
                np.testing.assert_allclose(beliefs.table(columns), wanted, atol=1e-12)


def test_every_table_has_a_clique_and_shared_columns_stay_connected():
    rng = np.random.default_rng(2)
    for _ in range(50):
        tables = [tuple(sorted(rng.choice(8, 2, replace=False).tolist())) for _ in range(9)]
        shape = tuple(rng.integers(2, 5, 8).tolist())
        tree = junction_tree(shape, tables)
        assert all(tree.holder(table) >= 0 for table in tables)
        for column in range(8):
            inside = [i for i, clique in enumerate(tree.cliques) if column in clique]
            tops = [i for i in inside if column not in tree.separators[i]]
            assert len(tops) == 1
        assert model_megabytes(shape, tables) == pytest.approx(tree.cells * 8 / 2**20)


def test_a_fit_without_noise_gives_the_tables_back():
    rng = np.random.default_rng(3)
    shape, tables = (3, 4, 2), [(0,), (1,), (2,), (0, 1), (1, 2)]
    joint = rng.dirichlet(np.full(24, 2.0)).reshape(shape)
    measured = []
    for table in tables:
        counts = 5000 * joint.sum(axis=tuple(c for c in range(3) if c not in table))
        measured.append(NoisyTable(table, counts.ravel(), 10.0))
    fitted = fit(shape, measured, 5000.0, smoothing=1e-4, steps=2000)
    for table in measured:
        np.testing.assert_allclose(
            5000 * fitted.beliefs.table(table.columns).ravel(), table.noisy, atol=2.0
        )
    given = (
        joint.sum(axis=2)[:, :, None] * joint.sum(axis=0)[None] / joint.sum(axis=(0, 2))[:, None]
    )
    np.testing.assert_allclose(fitted.beliefs.table((0, 1, 2)), given, atol=1e-3)


def test_the_smoothed_fit_solves_its_equation_and_never_uses_an_impossible_cell():
    rng = np.random.default_rng(4)
    possible = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    measured = [
        NoisyTable((0, 1), rng.normal(100, 40, 6), 40.0),
        NoisyTable((0,), np.full(2, 300.0), 20.0),
    ]
    fitted = fit((2, 3), measured, 600.0, zeros=[((0, 1), possible)], smoothing=0.5, steps=2000)
    sigma = np.repeat([40.0, 20.0], [6, 2])
    noisy = np.concatenate([table.noisy for table in measured])
    residual = noisy - 600 * fitted.beliefs.tables
    np.testing.assert_allclose(residual, 0.5 / 40 * sigma**2 * fitted.theta, atol=0.5)
    assert fitted.beliefs.table((0, 1))[0, 2] == 0


def test_repeated_tables_are_averaged_by_their_precision():
    [one] = merged(
        [NoisyTable((0,), np.array([10.0]), 1.0), NoisyTable((0,), np.array([20.0]), 2.0)]
    )
    assert one.noisy[0] == pytest.approx((10 + 20 / 4) / (1 + 1 / 4))
    assert one.sigma == pytest.approx((1 + 1 / 4) ** -0.5)


def test_rows_are_the_expected_counts_rounded_and_right_on_average():
    rng = np.random.default_rng(5)
    model = LogLinear((2, 3, 2), ((0, 1), (1, 2)))
    beliefs = model.beliefs(rng.normal(size=model.size))
    expected = 37 * beliefs.table((0, 1))
    total = np.zeros((2, 3))
    for _ in range(2000):
        a, b, _ = draw_rows(beliefs, 37, rng)
        counts = np.zeros((2, 3))
        np.add.at(counts, (a, b), 1)
        total += counts
    first = model.tree.cliques[0] == (0, 1)
    assert first  # the first clique is drawn whole, so each of its counts is rounded
    assert np.abs(counts - expected).max() < 1 + 1e-9
    # a rounded count has a standard deviation of at most 1/2: 4.4 standard errors are 0.05
    np.testing.assert_allclose(total / 2000, expected, atol=0.05)
