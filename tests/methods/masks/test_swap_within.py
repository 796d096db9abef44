"""Swapping between similar people: values stay within their group, categories too."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.core.promise import Evidence
from veladura.errors import ColumnError, PlanError
from veladura.methods.masks.swap import SwapWarning
from veladura.methods.masks.swap_claims import carried_too_far, foreign_values
from veladura.table.source import open as open_table


def people(seed=0, size=400):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m", None], size, p=[0.5, 0.45, 0.05]),
            "age": rng.integers(20, 24, size),
            "area": rng.choice(["north", "south", "east", "west"], size, p=[0.6, 0.2, 0.1, 0.1]),
            "income": rng.lognormal(8, 1, size).round(-1),
        }
    )
    frame.loc[::17, "income"] = np.nan
    return frame


def test_each_group_keeps_its_values_and_rows_move():
    frame = people()
    recipe = vd.Swap(columns=["area", "income"], within=["sex", "age"], min_people=0)
    release = recipe.protect(frame, seed=1)
    after = release.datasets[0]
    for name in ("area", "income"):
        table = [data.groupby(["sex", "age", name], dropna=False).size() for data in (frame, after)]
        pd.testing.assert_series_equal(*table)
        assert (after[name].fillna("-") != frame[name].fillna("-")).mean() > 0.3
    assert after["income"].isna().equals(frame["income"].isna())
    assert {promise.name for promise in release.promises} == {"same-values", "rank-window"}


def test_values_move_only_within_the_window_of_their_group():
    frame = people(size=2000)
    after = vd.Swap(columns=["income"], within=["sex"], window=0.1).protect(frame, seed=2)
    for _, group in frame.groupby("sex", dropna=False):
        old = group["income"].dropna()
        new = after.datasets[0].loc[old.index, "income"]
        ranks = old.rank(method="first") - new.rank(method="first")
        assert ranks.abs().max() <= 0.1 * len(old) + old.duplicated().sum()


def test_a_category_goes_to_any_partner_of_its_group_alike():
    """Chi-squared of whom the first of six people swaps with: uniform over the other five."""
    frame = pd.DataFrame({"k": ["a"] * 6 + ["b"] * 2, "c": list("uvwxyzpq")})
    recipe = vd.Swap(columns=["c"], within=["k"])
    got = [recipe.protect(frame, seed=seed).datasets[0]["c"].iloc[0] for seed in range(600)]
    counts = pd.Series(got).value_counts().reindex(list("vwxyz"), fill_value=0)
    assert counts.sum() == 600  # never its own: six people make three pairs
    assert stats.chisquare(counts).pvalue > 1e-5
    control = [counts.sum() - 4, 1, 1, 1, 1]  # always the same neighbour
    assert stats.chisquare(control).pvalue < 1e-5


@pytest.mark.parametrize("broken", ["across groups", "new value", "too far"])
def test_a_release_that_broke_the_promise_is_found(broken):
    frame = people(size=300).dropna().sort_values("income").reset_index(drop=True)
    after = frame.copy()
    ends = frame.index[frame["sex"] == "f"]
    if broken == "across groups":
        i, j = ends[0], frame.index[frame["sex"] == "m"][-1]
        after.loc[[i, j], "income"] = frame.loc[[j, i], "income"].to_numpy()
    elif broken == "new value":
        after.loc[3, "income"] = 123456.0
    else:
        i, j = ends[0], ends[-1]
        after.loc[[i, j], "income"] = frame.loc[[j, i], "income"].to_numpy()
    evidence = Evidence(open_table(after), open_table(frame), np.arange(len(frame)))
    settings = {"columns": ["income"], "within": ["sex"], "window": 0.05}
    count = carried_too_far if broken == "too far" else foreign_values
    assert count(evidence, settings) >= 1
    assert (
        count(Evidence(open_table(frame), open_table(frame), np.arange(len(frame))), settings) == 0
    )
    if broken == "across groups":  # without the keys nobody would see it
        assert foreign_values(evidence, {"columns": ["income"]}) == 0


def test_people_who_are_alone_keep_their_values_and_the_holder_is_told():
    frame = people(size=100).assign(age=lambda d: range(len(d)))
    with pytest.warns(SwapWarning, match="100 people .* alone with their age"):
        release = vd.Swap(columns=["area"], within=["age"]).protect(frame, seed=1)
    assert release.datasets[0]["area"].equals(frame["area"])


PLAN = """
[source]
path = "t.csv"

[columns.sex]
role = "quasi-identifier"
[columns.age]
role = "quasi-identifier"
[columns.area]
role = "sensitive"
[columns.income]
role = "sensitive"

[[step]]
method = "swap"
columns = ["area", "income"]
within = ["sex", "age"]

[release]
folder = "out/release"

[custodian]
folder = "safe/record"
"""


def test_it_runs_from_a_plan_and_verifies(tmp_path, veladura):
    people().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN)
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "people with the same sex, age" in veladura("verify", "out/release", cwd=tmp_path).stdout
    manifest = json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())
    assert manifest["steps"][0]["settings"]["within"] == ["sex", "age"]


def test_wrong_settings_are_refused_in_words():
    frame = people()
    with pytest.raises(PlanError, match=r"within=\[\.\.\.\]"):
        vd.Swap(columns=["area"]).protect(frame, seed=1)
    with pytest.raises(PlanError, match="both swapped and in within"):
        vd.Swap(columns=["area"], within=["area"])
    with pytest.raises(PlanError, match="list of different columns"):
        vd.Swap(columns=["area"], within="sex")
    with pytest.raises(ColumnError):
        vd.Swap(columns=["area"], within=["nobody"]).protect(frame, seed=1)
