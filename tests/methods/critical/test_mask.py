"""Critical cells given one by one, handed out, sampled; orders of replacement compared."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.steps import Steps
from veladura.errors import DataError, PlanError


def people(seed=0, size=400):
    rng = np.random.default_rng(seed)
    wage = rng.lognormal(8, 0.6, size).round(-1)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, size),
            "wage": wage,
            "rent": (wage * rng.lognormal(-1, 0.4, size)).round(-1),
        }
    )


def cells(frame, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.random((len(frame), 2)) < [0.3, 0.15], columns=["wage", "rent"])


@pytest.mark.parametrize("groups", [[], [["wage", "rent"]]])
def test_exactly_the_marked_cells_are_replaced(groups):
    frame = people()
    mask = cells(frame)
    release = vd.CriticalCart(critical=mask, groups=groups, m=3).protect(frame, seed=1)
    for data in release.datasets:
        for name in ("wage", "rent"):
            changed = data[name] != frame[name]
            assert not changed[~mask[name]].any()  # nothing else, bit for bit
            assert changed[mask[name]].mean() > 0.9
        assert data["age"].equals(frame["age"])


def test_a_mask_and_a_condition_must_both_hold():
    frame = people()
    mask = cells(frame)[["wage"]]
    recipe = vd.CriticalCart(critical={"wage": "wage > 4000"}, mask=mask, groups=[], m=2)
    data = recipe.protect(frame, seed=1).datasets[0]
    here = mask["wage"] & (frame["wage"] > 4000)
    assert not (data["wage"] != frame["wage"])[~here].any()
    assert recipe.indicators(frame)["wage_replaced"].equals(here.rename("wage_replaced"))


def test_the_order_of_rows_decides_nothing_but_their_place():
    frame, order = people(), np.random.default_rng(3).permutation(400)
    mask = cells(frame)
    one = vd.CriticalCart(critical=mask, groups=[], m=2).protect(frame, seed=5).datasets[0]
    other = vd.CriticalCart(critical=mask.iloc[order], groups=[], m=2)
    two = other.protect(frame.iloc[order].reset_index(drop=True), seed=5).datasets[0]
    pd.testing.assert_frame_equal(one.iloc[order].reset_index(drop=True), two)


PLAN = """
[source]
path = "t.csv"

[columns.age]
role = "quasi-identifier"
[columns.wage]
role = "sensitive"
exact = "made up"
[columns.rent]
role = "sensitive"
exact = "made up"

[[step]]
method = "critical-cart"
critical = {wage = "all", rent = "all"}
mask = "cells.csv"
order = ["rent", "wage"]
groups = []

[release]
folder = "out/release"

[custodian]
folder = "safe/record"
"""


def test_it_runs_from_a_plan_with_a_file_of_cells_and_nothing_of_it_is_released(tmp_path, veladura):
    frame = people()
    mask = cells(frame)
    frame.to_csv(tmp_path / "t.csv", index=False)
    mask.astype(int).to_csv(tmp_path / "cells.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN)
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert veladura("verify", "out/release", cwd=tmp_path).returncode in (0, 6)
    manifest = json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())
    assert "mask" not in json.dumps(manifest)
    record = next((tmp_path / "safe").rglob("record.json"))
    checked = veladura(
        "verify", "out/release", "--source", "t.csv", "--record", str(record), cwd=tmp_path
    )
    assert checked.returncode in (0, 6), checked.stderr


def test_indicators_are_handed_out_as_columns_on_asking():
    frame = people()
    recipe = vd.CriticalCart(critical={"wage": "wage > 4000"}, groups=[], m=2)
    told = recipe.protect(frame.join(recipe.indicators(frame)), seed=1)
    silent = recipe.protect(frame, seed=1)
    assert "wage_replaced" not in silent.datasets[0]
    assert "wage_replaced" in told.exact  # named in the manifest as released exactly
    changed = told.datasets[0]["wage"] != frame["wage"]
    assert not changed[~(frame["wage"] > 4000)].any()
    assert (told.datasets[0]["wage_replaced"].astype(str).str.lower() == "true").equals(
        frame["wage"] > 4000
    )


def test_only_some_rows_are_looked_at_and_released():
    """U_obs of the source: a sample of n of N rows, and critical cells among them only."""
    frame = people()
    chain = Steps((vd.Sample(fraction=0.5), vd.CriticalCart(critical=["wage"], groups=[], m=2)))
    release = chain.protect(frame, seed=1)
    assert all(len(data) == 200 for data in release.datasets)
    rows = np.asarray(release.rows if not isinstance(release.rows, list) else release.rows[0])
    kept = frame.iloc[rows].reset_index(drop=True)
    assert release.datasets[0]["age"].reset_index(drop=True).equals(kept["age"])


def test_orders_are_compared_on_the_same_table():
    frame = people(size=300)
    recipe = vd.CriticalCart(
        critical={"wage": "wage > 4000", "rent": "rent > 1500"}, groups=[], regrow=True, m=2
    )
    table = vd.compare_orders(recipe, frame, seeds=[1, 2])
    assert table.index[0] == ", ".join(recipe.fit(frame, seed=1).order)
    assert set(table.index) == {"wage, rent", "rent, wage"}
    assert (table["two_donors"] > 0.5).all()
    assert table["ks"].between(0, 0.5).all()
    assert (table["correlations"] < 0.2).all()
    # the control: shuffled critical values are farther from the original's correlations
    shuffled = frame.copy()
    rng = np.random.default_rng(0)
    for name in ("wage", "rent"):
        shuffled[name] = rng.permutation(shuffled[name])
    from scipy.stats import spearmanr

    lost = np.abs(
        np.nan_to_num(spearmanr(shuffled).statistic - spearmanr(frame).statistic)[1:]
    ).mean()
    assert (table["correlations"] < lost).all()


def test_wrong_masks_are_refused_in_words():
    frame = people()
    mask = cells(frame)
    with pytest.raises(DataError, match="the mask has 10 rows, the table 400"):
        vd.CriticalCart(critical=mask[:10], groups=[]).protect(frame, seed=1)
    with pytest.raises(PlanError, match="neither true nor false"):
        vd.CriticalCart(critical=mask.assign(wage="maybe"), groups=[])
    with pytest.raises(PlanError, match="the mask has the columns"):
        vd.CriticalCart(critical=["wage"], mask=mask, groups=[]).protect(frame, seed=1)
    with pytest.raises(PlanError, match="order must name each confidential column once"):
        vd.CriticalCart(critical=["wage"], order=["rent"], groups=[])
