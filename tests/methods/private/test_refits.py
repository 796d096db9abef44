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


TRIPLES = (*TABLES[:5], (0, 1, 4), (1, 2), (1, 3, 4), (0, 2, 4))  # share two columns by two


def released(measured=TABLES) -> NoiseAware:
    """Noisy tables of people who are spread evenly: no cell is near 0, where it is linear."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(int(np.prod(SHAPE)), 5.0))
    tables = []
    for place, columns in enumerate(measured):
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
    counts = np.hstack([indicator(SHAPE, t.columns) for t in model.tables])
    moves = (counts - counts.mean(axis=0)) * weights
    _, sizes, turned = np.linalg.svd(moves, full_matrices=False)
    inside = turned[sizes > 1e-9 * sizes[0]]
    return np.sqrt((inside**2).sum(axis=0)) / weights


def spread_of(model: NoiseAware) -> np.ndarray:
    drawn = model.protected(np.random.default_rng(9), DRAWS).draws
    tables = [[b.table(list(t.columns)).ravel() for t in model.tables] for b in drawn]
    return PEOPLE * np.array([np.concatenate(t) for t in tables]).std(axis=0, ddof=1)


def ratio(model: NoiseAware) -> float:
    """The spread of draws over that in closed form, root mean square over all cells."""
    return float(np.sqrt(np.mean((spread_of(model) / closed_form(model)) ** 2)))


@pytest.mark.parametrize("measured", [TABLES, TRIPLES])
def test_draws_spread_as_least_squares_does(measured):
    """The root mean square of 190 ratios from 100 draws has a standard error below .02."""
    assert ratio(released(measured)) == pytest.approx(1, abs=0.08)


def test_fits_that_are_cut_short_are_seen(monkeypatch):
    monkeypatch.setattr(noise_aware, "FINE_STEPS", 15)
    assert abs(ratio(released()) - 1) > 0.2


SPARSE = (5, 6, 6, 12)  # 2,160 cells; columns 1 and 2 are in two measured tables
EMPTY = 12  # combinations of columns 1 and 2 that nobody has


def gain(seeds: range) -> float:
    """Mean people that combinations of two columns have in draws, though nobody has them."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        pairs = rng.dirichlet(np.full(36, 3.0)) * (rng.permutation(36) >= EMPTY)
        shares = (pairs.reshape(1, 6, 6, 1) * np.ones(SPARSE) / 60).ravel()
        shares /= shares.sum()
        tables = []
        for columns in ((0,), (1,), (2,), (3,), (0, 1, 2), (1, 2, 3)):
            exact = PEOPLE * (shares @ indicator(SPARSE, columns))
            tables.append(NoisyTable(columns, exact + rng.normal(0, 5, exact.size), 5.0))
        domain = Domain({f"c{i}": list(range(size)) for i, size in enumerate(SPARSE)})
        drawn = NoiseAware(domain, PEOPLE, tables).protected(rng, 4).draws
        found += [PEOPLE * b.table([1, 2]).ravel()[pairs == 0].mean() for b in drawn]
    return float(np.mean(found))


def test_empty_combinations_gain_no_more_than_their_own_noise(monkeypatch):
    """The positive part of N(0, s^2) is s / sqrt(2 pi) on average.

    The sums of 5 and of 12 noisy cells estimate a combination with s = 5 / sqrt(1/5 + 1/12), and a
    draw has the noise twice. Control: without the shared table every cell gains for itself.
    """
    most = np.sqrt(2) * 5 / np.sqrt(1 / 5 + 1 / 12) / np.sqrt(2 * np.pi)
    seeds = range(4)
    assert gain(seeds) < 1.15 * most
    monkeypatch.setattr(noise_aware, "with_shared", lambda _, tables: list(tables))
    assert gain(seeds) > 1.5 * most
