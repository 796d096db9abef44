"""The skeleton of a new method works as it is pasted: it keeps the contract, and what it promises can be broken."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core import registry
from veladura.errors import PlanError

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def skeleton(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "pasted_rounding.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(registry.METHODS, "random-rounding", ("pasted_rounding", "RandomRounding"))
    return registry.find("random-rounding")


def test_the_skeleton_keeps_the_contract_and_runs_from_a_plan(skeleton, veladura, tmp_path):
    vd.testing.check_recipe(skeleton(columns=["income"], base=1000))
    pd.DataFrame({"sex": ["f", "m"] * 50, "income": range(100)}).to_csv(
        tmp_path / "people.csv", index=False
    )
    for arguments in (
        ["init", "people.csv", "--method", "random-rounding"],
        ["run", "plan.toml"],
        ["verify", "release/people"],
    ):
        done = veladura(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "is a multiple of 5" in done.stdout


def test_it_does_what_it_says(skeleton):
    """Claim: the mean stays. 20,000 values of one number at level 1e-5; rounding down only is the control."""
    frame = pd.DataFrame({"x": np.full(20_000, 7), "y": range(20_000)})
    released = skeleton(columns=["x"], base=5).protect(frame, seed=0).datasets[0]["x"]
    assert set(released) == {5, 10}
    spread = np.sqrt(0.4 * 0.6 / 20_000) * 5
    assert abs(released.mean() - 7) < 4.4 * spread < abs((frame["x"] // 5 * 5).mean() - 7)
    with pytest.raises(PlanError, match="at least 2"):
        skeleton(columns=["x"], base=1)
