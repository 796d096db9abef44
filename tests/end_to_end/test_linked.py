"""Linked tables from two files to a verified release; tables below drawn given those above."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.table.test_linked import chain, people_and_visits
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.core.linked import CHECKS
from veladura.core.promise import Evidence, prove
from veladura.errors import NotApplicable, PlanError, PromiseError


@pytest.fixture(scope="module")
def tables():
    return people_and_visits(2000)


@pytest.fixture(scope="module")
def release(tables):
    return vd.HouseholdCart(m=1).protect(vd.open_linked(*chain(*tables, key="visit")), seed=2)


def history(people: pd.DataFrame, visits: pd.DataFrame, link: str) -> dict[str, float]:
    """Return how many visits people have, and how a visit depends on the one before."""
    number = visits.groupby(link).size().reindex(people.who).fillna(0).to_numpy()
    old = (people.age > 60).to_numpy()
    rows = visits.sort_values([link, "day"])
    cost = np.log(rows.cost)
    before = cost.groupby(rows[link]).shift()
    known = before.notna()
    return {
        "mean": number.mean(),
        "none": (number == 0).mean(),
        "old": number[old].mean(),
        "young": number[~old].mean(),
        "lag": np.arctanh(np.corrcoef(cost[known], before[known])[0, 1]),
        "gap": rows.day.groupby(rows[link]).diff().mean(),
    }


def test_visits_are_drawn_given_people_and_the_visits_before(tables, release):
    """At 4.9 standard errors of a resample, twice (a sample and a draw)."""
    people, visits = tables
    parts = release.linked()
    truth = history(people, visits, "patient")
    found = history(parts["people"], parts["visits"], "who")
    n, v = len(people), len(visits)
    old = (people.age > 60).mean()
    sd = truth["mean"] ** 0.5 * 1.1
    error = {
        "mean": sd / n**0.5,
        "none": (0.2 * 0.8 / n) ** 0.5,
        "old": sd * 1.3 / (n * old) ** 0.5,
        "young": sd / (n * (1 - old)) ** 0.5,
        "lag": 1 / (v / 2) ** 0.5,
        "gap": 16 / (v / 2) ** 0.5,
    }
    for name, value in truth.items():
        assert abs(found[name] - value) < 4.9 * np.sqrt(2) * error[name], name
    shuffled = parts["visits"].assign(
        who=np.random.default_rng(1).permutation(parts["visits"].who)
    )  # the control: visits of others
    alone = history(parts["people"], shuffled, "who")
    assert abs(alone["lag"] - truth["lag"]) > 10 * error["lag"]


def test_every_key_is_new_and_every_visit_has_its_person(tables, release):
    parts = release.linked()
    assert sorted(parts["people"].who) == list(range(1, len(tables[0]) + 1))
    assert set(parts["visits"].who) <= set(parts["people"].who)
    assert not parts["visits"].duplicated(["who", "day"]).any()
    assert parts["visits"].notna().all().all()
    assert {"linked-tables", "distinct", "unit-columns"} <= {p.name for p in release.promises}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda f: f.assign(age=np.arange(len(f))),  # one key, two people
        lambda f: f.assign(cost=1.0),  # who has no visit has a cost
        lambda f: f.drop(columns="who"),
    ],
)
def test_the_check_of_links_sees_a_broken_release(release, spoil):
    promise = next(p for p in release.promises if p.name == "linked-tables")
    roles = {"who": {"role": "person"}}
    frame = release.datasets[0]
    for one, status in ((frame, "holds"), (spoil(frame), "broken")):
        table = vd.open(one, roles if "who" in one else {}).without_identifiers()
        assert prove(promise, Evidence(table), CHECKS).status == status


def test_what_a_method_cannot_do_with_linked_tables_is_refused_in_words(tables):
    table = vd.open_linked(*chain(*tables, key="visit"))
    with pytest.raises(PlanError, match="draws new rows without keys"):
        vd.Cart(m=1).protect(table, seed=1)
    with pytest.raises(PromiseError, match="Linked tables"):
        vd.Noise(columns=["age"], scale=0.1).protect(table, seed=1)
    kept = vd.Noise(columns=["cost"], scale=0.1).protect(table, seed=1)
    assert {name: len(part) for name, part in kept.linked().items()} == {
        "people": len(tables[0]),
        "visits": len(tables[1]),
    }
    with pytest.raises(NotApplicable, match="nothing is linked"):
        vd.Noise(columns=["age"], scale=0.1).protect(tables[0], seed=1).linked()


def test_two_files_become_a_verified_release_by_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people, visits = people_and_visits(600)
    people.to_csv("people.csv", index=False)
    visits.to_csv("visits.csv", index=False)
    run = CliRunner()
    for command in (
        ["init", "visits.csv", "people.csv", "--method", "households"],
        ["confirm", "plan.toml", "--accept-all"],
        ["run", "plan.toml", "--quiet"],
        ["verify", "release/people"],
        ["split", "release/people", "--out", "tables"],
    ):
        result = run.invoke(app, command)
        assert result.exit_code == 0, (command, result.output, result.exception)
    plan = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert plan.count("[[table]]") == 2
    first = pd.read_csv("tables/people-1.csv")
    assert len(first) == len(people)
    assert set(pd.read_csv("tables/visits-1.csv").who) <= set(first.who)
    again = run.invoke(app, ["split", "release/people", "--out", "tables"])
    assert again.exit_code != 0  # nothing is overwritten
    inside = run.invoke(app, ["split", "release/people", "--out", "release/people/tables"])
    assert inside.exit_code != 0
