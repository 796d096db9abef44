"""Population uniqueness: published values, the models' own populations, and what is refused."""

from __future__ import annotations

import os
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.numeric.population_uniques import (
    ClassSizes,
    _pitman_likelihood,
    _polished,
    pitman,
    population_uniques,
    slide_negative_binomial,
    zayatz,
)

DATA = os.environ.get("VELADURA_DATA")


@pytest.mark.skipif(DATA is None, reason="needs the folder of real data")
def test_adult_has_the_values_that_arx_publishes():
    """ARX's tests compare four digits of the Pitman (.01, .1) and Zayatz (.2) estimates."""
    adult = pd.read_csv(Path(str(DATA)) / "adult" / "adult.csv", sep=";")
    names = list(adult)
    at = {f: vd.risk.population_uniqueness(adult, names, fraction=f) for f in (0.01, 0.1, 0.2, 1.0)}
    assert at[0.01].chosen == at[0.1].chosen == "pitman"
    assert float(at[0.01].share) == pytest.approx(0.1446083531167384, abs=1e-9)
    assert float(at[0.1].share) == pytest.approx(0.27684993883653597, abs=1e-9)
    assert float(at[0.1].zayatz) == pytest.approx(0.3207402393466189, rel=1e-9)
    assert float(at[0.2].zayatz) == pytest.approx(0.3577099234829125, rel=1e-9)
    assert float(at[1.0].share) == pytest.approx(0.5142895033485844, rel=1e-12)


@pytest.mark.skipif(DATA is None, reason="needs the folder of real data")
@pytest.mark.parametrize(
    ("fraction", "estimator", "published"),
    [(0.01, "pitman", 0.1446083531167384), (0.2, "zayatz", 0.3577099234829125)],
)
def test_the_two_published_values_of_arx_by_named_estimators(fraction, estimator, published):
    """At .2 ARX prints Zayatz's estimate: the rule itself takes the smaller SNB."""
    adult = pd.read_csv(Path(str(DATA)) / "adult" / "adult.csv", sep=";")
    names = list(adult)
    found = vd.risk.population_uniqueness(adult, names, fraction=fraction, estimator=estimator)
    assert abs(float(found.share) - published) < 1e-9
    assert found.chosen == estimator
    rule = vd.risk.population_uniqueness(adult, names, fraction=fraction)
    assert rule.chosen == ("pitman" if fraction < 0.1 else "snb")
    assert float(rule.share) <= float(found.share)


@pytest.mark.parametrize(
    "number",
    [(738, 26, 2, 1), (746, 21, 4), (755, 21, 1), (748, 20, 4), (764, 15, 2), (1094, 37, 8, 2)],
)
def test_pitmans_estimate_is_that_of_the_best_point_of_a_grid(number):
    """Sums by hand, digit by digit: where theta was let grow, .00005 came out, or .99."""
    sizes = np.repeat(np.arange(1, len(number) + 1), number)
    people, classes = int(sizes.sum()), sizes.size

    def by_hand(theta, alpha):
        ways = np.log(theta + alpha * np.arange(1, classes)).sum()
        within = sum(
            many * np.log(np.arange(1, size) - alpha).sum() for size, many in enumerate(number, 1)
        )
        return ways - np.log(theta + np.arange(1, people)).sum() + within

    thetas, alphas = np.exp(np.linspace(4, 14, 201)), np.linspace(0.005, 0.995, 199)
    theta, alpha = max(((t, a) for t in thetas for a in alphas), key=lambda at: by_hand(*at))
    population = people / 0.02
    uniques = gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(population)
    found = pitman(ClassSizes.of(sizes), 0.02)
    assert found == pytest.approx(np.exp(uniques) / population, abs=0.03)


def test_pitmans_estimate_is_at_the_maximum():
    """Slopes of the log-likelihood by differences of it are nought at the estimate."""
    rng = np.random.default_rng(2)
    sample = ClassSizes.of(rng.zipf(1.6, 800).clip(max=60))
    start = np.array([sample.classes / 10, 0.4])
    theta, alpha = _polished(sample, *_near_maximum(sample, start))
    for step in (np.array([1e-3 * theta, 0]), np.array([0, 1e-4])):
        ends = [_pitman_likelihood(sample, *(np.array([theta, alpha]) + s)) for s in (step, -step)]
        here = _pitman_likelihood(sample, theta, alpha)
        assert here >= max(ends)
        assert abs(ends[0] - ends[1]) < 1e-2 * (2 * here - sum(ends))


def _near_maximum(sample, start):
    from scipy.optimize import minimize

    def negative(point):
        return -_pitman_likelihood(sample, float(np.exp(point[0])), float(point[1]))

    point = np.array([np.log(start[0]), start[1]])
    found = minimize(negative, point, method="Nelder-Mead", bounds=[(-3, 20), (0.01, 0.99)])
    return float(np.exp(found.x[0])), float(found.x[1])


def test_a_named_estimator_is_the_one_of_the_table():
    sample = pd.DataFrame({"zip": np.random.default_rng(3).zipf(1.7, 400).clip(max=99)})
    rule = vd.risk.population_uniqueness(sample, ["zip"], fraction=0.3)
    for name in ("pitman", "zayatz"):
        one = vd.risk.population_uniqueness(sample, ["zip"], fraction=0.3, estimator=name)
        assert one.share == getattr(rule, name)
        assert one.chosen == name
    with pytest.raises(PlanError, match="estimator"):
        vd.risk.population_uniqueness(sample, ["zip"], fraction=0.3, estimator="arx")


