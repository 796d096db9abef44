"""Draws from leaves: donors by their weights, and how far their scores move."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from veladura.base.streams import Streams
from veladura.numeric.trees.bins import stack
from veladura.numeric.trees.leaf import (
    Donors,
    by_value,
    leaf_steps,
    pick,
    pick_evenly,
    stratify,
)
from veladura.numeric.trees.tree import grow

LEVEL = 1e-5


def single_leaf(size):
    return grow(
        stack([np.zeros(size, dtype=np.uint16)], [_Constant()]), [], np.zeros(size, dtype=np.int64)
    )


class _Constant:
    categorical, levels = False, 2


def donors_of(rng, values, size, draws="bayesian"):
    tree = by_value(single_leaf(values.size), values)
    chosen = Donors.weighted(tree, rng, draws).places(rng, np.zeros(size, dtype=np.int64))
    return values[tree.order[chosen]]


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
    ("draw", "right"), [(donors_of, True), (equal_weights, False)], ids=["ours", "equal"]
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


def unbalanced(rng, values, size):
    """Slip: every row draws by itself."""
    return rng.choice(values, size)


def one_stratum(rng, values, size):
    """Slip: balanced, but the donors in the upper half are drawn twice as often."""
    places = ((np.arange(size) + rng.random(size)) / size) ** 0.8 * values.size
    return values[places.astype(int)]


@pytest.mark.parametrize(
    ("draw", "right"),
    [(lambda *a: donors_of(*a, draws="plain"), True), (unbalanced, False), (one_stratum, False)],
    ids=["plain", "unbalanced", "weighted"],
)
def test_plain_draws_are_balanced_and_every_donor_is_drawn_equally_often(draw, right):
    """Over 400 rows each of 25 donors is drawn 16 times, but for one at the edge of a stratum."""
    rng, values = Streams(2)("plain"), np.arange(25.0)
    counts = np.array(
        [np.bincount(draw(rng, values, 400).astype(int), minlength=25) for _ in range(200)]
    )
    z = (counts.mean(axis=0) - 16) / np.maximum(counts.std(axis=0) / np.sqrt(200), 0.05)
    assert (np.abs(counts - 16).max() <= 4 and np.abs(z).max() < 5) == right


def test_rows_of_a_small_leaf_are_drawn_all_but_independently():
    """Leaves of five donors and five rows: as often all different as by chance (5!/5^5)."""
    rng = Streams(3)("small")
    code = np.repeat(np.arange(200), 5).astype(np.uint16)

    class Leaves:
        categorical, levels = False, 201

    predictors = stack([code], [Leaves()])
    tree = grow(predictors, [0], code.astype(np.int64))
    leaves = tree.find(predictors)
    tree = by_value(tree, np.tile(np.arange(5), 200))
    different = 0
    for _ in range(50):
        chosen = Donors.weighted(tree, rng, "plain").places(rng, leaves)
        rows = np.argsort(leaves, kind="stable")
        parts = chosen[rows].reshape(-1, 5)
        different += sum(len(set(part)) == 5 for part in parts.tolist())
    total, chance = 50 * parts.shape[0], 120 / 3125
    assert stats.binomtest(different, total, 1.25 * chance, alternative="greater").pvalue > LEVEL


def test_donors_are_sorted_within_their_leaves_only():
    rng = np.random.default_rng(0)
    code, values = np.repeat([0, 1, 2], 2000).astype(np.uint16), rng.normal(size=6000)
    values[2000:2010] = 3.0

    class Three:
        categorical, levels = False, 4

    tree = grow(stack([code[:4005]], [Three()]), [0], code[:4005].astype(np.int64))
    done = by_value(tree, values)
    for leaf in tree.leaves():
        start, end = tree.nodes[leaf, 5:7]
        assert set(done.order[start:end]) == set(tree.order[start:end])
        assert (np.diff(values[done.order[start:end]]) >= 0).all()


def steps(score, isolation, pool=None, bandwidth=1.0, start=(0,), end=None, moves=None):
    everyone = np.ones(score.size, dtype=bool) if pool is None else pool
    moving = everyone if moves is None else moves
    ends = np.array([score.size] if end is None else end)
    order = np.arange(score.size)
    return leaf_steps(score, isolation, everyone, moving, order, np.array(start), ends, bandwidth)


def test_where_few_move_they_keep_their_own_variance_around_the_leaf_and_the_others_stay():
    """The tail of a column: people far from the middle of their leaf, among people who stay."""
    rng = np.random.default_rng(4)
    score, isolation = rng.normal(size=60), np.full(60, 0.01)
    moves = np.abs(score) > np.sort(np.abs(score))[-6]
    centre, scale = steps(score, isolation, moves=moves)
    np.testing.assert_array_equal(centre[~moves], score[~moves])
    np.testing.assert_array_equal(scale[~moves], isolation[~moves])
    mean = score.mean()
    after = (centre[moves] - mean) ** 2 + scale[moves] ** 2 / 3
    np.testing.assert_allclose(after.sum(), ((score[moves] - mean) ** 2).sum())
    assert (scale[moves] > 0.1).all()  # by the spread of the leaf
    slip, width = steps(score, isolation)  # as if all moved: the tail is pulled in
    lost = (slip[moves] - mean) ** 2 + width[moves] ** 2 / 3
    assert lost.sum() < 0.95 * ((score[moves] - mean) ** 2).sum()


def test_the_scale_is_the_isolation_or_the_robust_bandwidth_of_the_leaf():
    rng = np.random.default_rng(3)
    score = rng.standard_t(2, 200)
    isolation = rng.exponential(0.3, 200)
    quartiles = np.quantile(score, [0.25, 0.75])
    width = 0.9 * min(score.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.34) * 200**-0.2
    _, scale = steps(score, isolation)
    np.testing.assert_allclose(scale, np.maximum(isolation, np.sqrt(3) * width))
    _, scale = steps(score, isolation, bandwidth=2.0)
    np.testing.assert_allclose(scale, np.maximum(isolation, np.sqrt(3) * 2 * width))


def test_a_leaf_keeps_mean_and_variance_of_its_scores():
    """The variance of c + s U over the donors is that of the scores, if steps leave room for it."""
    rng = np.random.default_rng(4)
    score = rng.normal(2, 3, 40)
    centre, scale = steps(score, np.zeros(40))
    assert centre.mean() == pytest.approx(score.mean())
    assert centre.var() + (scale**2).mean() / 3 == pytest.approx(score.var())
    lonely, wide = steps(score, np.full(40, 20.0))  # nobody is near: all are moved about the mean
    np.testing.assert_allclose(lonely, score.mean())
    assert (wide == 20).all()


def test_leaves_do_not_see_each_other_nor_rows_outside_the_pool():
    rng = np.random.default_rng(5)
    score, isolation = rng.normal(size=60), rng.exponential(0.2, 60)
    pool = rng.random(60) < 0.6
    both = steps(score, isolation, pool, start=(0, 30), end=[30, 60])
    for part in (slice(0, 30), slice(30, 60)):
        here = np.flatnonzero(pool[part]) + part.start
        alone = steps(score[here], isolation[here])
        for found, expected in zip(both, alone, strict=True):
            np.testing.assert_allclose(found[here], expected)
    np.testing.assert_array_equal(both[0][~pool], score[~pool])
    np.testing.assert_array_equal(both[1][~pool], isolation[~pool])


def test_an_even_pick_is_the_pick_with_equal_weights():
    rng = np.random.default_rng(8)
    starts = np.array([0, 3, 4, 40])
    stretches = np.column_stack([starts, np.append(starts[1:], 1000)])
    which = rng.integers(0, 4, 20_000)
    uniforms = np.append(rng.random(which.size - 2), [0.0, np.nextafter(1.0, 0)])
    weighted = pick(np.arange(1001.0), stretches, which, uniforms)
    evenly = np.empty_like(weighted)
    pick_evenly(stretches, which, uniforms, evenly)
    assert (evenly == weighted).all()


def test_each_block_of_draws_has_one_in_every_stratum_in_random_order():
    rng = np.random.default_rng(9)
    uniforms = np.empty(20_130)
    stratify(np.arange(20_130), rng.random(20_130), rng.random(20_130), uniforms)
    blocks = np.floor(uniforms[:20_000].reshape(-1, 200) * 200).astype(int)
    assert (np.sort(blocks, axis=1) == np.arange(200)).all()
    last = np.floor(uniforms[20_000:] * 130).astype(int)
    assert sorted(last) == list(range(130))
    # the mean of 100 blocks at each place has variance (200^2 - 1) / 12 / 100
    far = np.abs(blocks.mean(axis=0) - 99.5).max() / np.sqrt((200**2 - 1) / 1200)
    assert far < stats.norm.isf(LEVEL / (2 * 200))
    unshuffled = np.tile(np.arange(200), (100, 1)).mean(axis=0)  # a control without the shuffle
    assert np.abs(unshuffled - 99.5).max() / np.sqrt((200**2 - 1) / 1200) > 10
