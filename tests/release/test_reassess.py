"""A package with source and record gives the figures that the release in memory gave."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(120)],
            "sex": rng.choice(list("fm"), 120),
            "income": rng.lognormal(10, 1, 120).round(),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def saved(people, recipe, tmp_path):
    table = vd.open(people, {"name": {"role": "identifier"}, "sex": {"role": "quasi-identifier"}})
    release = recipe.protect(table, seed=3)
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    return release, tmp_path / "out" / "release", tmp_path / "safe" / "record" / "record.json"


@pytest.mark.parametrize(
    "recipe",
    [vd.Noise(columns=["income"], scale=0.1), vd.Cart(columns=["income"], m=3)],
    ids=["noise", "cart"],
)
def test_figures_of_aligned_rows_come_back(people, recipe, tmp_path):
    release, folder, record = saved(people, recipe, tmp_path)
    loaded = vd.load(folder)
    assert loaded.rows is None
    linked = vd.with_source(loaded, people, record)
    for before, after, dataset in zip(
        release.datasets, linked.datasets, linked.tables, strict=True
    ):
        place = np.argsort(dataset.rows)
        assert before["income"].tolist() == pytest.approx(
            after["income"].to_numpy()[place].tolist()
        )
    memory, package = vd.assess(people, release), vd.assess(people, loaded, record=record)
    for name in (
        "risk.match.emr",
        "risk.match.tmr",
        "risk.match.fmr",
        "risk.unchanged.cells",
        "risk.linkage.correct",
    ):
        assert float(package[name]) == pytest.approx(float(memory[name]))
    assert "not linked" in vd.assess(people, loaded).figures["risk.match.emr"].why


def test_any_order_of_the_source_links_alike(people, tmp_path):
    release, folder, record = saved(people, vd.Noise(columns=["income"], scale=0.1), tmp_path)
    mixed = pd.read_csv(people).sample(frac=1, random_state=1)
    again = vd.assess(mixed, vd.load(folder), record=record)
    assert float(again["risk.match.emr"]) == pytest.approx(
        float(vd.assess(people, release)["risk.match.emr"])
    )


def test_new_rows_have_an_original_and_no_link(people, tmp_path):
    table = vd.open(people, {"name": {"role": "identifier"}})
    domain = {"sex": ["f", "m"]}
    release = vd.DirichletMultinomial(columns=["sex"], domain=domain, epsilon=1.0).protect(table)
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    linked = vd.with_source(
        vd.load(tmp_path / "out" / "release"), people, tmp_path / "safe" / "record" / "record.json"
    )
    assert linked.original is not None
    assert linked.rows is None


def test_a_source_or_record_that_does_not_fit_is_refused(people, tmp_path):
    _, folder, record = saved(people, vd.Noise(columns=["income"]), tmp_path)
    other = tmp_path / "other.csv"
    other.write_text(people.read_text().replace("p1,", "q1,"))
    with pytest.raises(PlanError, match="not the table"):
        vd.with_source(vd.load(folder), other, record)
    with pytest.raises(PlanError, match="not the table"):
        vd.with_source(vd.load(folder), pd.read_csv(people).iloc[:30], record)
    _, _, twice = saved(people, vd.Cart(columns=["income"], m=2), tmp_path / "twice")
    with pytest.raises(PlanError, match="does not belong"):
        vd.with_source(vd.load(folder), people, twice)
    with pytest.raises(PlanError, match="cannot be read as a record"):
        vd.with_source(vd.load(folder), people, tmp_path / "none.json")
