"""Suppression: the cells that pandas finds are blank, and the promise is found when broken."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import hyp2f1

import veladura as vd
from veladura.errors import DataError, PlanError


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {
            "zip": rng.choice(["10", "11", "12", "13"], 500, p=[0.6, 0.3, 0.08, 0.02]),
            "age": rng.integers(0, 95, 500) // 5 * 5,
            "sex": rng.choice(["f", "m"], 500),
            "income": np.exp(rng.normal(10, 0.8, 500)).round(-2),
            "w": rng.uniform(1, 60, 500).round(1),
        }
    )
    frame.loc[rng.random(500) < 0.1, "sex"] = None
    return frame


def test_cells_by_condition(people):
    rules = {"income": "income > 50_000", "zip": 'age >= 90 and sex == "f"'}
    released = vd.Suppress(cells=rules).protect(people).datasets[0]
    expected = people.copy()
    expected.loc[people["income"] > 50_000, "income"] = np.nan
    expected.loc[(people["age"] >= 90) & (people["sex"] == "f"), "zip"] = None
    assert (released.isna() == expected.isna()).all().all()
    shown = released.notna()
    assert (released.where(shown, 0) == people.where(shown, 0)).all().all()


def test_conditions_about_gaps_are_followed_to_the_end(people):
    """A gap that one condition leaves is one that another asks for."""
    rules = {"income": "sex is missing", "sex": "age > 80", "zip": "income is missing"}
    released = vd.Suppress(cells=rules).protect(people).datasets[0]
    gone = people["sex"].isna() | (people["age"] > 80)
    for name in ("sex", "income", "zip"):
        assert (released[name].isna() == gone).all()


def own_risk(frame: pd.DataFrame, known: list[str], weight: str | None) -> pd.Series:
    """Benedetti and Franconi's formula as it is printed, class by class."""
    groups = frame.fillna(dict.fromkeys(known, "?")).groupby(known)
    f = groups["age"].transform("size")
    total = f if weight is None else groups[weight].transform("sum")
    p = np.minimum(f / total, 1)
    return p**f / f * hyp2f1(f, f, f + 1, 1 - p)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("most", [0.5, 0.2, 0.05])
def test_no_row_above_the_risk_shows_the_columns(people, weight, most):
    known = ["zip", "sex"] if weight is None else ["zip", "age", "sex"]
    recipe = vd.Suppress(risk=most, known=known, columns=["zip"], weight=weight)
    released = recipe.protect(people).datasets[0]
    risk = own_risk(released, known, weight)
    assert (released.loc[risk > most * 1.0001, "zip"].isna()).all()
    first = own_risk(people, known, weight)
    assert released.loc[first > most * 1.0001, "zip"].isna().all()
    if (first <= most).all():
        assert released["zip"].notna().all()


def test_risk_counts_people_and_not_rows():
    frame = pd.DataFrame({"person": [1, 1, 1, 2, 3], "zip": ["a", "a", "a", "b", "b"]})
    table = vd.open(frame, {"person": {"role": "person"}})
    released = vd.Suppress(risk=0.5, known=["zip"]).protect(table, seed=1).datasets[0]
    assert released["zip"].isna().tolist() == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({}, "either cells"),
        ({"cells": {"a": "a > 1"}, "risk": 0.1}, "either cells"),
        ({"risk": 0.1}, "needs known"),
        ({"risk": 2, "known": ["a"]}, "at most 1"),
        ({"cells": {"a": "a >"}}, "ends too early"),
        ({"cells": {"a": "a > 1"}, "weight": "w"}, "go with risk"),
    ],
)
def test_settings_that_say_nothing_are_refused(settings, match):
    with pytest.raises(PlanError, match=match):
        vd.Suppress(**settings)


def test_a_column_without_any_value_left_is_refused(people):
    with pytest.raises(DataError, match="every cell"):
        vd.Suppress(cells={"income": "income > 0"}).protect(people)
    with pytest.raises(DataError, match="numbers above 0"):
        vd.Suppress(risk=0.1, known=["zip"], weight="v").protect(people.assign(v=0.0))


@pytest.mark.parametrize(
    "recipe",
    [
        vd.Suppress(cells={"income": "income > 50_000"}),
        vd.Suppress(risk=0.2, known=["zip", "age"]),
    ],
)
def test_a_cell_that_comes_back_breaks_the_promise(people, tmp_path, recipe):
    release = recipe.protect(people)
    folder = release.save(tmp_path / "out" / "release", tmp_path / "safe" / "record", format="csv")
    held = [line.status for line in vd.verify(folder) if line.claim.startswith("Suppression")]
    assert held == ["holds"]
    path = folder / "data" / "dataset-1.csv"
    rows = pd.read_csv(path, dtype={"zip": str})
    column = recipe.changes()[0]
    place = rows.index[rows[column].isna()][0]  # in one row
    rows.loc[place, column] = 77_777 if column == "income" else "99"
    rows["age"] = rows["age"].astype("Int64")
    rows.to_csv(path, index=False)
    held = [line.status for line in vd.verify(folder) if line.claim.startswith("Suppression")]
    assert held == ["broken"]


def test_conditions_may_come_before_a_private_step_and_risk_may_not(people):
    private = vd.BetaBinomial(columns=["zip"], domain={"zip": ["10", "11"]}, epsilon=1)
    assert vd.Steps([vd.Suppress(cells={"income": "age > 90"}), private])
    with pytest.raises(PlanError, match="suppress"):
        vd.Steps([vd.Suppress(risk=0.1, known=["zip"]), private])
