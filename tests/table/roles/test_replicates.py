"""Replicate weights with zeros are found by what they are: a weight times a few factors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.plan.draft import draft
from veladura.plan.reading import plan_in
from veladura.table.roles.guess import guess_roles

pytestmark = pytest.mark.quick


def people(rng: np.random.Generator, rows: int = 600) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "pay": np.round(np.exp(rng.normal(7.4, 0.6, rows))),
            "z": np.round(rng.gamma(8, 4, rows) + 3, 1),
        }
    )


def factors(rng: np.random.Generator, how: str) -> np.ndarray:
    """Return the factor of each of 600 rows in each replicate; clusters have 30 rows."""
    cluster = np.repeat(np.arange(20), 30)
    if how == "jackknife":
        return np.where(cluster[:, None] == np.arange(20), 0.0, 20 / 19)
    if how == "brr":
        return np.where(rng.permutation(np.tile([0, 1], (8, 10)).T)[cluster] == 1, 2.0, 0.0)
    drawn = rng.multinomial(19, np.full(20, 1 / 20), size=30).T[cluster]
    return drawn * 20 / 19


@pytest.mark.parametrize("how", ["jackknife", "brr", "bootstrap"])
@pytest.mark.parametrize("stem", ["rep", "wgt_rep_", "g"])
def test_replicates_with_zeros_and_their_weight_are_found(how, stem):
    rng = np.random.default_rng(7)
    frame = people(rng)
    made = np.round(frame["z"].to_numpy()[:, None] * factors(rng, how), 3)
    names = [f"{stem}{i + 1}" for i in range(made.shape[1])]
    found = guess_roles(vd.open(frame.assign(**dict(zip(names, made.T, strict=True)))))
    assert found["z"].role == "weight"
    assert {found[name].role for name in names} == {"replicate weight"}
    known = how if how != "bootstrap" else ""
    assert {found[name].replication for name in names} == {known}
    # the control: the same numbers without replicates are no weight
    assert guess_roles(vd.open(frame))["z"].role != "weight"


def test_the_clusters_that_a_jackknife_leaves_out_are_found():
    """Weights of people differ within clusters, so that only the replicates tell."""
    rng = np.random.default_rng(7)
    frame = people(rng).assign(zone=np.repeat(rng.permutation(np.arange(3, 63, 3)), 30))
    frame = frame.assign(town=rng.integers(101, 121, 600))  # the control
    made = np.round(frame["z"].to_numpy()[:, None] * factors(rng, "jackknife"), 3)
    names = [f"rep{i + 1}" for i in range(made.shape[1])]
    found = guess_roles(vd.open(frame.assign(**dict(zip(names, made.T, strict=True)))))
    assert [name for name in found if found[name].role == "cluster"] == ["zone"]
    assert guess_roles(vd.open(frame))["zone"].role != "cluster"


def test_numbered_columns_that_are_no_multiples_stay_what_they_are():
    rng = np.random.default_rng(8)
    frame = people(rng)
    controls = {
        "yes or no": rng.integers(0, 2, (600, 6)),
        "a scale": rng.integers(1, 6, (600, 6)),
        "amounts": np.round(rng.gamma(8, 4, (600, 6)), 1),
        "shares of the amount": np.round(frame["z"].to_numpy()[:, None] * rng.random((600, 6)), 1),
        "amounts of a few who bought": np.where(
            rng.random((600, 6)) < 0.3, np.round(rng.gamma(8, 4, (600, 6)), 1), 0
        ),
    }
    for what, values in controls.items():
        items = {f"q{i}": column for i, column in enumerate(values.T)}
        found = guess_roles(vd.open(frame.assign(**items)))
        assert not [n for n in items if found[n].role == "replicate weight"], what
        assert found["z"].role != "weight", what


def test_a_drafted_plan_declares_how_they_were_made(tmp_path):
    rng = np.random.default_rng(9)
    frame = people(rng)
    made = np.round(frame["z"].to_numpy()[:, None] * factors(rng, "jackknife"), 3)
    names = [f"rep{i + 1}" for i in range(20)]
    frame.assign(**dict(zip(names, made.T, strict=True))).to_csv(tmp_path / "p.csv", index=False)
    text = draft(str(tmp_path / "p.csv"), home=tmp_path, audience="researchers")
    columns = plan_in(text, tmp_path).columns
    assert {columns[name].replication for name in names} == {"jackknife"}
    assert columns["z"].role == "weight"
