"""Draws from leaves follow the laws they are named after."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veladura.base.streams import Streams
from veladura.numeric.trees import leaf as compiled
from veladura.numeric.trees.bins import stack
from veladura.numeric.trees.leaf import Donors, draw_numbers
from veladura.numeric.trees.numbers import Singles
from veladura.numeric.trees.tree import grow

LEVEL = 1e-5


def spreads(values, start, end, reach=None):
    return compiled.spreads(
        values, np.array(start), np.array(end), np.empty(0) if reach is None else reach
    )


def single_leaf(size):
    return grow(
        stack([np.zeros(size, dtype=np.uint16)], [_Constant()]), [], np.zeros(size, dtype=np.int64)
    )


class _Constant:
    categorical, levels = False, 2


def anything(values, rows):
    return np.ones(values.size, dtype=bool)


def draws(rng, values, size, **how):
    tree = single_leaf(values.size)
    settings = {"written": lambda x: x, "accept": anything, **how}
    return draw_numbers(
        rng,
        Donors.weighted(tree, rng),
        values[tree.order],
        np.zeros(size, dtype=np.int64),
        **settings,
    )[0]


def test_weights_are_those_of_the_bayesian_bootstrap():
    """The share of one donor among many is Beta(1, n - 1), as a gap between sorted uniforms is."""
    rng = Streams(0)("weights")
    tree = single_leaf(5)
    heights = [Donors.weighted(tree, rng).heights for _ in range(4000)]
    shares = np.array([h[1] / h[-1] for h in heights])
    assert stats.kstest(shares, stats.beta(1, 4).cdf).pvalue > LEVEL


def equal_weights(rng, values, size):
    """Slip: donors drawn with equal weights in every dataset."""
    return rng.choice(values, size)


@pytest.mark.parametrize(
    ("draw", "right"),
    [(lambda rng, v, n: draws(rng, v, n, smoothing="none"), True), (equal_weights, False)],
    ids=["ours", "equal"],
)
def test_means_vary_as_a_posterior_does(draw, right):
    """The variance of the mean is s2 / (n + 1) for the weights plus s2 / size for the draws."""
    rng, values, size = Streams(1)("means"), np.arange(20.0), 50
    means = np.array([draw(rng, values, size).mean() for _ in range(2000)])
    variance = values.var()
    expected = variance / 21 + variance / size * 20 / 21
    statistic = 2000 * means.var() / expected
    pvalue = 2 * min(stats.chi2.cdf(statistic, 1999), stats.chi2.sf(statistic, 1999))
    assert (pvalue > LEVEL) == right


def cut_kernel_cdf(values, x, width):
    inside = stats.norm.cdf((values.max() - values) / width) - stats.norm.cdf(
        (values.min() - values) / width
    )
    part = stats.norm.cdf((np.minimum(x, values.max()) - values) / width) - stats.norm.cdf(
        (values.min() - values) / width
    )
    return part.sum() / inside.sum()


def edge_kept(rng, values, size):
    """Slip: each donor's own kernel is cut, so that donors at the edge keep their whole weight."""
    width = spreads(values, [0], [values.size])[0, 0]
    donor = rng.choice(values, size)
    low, high = (
        stats.norm.cdf((values.min() - donor) / width),
        stats.norm.cdf((values.max() - donor) / width),
    )
    return donor + width * stats.norm.ppf(low + rng.random(size) * (high - low))


@pytest.mark.parametrize(
    ("draw", "right"),
    [
        (lambda rng, v: draws(rng, v, 1, smoothing="kernel")[0], True),
        (lambda rng, v: edge_kept(rng, v, 1)[0], False),
    ],
    ids=["kernel", "edge kept"],
)
def test_numbers_follow_the_cut_kernel(draw, right):
    """One draw a dataset: the mean over Dirichlet weights is close to the truncated density."""
    rng, values = (
        Streams(2)("kernel"),
        np.array([0.0, 0.0, 0.0, 4.0, 5.0, 6.0, 10.0, 10.0, 10.0, 10.0]),
    )
    width = spreads(values, [0], [10])[0, 0]
    found = np.array([draw(rng, values) for _ in range(8000)])
    grid = np.linspace(0.2, 9.8, 25)
    distance = max(abs(np.mean(found <= x) - cut_kernel_cdf(values, x, width)) for x in grid)
    assert (distance < 0.025) == right


def reflected_cdf(values, x, widths):
    """Return the law of a donor's number plus a normal of its own width, reflected at the ends."""
    low, high = values.min(), values.max()
    inner = stats.norm.cdf((x - values) / widths) - stats.norm.cdf((2 * low - x - values) / widths)
    return np.mean(inner + stats.norm.sf((2 * high - x - values) / widths))


def one_width(rng, values):
    """Slip: reflected, but with the one bandwidth of the leaf for every donor."""
    y = rng.choice(values) + spreads(values, [0], [values.size])[0, 0] * rng.standard_normal()
    y = 2 * values.min() - y if y < values.min() else y
    return 2 * values.max() - y if y > values.max() else y


