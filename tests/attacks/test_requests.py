"""Attack: two recipients of one office, one with classes, the other with rows and a common column.

The first file has classes of ages and ZIP codes with exact costs; the second has no classes: the
exact costs, noisy incomes, and the employer of each person. Somebody who knows where people work
finds them in the second file, reads off the costs, and looks them up in the first. The office
refuses to hand out both when this attack finds somebody; the number is that of the attack.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from veladura.errors import GateError
from veladura.plan.reading import read_plan
from veladura.plan.requests import plans_of, run_requests
from veladura.plan.run import run

PLAN = """
[source]
path = "people.csv"
[columns]
id = {role = "identifier"}
age = {role = "quasi-identifier"}
zip = {role = "quasi-identifier", kind = "category"}
employer = {role = "undecided", kind = "category", exact = "asked for"}
cost = {role = "sensitive", exact = "asked for"}
income = {role = "sensitive"}
[[step]]
method = "k-anonymity"
k = 5
quasi_identifiers = ["age", "zip"]
hierarchies = {age = {widths = [10, 50]}, zip = {masked = 1}}
[[step]]
method = "noise"
columns = ["income"]
[release]
folder = "out"
[custodian]
folder = "safe"
[run]
seed = 5
[[request]]
name = "classes"
columns = ["age", "zip", "cost"]
[[request]]
name = "rows"
columns = ["employer", "cost", "income"]
"""


def office(tmp_path, *, rounded):
    rng = np.random.default_rng(8)
    people = pd.DataFrame({"id": [f"p{i:05d}" for i in range(1_200)]})
    people["age"] = rng.integers(20, 70, 1_200)
    people["zip"] = rng.choice([f"{a}{b}" for a in "12" for b in "0123456789"], 1_200)
    people["employer"] = rng.zipf(1.6, 1_200).clip(1, 300).astype(str)
    cost = rng.lognormal(7, 0.8, 1_200)
    people["cost"] = np.round(cost, -3 if rounded else 0).astype(int)
    people["income"] = rng.normal(30_000, 8_000, 1_200).round()
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return people


def released(tmp_path, plan):
    """Return both files, as an office makes them that asks about each request alone."""
    files = {}
    for name, own in plans_of(plan).items():
        path = tmp_path / f"{name}.toml"
        text = own.text.replace('"out/', '"careless/').replace('"safe/', '"record/')
        path.write_text(text, encoding="utf-8")
        run(read_plan(path))
        files[name] = pd.read_parquet(tmp_path / "careless" / name / "data" / "dataset-1.parquet")
    return files["classes"], files["rows"]


def attacked(people, classes, rows):
    """Return whom the attack finds: right about the class, with fewer than k others in doubt."""
    at_work = rows.groupby(rows["employer"].astype(str))["cost"].agg(list)
    in_classes = classes["cost"].value_counts()
    everywhere = rows["cost"].value_counts()
    found = 0
    for employer, cost in people[["employer", "cost"]].itertuples(index=False):
        candidates = at_work.get(employer, [])
        alone = in_classes.get(cost, 0) == 1 and everywhere.get(cost, 0) == 1
        found += len(candidates) < 5 and cost in candidates and alone
    return found


def test_what_the_office_refuses_is_what_the_attack_finds(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    people = office(tmp_path, rounded=False)
    plan = read_plan(tmp_path / "plan.toml")
    found = attacked(people, *released(tmp_path, plan))
    assert found > 50
    with pytest.raises(GateError, match=f"{found:,} people of classes are found in rows"):
        run_requests(plan)
    assert not (tmp_path / "out").exists()


def test_costs_that_people_share_link_nobody(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    people = office(tmp_path, rounded=True)
    plan = read_plan(tmp_path / "plan.toml")
    classes, rows = released(tmp_path, plan)
    lone = attacked(people, classes, rows)
    if lone:  # a cost that one person has links that person whatever is rounded
        with pytest.raises(GateError, match=f"{lone:,} people of classes"):
            run_requests(plan)
        return
    outcomes, told = run_requests(plan)
    assert list(outcomes) == ["classes", "rows"]
    assert len(told) == 1
