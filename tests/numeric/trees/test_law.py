"""The law of the leaf: mass points stay, other numbers move, and the column keeps its margin."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from veladura.numeric.trees import tail
from veladura.numeric.trees.bins import stack
from veladura.numeric.trees.habits import Habits
from veladura.numeric.trees.scores import mixture, scores_of
from veladura.numeric.trees.tail import Quantiles, stands_out, tail_of
from veladura.numeric.trees.tree import grow
from veladura.numeric.trees.values import Values
from veladura.numeric.trees.variable import variable_of
from veladura.table.codes import encode
from veladura.table.schema import Field

LEVEL = 1e-5


def law_of(values, **settings):
    kind = "integer" if values.dtype.kind == "i" else "number"
    array = pa.array(values)
    return variable_of(encode(array, Field("x", kind, array.type)), spikes=(), **settings).law


def one_leaf(rows):
    """A tree of one leaf."""

    class Constant:
        categorical, levels = False, 2

    bins = stack([np.zeros(rows, dtype=np.uint16)], [Constant()])
    return grow(bins, [], np.zeros(rows, dtype=np.int64))


def drawn(values, size, seed=0, **settings):
    """Numbers drawn from one leaf with equal weights, as values of the column."""
    law = law_of(values, **settings)
    rng = np.random.default_rng(seed)
    places = law.in_leaves(one_leaf(values.size)).drawn(rng, rng.integers(values.size, size=size))
    return law.grid.values(places)


def test_numbers_that_five_people_share_stay_with_their_share():
    values = np.concatenate([np.repeat([100, 250, 999], 5), np.arange(1, 4000, 13)])
    found = drawn(values, 40_000)
    for heap in (100, 250, 999):
        holders = int((values == heap).sum())
        others = np.mean([(found == heap + k).mean() for k in (-2, -1, 1, 2)])
        share = (found == heap).mean() - others
        expected = holders / values.size
        assert abs(share - expected) < 5 * np.sqrt(expected / 40_000) + 1e-3


def test_no_number_that_fewer_share_stays_where_there_is_room():
    rng = np.random.default_rng(1)
    values = np.round(rng.lognormal(10, 1, 500), 4)
    assert not np.isin(drawn(values, 20_000), values).mean() > 1e-3
    still = drawn(values, 20_000, smoothing="none")
    assert np.isin(still, values).all()


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (lambda rng: np.round(rng.normal(50, 10, 2000)), 0.03),
        (lambda rng: np.round(rng.lognormal(7, 0.6, 2000)), 0.06),
        (lambda rng: rng.normal(size=2000), 0.03),
        (lambda rng: rng.exponential(size=2000) - 5, 0.05),
    ],
    ids=["rounded normal", "rounded log-normal", "normal", "shifted exponential"],
)
def test_the_column_keeps_its_margin(make, tolerance):
    """Quantiles from 2 to 98 % within three standard errors of 2000, mean and sd alike."""
    values = make(np.random.default_rng(2)).astype(float)
    found = drawn(values, 200_000)
    scale = values.std()
    for share in (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98):
        want, got = np.quantile(values, share), np.quantile(found, share)
        density = stats.gaussian_kde(values)(want)[0]
        assert abs(got - want) < 3 * np.sqrt(share * (1 - share) / 2000) / density + 0.5
    assert abs(found.mean() - values.mean()) < 0.03 * scale
    assert abs(found.std() / scale - 1) < tolerance


def spread_of_ages(seed, stretched):
    """Expected sd over the original's, in %, of whole ages of which one in 25 moves."""
    values = np.round(np.random.default_rng([6, seed]).normal(50, 12, 1000)).astype(np.int64)
    law = law_of(values)
    leaf = law.in_leaves(one_leaf(values.size))
    if not stretched:
        leaf.__dict__["stretches"] = {}
    steps = (np.arange(20) + 0.5) / 10 - 1
    everyone = np.arange(values.size)
    places = [leaf.moved(everyone, np.full(values.size, step)) for step in steps]
    square = np.mean((law.grid.values(np.array(places)) - values.mean()) ** 2)
    return 50 * (square / values.var() - 1)


def test_tails_that_move_among_mass_points_keep_the_standard_deviation():
    """Over 20 tables; the control, without the stretch, loses a seventh of a percent."""
    kept = [spread_of_ages(seed, stretched=True) for seed in range(20)]
    lost = [spread_of_ages(seed, stretched=False) for seed in range(20)]
    assert abs(np.mean(kept)) < 0.08
    assert np.mean(lost) < np.mean(kept) - 0.1


def test_isolation_is_the_way_to_five_others_and_never_less():
    place = np.arange(100)
    score, isolation = scores_of(place)
    middle = stats.norm.ppf((np.arange(100) + 0.5) / 100)
    np.testing.assert_allclose(score, middle)
    np.testing.assert_allclose(isolation[6:-6], (middle[11:-1] - middle[1:-11]) / 2)
    assert isolation[-1] == pytest.approx(middle[-1] - middle[-6])
    several = scores_of(place, rows=3)[1]
    assert (several >= isolation).all()
    assert several[50] == pytest.approx((middle[65] - middle[35]) / 2)


def test_moved_scores_have_the_distribution_function_that_is_used():
    rng = np.random.default_rng(3)
    centre, scale = rng.normal(size=300), rng.uniform(0.05, 1.5, 300)
    points, heights = mixture(centre, scale)
    at = np.linspace(-3, 3, 200)
    exact = np.clip((at[:, None] - centre + scale) / (2 * scale), 0, 1).mean(axis=1)
    np.testing.assert_allclose(np.interp(at, points, heights), exact, atol=1e-4)


