"""Log-linear individual risk against a known population, closed forms and sums."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.numeric.log_linear import fit_log_linear, match_chance

NAMES = ["age", "town", "job", "sex"]


def everyone(seed: int = 1, number: int = 100_000) -> pd.DataFrame:
    """Return a population in which age tells the job: main effects alone are wrong."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(45, 20, number), 0, 99).astype(int) // 5
    town = rng.choice(30, number, p=rng.dirichlet(np.ones(30)))
    job = rng.poisson(3, number) + 5 * (age > 12)
    sex = rng.integers(0, 2, number)
    frame = pd.DataFrame({"age": age, "town": town, "job": job, "sex": sex})
    return frame.assign(F=frame.groupby(NAMES)["age"].transform("size"))


def test_it_finds_how_many_uniques_are_unique_in_the_population():
    people = everyone()
    sample = people.sample(20_000, random_state=3)
    alone = sample.groupby(NAMES)["age"].transform("size") == 1
    uniques, matches = np.sum(alone & (sample["F"] == 1)), np.sum(1 / sample["F"][alone])
    risk = vd.risk.log_linear(sample[NAMES], NAMES, fraction=0.2)
    assert int(risk.uniques) == alone.sum()
    assert risk.interactions == 2
    assert float(risk.population_uniques) == pytest.approx(uniques, rel=0.15)
    assert float(risk.expected) == pytest.approx(matches, rel=0.1)
    assert risk.per_record.sum() == pytest.approx(np.sum(1 / sample["F"]), rel=0.1)
    simple = vd.risk.log_linear(sample[NAMES], NAMES, fraction=0.2, interactions=1)  # a control
    assert float(simple.population_uniques) > 1.2 * uniques
    assert simple.misfit > 5


def test_it_ranks_people_better_than_their_weights():
    """Equal weights say the same of every unique; the cells around them do not."""
    people = everyone(2)
    sample = people.sample(5_000, random_state=4)
    alone = (sample.groupby(NAMES)["age"].transform("size") == 1).to_numpy()
    truth = 1 / sample["F"].to_numpy()[alone]
    model = vd.risk.log_linear(sample[NAMES], NAMES, fraction=0.05).per_record[alone]
    flat = vd.risk.individual(sample[NAMES], NAMES, fraction=0.05).per_record[alone]
    assert np.ptp(flat) < 1e-12
    assert np.corrcoef(model, truth)[0, 1] > 0.5


@pytest.mark.parametrize(("f", "mean"), [(1, 0.0), (1, 3.0), (2, 0.5), (7, 40.0), (300, 2000.0)])
def test_the_chance_of_a_match_is_the_sum_over_the_poisson_law(f, mean):
    more = np.arange(20_000)
    truth = float(poisson.pmf(more, mean) @ (1 / (f + more)))
    pi = 0.1
    found = match_chance(np.array([f]), np.array([mean * pi / (1 - pi)]), pi)
    assert found[0] == pytest.approx(truth, rel=1e-9)


def test_fits_have_the_margins_of_the_table():
    rng = np.random.default_rng(9)
    codes = np.array([(a, b, c) for a in range(3) for b in range(4) for c in range(2)])
    sizes = rng.poisson(5, len(codes)) + 1
    pairs = fit_log_linear(codes, (3, 4, 2), sizes, 0.1, 2).expected
    for kept in ((0, 1), (0, 2), (1, 2)):
        frame = pd.DataFrame(codes[:, kept]).assign(n=sizes, e=pairs)
        sums = frame.groupby([0, 1])[["n", "e"]].sum()
        assert np.allclose(sums["n"], sums["e"], atol=1e-3)
    main = fit_log_linear(codes, (3, 4, 2), sizes, 0.1, 1).expected
    shares = [np.bincount(codes[:, c], weights=sizes) / sizes.sum() for c in range(3)]
    product = np.prod([shares[c][codes[:, c]] for c in range(3)], axis=0) * sizes.sum()
    assert np.allclose(main, product, rtol=1e-6)


def test_a_table_of_too_many_cells_has_main_effects():
    rng = np.random.default_rng(10)
    frame = pd.DataFrame({str(i): rng.integers(0, 40, 500) for i in range(5)})
    risk = vd.risk.log_linear(frame, list(frame), fraction=0.1)
    assert risk.interactions == 1
    assert np.isnan(risk.misfit)
    assert 0 < float(risk.population_uniques) <= 500


def test_what_cannot_be_estimated_is_refused():
    frame = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(PlanError, match="a list of at least one column"):
        vd.risk.log_linear(frame, "a")
    with pytest.raises(PlanError, match="main effects"):
        vd.risk.log_linear(frame, ["a"], interactions=3)
    with pytest.raises(DataError, match="no rows"):
        vd.risk.log_linear(frame[:0], ["a"])


def test_an_assessment_has_it_for_a_sample():
    sample = everyone(3, 20_000).sample(2_000, random_state=5)[NAMES].assign(w=10.0)
    table = vd.open(sample, {"w": {"role": "weight"}, "town": {"role": "quasi-identifier"}})
    release = vd.Reweight(column="w").protect(table)
    figures = vd.assess(table, release).figures
    assert figures["risk.log_linear.expected"].estimate is not None
    assert "Model:" in figures["risk.log_linear.population_uniques"].note