def test_zayatz_is_the_hypergeometric_sum():
    sizes, people, population = [1, 1, 1, 2, 3], 8, 20
    one = {j: j * comb(population - j, people - 1) / comb(population, people) for j in (1, 2, 3)}
    right = 3 * one[1] / (3 * one[1] + one[2] + one[3])
    found = zayatz(ClassSizes.of(np.array(sizes)), people / population)
    assert found == pytest.approx(3 * right / people, rel=1e-12)


def test_pitman_finds_the_uniques_of_its_own_population():
    """A population of Pitman's urn; the sample is a twentieth of it."""
    rng = np.random.default_rng(5)
    alpha, theta, number = 0.6, 50.0, 60_000
    counts: list[int] = []
    people: list[int] = []
    for i in range(number):  # the urn: a new class with probability (theta + u alpha)/(theta + i)
        if rng.random() * (theta + i) < theta + len(counts) * alpha:
            counts.append(1)
            people.append(len(counts) - 1)
            continue
        while True:  # an old one in proportion to its size - alpha, by rejection
            c = people[int(rng.integers(i))]
            if rng.random() < 1 - alpha / counts[c]:
                break
        counts[c] += 1
        people.append(c)
    truth = np.mean(np.array(counts)[people] == 1)
    sample = np.bincount(rng.permutation(people)[: number // 20])
    assert pitman(ClassSizes.of(sample), 0.05) == pytest.approx(truth, rel=0.15)


def test_slide_negative_binomial_finds_the_uniques_of_its_own_population():
    rng = np.random.default_rng(6)
    sizes = 1 + rng.negative_binomial(0.8, 0.3, 40_000)
    sample = rng.binomial(sizes, 0.4)
    truth = np.count_nonzero(sizes == 1) / sizes.sum()
    share = slide_negative_binomial(ClassSizes.of(sample), 0.4)
    assert share == pytest.approx(truth, rel=0.15)
    naive = np.count_nonzero(sample == 1) / sample.sum()  # the control: the sample's own uniques
    assert abs(naive - truth) > 2 * abs(share - truth)


def test_a_sample_of_people_is_judged_as_its_population_is():
    """Few combinations, as people have them: the sample's own uniques are many times too many."""
    rng = np.random.default_rng(7)
    age = np.clip(rng.normal(45, 20, 100_000), 0, 99).astype(int) // 5
    everyone = pd.DataFrame({"age": age, "town": rng.geometric(0.1, 100_000)})
    everyone["job"] = rng.poisson(3, 100_000) + 5 * (age > 12)
    names = list(everyone)
    truth = float(np.mean(everyone.groupby(names)["age"].transform("size") == 1))
    sample = everyone.sample(3_000, random_state=1)
    risk = vd.risk.population_uniqueness(sample, names, fraction=0.03)
    own = np.mean(sample.groupby(names)["age"].transform("size") == 1)
    assert 0.5 * truth < float(risk.share) < 2 * truth
    assert own > 5 * truth
    weighted = sample.assign(w=100 / 3)
    by_weight = vd.risk.population_uniqueness(weighted, names, weight="w")
    assert float(by_weight.share) == pytest.approx(float(risk.share), rel=1e-6)
    assert float(risk.expected) == pytest.approx(3_000 * float(risk.share))


@pytest.mark.parametrize("sizes", [[1, 1, 1], [5], [2, 2, 3], [1], [1, 1, 2]])
@pytest.mark.parametrize("fraction", [0.001, 0.05, 0.5, 1.0])
def test_every_sample_has_a_share(sizes, fraction):
    share = population_uniques(np.array(sizes), fraction).share
    assert 0 <= share <= 1
    assert share == 0 or 1 in sizes


def test_an_assessment_has_it_where_the_release_is_a_sample():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {"town": rng.geometric(0.05, 400).astype(str), "age": rng.integers(9, 99, 400)}
    )
    frame["w"] = rng.uniform(50, 60, 400)
    roles = {"town": {"role": "quasi-identifier"}, "w": {"role": "weight"}}
    table = vd.open(frame, roles)
    release = vd.Reweight(column="w", digits=2).protect(table)
    share = vd.assess(table, release)["risk.population_uniqueness.share"]
    own = vd.assess(table, release)["risk.uniqueness.sample_uniques"].value / 400
    assert 0 < share.value < own
    plain = vd.Reweight(column="w", digits=2).protect(frame)  # nothing is declared a weight
    figure = vd.assess(frame, plain).figures["risk.population_uniqueness.share"]
    assert figure.estimate is None
    assert "not known to be a sample" in figure.why


def test_what_cannot_be_estimated_is_refused():
    frame = pd.DataFrame({"a": [1, 2], "w": [0.0, 3.0]})
    with pytest.raises(PlanError, match="a list of at least one column"):
        vd.risk.population_uniqueness(frame, "a")
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        vd.risk.population_uniqueness(frame, ["a"], fraction=0.0)
    with pytest.raises(DataError, match="numbers above 0"):
        vd.risk.population_uniqueness(frame, ["a"], weight="w")
    with pytest.raises(DataError, match="no rows"):
        vd.risk.population_uniqueness(frame[:0], ["a"])
