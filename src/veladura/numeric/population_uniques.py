"""Population uniques: how many people of a population are unique, estimated from a sample of it.

Three models of the sizes of equivalence classes, and the rule that chooses between them. All take
the histogram of the sample: how many classes have each number of people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from veladura.base.arrays import Floats, Ints

NEWTON_STEPS, NEAR = 20, 0.01  # steps from the maximum that the search found, and how far at most
SMALL_FRACTION = 0.1  # up to which Pitman's model is taken (Dankar et al. 2012)
EDGE = 1e-5  # from 1: an alpha that the data do not determine
ABOVE = 3.0  # the logarithm of theta above that of n^2, where no pair would be expected
SOLVED = 1e-6  # relative error of the equations of a model
STARTS = ((-1.5, -1.5), (0.0, 0.0), (-3.0, -3.0), (1.0, -4.0), (1.0, 1.0))


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """How many classes of a sample have each number of people.

    Attributes
    ----------
    size, number
        The sizes that occur, in rising order, and how many classes have each.
    """

    size: Floats = field(repr=False)
    number: Floats = field(repr=False)

    @classmethod
    def of(cls, sizes: Ints) -> ClassSizes:
        """Return the histogram of class sizes; empty classes do not count."""
        size, number = np.unique(sizes[sizes > 0], return_counts=True)
        return cls(size.astype(np.float64), number.astype(np.float64))

    @property
    def people(self) -> float:
        """People of the sample."""
        return float(self.size @ self.number)

    @property
    def classes(self) -> float:
        """Classes of the sample."""
        return float(self.number.sum())

    def having(self, people: int) -> float:
        """Return how many classes have so many people."""
        return float(self.number[self.size == people].sum())


@dataclass(frozen=True)
class PopulationUniques:
    """Share of a population that is unique in it, by each model; None where it does not converge.

    Attributes
    ----------
    pitman, zayatz, snb
        The share by Pitman's, Zayatz's and the slide negative binomial model.
    share, chosen
        The share by the decision rule, and the model that the rule takes.
    """

    pitman: float | None
    zayatz: float | None
    snb: float | None
    share: float
    chosen: str


def population_uniques(sizes: Ints, fraction: float) -> PopulationUniques:
    """Return the share of a population that is unique, estimated from the classes of a sample.

    The rule of Dankar et al. (2012): Pitman's model where the fraction is at most a tenth, or
    Zayatz's where it does not converge; else the smaller of Zayatz's and the slide negative
    binomial model's.

    Parameters
    ----------
    sizes
        People of each equivalence class of the sample.
    fraction
        The share of the population that is in the sample.

    Examples
    --------
    >>> population_uniques(np.array([1, 1, 2, 4]), 1.0).share
    0.25
    """
    sample = ClassSizes.of(sizes)
    alone = sample.having(1)
    if alone == 0 or fraction >= 1:
        share = alone / sample.people if sample.people else 0.0
        return PopulationUniques(share, share, share, share, "counted")
    estimates = {name: model(sample, fraction) for name, model in MODELS.items()}
    chosen = _chosen(estimates, fraction)
    return PopulationUniques(**estimates, share=float(estimates[chosen] or 0.0), chosen=chosen)


def _chosen(estimates: Mapping[str, float | None], fraction: float) -> str:
    """Return the model that the rule takes; Zayatz's always has an estimate."""
    if fraction <= SMALL_FRACTION:
        return "zayatz" if estimates["pitman"] is None else "pitman"
    known = [name for name in ("zayatz", "snb") if estimates[name] is not None]
    return min(known, key=lambda name: float(estimates[name] or 0.0))


def share_by(sizes: Ints, fraction: float, estimator: str) -> float | None:
    """Return the share of the population that is unique, by one model only.

    Parameters
    ----------
    estimator
        "pitman", "zayatz", "snb", or "dankar" for the rule; None where a model does not converge.
    """
    sample = ClassSizes.of(sizes)
    if sample.having(1) == 0 or fraction >= 1:
        return population_uniques(sizes, fraction).share
    if estimator != "dankar":
        return MODELS[estimator](sample, fraction)
    if fraction > SMALL_FRACTION:
        return population_uniques(sizes, fraction).share
    share = pitman(sample, fraction)
    return zayatz(sample, fraction) if share is None else share


