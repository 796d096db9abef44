"""Private regressions: exact without noise, intervals with it, bad input, sensitivities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.methods.private import regression_draw, regression_rows
from veladura.methods.private.queries import STEPS, Noisy
from veladura.methods.private.regression_rows import linear, products
from veladura.release.verify import holds, verify

LINEAR: dict[str, Any] = {
    "outcome": "income",
    "columns": ["age", "sex"],
    "bounds": {"income": [-10_000, 80_000], "age": [0, 110]},
    "domain": {"sex": ["f", "m"]},
    "epsilon": 1,
    "delta": 1e-6,
}
LOGISTIC: dict[str, Any] = {
    "outcome": "ill",
    "family": "logistic",
    "columns": ["age", "sex"],
    "bounds": {"age": [18, 90]},
    "domain": {"sex": ["f", "m"], "ill": ["no", "yes"]},
    "epsilon": 1,
    "delta": 0,
    "bins": 24,
}
TRUTH = {"linear": [20_000, 150, 3000], "logistic": [-2, 0.03, 0.6]}


def people(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    """Rounded incomes, whole ages, and some gaps."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.integers(18, 90, n).astype(float)
    income = 20_000 + 150 * age + 3000 * (sex == "m") + rng.normal(0, 6000, n)
    chance = 1 / (1 + np.exp(2 - 0.03 * age - 0.6 * (sex == "m")))
    ill = np.where(rng.random(n) < chance, "yes", "no")
    frame = pd.DataFrame({"sex": sex, "age": age, "income": income.round(-2), "ill": ill})
    frame.loc[rng.random(n) < 0.02, "age"] = np.nan
    return frame


def test_without_noise_they_are_those_of_statsmodels() -> None:
    frame = people().dropna()
    own = vd.PrivateRegression(**LINEAR | {"epsilon": 10**6}).protect(frame).datasets[0]
    fit = smf.ols("income ~ age + C(sex)", frame).fit()
    expected = fit.params[["Intercept", "age", "C(sex)[T.m]"]]
    np.testing.assert_allclose(own["value"], expected, rtol=2e-3)
    half = fit.bse[["Intercept", "age", "C(sex)[T.m]"]] * 1.96
    np.testing.assert_allclose((own["upper"] - own["lower"]) / 2, half, rtol=0.15)
    own = vd.PrivateRegression(**LOGISTIC | {"epsilon": 10**6, "bins": 72}).protect(frame)
    frame = frame.assign(sick=(frame["ill"] == "yes").astype(int), age=frame["age"] + 0.5)
    fit = smf.logit("sick ~ age + C(sex)", frame).fit(disp=0)  # the middle of a year's bin
    expected = fit.params[["Intercept", "age", "C(sex)[T.m]"]]
    np.testing.assert_allclose(own.datasets[0]["value"], expected, rtol=1e-3)


def test_no_row_changes_the_products_by_more_than_is_said() -> None:
    corners = [np.array([1.0, a, s, y]) for a in (-1, 0, 1) for s in (0, 1) for y in (-1, 0, 1)]
    empty = np.zeros(10)
    sums = [products(c[None, :3], c[3:], 4.0).values[0] for c in corners]
    for neighbours, others in (("replace-one", sums), ("add-remove", [empty])):
        query = products(corners[0][None, :3], corners[0][3:], 4.0)
        amounts, root = query.change(neighbours)
        away = np.array([a - b for a in sums for b in others], dtype=float)
        assert np.abs(away).sum(axis=1).max() <= amounts
        assert np.sqrt((away**2).sum(axis=1)).max() <= root
        assert np.sqrt((away**2).sum(axis=1)).max() > root / 2  # not far above what is needed


def test_noise_that_outweighs_the_data_leaves_every_value_possible() -> None:
    frame = people(40)
    rows = vd.PrivateRegression(**LINEAR | {"epsilon": 0.01}).protect(frame).datasets[0]
    assert rows["upper"].isna().all()
    assert rows["lower"].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [LINEAR, LOGISTIC], ids=["linear", "logistic"])
