"""A drafted plan with a weight has a calibration in comments, which runs once it is filled in."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pandas as pd
import pytest
import tomli_w

from veladura.plan.draft import draft
from veladura.plan.reading import read_plan
from veladura.plan.run import run


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "age": rng.integers(18, 90, 400)})
    region = rng.integers(1, 9, 400)
    frame["weight"] = np.round(rng.uniform(50, 400, 9)[region] * rng.uniform(0.9, 1.1, 400), 2)
    frame.to_csv(tmp_path / "people.csv", index=False)
    return frame


def calibration(text: str) -> str:
    """Return the commented step as one would write it."""
    lines = text.split("Weights that add up to known totals", 1)[1].splitlines()
    step = [line.removeprefix("#").strip() for line in lines if line.startswith("#   ")]
    return "\n".join(step) + "\n"


def test_the_step_in_comments_runs_once_totals_are_written(people, tmp_path):
    text = draft(str(tmp_path / "people.csv"), home=tmp_path)
    assert "calibrate" not in str(tomllib.loads(text)["step"])
    step = calibration(text)
    assert tomllib.loads(step)["step"][0] == {
        "method": "calibrate",
        "column": "weight",
        "totals": {"sex": {"f": 0, "m": 0}},
    }
    total = round(people["weight"].sum())
    filled = step.replace("f = 0", f"f = {total // 2}").replace("m = 0", f"m = {total // 2}")
    tables = tomllib.loads(text)
    kept = [own for own in tables["step"] if own["method"] != "reweight"]
    assert len(kept) < len(tables["step"])
    tables["step"] = [*kept, *tomllib.loads(filled)["step"]]
    tables["columns"]["weight"]["exact"] = "weights are public"
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(tables), encoding="utf-8")
    plan = read_plan(tmp_path / "plan.toml")
    assert [type(each).__name__ for each in plan.steps][-1] == "Calibrate"
    data = run(plan).release.datasets[0]
    assert data.groupby("sex")["weight"].sum().tolist() == pytest.approx([total // 2] * 2, rel=1e-3)


def test_a_table_without_a_weight_has_no_calibration(people, tmp_path):
    people.drop(columns="weight").to_csv(tmp_path / "people.csv", index=False)
    assert "calibrate" not in draft(str(tmp_path / "people.csv"), home=tmp_path)


def test_drafted_bounds_are_powers_of_ten_for_the_holder_to_confirm(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 3000)})
    frame["income"] = rng.lognormal(10, 0.5, 3000).clip(max=129_000).round(1)
    frame["debt"] = -rng.uniform(0, 0.49, 3000).round(3)
    frame.loc[0, ["income", "debt"]] = [130_000, -0.49]
    frame.to_csv(tmp_path / "people.csv", index=False)
    text = draft(str(tmp_path / "people.csv"), home=tmp_path, method="marginals")
    plan = tomllib.loads(text)
    assert plan["step"][0]["bounds"] == {"income": [0.0, 1_000_000.0], "debt": [-1.0, 0.0]}
    assert any(re.search("bounds", line) for line in plan["unconfirmed"])
