"""The exact posterior against brute force, quadrature, both samplers, and its own draws."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln

from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.inference.posterior import chains
from veladura.inference.posterior.compare import column_table
from veladura.inference.posterior.posterior import from_counts, shortest
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain

LEVEL = 1e-5


def line(k: int) -> Domain:
    return Domain({"cell": tuple(range(k))})


def brute_force(released, alpha, gamma, n, log_noise=None):
    """Every table of n rows with its posterior probability, by summing the model's formula."""
    tables = np.array([x for x in product(range(n + 1), repeat=len(gamma)) if sum(x) == n])
    logs = np.sum(gammaln(gamma + tables) - gammaln(tables + 1), axis=1)
    for r in np.atleast_2d(released):
        likelihood = (
            gammaln(alpha + tables + r) - gammaln(alpha + tables)
            if log_noise is None
            else log_noise(r - tables)
        )
        logs += np.sum(likelihood, axis=1)
    weights = np.exp(logs - logs.max())
    return tables, weights / weights.sum()


CASES = [
    (2, 6, 1, 1.0),
    (2, 30, 3, 0.2),
    (3, 7, 1, 2.0),
    (3, 6, 2, 0.5),
    (4, 6, 3, 8.0),
    (5, 5, 1, 1.0),
]


@pytest.mark.parametrize(("k", "n", "m", "epsilon"), CASES)
def test_moments_equal_brute_force(k, n, m, epsilon):
    rng = Streams(k * n)("posterior", "brute")
    released, gamma = rng.multinomial(n + 2, np.ones(k) / k, size=m), rng.uniform(0.2, 2.5, k)
    alpha = (n + 2) / np.expm1(epsilon / m)
    tables, weights = brute_force(released, alpha, gamma, n)
    posterior = from_counts(line(k), released, n, gamma, alpha=alpha)
    total = gamma.sum() + n
    mean = (gamma + weights @ tables) / total
    second = weights @ ((gamma + tables) * (gamma + tables + 1)) / (total * (total + 1))
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(posterior.variance, second - mean**2, rtol=1e-10)
    assert posterior.error < 1e-12
    combination = rng.normal(size=k)
    shares = (gamma + tables) / total
    within = weights @ (
        ((shares * combination**2).sum(axis=1) - (shares @ combination) ** 2) / (total + 1)
    )
    between = weights @ (shares @ combination) ** 2 - (weights @ shares @ combination) ** 2
    assert posterior.combination_variance(combination) == pytest.approx(within + between, rel=1e-8)
    assert posterior.combine(combination).value == pytest.approx(mean @ combination, rel=1e-10)


def test_unequal_alphas_equal_brute_force():
    released, gamma, n = np.array([3, 1, 4]), np.array([0.5, 1.0, 2.0]), 6
    alpha = np.array([1.5, 4.0, 2.25])
    tables, weights = brute_force(released, alpha, gamma, n)
    posterior = from_counts(line(3), released, n, gamma, alpha=alpha)
    mean = (gamma + weights @ tables) / (gamma.sum() + n)
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-12)
    one_for_all = from_counts(line(3), released, n, gamma, alpha=1.5)  # a broken control
    assert np.abs(one_for_all.mean - mean).max() > 0.01


def test_geometric_noise_has_the_same_exact_posterior():
    noisy, gamma, scale = np.array([4, -2, 5]), np.array([0.5, 1.0, 2.0]), 1.7
    tables, weights = brute_force(noisy, None, gamma, 7, lambda away: -np.abs(away) / scale)
    posterior = from_counts(line(3), noisy, 7, gamma, scale=scale)
    np.testing.assert_allclose(
        posterior.mean, (gamma + weights @ tables) / (gamma.sum() + 7), rtol=1e-12
    )


def test_distribution_functions_and_intervals_equal_the_mixture_of_betas():
    released, gamma, n, alpha = np.array([3, 1, 8]), np.array([0.5, 0.5, 1.5]), 10, 4.0
    tables, weights = brute_force(released, alpha, gamma, n)
    posterior = from_counts(line(3), released, n, gamma, alpha=alpha)
    points = np.linspace(0.01, 0.99, 9)
    low, high = posterior.interval(0.9)
    for i in range(3):
        a = gamma[i] + tables[:, i]
        law = stats.beta(a[:, None], gamma.sum() + n - a[:, None])
        np.testing.assert_allclose(posterior.cdf(points)[i], weights @ law.cdf(points), atol=1e-12)
        np.testing.assert_allclose(posterior.pdf(points)[i], weights @ law.pdf(points), rtol=1e-9)
        inside = weights @ (law.cdf([high[i]]) - law.cdf([low[i]]))
        assert inside == pytest.approx(0.9, abs=1e-9)
        ends = posterior.interval(0.9, "equal")
        assert weights @ law.cdf([ends.lower[i]]) == pytest.approx(0.05, abs=1e-9)
        assert high[i] - low[i] <= ends.upper[i] - ends.lower[i] + 1e-12
        nearby = [t for t in np.linspace(0, 0.1, 400) if 0 < t < 0.1]
        lengths = [
            _quantile(weights, law, t + 0.9) - _quantile(weights, law, t) for t in nearby[::40]
        ]
        assert high[i] - low[i] <= min(lengths) + 1e-6