def test_intervals_cover_with_the_noise_inside(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nominal 95 % over 200 samples: within four standard errors (.062); naive ones do not."""
    monkeypatch.setattr(regression_rows, "DRAWS", 500)
    truth = TRUTH[settings.get("family", "linear")]
    recipe, hits = vd.PrivateRegression(**settings), np.zeros(3)
    for seed in range(200):
        rows = recipe.protect(people(seed=seed)).datasets[0]
        hits += (rows["lower"] <= truth) & (truth <= rows["upper"])
    assert (hits / 200 > 0.95 - 0.062).all(), hits / 200

    def exact(noisy: Noisy, *_: Any) -> np.ndarray:
        return np.repeat(noisy.values[None], 500, axis=0)

    if settings is LINEAR:  # a broken control: the noisy sums taken for exact ones
        monkeypatch.setattr(Noisy, "draws", exact)
        naive = np.zeros(3)
        for seed in range(60):
            rows = recipe.protect(people(seed=seed)).datasets[0]
            naive += (rows["lower"] <= truth) & (truth <= rows["upper"])
        assert (naive / 60 < 0.7).any(), naive / 60


def slopes(high: float, bins: int | None, runs: int = 8) -> list[tuple[float, float]]:
    """Return intervals of a slope of .05 a year, with ages from 18 to 90 between wide bounds."""
    recipe = vd.PrivateRegression(
        columns=["age"],
        outcome="ill",
        family="logistic",
        domain={"ill": ["no", "yes"]},
        bounds={"age": [0, high]},
        bins=bins,
        epsilon=3,
        delta=0,
    )
    ends = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        age = rng.uniform(18, 90, 20_000)
        ill = np.where(rng.random(age.size) < 1 / (1 + np.exp(3 - 0.05 * age)), "yes", "no")
        rows = recipe.protect(pd.DataFrame({"age": age, "ill": ill})).datasets[0]
        lower, upper = rows.loc[rows["column"] == "age", ["lower", "upper"]].to_numpy()[0]
        ends.append((lower, upper))
    return ends


@pytest.mark.parametrize("high", [120, 300])
def test_slopes_of_numbers_in_wide_bins_are_covered(
    high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers at the middle of their bins are biased, of which the noise says nothing."""
    monkeypatch.setattr(regression_rows, "DRAWS", 200)
    monkeypatch.setattr(regression_rows.logistic, "__defaults__", (200,))
    wide, fine = slopes(high, 10), slopes(high, None)
    assert all(lower <= 0.05 <= upper for lower, upper in wide)
    assert all(lower <= 0.05 <= upper for lower, upper in fine)
    widths = [np.mean([upper - lower for lower, upper in ends]) for ends in (wide, fine)]
    assert widths[1] < widths[0] / 2
    monkeypatch.setattr(regression_draw, "half_bins", lambda parts: np.zeros(1 + len(parts)))
    control = [lower <= 0.05 <= upper for lower, upper in slopes(high, 10)]
    assert sum(control) <= 5  # of 8


def test_bins_are_as_many_as_the_usual_cells_allow() -> None:
    given = {**LOGISTIC, "bins": None}
    assert vd.PrivateRegression(**given).number_of_bins == 100
    more = {"age": [18, 90], "height": [0, 250]}
    two = {**given, "columns": ["age", "height", "sex"], "bounds": more}
    assert vd.PrivateRegression(**two).number_of_bins == 22  # 22 x 22 x 2 are below 1,000
    three = {**two, "columns": [*two["columns"], "pay"], "bounds": {**more, "pay": [0, 1]}}
    assert vd.PrivateRegression(**three).number_of_bins == 10


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"outcome": "age"}, "among the columns"),
        ({"family": "probit"}, "family"),
        ({"bounds": {"age": [0, 110]}}, "bounds declares nothing for 'income'"),
        ({"bounds": {"income": [9, 1], "age": [0, 1]}}, "reversed"),
        ({"family": "logistic"}, "two values of the outcome"),
        ({"bins": 1}, "bins"),
        ({"missing": ["sex"]}, "missing"),
        ({"size": 3}, "size"),
    ],
)
def test_bad_settings_are_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        vd.PrivateRegression(**LINEAR | wrong)


def test_undeclared_categories_are_counted_and_not_named() -> None:
    frame = people(60)
    frame.loc[0, "sex"] = "canary-value"
    frame.loc[0, "age"] = 40.0
    with pytest.raises(DataError, match=r"\{'sex': 1\}"):
        vd.PrivateRegression(**LINEAR).protect(frame)


@pytest.mark.parametrize("settings", [LINEAR, LOGISTIC], ids=["linear", "logistic"])
def test_a_package_proves_what_it_holds(tmp_path: Path, settings: dict[str, Any]) -> None:
    ledger = vd.Ledger(epsilon=1, delta=1e-6)
    release = vd.PrivateRegression(**settings).protect(people(), ledger=ledger)
    assert float(ledger.spent) == pytest.approx(1, rel=1e-6)
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe")
    assert holds(verify(folder))
    assert vd.load(folder).datasets[0]["column"].sort_values().tolist() == sorted(
        ["constant", "age", "sex = m"]
    )


def test_draws_keep_the_noise_of_the_products() -> None:
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(3000), rng.uniform(-1, 1, 3000)])
    query = products(design, 0.5 * design[:, 1] + rng.normal(0, 0.1, 3000), 3.0)
    noisy = Noisy("products", "", query.values.astype(float), 20.0 * STEPS, True)
    _, draws = linear(noisy, 2)
    # to first order the slope moves by noise (1 + slope^2) / sum of squares
    expected = 20.0 * (1 + 0.25) ** 0.5 / float(query.values[0, 3] / STEPS)
    assert draws[:, 1].std() == pytest.approx(expected, rel=0.15)
