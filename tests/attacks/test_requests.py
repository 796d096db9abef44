"""Attack: two recipients of one office, one with classes, the other with rows and a common column.

The first file has classes of ages and ZIP codes with exact costs; the second has no classes: the
exact costs, noisy incomes, and the employer of each person. Somebody who knows people's ages, ZIP
codes and employers takes the costs of an employer's people from the second file, and looks for them
in the class of a person in the first. The office refuses to hand out both when fewer than k rows
are left for somebody; the number is that of the attack.
"""

from __future__ import annotations

import re
from itertools import combinations

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


def covers(group, age, zip_):
    """Return whether a released class is that of a person."""
    ages = [int(n) for n in re.findall(r"\d+", group[0])]
    in_age = age == ages[0] if len(ages) == 1 else ages[0] <= age < ages[1]
    return in_age and zip_.startswith(group[1].rstrip("*"))


def attacked(people, classes, rows):
    """Return whom the attack leaves among fewer than five rows of their class, rightly."""
    at_work = rows.groupby(rows["employer"].astype(str))["cost"].agg(set)
    files = {
        group: frame["cost"].tolist()
        for group, frame in classes.astype({"age": str, "zip": str}).groupby(["age", "zip"])
    }
    found = 0
    for age, zip_, employer, cost in people[["age", "zip", "employer", "cost"]].itertuples(
        index=False
    ):
        (group,) = (group for group in files if covers(group, age, str(zip_)))
        left = [other for other in files[group] if other in at_work[employer]]
        found += cost in left and len(left) < 5
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


def test_costs_that_are_all_the_same_link_nobody(tmp_path, monkeypatch):
    """The control: every person of a class has the cost of everybody else's."""
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    people = office(tmp_path, rounded=True)
    people["cost"] = 1_000
    people.to_csv(tmp_path / "people.csv", index=False)
    plan = read_plan(tmp_path / "plan.toml")
    assert attacked(people, *released(tmp_path, plan)) == 0
    outcomes, (told,) = run_requests(plan)
    assert list(outcomes) == ["classes", "rows"]
    assert "nobody is among fewer than k = 5 by cost" in told


def test_costs_that_few_share_are_refused_with_the_number_of_the_attack(tmp_path, monkeypatch):
    """Rounded to thousands a cost is no name, and still takes people out of their class."""
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    people = office(tmp_path, rounded=True)
    plan = read_plan(tmp_path / "plan.toml")
    found = attacked(people, *released(tmp_path, plan))
    assert 0 < found < 400
    with pytest.raises(GateError, match=f"{found:,} people of classes"):
        run_requests(plan)


def without_classes_of_zip(path, *requests):
    """Write the plan with classes of ages only, and other recipients."""
    text = PLAN[: PLAN.index("[[request]]")].replace('["age", "zip"]', '["age"]')
    text = text.replace(", zip = {masked = 1}}", "}")
    text = text.replace(
        'zip = {role = "quasi-identifier", kind = "category"}', 'zip = {role = "dropped"}'
    )
    for name, columns in requests:
        text += f'[[request]]\nname = "{name}"\ncolumns = {columns}\n'
    path.write_text(text, encoding="utf-8")
    return read_plan(path)


def files_of(tmp_path, plan):
    """Return the file of each recipient, as an office makes them that asks about each alone."""
    files = {}
    for name, own in plans_of(plan).items():
        path = tmp_path / f"{name}.toml"
        text = own.text.replace('"out/', '"careless/').replace('"safe/', '"record/')
        path.write_text(text, encoding="utf-8")
        run(read_plan(path))
        files[name] = pd.read_parquet(tmp_path / "careless" / name / "data" / "dataset-1.parquet")
    return files


def found_by_age(people, classes, costs):
    """Return whom fewer than five rows of their class of ages fit that have a possible cost."""
    held = {
        group: frame["cost"].tolist()
        for group, frame in classes.astype({"age": str}).groupby("age")
    }
    found = 0
    for person in people.itertuples(index=False):
        (group,) = (g for g in held if covers((g, ""), person.age, ""))
        left = [cost for cost in held[group] if cost in costs(person)]
        found += person.cost in left and len(left) < 5
    return found


def test_an_exact_column_of_another_k_anonymous_file_finds_people(tmp_path, monkeypatch):
    """Both files are 5-anonymous, by age and by sex; the second has the employers, as they are."""
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    people = office(tmp_path, rounded=False)
    people["sex"] = np.random.default_rng(3).choice(["m", "w"], len(people))
    people.to_csv(tmp_path / "people.csv", index=False)
    plan = without_classes_of_zip(
        tmp_path / "plan.toml", ("ages", ["age", "cost"]), ("sexes", ["sex", "employer", "cost"])
    )
    text = plan.text.replace('["age"]\nhier', '["age", "sex"]\nhier')
    text = text.replace("zip = {role", 'sex = {role = "quasi-identifier"}\nzip = {role')
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = read_plan(tmp_path / "plan.toml")
    files = files_of(tmp_path, plan)
    rows = files["sexes"].astype({"employer": str, "sex": str})
    held = rows.groupby(["employer", "sex"])["cost"].agg(set)
    found = found_by_age(people, files["ages"], lambda who: held.get((who.employer, who.sex), ()))
    assert found > 200
    with pytest.raises(GateError, match=f"{found:,} people of ages are found in sexes"):
        run_requests(plan)
    assert not (tmp_path / "out").exists()


def test_three_files_find_people_whom_no_two_of_them_find(tmp_path, monkeypatch):
    """The employer leads to incomes, these in a third file to costs, and costs to the class."""
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    people = office(tmp_path, rounded=False)
    people["wage"] = np.random.default_rng(3).lognormal(8, 0.8, len(people)).round().astype(int)
    people.to_csv(tmp_path / "people.csv", index=False)
    requests = [
        ("ages", ["age", "cost"]),
        ("work", ["employer", "wage", "income"]),
        ("money", ["wage", "cost", "income"]),
    ]
    plan = without_classes_of_zip(tmp_path / "plan.toml", *requests)
    text = plan.text.replace(
        "income = {role", 'wage = {role = "sensitive", exact = "asked for"}\nincome = {role'
    )
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = read_plan(tmp_path / "plan.toml")
    files = files_of(tmp_path, plan)
    work = files["work"].astype({"employer": str})
    both = work.merge(files["money"], on=["wage", "income"]).groupby("employer")["cost"].agg(set)
    found = found_by_age(people, files["ages"], lambda who: both.get(who.employer, ()))
    assert found > 200
    with pytest.raises(GateError, match=f"ages, work and money: {found:,} people of ages"):
        run_requests(plan)
    assert not (tmp_path / "out").exists()
    for two in combinations(requests, 2):  # the control: any two of them pass
        own = text[: text.index("[[request]]")].replace("out", "-".join(name for name, _ in two))
        own += "".join(f'[[request]]\nname = "{n}"\ncolumns = {columns}\n' for n, columns in two)
        (tmp_path / "plan.toml").write_text(own, encoding="utf-8")
        run_requests(read_plan(tmp_path / "plan.toml"), force=True)