def pitman(sample: ClassSizes, fraction: float) -> float | None:
    """Return the share by Pitman's sampling formula, fitted by maximum likelihood.

    With n people in u classes, s_j of them of size j, the log-likelihood of theta and alpha is
    sum_{i<u} log(theta + i alpha) - sum_{i<n} log(theta + i) + sum_j s_j sum_{i<j} log(i - alpha),
    and Gamma(theta + 1) / Gamma(theta + alpha) N^alpha people of N are unique (Hoshino 2001, eq. 10
    and 27). Where alpha is 0 that is Ewens's formula, with theta uniques.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, gammaln

    if sample.having(1) == sample.people or sample.classes == 1:
        return None  # alpha would be 1, or theta 0: nothing to estimate from

    def turned(point: Floats) -> tuple[float, Floats]:
        alpha, lifted = float(expit(point[0])), math.exp(point[1])  # theta is above -alpha
        slope_theta, slope_alpha = _pitman_slopes(sample, lifted - alpha, alpha)
        value = _pitman_likelihood(sample, lifted - alpha, alpha)
        slopes = [(slope_alpha - slope_theta) * alpha * (1 - alpha), slope_theta * lifted]
        return -value, -np.array(slopes)

    start = np.array([0.0, math.log(sample.classes)])
    limits = [(-11.0, 11.0), (-20.0, 2 * math.log(sample.people) + ABOVE)]
    found = minimize(turned, start, jac=True, bounds=limits, options={"ftol": 1e-15, "gtol": 1e-10})
    alpha = float(expit(found.x[0]))
    theta = math.exp(found.x[1]) - alpha
    theta, alpha = _polished(sample, theta, alpha)
    if not np.isfinite(found.fun) or alpha > 1 - 2 * EDGE:
        return None
    population = sample.people / fraction
    uniques = math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(population))
    return uniques / population if uniques <= population else None


def _pitman_likelihood(sample: ClassSizes, theta: float, alpha: float) -> float:
    from scipy.special import betaln, gammaln

    def product(least: float, factors: float) -> float:  # the logarithm; no digits cancel
        return float(gammaln(factors) - betaln(least, factors)) if factors else 0.0

    ratio, n, u = theta / alpha, sample.people, sample.classes
    classes = (u - 1) * math.log(alpha) + product(ratio + 1, u - 1)
    people = product(theta + 1, n - 1)
    within = sample.number @ (gammaln(sample.size - alpha) - gammaln(1 - alpha))
    return float(classes - people + within)


def _pitman_slopes(sample: ClassSizes, theta: float, alpha: float) -> tuple[float, float]:
    """Return the derivatives of the log-likelihood by theta and by alpha."""
    from scipy.special import digamma

    ratio, n, u = theta / alpha, sample.people, sample.classes
    span = digamma(ratio + u) - digamma(ratio + 1)
    by_theta = span / alpha - (digamma(theta + n) - digamma(theta + 1))
    within = sample.number @ (digamma(sample.size - alpha) - digamma(1 - alpha))
    by_alpha = (u - 1) / alpha - theta / alpha**2 * span - within
    return float(by_theta), float(by_alpha)


def _polished(sample: ClassSizes, theta: float, alpha: float) -> tuple[float, float]:
    """Return the maximum by Newton's method; as it was given where that leaves its neighbourhood.

    The search stops where the likelihood no longer changes: the estimates still do, in the seventh
    digit.
    """
    at = np.array([theta, alpha])
    for _ in range(NEWTON_STEPS):
        slopes = np.array(_pitman_slopes(sample, *at))
        curvature = _pitman_curvature(sample, *at)
        if not np.isfinite(curvature).all() or abs(np.linalg.det(curvature)) < np.finfo(float).tiny:
            break
        step = np.linalg.solve(curvature, -slopes)
        at = at + step
        near = abs(at[0] - theta) <= NEAR * abs(theta + 1) and abs(at[1] - alpha) <= NEAR
        if not near or not 0 < at[1] < 1:
            break
        if np.abs(step).max() <= 1e-13 * np.abs(at).max():
            return float(at[0]), float(at[1])
    return theta, alpha


def _pitman_curvature(sample: ClassSizes, theta: float, alpha: float) -> Floats:
    """Return the second derivatives of the log-likelihood by theta and alpha."""
    from scipy.special import digamma, polygamma

    ratio, n, u = theta / alpha, sample.people, sample.classes
    span = digamma(ratio + u) - digamma(ratio + 1)
    bend = polygamma(1, ratio + u) - polygamma(1, ratio + 1)
    within = sample.number @ (polygamma(1, 1 - alpha) - polygamma(1, sample.size - alpha))
    theta_theta = bend / alpha**2 - (polygamma(1, theta + n) - polygamma(1, theta + 1))
    theta_alpha = -span / alpha**2 - bend * theta / alpha**3
    alpha_alpha = (
        -(u - 1) / alpha**2 + 2 * theta / alpha**3 * span + theta**2 / alpha**4 * bend - within
    )
    return np.array([[theta_theta, theta_alpha], [theta_alpha, alpha_alpha]], dtype=np.float64)


def zayatz(sample: ClassSizes, fraction: float) -> float | None:
    """Return the share by Zayatz's model: classes of the population are sized as the sample's.

    P(unique in the population | unique in the sample) = s_1 h(1) / sum_j s_j h(j), with h(j) the
    hypergeometric probability that one person of a class of j people is in the sample (Zayatz
    1991).
    """
    population, size = round(sample.people / fraction), np.arange(1, sample.size.max(initial=1))
    # h(j + 1) / h(j) = (j + 1) / j (1 - (n - 1) / (N - j)), up to a factor that cancels below
    left = np.maximum(1 - (round(sample.people) - 1) / np.maximum(population - size, 1), 0.0)
    with np.errstate(divide="ignore"):
        missed = np.append(0.0, np.cumsum(np.log(left)))
    one = sample.size * np.exp(missed[sample.size.astype(np.int64) - 1])
    alone = sample.having(1)
    total = float(sample.number @ one)
    if not total > 0:
        return None
    right = alone * float(one[sample.size == 1].sum()) / total
    return alone * right / sample.people


def slide_negative_binomial(sample: ClassSizes, fraction: float) -> float | None:
    """Return the share by the slide negative binomial model: one more than a negative binomial.

    With K classes of the population, F - 1 negative binomial (alpha, beta) and D = (1 - pi)
    (1 - beta), E s_1 = K pi (beta / (1 - D))^alpha (alpha D / (1 - D) + 1) and E s_2 = K alpha
    beta^alpha pi^2 (1 - beta) (2 - (1 - alpha) D) / (2 (1 - D)^(alpha + 2)); K beta^alpha people
    are unique (Chen and Keller-McNulty 1998). K is Shlosser's estimate as modified by Haas and
    Stokes (1998, D_Sh3).
    """
    from scipy.optimize import root
    from scipy.special import expit

    alone, pairs = sample.having(1), sample.having(2)
    classes = _shlosser(sample, fraction)
    if pairs == 0 or not np.isfinite(classes):
        return None

    def errors(point: Floats) -> Floats:
        alpha, beta = math.exp(min(point[0], 50.0)), float(expit(point[1]))
        both = (1 - fraction) * (1 - beta)
        log_first = alpha * (math.log(max(beta, 1e-300)) - math.log1p(-both))
        first = classes * fraction * math.exp(log_first) * (alpha * both / (1 - both) + 1)
        second = (
            classes * alpha * fraction**2 * (1 - beta) / 2 * math.exp(log_first) / (1 - both) ** 2
        ) * (2 - (1 - alpha) * both)
        return np.array([first / alone - 1, second / pairs - 1])

    for start in STARTS:
        found = root(errors, np.array(start))
        if np.abs(errors(found.x)).max() < SOLVED:
            alpha, beta = math.exp(found.x[0]), float(expit(found.x[1]))
            share = classes * beta**alpha * fraction / sample.people
            return share if share <= 1 else None
    return None


def _shlosser(sample: ClassSizes, fraction: float) -> float:
    """Return the number of classes in the population (Haas and Stokes 1998, D_Sh3)."""
    size, number, q = sample.size, sample.number, fraction
    rest = (1 - q) ** size
    shrink = number @ (size * q**2 * (1 - q**2) ** (size - 1))
    grow = number @ ((1 - q**2) ** size - rest)
    ratio = (number @ rest) / (number @ (size * q * (1 - q) ** (size - 1)))
    return float(sample.classes + sample.having(1) * shrink / grow * ratio**2)


MODELS: dict[str, Callable[[ClassSizes, float], float | None]] = {
    "pitman": pitman,
    "zayatz": zayatz,
    "snb": slide_negative_binomial,
}