def _quantile(weights, law, chance):
    from scipy.optimize import brentq

    return brentq(lambda p: float((weights @ law.cdf([p]))[0]) - chance, 1e-12, 1 - 1e-12)


def test_the_density_integrates_to_one_for_large_n():
    posterior = from_counts(line(4), [700, 100, 150, 50], 1000, 0.5, alpha=1000 / np.expm1(2))
    for i in range(4):
        low, high = posterior.interval(1 - 1e-9)
        area, _ = integrate.quad(lambda p, i=i: posterior.pdf(p)[i, 0], low[i], high[i], limit=200)
        assert area == pytest.approx(1, abs=1e-6)


def test_cells_that_cannot_occur_have_no_share_and_move_nothing():
    domain = Domain({"a": (0, 1), "b": (0, 1, 2)}, zeros=({"a": (1,), "b": (2,)},))
    posterior = from_counts(domain, [3, 1, 4, 1, 5, 0], 14, 0.5, alpha=9)
    plain = from_counts(line(5), [3, 1, 4, 1, 5], 14, 0.5, alpha=9)
    np.testing.assert_allclose(posterior.mean, [*plain.mean, 0], rtol=1e-12)
    assert (posterior.draw(50, 1)[:, 5] == 0).all()
    assert posterior.interval().upper[5] == 0


def test_draws_follow_the_exact_moments():
    posterior = from_counts(
        line(6), [30, 5, 1, 0, 60, 4], 120, [0.5, 1, 0.5, 0.3, 2, 0.5], alpha=100 / np.expm1(2)
    )
    draws, counts = posterior.draw(40_000, 3), posterior.draw_counts(2000, 4)
    assert (counts.sum(axis=1) == 120).all()
    z = (draws.mean(axis=0) - posterior.mean) / np.sqrt(posterior.variance / len(draws))
    assert np.abs(z).max() < stats.norm.isf(LEVEL / 12)
    np.testing.assert_allclose(draws.var(axis=0), posterior.variance, rtol=0.08)
    for i in (0, 3):
        assert stats.kstest(draws[:4000, i], lambda p, i=i: posterior.cdf(p)[i]).pvalue > LEVEL
    np.testing.assert_array_equal(posterior.draw(5, 3), posterior.draw(5, 3))
    assert posterior.predict(77, 9, 1).sum(axis=1).tolist() == [77] * 9
    weights = np.array([1.0, -1, 0, 0, 2, 0.5])
    estimate = posterior.combine(weights, seed=1)
    low, high = shortest(draws @ weights, 0.95)
    assert (estimate.lower, estimate.upper) == pytest.approx((low, high), abs=0.02)


def test_sums_of_cells_are_exact():
    posterior = from_counts(line(6), [30, 5, 1, 0, 60, 4], 120, 0.5, alpha=20)
    mask = np.array([1, 0, 1, 0, 0, 1], dtype=bool)
    both = posterior.grouped([mask, ~mask])
    assert both.mean[0] == pytest.approx(posterior.mean[mask].sum(), rel=1e-12)
    assert both.variance[0] == pytest.approx(
        posterior.draw(60_000, 5)[:, mask].sum(axis=1).var(), rel=0.05
    )
    assert posterior.combine(np.ones(6)).value == pytest.approx(1)
    with pytest.raises(PlanError, match="every possible cell exactly once"):
        posterior.grouped([mask, mask])


def samplers_pvalue(step, seed=0):
    """The p-value of the worst cell: means of independent chains against the exact ones."""
    released = np.array([[14.0, 3, 5, 2], [11, 5, 6, 2]])
    gamma, alpha, n = np.array([0.5, 1, 0.5, 0.5]), 24 / np.expm1(1.0), 20
    truth = from_counts(line(4), released, n, gamma, alpha=alpha)
    model = chains.ChainModel(np.repeat(released[None], 60, axis=0), np.full(4, alpha), gamma, n)
    runs = chains.run(Streams(seed)("chain"), step, model, 600, 500)[0].mean(axis=0)
    return min(1.0, 4 * float(stats.ttest_1samp(runs, truth.mean).pvalue.min()))


def printed_conditional(rng, state, model):
    """Slip of the source: the released shares drawn with gamma in place of alpha."""
    wrong = dataclasses.replace(model, alpha=model.gamma)
    fresh, info = chains.gibbs(rng, state, model)
    return chains._refresh(rng, fresh, wrong), info


def accepted_in_reverse(rng, state, model):
    """Slip of the source: accepted when u > tau."""
    _, info = chains.metropolis(rng, state, model)
    fresh = rng.multinomial(model.n, state.proposal)
    x = np.where(info.accepted[:, None], state.x, fresh)
    return chains._refresh(rng, state._replace(x=x), model), info


