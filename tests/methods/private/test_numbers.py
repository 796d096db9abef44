"""Numbers in `Marginals`: bounds, bins, private cuts, rules, and what inference says of them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.methods.private import bins
from veladura.methods.private.proof import outside_domain

pytestmark = pytest.mark.quick
pytest.importorskip(
    "opendp",
    reason="the extra dp is not installed: pip install 'veladura[dp]'; these tests DID NOT RUN",
)
RNG = np.random.default_rng(31)
ROWS = 4000
AGE = RNG.integers(0, 95, ROWS)
PAY = np.round(np.exp(RNG.normal(7.5, 0.7, ROWS)) * (1 + 0.01 * AGE), -1)
FRAME = pd.DataFrame(
    {
        "age": AGE,
        "pay": np.where(RNG.random(ROWS) < 0.1, np.nan, np.where(AGE < 15, 0.0, PAY)),
        "sex": RNG.choice(["f", "m"], ROWS),
    }
)
COMMON = {
    "columns": ["age", "pay", "sex"],
    "domain": {"sex": ["f", "m"]},
    "bounds": {"age": [0, 100], "pay": [0, 20_000]},
    "missing": ["pay"],
    "epsilon": 2.0,
}
EDGES = {"age": [15, 30, 65], "pay": [0.01, 500, 1000, 2000, 4000, 8000]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": {"age": [0, 100]}}, "declares no values for .'pay'"),
        ({"bounds": {"age": [100, 0], "pay": [0, 1]}}, "reversed"),
        ({"bounds": {"age": [0, math.inf], "pay": [0, 1]}}, "two finite numbers"),
        ({"bounds": {"age": [0], "pay": [0, 1]}}, "two finite numbers"),
        ({"bins": 0}, "whole number from 1"),
        ({"bins": {"age": [65, 15]}}, "rising inner edges"),
        ({"bins": {"age": [-1, 15]}}, "rising inner edges"),
        ({"bins": {"age": ["x"]}}, "rising inner edges"),
        ({"bins": EDGES, "private_cuts": ["pay"]}, "leave one out"),
        ({"private_cuts": "pay"}, "list of columns"),
    ],
)
def test_bad_declarations_are_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        vd.Marginals(**{**COMMON, **settings})


def test_columns_must_be_numbers_and_their_bins_must_hold_some():
    with pytest.raises(PlanError, match="bounds are for numbers"):
        vd.Marginals(**COMMON).protect(FRAME.assign(pay="much"))
    with pytest.raises(PlanError, match="no whole number"):
        vd.Marginals(**{**COMMON, "bins": 200}).protect(FRAME)
    with pytest.raises(DataError, match="outside the declared domain"):
        vd.Marginals(**{**COMMON, "missing": []}).protect(FRAME)


def test_bins_hold_the_numbers_that_pandas_says():
    """Codes beside pandas.cut, on numbers at, between and beyond the edges."""
    edges = (0.0, 1.5, 4.0, 10.0)
    numbers = np.array([0.0, 1.49, 1.5, 3.9, 4.0, 10.0, 9.99])
    expected = pd.cut(numbers, [-np.inf, 1.5, 4.0, np.inf], right=False, labels=False)
    np.testing.assert_array_equal(bins.codes_of(numbers, edges, clip=False), expected)
    beyond = np.array([-0.1, 10.1])
    np.testing.assert_array_equal(bins.codes_of(beyond, edges, clip=False), [-1, -1])
    np.testing.assert_array_equal(bins.codes_of(beyond, edges, clip=True), [0, 2])


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("tilted", [True, False])
def test_drawn_numbers_stay_in_their_bins(whole, tilted):
    edges = (0.0, 3.0, 4.0, 40.0, 1000.0)
    codes = RNG.integers(0, 4, 20_000)
    drawn = bins.Within(np.random.default_rng(2), tilted).numbers(codes, edges, whole=whole)
    np.testing.assert_array_equal(bins.codes_of(drawn, edges, clip=False), codes)
    if whole:
        assert {0.0, 1.0, 2.0} == set(drawn[codes == 0])
        np.testing.assert_array_equal(drawn, np.round(drawn))


def test_numbers_follow_the_density_that_the_bins_suggest():
    """Exponential amounts: the mean by bins is near the true one, where even spreads are not."""
    amounts = np.random.default_rng(5).exponential(1000.0, 200_000)
    edges = (0.0, 300.0, 700.0, 1500.0, 10_000.0)
    codes = bins.codes_of(amounts, edges, clip=True)
    drawn = bins.Within(np.random.default_rng(6)).numbers(codes, edges, whole=False)
    even = np.diff(edges)[codes] / 2 + np.asarray(edges)[codes]
    assert drawn.mean() == pytest.approx(1000, rel=0.1)
    assert even.mean() > 1500  # a control: the middle of a wide last bin is far too high


def test_a_group_has_its_own_place_within_bins():
    """Two groups whose means are 15 apart, in bins of 20. Control: by the bins of everybody.

    The difference of means of 50,000 rows each has a standard error of .05 to .08.
    """
    rng = np.random.default_rng(12)
    edges, group = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0), np.repeat([0, 1], 50_000)
    values = np.clip(rng.normal(np.where(group, 50.0, 35.0), 12.0), 0, 100)
    codes = bins.codes_of(values, edges, clip=True)
    other = rng.integers(0, 3, group.size)
    groups = bins.telling(codes, [other, group])
    assert np.array_equal(groups[0], group)
    assert len(groups) == 2

    def apart(**how) -> float:
        drawn = bins.Within(np.random.default_rng(3)).numbers(codes, edges, whole=False, **how)
        return float(drawn[group == 1].mean() - drawn[group == 0].mean())

    true = values[group == 1].mean() - values[group == 0].mean()
    assert apart(groups=groups) == pytest.approx(true, rel=0.03)
    assert apart() < 0.93 * true  # what lies within bins is lost


def test_a_small_group_is_as_the_one_it_is_part_of():
    codes = np.random.default_rng(2).integers(0, 4, 1000)
    few = (np.arange(1000) < 50).astype(np.int64)  # 20 rows a bin are wanted
    alone, grouped = (
        bins.Within(np.random.default_rng(4)).numbers(
            codes, (0.0, 1.0, 2.0, 3.0, 4.0), whole=False, groups=groups
        )
        for groups in ((), (few,))
    )
    assert np.array_equal(alone[:50], grouped[:50])


def test_a_narrow_first_bin_is_zero_and_tells_nothing_of_the_others():
    """Half of the people have nothing, the others an even amount from 1 to 1000."""
    rng = np.random.default_rng(7)
    amounts = np.where(rng.random(40_000) < 0.5, 0.0, rng.uniform(1, 1000, 40_000))
    edges = (0.0, 0.01, 300.0, 600.0, 1000.0)
    codes = bins.codes_of(amounts, edges, clip=True)
    drawn = bins.Within(np.random.default_rng(8)).numbers(codes, edges, whole=False)
    assert (drawn[codes == 0] == 0).all()
    low = drawn[codes == 1]
    assert low.mean() == pytest.approx(150, abs=5)  # pulled towards zero it would be 25
    large = drawn[codes > 1]
    np.testing.assert_allclose(large, np.round(large, 1))  # the narrow bin adds no decimals


def test_a_wide_last_bin_holds_its_people_near_its_inner_edge():
    """Amounts of 1000 on average between bounds of 0 and a million."""
    amounts = np.random.default_rng(9).exponential(1000.0, 100_000)
    edges = (0.0, 300.0, 700.0, 1200.0, 2000.0, 1e6)
    codes = bins.codes_of(amounts, edges, clip=True)
    drawn = bins.Within(np.random.default_rng(10)).numbers(codes, edges, whole=False)
    beyond = codes == 4  # memoryless: 1000 beyond the edge on average
    assert drawn[beyond].mean() - 2000 == pytest.approx(1000, rel=0.5)


def test_a_group_without_neighbours_is_not_spread_over_a_last_bin_that_reaches_far():
    """Noise empties bins of groups: a mean of 26 then came out above 200, between wide bounds."""
    rng = np.random.default_rng(12)
    amounts = rng.exponential(20, 40_000)
    edges = (*np.quantile(amounts, np.arange(10) / 10), 10_000.0)
    codes = bins.codes_of(amounts, edges, clip=True)
    group = rng.integers(0, 20, amounts.size)
    emptied = (group < 10) & (codes == 8)  # noisy tables have none of half the groups there
    codes, group = codes[~emptied], group[~emptied]
    drawn = bins.Within(np.random.default_rng(13)).numbers(
        codes, edges, whole=False, groups=[group]
    )
    by_group = pd.Series(drawn).groupby(group).mean()
    assert by_group.max() < 2 * amounts.mean()
    alone = bins.slopes(np.bincount(codes[group == 0]) / (group == 0).sum(), edges)
    assert (
        bins.mean_places(alone)[-1] * 10_000 > 10 * amounts.mean()
    )  # by its own bins: the control


def test_every_released_number_is_in_a_told_bin_and_verify_says_so(tmp_path):
    release = vd.Marginals(**COMMON, bins=EDGES, private_cuts=[]).protect(FRAME)
    folder = tmp_path / "out" / "release"
    release.save(folder, custodian=tmp_path / "safe" / "record")
    assert {line.status for line in vd.verify(folder)} <= {"holds", "attested"}
    settings = release.manifest["steps"][0]["settings"]
    assert settings["edges"] == {
        "age": [0, 15, 30, 65, 100],
        "pay": [0, 0.01, 500, 1000, 2000, 4000, 8000, 20_000],
    }
    assert settings["domain"]["age"][0] == "0 to under 15"
    data = vd.load(folder).datasets[0]
    assert data["age"].between(0, 100).all()
    assert data["age"].dtype.kind == "i"
    assert 0.02 < data["pay"].isna().mean() < 0.2

    class Shown:
        released = vd.load(folder).tables[0].table

    assert outside_domain(Shown, settings) == 0
    narrow = {**settings, "edges": {**settings["edges"], "age": [0, 15, 30, 65, 70]}}
    assert outside_domain(Shown, narrow) == 1  # numbers beyond the told bins break the promise
    assert outside_domain(Shown, {**settings, "edges": {"age": [0, 100]}}) == 1


def test_clipped_numbers_change_nothing_else():
    far = FRAME.assign(age=np.where(AGE > 90, 10_000, AGE))
    release = vd.Marginals(**COMMON, bins=EDGES).protect(far)
    assert release.datasets[0]["age"].max() <= 100


def test_rules_about_numbers_hold_in_every_row_or_are_refused():
    rule = "age < 15 implies pay < 0.01 or pay is missing"
    release = vd.Marginals(**COMMON, bins=EDGES, rules=[rule]).protect(FRAME)
    data = release.datasets[0]
    assert not ((data["age"] < 15) & (data["pay"] >= 0.01)).any()
    free = vd.Marginals(**COMMON, bins=EDGES, rounds=0).protect(FRAME).datasets[0]
    assert ((free["age"] < 15) & (free["pay"] >= 0.01)).any()  # a control: independent columns
    for parting in ("age < 18 implies pay < 0.01", "age == 40 implies sex == 'f'"):
        with pytest.raises(PlanError, match="parts a bin"):
            vd.Marginals(**COMMON, bins=EDGES, rules=[parting]).protect(FRAME)
    with pytest.raises(PlanError, match="chosen privately"):
        vd.Marginals(**COMMON, private_cuts=["age"], rules=[rule]).protect(FRAME)


def test_the_posterior_says_means_of_numbers_and_what_they_are_about():
    release = vd.Marginals(**{**COMMON, "epsilon": 50.0}, bins=EDGES).protect(FRAME)
    posterior = vd.posterior(release)
    true = FRAME["age"].mean()
    anywhere, smooth = posterior.mean_of("age"), posterior.mean_of("age", within="smooth")
    assert anywhere.lower < smooth.lower <= smooth.value <= smooth.upper < anywhere.upper
    assert anywhere.lower < true < anywhere.upper
    assert smooth.value == pytest.approx(true, abs=4)
    women = posterior.where(sex="f")
    young = posterior.between("age", 0, 30)
    assert posterior.share(young, women).value == pytest.approx((AGE < 30).mean(), abs=0.08)
    with pytest.raises(PlanError, match="both limits must be among their edges"):
        posterior.between("age", 0, 18)
    with pytest.raises(PlanError, match="categories"):
        posterior.mean_of("sex")
    combined = release.estimate(lambda data: (data["age"].mean(), data["age"].var() / len(data)))
    assert float(combined.value) == pytest.approx(true, abs=6)
    assert combined.upper - combined.lower > smooth.upper - smooth.lower  # bins are not known
