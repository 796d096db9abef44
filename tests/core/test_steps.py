"""A chain never tells of a category that no released row holds."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError, PromiseError

FRAME = pd.DataFrame({"zip": ["a"] * 50 + ["b"], "sex": ["f", "m"] * 25 + ["x"], "age": [30] * 51})
ANONYMOUS = vd.KAnonymity(
    quasi_identifiers=["zip"], k=5, max_suppression=5, hierarchies={"zip": vd.Hierarchy.star()}
)
STILL = vd.Pram(columns=["sex"], matrix={"sex": {label: {label: 1.0} for label in ("f", "m", "x")}})


def test_a_category_whose_rows_a_later_step_drops_is_refused():
    with pytest.raises(PromiseError, match=r"pram would tell of categories of \['sex'\]") as error:
        vd.Steps([STILL, ANONYMOUS]).protect(FRAME, seed=1)
    assert "change the order" in str(error.value)
    assert "'x'" not in str(error.value)


def test_the_other_order_tells_of_what_is_left():
    manifest = vd.Steps([ANONYMOUS, STILL]).protect(FRAME, seed=1).manifest
    assert set(manifest["steps"][1]["settings"]["matrix"]["sex"]) == {"f", "m"}
    assert '"x"' not in json.dumps(manifest)


def test_what_the_holder_declared_may_be_told():
    groups = vd.Recode(columns={"sex": {"groups": {"rare": ["x"]}}})
    manifest = vd.Steps([groups, ANONYMOUS]).protect(FRAME, seed=1).manifest
    assert "rare" in json.dumps(manifest["steps"][0])


def test_pictures_of_values_that_a_later_step_replaces_are_the_custodians():
    frame = pd.DataFrame({"job": ["cook", "nurse"] * 60, "age": list(range(20, 80)) * 2})
    alone, chained = (
        vd.Cart(columns=["age"], m=2),
        vd.Steps([vd.Cart(columns=["age"], m=2), vd.TopCode(columns={"age": 60})]),
    )
    titles = [
        [
            any("synthetic distributions" in title for draw in shown for title in draw())
            for shown in (release.public_pictures, release.pictures)
        ]
        for release in (alone.protect(frame, seed=1), chained.protect(frame, seed=1))
    ]
    assert titles == [[True, False], [False, True]]


def test_a_table_that_does_not_fit_names_the_step_that_holds_it(tmp_path, monkeypatch):
    """Not the chain: the step is what to change."""
    path = tmp_path / "wide.parquet"
    pd.DataFrame({f"x{i}": np.arange(1_000.0) % 97 for i in range(12)}).to_parquet(path)
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    monkeypatch.setattr("veladura.base.memory.cells_within", lambda: 5_000)
    steps = vd.Steps([vd.TopCode(columns={"x1": 90.0}), vd.Swap(columns=["x0"])])
    with pytest.raises(PlanError, match="and the step 'swap' holds them all"):
        steps.protect(vd.open(path))
