"""Posterior draws of large private tables: their spread beside generalised least squares."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.methods.private import noise_aware
from veladura.methods.private.domain import Domain
from veladura.methods.private.noise_aware import NoiseAware
from veladura.numeric.graphical.chains import indicator
from veladura.numeric.graphical.fit import NoisyTable

SHAPE = (6, 7, 5, 8, 2)  # 3,360 cells: too many for Markov chains
TABLES = ((0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2), (2, 3), (0, 3), (3, 4))
PEOPLE = 50_000
DRAWS = 100


def released() -> NoiseAware:
    """Noisy tables of people who are spread evenly: no cell is near 0, where it is linear."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(int(np.prod(SHAPE)), 5.0))
    tables = []
    for place, columns in enumerate(TABLES):
        sigma = 30.0 + 10 * (place % 3)
        exact = PEOPLE * (shares @ indicator(SHAPE, columns))
        tables.append(NoisyTable(columns, exact + rng.normal(0, sigma, exact.size), sigma))
    domain = Domain({f"c{i}": list(range(size)) for i, size in enumerate(SHAPE)})
    return NoiseAware(domain, PEOPLE, tables)


def closed_form(model: NoiseAware) -> np.ndarray:
    """Standard deviations of the fitted counts: the noise, projected on tables that can be.

    Counts that a table of PEOPLE rows can have differ by A d with sum(d) = 0; weighted least
    squares has the covariance W^-1/2 P W^-1/2, P the projection on the range of W^1/2 A.
    """
    weights = np.repeat([1 / t.sigma for t in model.tables], [t.noisy.size for t in model.tables])
    counts = np.hstack([indicator(SHAPE, columns) for columns in TABLES])
    moves = (counts - counts.mean(axis=0)) * weights
    _, sizes, turned = np.linalg.svd(moves, full_matrices=False)
    inside = turned[sizes > 1e-9 * sizes[0]]
    return np.sqrt((inside**2).sum(axis=0)) / weights


def spread_of(model: NoiseAware) -> np.ndarray:
    drawn = model.protected(np.random.default_rng(9), DRAWS).draws
    tables = [[b.table(list(columns)).ravel() for columns in TABLES] for b in drawn]
    return PEOPLE * np.array([np.concatenate(t) for t in tables]).std(axis=0, ddof=1)


def ratio(model: NoiseAware) -> float:
    """The spread of draws over that in closed form, root mean square over all cells."""
    return float(np.sqrt(np.mean((spread_of(model) / closed_form(model)) ** 2)))


def test_draws_spread_as_least_squares_does():
    """The root mean square of 190 ratios from 100 draws has a standard error below .02."""
    assert ratio(released()) == pytest.approx(1, abs=0.08)


def test_fits_that_are_cut_short_are_seen(monkeypatch):
    monkeypatch.setattr(noise_aware, "FINE_STEPS", 15)
    assert abs(ratio(released()) - 1) > 0.2
