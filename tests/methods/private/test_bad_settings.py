"""Settings of private methods that say nothing: an error in words, never one of Python."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.private.events import rho_for, zcdp_epsilon
from veladura.methods.private.exact import keeps, smallest_alpha

pytest.importorskip("opendp")

TABLE = pd.DataFrame({"sex": ["f", "m", "m"] * 100, "income": range(300)})
CATEGORIES: dict[str, Any] = {"columns": ["sex"], "domain": {"sex": ["f", "m"]}, "epsilon": 1.0}
NUMBERS: dict[str, Any] = {
    "columns": ["income"],
    "bounds": {"income": [0, 300]},
    "by": ["sex"],
    "domain": {"sex": ["f", "m"]},
    "epsilon": 1.0,
}
MODEL: dict[str, Any] = {
    "columns": ["sex"],
    "outcome": "income",
    "bounds": {"income": [0, 300]},
    "domain": {"sex": ["f", "m"]},
    "epsilon": 1.0,
}
AMOUNTS: dict[str, Any] = {**CATEGORIES, "columns": ["sex", "income"]}


@pytest.mark.parametrize(
    ("recipe", "given", "wrong", "words"),
    [
        (vd.NoisyCounts, CATEGORIES, {"domain": 3}, "domain must give each column its values"),
        (vd.Marginals, CATEGORIES, {"domain": ["f"]}, "domain must give each column its values"),
        (vd.PrivateRegression, MODEL, {"domain": 3}, "domain must give each column its values"),
        (vd.Marginals, CATEGORIES, {"workload": 3}, "workload must be a list of tables"),
        (vd.Marginals, CATEGORIES, {"workload": [["sex"]], "weights": 3}, "weights must be"),
        (vd.Marginals, CATEGORIES, {"workload": [["sex"]], "weights": "1"}, "weights must be"),
        (vd.Marginals, CATEGORIES, {"rules": 'sex == "f"'}, "rules must be a list"),
        (vd.Marginals, CATEGORIES, {"rules": [3]}, "rules must be a list"),
        (vd.Marginals, CATEGORIES, {"model_size": "4"}, "model_size"),
        (vd.Marginals, AMOUNTS, {"bounds": "income"}, "bounds must give each column"),
        (vd.PrivateSummary, NUMBERS, {"bounds": [0, 1]}, "bounds must give each column"),
        (vd.PrivateRegression, MODEL, {"bounds": "income"}, "bounds must give each column"),
        (vd.PrivateSummary, NUMBERS, {"bins": {"income": ["a"]}}, "bins of 'income'"),
        (vd.PrivateSummary, NUMBERS, {"bins": {"age": 3}}, "bins names columns without bounds"),
        (vd.PrivateSummary, NUMBERS, {"statistics": ["mode"]}, "statistics 'mode' is not known"),
        (vd.PrivateSummary, NUMBERS, {"statistics": "mean"}, "statistics must be a list"),
        (vd.PrivateSummary, NUMBERS, {"quantiles": ["half"]}, "quantiles must be numbers"),
        (vd.PrivateSummary, NUMBERS, {"level": "95 %"}, "level"),
        (vd.DirichletMultinomial, CATEGORIES, {"alpha": 3}, "alpha must be a list, got int"),
        (vd.BetaBinomial, CATEGORIES, {"alpha": 3}, "alpha must be a list, got int"),
        (vd.NoisyCounts, CATEGORIES, {"missing": 3}, "missing must be a list, got int"),
        (vd.NoisyCounts, CATEGORIES, {"missing": "sex"}, "missing must be a list, got str"),
        (vd.Marginals, CATEGORIES, {"missing": 3}, "missing must be a list, got int"),
        (vd.PrivateSummary, NUMBERS, {"missing": 3}, "missing must be a list, got int"),
        (vd.PrivateSummary, NUMBERS, {"by": 3}, "by must be a list, got int"),
        (vd.Marginals, CATEGORIES, {"private_cuts": 3}, "private_cuts must be a list of columns"),
        (vd.NoisyCounts, CATEGORIES, {"structural_zeros": 3}, "structural_zeros must be a list"),
        (vd.Marginals, CATEGORIES, {"structural_zeros": 3}, "structural_zeros must be a list"),
        (vd.Marginals, CATEGORIES, {"design_effects": 3}, "design_effects must give figures"),
        (vd.Marginals, CATEGORIES, {"design_effects": [1]}, "design_effects must give figures"),
        (vd.Marginals, CATEGORIES, {"workload": [3]}, "every table of the workload"),
        (vd.Marginals, CATEGORIES, {"bins": -3}, r"bins \(-3\) must be a whole number"),
        (vd.Marginals, CATEGORIES, {"bins": 2.5}, r"bins \(2.5\) must be a whole number"),
        (vd.NoisyCounts, CATEGORIES, {"fraction": 1e-20}, "at most 18 decimals"),
    ],
)
def test_a_setting_of_a_wrong_kind_is_refused(
    recipe: Any, given: dict[str, Any], wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        recipe(**{**given, **wrong})


def wide(file: Path | None = None) -> vd.PrivateRegression:
    """Eleven columns of ten values: 10^11 cells, whose list would fill the memory."""
    names = [f"c{i}" for i in range(11)]
    domain = {**{name: list("abcdefghij") for name in names}, "sex": ["f", "m"]}
    if file is not None:
        file.write_text(json.dumps(domain))
    given: Any = domain if file is None else str(file)
    return vd.PrivateRegression(
        columns=names, outcome="sex", family="logistic", domain=given, epsilon=1.0
    )


def test_cells_of_a_large_logistic_regression_are_counted_and_not_listed(tmp_path: Path) -> None:
    words = "100,000,000,000 cells, more than 5,000"
    with pytest.raises(PlanError, match=words):
        wide()
    made = wide(tmp_path / "domain.json")
    with pytest.raises(PlanError, match=words):
        made.protect(TABLE.assign(**dict.fromkeys(made.columns, "a")))
    with pytest.raises(PlanError, match=words):
        made.expected(1000)


@pytest.mark.parametrize("cuts", [(), ("income",)])
def test_whole_numbers_have_bounds_that_can_be_held(cuts: tuple[str, ...]) -> None:
    made = vd.Marginals(**AMOUNTS, bounds={"income": [0, 1e300]}, private_cuts=cuts)
    with pytest.raises(PlanError, match=r"reach beyond 9,007,199,254,740,992"):
        made.protect(TABLE)


def test_bins_of_one_column_leave_the_others_the_usual_ones() -> None:
    two = {"columns": ["income", "age"], "bounds": {"income": [0, 300], "age": [0, 100]}}
    made = vd.PrivateSummary(**{**NUMBERS, **two}, bins={"income": [10, 20]})
    assert made.edges("income").tolist() == [0, 10, 20, 300]
    assert made.edges("age").size == 51


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3])
def test_a_tiny_epsilon_has_a_rho_and_a_release(epsilon: float) -> None:
    made = vd.Marginals(**{**CATEGORIES, "epsilon": epsilon})
    rho = rho_for(*made.cost())
    assert rho > 0
    assert zcdp_epsilon(rho, made.cost()[1]) <= made.cost()[0]
    assert math.isclose(zcdp_epsilon(rho, made.cost()[1]), epsilon, rel_tol=1e-4)
    assert len(made.protect(TABLE).datasets[0]) == len(TABLE)


@pytest.mark.parametrize("epsilon", [100, 1000, 10**6])
def test_a_huge_epsilon_has_an_alpha_that_can_be_written(epsilon: int) -> None:
    made = vd.DirichletMultinomial(**{**CATEGORIES, "epsilon": epsilon})
    alpha = smallest_alpha(made.cost()[0], 300)
    assert keeps(made.cost()[0], alpha, 300)
    release = made.protect(TABLE)
    assert vd.posterior(release).mean.sum() == pytest.approx(1)


def test_numbers_of_numpy_are_values_of_a_domain() -> None:
    categories = {**CATEGORIES, "columns": ["region"]}
    theirs = vd.Marginals(**{**categories, "domain": {"region": [np.int64(1), np.int64(2)]}})
    assert theirs == vd.Marginals(**{**categories, "domain": {"region": [1, 2]}})