def test_values_count_people_not_rows():
    found = Values.of(np.array([3.0, 3.0, 4.0, 9.0]), np.array([True] * 3 + [False]))
    assert (found.distinct.tolist(), found.holders.tolist()) == ([3.0, 4.0], [2, 1])
    own = Values.of(np.full(4, 7.0), np.ones(4, dtype=bool), np.array([1, 1, 1, 2]))
    assert own.by_row().tolist() == [2] * 4
    assert Values.of(np.zeros(2), np.zeros(2, dtype=bool)).by_row().tolist() == [0, 0]


# Quantiles and tails


def test_no_knot_is_one_persons_number():
    values = np.sort(np.random.default_rng(4).normal(1000, 10, 400))
    knots = Quantiles.of(values)
    inner, middle = knots.numbers[1:-1], values[20:-20].reshape(-1, 20).mean(axis=1)
    assert inner.size == 3 + middle.size + 3
    np.testing.assert_allclose(inner[3:-3], middle)
    np.testing.assert_allclose(inner[:3], [part.mean() for part in np.split(values[:20], [5, 10])])
    np.testing.assert_allclose(
        inner[-3:], [part.mean() for part in np.split(values[-20:], [10, 15])]
    )
    several = Quantiles.of(values, rows=8).numbers[1:-1]  # too few people for knots of 20
    np.testing.assert_allclose(several, values.reshape(-1, 40).mean(axis=1))


@pytest.mark.parametrize("size", [1, 7, 59, 60, 61, 99, 1234])
@pytest.mark.parametrize("rows", [1, 3])
def test_every_knot_has_five_people_and_everybody_is_in_one(size, rows):
    edges = tail._edges(size, rows)
    assert (edges[0], edges[-1]) == (0, size)
    assert np.diff(edges).min() >= min(5 * rows, size)


@pytest.mark.parametrize("outlier", [1e5, 1e6, 1e8])
def test_an_outlier_does_not_move_the_tail(outlier):
    """Neither the largest nor the mean of what is released follows the outermost person."""
    usual = np.sort(np.random.default_rng(5).lognormal(7, 1, 1999))
    without = Quantiles.of(usual)
    found = Quantiles.of(np.append(usual, outlier))
    assert found.numbers.max() < 0.9 * outlier
    assert found.numbers.max() < 2 * without.numbers.max()
    shares = (np.arange(20_000) + 0.5) / 20_000
    assert abs(found.at(shares).mean() / without.at(shares).mean() - 1) < 0.05


def test_a_tail_that_does_not_stand_out_is_not_fitted():
    assert not stands_out(np.linspace(100, 109, 20))
    assert stands_out(np.append(np.linspace(100, 109, 19), 200))
    assert not stands_out(np.append(np.linspace(-109, -100, 19), -90))  # towards zero
    assert stands_out(np.append(np.linspace(-109, -100, 19), -20))  # far from all others


def one_person_carries(exceedances):
    """Slip: a tail with the shape of the largest over the mean."""
    survival = np.geomspace(1.0, 1 / (4 * exceedances.size), 64)
    shape = np.log(exceedances.max() / exceedances.mean()) / np.log(exceedances.size)
    return exceedances.mean() * np.expm1(-shape * np.log(survival)) / shape


@pytest.mark.parametrize(("fit", "right"), [(tail_of, True), (one_person_carries, False)])
def test_tails_of_a_generalised_pareto_distribution_are_found(fit, right):
    """Claim: the mean log of the 99 % point of a tail of 60 people is right within .15."""
    gaps = []
    for shape in (0.0, 0.25, 0.5):
        truth = stats.genpareto(shape)
        found = []
        for seed in range(150):
            sample = truth.rvs(60, random_state=np.random.default_rng([seed, int(100 * shape)]))
            survival = np.geomspace(1.0, 1 / 240, 64)
            found.append(np.interp(0.01, survival[::-1], fit(np.sort(sample))[::-1]))
        gaps.append(abs(np.mean(np.log(found)) - np.log(truth.isf(0.01))))
    assert (max(gaps) < 0.15) == right


# Rounding


def test_habits_are_found_where_people_round_and_nowhere_else():
    rng = np.random.default_rng(6)
    assert Habits.of(rng.integers(0, 10_000, 5000)).units == (1,)
    rounded = np.append(rng.integers(0, 10_000, 2000), 500 * rng.integers(0, 20, 3000))
    assert set(Habits.of(rounded).units) >= {1, 500}


def test_numbers_land_as_round_as_they_were():
    rng = np.random.default_rng(7)
    habits = Habits((1, 10, 50))
    classes = rng.integers(0, 3, 3000)
    landed = habits.landed(rng.uniform(0, 5000, 3000), classes)
    assert (landed[classes == 2] % 50 == 0).all()
    assert (landed[classes == 1] % 10 == 0).all()
    assert (landed[classes == 1] % 50 != 0).all()
    assert (landed[classes == 0] % 10 != 0).all()


def test_a_lonely_round_number_does_not_come_back_for_being_round():
    """One person has 500,000 where others round to 50: the release has no heap there."""
    rng = np.random.default_rng(8)
    values = np.append(50 * rng.integers(9000, 11_000, 800), 500_000)
    found = drawn(values, 50_000)
    around = np.mean([(found == 500_000 + 50 * k).mean() for k in (-3, -2, -1, 1, 2, 3)])
    assert (found == 500_000).mean() < 3 * around + 1e-3


def test_a_column_in_tens_is_released_in_tens():
    """All numbers of the column are multiples of ten: none between them comes out."""
    rng = np.random.default_rng(3)
    income = np.round(np.exp(rng.normal(9.5, 0.6, 20_000)), -1)
    assert Habits.of(income.astype(int)).units[0] == 10
    assert Habits.of(np.array([1000, 2000, 3000])).units[0] == 1  # too few to say so
