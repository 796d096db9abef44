"""Dates that follow one another: found by `init`, confirmed by the holder, kept in every row."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.methods.cart.rules import find_rules

DAY = np.timedelta64(1, "D")


def dates(rng, rows=600):
    """Return when people were referred, admitted and discharged, and when they were born."""
    admitted = np.datetime64("2022-01-01") + rng.integers(0, 700, rows) * DAY
    return pd.DataFrame(
        {
            "referred": admitted - rng.geometric(0.05, rows) * DAY,
            "admitted": admitted,
            "discharged": admitted + (rng.geometric(0.2, rows) - 1) * DAY,
            "born": np.datetime64("1940-01-01") + rng.integers(0, 20_000, rows) * DAY,
            "seen": np.datetime64("2022-01-01") + rng.integers(0, 700, rows) * DAY,
            "ward": rng.choice(["a", "b"], rows),
        }
    )


def rules_of(frame):
    return set(find_rules(vd.open(frame).codes(list(frame)).columns))


def test_dates_that_follow_one_another_are_found_and_no_others():
    """Births are before everything: they need no rule. What follows from two rules is left out."""
    frame = dates(np.random.default_rng(1))
    assert rules_of(frame) == {"referred <= admitted", "admitted <= discharged"}


@pytest.mark.parametrize(("wrong", "found"), [(1, True), (5, False)])
def test_one_wrong_row_in_a_thousand_is_allowed(wrong, found):
    frame = dates(np.random.default_rng(2), 2000)[["admitted", "discharged"]]
    frame.loc[: wrong - 1, "discharged"] = frame["admitted"] - 3 * DAY
    assert (rules_of(frame) == {"admitted <= discharged"}) == found


def test_the_same_date_twice_is_no_order():
    frame = dates(np.random.default_rng(3))[["admitted"]]
    assert rules_of(frame.assign(again=frame["admitted"])) == set()


def test_a_drafted_release_keeps_them(tmp_path, veladura):
    dates(np.random.default_rng(4)).to_csv(tmp_path / "stays.csv", index=False)
    assert veladura("init", "stays.csv", "--method", "cart", cwd=tmp_path).returncode == 0
    plan = tomllib.loads((tmp_path / "plan.toml").read_text(encoding="utf-8"))
    assert "admitted <= discharged" in plan["step"][0]["rules"]
    assert veladura("confirm", "plan.toml", "--accept-all", cwd=tmp_path).returncode == 0
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for data in vd.load(tmp_path / plan["release"]["folder"]).datasets:
        assert (data["referred"] <= data["admitted"]).all()
        assert (data["admitted"] <= data["discharged"]).all()