@pytest.mark.parametrize(
    ("draw", "right"),
    [
        (lambda rng, v: draws(rng, v, 1)[0], True),
        (lambda rng, v: draws(rng, v, 1, smoothing="kernel")[0], False),
        (one_width, False),
    ],
    ids=["local", "kernel", "one width"],
)
def test_local_numbers_follow_the_reflected_kernels(draw, right):
    """A skewed leaf; widths by hand: the robust bandwidth, at most to the farther neighbour."""
    rng, values = Streams(2)("local"), np.array([1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 11.0, 25.0])
    reach = np.array([0.5, 0.5, 0.5, 0.5, 7.0, 7.0, 14.0, 14.0])
    widths = np.minimum(spreads(values, [0], [8])[0, 0], reach)
    found = np.array([draw(rng, values) for _ in range(8000)])
    distance = max(
        abs(np.mean(found <= x) - reflected_cdf(values, x, widths))
        for x in np.linspace(1.1, 24.5, 40)
    )
    assert (distance < 0.025) == right  # Kolmogorov: 0.0273 at 1e-5, less on a grid


def test_a_number_reaches_to_the_farther_other_value_beside_it():
    values, reach = np.array([9.0, 1.0, 4.0, 4.0, 5.0]), np.full(5, np.inf)
    spreads(values, [0], [4], reach)
    assert reach.tolist() == [5.0, 3.0, 5.0, 5.0, np.inf]


def test_local_kernels_keep_what_the_cut_one_loses_of_small_skewed_leaves():
    """Leaves of eight exponential numbers: about half of the draws are below the true median."""
    rng, below = Streams(6)("skewed"), {}
    for smoothing in ("local", "kernel"):
        found = np.concatenate(
            [draws(rng, rng.standard_exponential(8), 8, smoothing=smoothing) for _ in range(1500)]
        )
        below[smoothing] = np.mean(found < np.log(2))
    assert abs(below["local"] - 0.5) < 0.05
    assert abs(below["kernel"] - 0.5) > 0.08


def test_the_bandwidth_is_the_robust_one():
    rng = np.random.default_rng(3)
    values = rng.standard_t(2, 200)
    quartiles = np.quantile(values, [0.25, 0.75])
    expected = 0.9 * min(values.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.34) * 200**-0.2
    found = spreads(values, [0, 50], [200, 50 + 5])
    np.testing.assert_allclose(found[0], [expected, values.min(), values.max()])
    equal = spreads(np.array([3.0, 3.0, 3.0, 3.0, 3.0, 9.0]), [0], [6])[0]
    assert equal[0] == pytest.approx(0.9 * np.std([3, 3, 3, 3, 3, 9], ddof=1) * 6**-0.2)


def test_numbers_stay_within_their_leaf():
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.normal(size=30), rng.normal(50, 1, 30)])
    code = np.repeat([0, 1], 30).astype(np.uint16)

    class Two:
        categorical, levels = False, 3

    tree = grow(stack([code], [Two()]), [0], np.repeat([0, 1], 30))
    leaves = tree.find(stack([code], [Two()]))
    found, failed = draw_numbers(
        rng,
        Donors.weighted(tree, rng),
        values[tree.order],
        leaves,
        written=lambda x: x,
        accept=anything,
    )
    assert not failed.size
    for part in (slice(0, 30), slice(30, 60)):
        assert values[part].min() <= found[part].min()
        assert found[part].max() <= values[part].max()


def test_what_is_not_accepted_is_drawn_from_the_node_above_and_then_handed_back():
    rng = np.random.default_rng(5)
    code, values = np.repeat([0, 1], 20).astype(np.uint16), np.repeat([1.0, 2.0], 20)

    class Two:
        categorical, levels = False, 3

    predictors = stack([code], [Two()])
    tree = grow(predictors, [0], np.repeat([0, 1], 20))
    leaves = tree.find(predictors)
    donors = Donors.weighted(tree, rng)
    found, failed = draw_numbers(
        rng,
        donors,
        values[tree.order],
        leaves,
        written=lambda x: x,
        accept=lambda x, _: x == 2.0,
        smoothing="none",
    )
    assert (found == 2.0).all()
    assert not failed.size
    _, failed = draw_numbers(
        rng,
        donors,
        values[tree.order],
        leaves,
        written=lambda x: x,
        accept=lambda x, _: x > 9,
        smoothing="none",
    )
    assert failed.size == 40


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60), st.integers(0, 2))
def test_single_numbers_are_found(numbers, decimals):
    values = np.round(np.array(numbers) / 10.0**decimals, decimals)
    asked = np.round(np.arange(-60, 60) / 10.0**decimals, decimals)
    expected = [np.count_nonzero(values == x) == 1 for x in asked]
    assert Singles.of(values, decimals).hit(asked).tolist() == expected
    assert Singles.of(values, None).hit(asked).tolist() == expected
