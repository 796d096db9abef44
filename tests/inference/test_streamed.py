"""Estimates of releases whose rows stay in their files: those of the rows in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.inference.streamed_fit import Triangle
from veladura.table import pieces as streaming

ROWS = 4_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "job": rng.choice(["clerk", "cook", "judge"], ROWS, p=[0.6, 0.3, 0.1]),
            "born": pd.to_datetime("1950-01-01")
            + pd.to_timedelta(rng.integers(0, 9000, ROWS), "D"),
            "w": np.round(rng.uniform(1, 9, ROWS), 2),
        }
    )
    line = 0.05 * frame["age"] + (frame["sex"] == "f") - 0.5 * (frame["job"] == "cook")
    frame["income"] = np.round(1e6 + 100 * (line + rng.normal(0, 1, ROWS)), 2)
    frame["ill"] = (rng.random(ROWS) < 1 / (1 + np.exp(3 - line))).astype(int)
    frame["visits"] = rng.poisson(np.exp(0.3 * line - 1))
    frame["skewed"] = rng.gamma(2.0, np.exp(0.2 * line)) + 0.01
    frame["banded"] = pd.cut(frame["age"], [0, 30, 40, 99], labels=["20-29", "30-39", "40-69"])
    frame["banded"] = frame["banded"].astype(str)
    frame.loc[::13, "age"] = np.nan
    frame["age"] = frame["age"].astype("Int64")
    frame.loc[5::19, "job"] = None
    home = tmp_path_factory.mktemp("streamed")
    release = vd.Noise(columns=["skewed"]).protect(frame, seed=2)
    return release.save(home / "out" / "release", home / "safe" / "r", rows_per_file=700)


@pytest.fixture
def both(folder, monkeypatch):
    monkeypatch.setattr(streaming, "PIECE", 2048)
    return vd.load(folder, lazy=False), vd.load(folder, lazy=True)


MODELS = [
    ("income ~ age + C(sex)", "gaussian"),
    ("income ~ age * sex + job + I(age ** 2)", "gaussian"),
    ("income ~ 0 + job + year(born)", "gaussian"),
    ("log(income) ~ midpoint(banded) + C(ill)", "gaussian"),
    ("ill ~ age + sex + job", "binomial"),
    ("sex ~ age + job", "binomial"),
    ("visits ~ age + sex", "poisson"),
    ("visits ~ age + sex", "quasi-poisson"),
    ("ill ~ age + sex", "quasi-binomial"),
    ("I(skewed + 3) ~ age + sex", "gamma"),
]


@pytest.mark.parametrize("settings", [{}, {"robust": True}, {"weights": "w"}])
@pytest.mark.parametrize(("formula", "family"), MODELS)
@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_models_are_those_of_the_rows_in_memory(both, formula, family, settings):
    held, lazy = (release.analyze(formula, family=family, **settings) for release in both)
    assert lazy.rows == held.rows
    assert lazy.cautions == held.cautions
    pd.testing.assert_frame_equal(lazy.table(), held.table(), rtol=1e-6, atol=1e-9)
    assert lazy.design.response == held.design.response
    one, other = (found.wald() for found in (lazy, held))
    assert one.p == pytest.approx(other.p, rel=1e-6, abs=1e-12)


@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_a_logarithm_that_is_not_defined_is_counted_the_same(both):
    held, lazy = (release.analyze("log(skewed - 1) ~ sex") for release in both)
    assert lazy.rows == held.rows
    assert any("not defined" in caution for caution in lazy.cautions)
    assert lazy.cautions == held.cautions


@pytest.mark.parametrize("by", [None, "job", "ill"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_means_totals_and_ratios(both, by, weights):
    sampling = vd.Sampling(weights=weights)
    for function, columns in (
        (vd.survey_mean, ["income"]),
        (vd.survey_total, ["income"]),
        (vd.survey_mean, ["age"]),
        (vd.survey_ratio, ["skewed", "visits"]),
    ):
        held, lazy = (function(r, *columns, by=by, sampling=sampling) for r in both)
        assert lazy.names == held.names
        for part in ("value", "variance", "lower", "upper"):
            np.testing.assert_allclose(getattr(lazy, part), getattr(held, part), rtol=1e-9)


def test_several_datasets_are_combined_alike(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=600), "g": rng.choice(list("abc"), 600)})
    frame["y"] = frame["x"] + (frame["g"] == "a") + rng.normal(size=600)
    release = vd.Cart(columns=["y"], m=3).protect(frame, seed=4)
    saved = release.save(tmp_path / "out" / "release", tmp_path / "safe" / "r", rows_per_file=250)
    held, lazy = (vd.load(saved, lazy=lazy).analyze("y ~ x + g") for lazy in (False, True))
    pd.testing.assert_frame_equal(lazy.table(), held.table(), rtol=1e-8)


def test_tables_are_counted_in_the_files(both):
    held, lazy = (release.counts(["sex", "job"])[0] for release in both)
    pd.testing.assert_frame_equal(lazy, held)


def test_what_needs_all_rows_is_refused_above_the_memory(folder, monkeypatch):
    monkeypatch.setenv("VELADURA_MEMORY", "1 GiB")
    monkeypatch.setattr("veladura.base.memory.BYTES_A_CELL", 1 << 20)
    release = vd.load(folder, lazy=True)
    for ask in (
        lambda: release.estimate(lambda data: (data["income"].mean(), 1.0)),
        lambda: release.analyze("income ~ bs(skewed, df=4)"),
        lambda: release.analyze("income ~ sex", sampling=vd.Sampling(cluster="job")),
        lambda: vd.survey_mean(release, "income", sampling=vd.Sampling(strata="job")),
    ):
        with pytest.raises(PlanError, match="piece by piece"):
            ask()
    assert release.analyze("income ~ sex").rows[0] == ROWS


@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_below_the_memory_they_are_read(both):
    held, lazy = (release.analyze("income ~ center(skewed)") for release in both)
    pd.testing.assert_frame_equal(lazy.table(), held.table(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_faults_are_told_in_words(both):
    _, lazy = both
    with pytest.raises(PlanError, match="likelihood-ratio test needs the rows"):
        lazy.analyze("income ~ sex").likelihood_ratio()
    with pytest.raises(DataError, match="collinear"):
        lazy.analyze("income ~ visits + I(2 * visits)")
    with pytest.raises(DataError, match="does not converge"):
        lazy.analyze("ill ~ I(ill == 1)", family="binomial")
    with pytest.raises(PlanError, match="other than 0 and 1"):
        lazy.analyze("visits ~ sex", family="binomial")
    with pytest.raises(PlanError, match="needs all of them at once"):
        lazy.analyze("visits ~ C(skewed)")


def test_the_triangle_keeps_digits_that_squares_lose():
    """A year and its square beside an intercept: X'X has a condition number of about 1e20."""
    rng = np.random.default_rng(5)
    year = rng.uniform(2000, 2010, 3000)
    x = np.column_stack([np.ones(3000), year, year**2])
    truth = np.array([5.0, -2.0, 0.001])
    triangle = Triangle(3)
    for start in range(0, 3000, 500):
        part = slice(start, start + 500)
        triangle.add(x[part], x[part] @ truth, np.ones(500))
    kept = triangle.solved()[0]
    squares = np.linalg.solve(x.T @ x, x.T @ (x @ truth))
    assert np.abs(x @ (kept - truth)).max() < 1e-6
    assert np.abs(squares - truth).max() > 100 * np.abs(kept - truth).max()
