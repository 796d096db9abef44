"""risky.csv: recounted with pandas, private, and never in the release folder."""

from __future__ import annotations

import stat

import numpy as np
import pandas as pd
import pytest

import veladura as vd

ROLES = {"age": {"role": "quasi-identifier"}, "sex": {"role": "quasi-identifier"}}


@pytest.fixture
def people():
    rng = np.random.default_rng(9)
    n = 200
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(list("abcd"), n),
            "income": rng.lognormal(10, 0.5, n).round(-2),
        }
    )


def saved(release, home):
    release.save(home / "out" / "release", custodian=home / "safe" / "record")
    return home / "safe" / "record" / "risky.csv"


def test_the_people_at_risk_are_listed(people, tmp_path):
    release = vd.Recode(columns={"age": {"round": 5}}).protect(vd.open(people, ROLES), seed=1)
    path = saved(release, tmp_path)
    risky = pd.read_csv(path)
    after = release.datasets[0]
    size = after.groupby(["age", "sex"])["job"].transform("size")
    keys = ["age", "sex", "job", "income"]
    exact = after.groupby(["age", "sex", "job", "income"])["job"].transform("size") == 1
    by_register = set(risky.loc[risky["found by"].str.contains("register"), "row"])
    assert by_register == set(np.flatnonzero(size == 1))
    assert set(risky.loc[risky["found by"].str.contains("everything"), "row"]) == set(
        np.flatnonzero(exact)
    )
    assert risky["people sharing"].tolist() == size.iloc[risky["row"]].tolist()
    assert risky["individual risk"].to_numpy() == pytest.approx(
        1 / risky["people sharing"], abs=1e-6
    )
    assert risky["people sharing"].is_monotonic_increasing
    for name in keys:
        assert risky[f"released {name}"].tolist() == after[name].iloc[risky["row"]].tolist()


def test_columns_that_tell_most_have_the_largest_share(people, tmp_path):
    frame = people.assign(code=range(len(people)))
    release = vd.Recode(columns={"age": {"round": 5}}).protect(vd.open(frame, ROLES), seed=1)
    risky = pd.read_csv(saved(release, tmp_path))
    shares = risky[[name for name in risky if name.startswith("share of ")]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1, abs=0.01)
    assert (shares["share of code"] > shares["share of job"]).all()


def test_only_the_custodian_has_it(people, tmp_path):
    release = vd.Noise(columns=["income"]).protect(people, seed=1)
    path = saved(release, tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list((tmp_path / "out").rglob("risky*"))


def test_synthetic_rows_are_nobodys(people, tmp_path):
    domain = {"sex": ["f", "m"], "job": list("abcd")}
    release = vd.DirichletMultinomial(columns=["sex", "job"], domain=domain, epsilon=2.0).protect(
        people
    )
    assert not saved(release, tmp_path).exists()


def test_weights_give_the_individual_risk(people, tmp_path):
    frame = people.assign(w=50.0)
    table = vd.open(frame, {**ROLES, "w": {"role": "weight"}})
    release = vd.Noise(columns=["income"]).protect(table, seed=1)
    risky = pd.read_csv(saved(release, tmp_path))
    risk = vd.risk.individual(release.datasets[0], ["age", "sex"], weight="w").per_record
    assert risky["individual risk"].to_numpy() == pytest.approx(risk[risky["row"]], abs=1e-6)