def without_proposal_ratio(rng, state, model):
    """Slip of the source: tau without the ratio of the proposals."""
    x = rng.multinomial(model.n, state.proposal)
    gain = chains.log_target(x, state, model) - chains.log_target(state.x, state, model)
    accepted = np.log(rng.random(gain.size)) <= gain
    x = np.where(accepted[:, None], x, state.x)
    return chains._refresh(rng, state._replace(x=x), model), chains.ChainInfo(accepted)


def cut_without_ratio(rng, state, model):
    """Slip: the uniform proposal is cut at the ends, and tau does not know."""
    i, j = rng.choice(4, 2, replace=False)
    total = state.x[:, i] + state.x[:, j]
    low, high = np.maximum(state.x[:, i] - 6, 0), np.minimum(state.x[:, i] + 6, total)
    x = state.x.copy()
    x[:, i] = rng.integers(low, high + 1)
    x[:, j] = total - x[:, i]
    gain = chains.log_target(x, state, model) - chains.log_target(state.x, state, model)
    return chains._judged(rng, state, model, x, gain)


@pytest.mark.parametrize("step", [chains.gibbs, chains.metropolis, chains.uniform_step(6)])
def test_the_samplers_agree_with_the_exact_posterior(step):
    assert samplers_pvalue(step) > LEVEL


@pytest.mark.parametrize(
    "slip",
    [printed_conditional, accepted_in_reverse, without_proposal_ratio, cut_without_ratio],
)
def test_the_comparison_sees_the_slips_of_the_source(slip):
    assert samplers_pvalue(slip) < LEVEL


def test_many_cells_add_up_and_the_approximation_states_its_error():
    rng = Streams(1)("posterior", "many")
    k, n = 400, 20_000
    counts = rng.multinomial(n, rng.dirichlet(np.ones(k)))
    alpha = float(exact.smallest_alpha(Fraction(2), n))
    released = rng.multinomial(n, rng.dirichlet(alpha + counts))
    posterior = from_counts(line(k), released, n, 0.5, alpha=alpha)
    assert posterior.method == "exact"
    assert posterior.error < 1e-12
    assert posterior.mean.sum() == pytest.approx(1, abs=1e-12)
    rough = dataclasses.replace(posterior, method="approximate")
    assert 1e-9 < rough.error < 1e-3
    assert np.abs(rough.mean - posterior.mean).max() < rough.error * posterior.mean.max()


@pytest.mark.parametrize("prior", [0, -1, np.inf, [0.5, 0]])
def test_a_prior_must_be_positive(prior):
    with pytest.raises(PlanError, match="prior must be a number above 0"):
        from_counts(line(2), [3, 4], 7, prior, alpha=2)


@pytest.mark.parametrize(
    ("arguments", "message"), [((1.0,), "between 0 and 1"), ((0.9, "widest"), "kind of interval")]
)
def test_a_bad_interval_is_refused(arguments, message):
    with pytest.raises(PlanError, match=message):
        from_counts(line(2), [3, 4], 7, alpha=2).interval(*arguments)


def test_questions_to_a_table():
    domain = Domain({"sex": ("f", "m"), "smokes": ("yes", "no")})
    posterior = from_counts(domain, [10, 40, 30, 20], 100, 0.5, alpha=100 / np.expm1(6))
    smokes, women, men = (
        posterior.where(smokes="yes"),
        posterior.where(sex="f"),
        posterior.where(sex=["m"]),
    )
    draws = posterior.draw(60_000, 1)
    rate = draws[:, 0] / draws[:, :2].sum(axis=1), draws[:, 2] / draws[:, 2:].sum(axis=1)
    assert posterior.share(smokes).value == pytest.approx(posterior.mean[[0, 2]].sum())
    assert posterior.share(smokes, women).value == pytest.approx(rate[0].mean(), abs=0.005)
    assert posterior.difference(smokes, men, women).value == pytest.approx(
        (rate[1] - rate[0]).mean(), abs=0.005
    )
    odds = np.median(draws[:, 2] * draws[:, 1] / (draws[:, 3] * draws[:, 0]))
    assert posterior.odds_ratio(smokes, men, women).value == pytest.approx(odds, rel=0.05)
    assert list(posterior.table().columns) == [
        "sex",
        "smokes",
        "share",
        "sd",
        "lower",
        "upper",
        "count",
    ]
    assert column_table(posterior, "sex")["share"].sum() == pytest.approx(1)
    with pytest.raises(PlanError, match="overlap"):
        posterior.difference(smokes, men, men)
    with pytest.raises(PlanError, match="has no value 'x'"):
        posterior.where(sex="x")
    with pytest.raises(PlanError, match="column 'age'"):
        posterior.where(age=1)
    with pytest.raises(PlanError, match="have no cell"):
        posterior.share(smokes, men & women)
