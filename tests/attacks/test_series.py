"""Attack: two yearly releases of one register, by someone who knows everybody's age and address.

From the two released files alone and the register of ages and addresses: for every person the class
of the first year, the class of the second, and how many others fit both. Each release is
5-anonymous on its own. What the register of past releases refuses is what this attack wins.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from veladura.errors import GateError
from veladura.plan.reading import read_plan
from veladura.plan.run import run

PLAN = """
[source]
path = "people.csv"
[columns]
id = {{role = "identifier"}}
age = {{role = "quasi-identifier"}}
zip = {{role = "quasi-identifier", kind = "category"}}
[[step]]
method = "k-anonymity"
k = {k}
quasi_identifiers = ["age", "zip"]
max_suppression = 0
levels = {{ age = {age}, zip = {zip} }}
[step.hierarchies.age]
widths = [10, 50]
[step.hierarchies.zip]
masked = 1
[release]
folder = "out/{name}"
[custodian]
folder = "safe/{name}"
{series}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    rng = np.random.default_rng(7)
    people = pd.DataFrame({"id": [f"p{i:05d}" for i in range(2_000)]})
    people["age"] = rng.integers(20, 70, 2_000)
    people["zip"] = rng.choice([f"{a}{b}" for a in "12" for b in "0123456789"], 2_000)
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def released(home, name, age, zip_, series='series = "register"', k=5):
    text = PLAN.format(age=age, zip=zip_, name=name, series=series, k=k)
    (home / f"{name}.toml").write_text(text, encoding="utf-8")
    run(read_plan(home / f"{name}.toml"))
    return pd.read_parquet(home / "out" / name / "data" / "dataset-1.parquet")


def fits(people, frame):
    """Return for every person the released class whose values cover the person's own."""
    classes = sorted(set(zip(frame["age"].astype(str), frame["zip"].astype(str), strict=True)))

    def covers(age, zip_, group):
        ages = [int(n) for n in re.findall(r"\d+", group[0])]
        in_age = age == ages[0] if len(ages) == 1 else ages[0] <= age < ages[1]
        return in_age and zip_.startswith(group[1].rstrip("*"))

    found = []
    for age, zip_ in zip(people["age"], people["zip"].astype(str), strict=True):
        fitting = [group for group in classes if covers(age, zip_, group)]
        assert len(fitting) == 1  # global recoding: the intruder knows the class
        found.append(fitting[0])
    return found


def found_people(home, first, second):
    """Return the people whom fewer than five fit with both files, and the smallest such number."""
    people = pd.read_csv(home / "people.csv", dtype={"zip": str})
    pairs = list(zip(fits(people, first), fits(people, second), strict=True))
    sizes = Counter(pairs)
    return sum(sizes[pair] < 5 for pair in pairs), min(sizes.values())


def test_two_releases_that_the_register_refuses_are_those_that_the_attack_wins(home):
    first = released(home, "one", 0, 1)
    second = released(home, "careless", 2, 0, series="")  # nothing remembers the first
    below, fewest = found_people(home, first, second)
    assert fewest == 1
    with pytest.raises(GateError, match=f"{below:,} of 2,000 people"):
        released(home, "two", 2, 0)


def test_the_consistent_release_tells_nothing_new(home):
    first, second = released(home, "one", 0, 1), released(home, "again", 0, 1)
    below, fewest = found_people(home, first, second)
    assert below == 0
    assert fewest >= 5


def test_a_smaller_k_for_the_same_people_is_an_attack_on_the_larger_one(home):
    """k = 20, then k = 3: with the second file the intruder is among fewer than twenty again."""
    coarse = released(home, "one", 1, 1, k=20)
    fine = released(home, "careless", 1, 0, series="", k=3)
    people = pd.read_csv(home / "people.csv", dtype={"zip": str})
    alone = Counter(fits(people, coarse))
    assert min(alone.values()) >= 20  # what the first file promised, and keeps
    pairs = list(zip(fits(people, coarse), fits(people, fine), strict=True))
    sizes = Counter(pairs)
    below = sum(sizes[pair] < 20 for pair in pairs)
    assert below > 500
    with pytest.raises(GateError, match=rf"{below:,} of 2,000 people .* k = 20"):
        released(home, "two", 1, 0, k=3)
    again = released(home, "same", 1, 1, k=3)  # the control: the same classes under a smaller k
    assert set(fits(people, again)) == set(alone)


CUBE = """
[source]
path = "cube.csv"
[columns]
id = {{role = "identifier"}}
a = {{role = "quasi-identifier", kind = "category"}}
b = {{role = "quasi-identifier", kind = "category"}}
c = {{role = "quasi-identifier", kind = "category"}}
[[step]]
method = "k-anonymity"
k = 5
quasi_identifiers = ["a", "b", "c"]
max_suppression = 0
levels = {{ {levels} }}
[release]
folder = "out/{name}"
[custodian]
folder = "safe/{name}"
{series}
"""


def kept_column(home, name, kept, series='series = "cube"'):
    """Release one of three columns, and nothing of the others."""
    levels = ", ".join(f"{column} = {int(column != kept)}" for column in "abc")
    path = home / f"{name}.toml"
    path.write_text(CUBE.format(levels=levels, name=name, series=series), encoding="utf-8")
    run(read_plan(path))
    return pd.read_parquet(home / "out" / name / "data" / "dataset-1.parquet")


def test_three_releases_find_whom_no_two_of_them_find(home):
    """Who shares a, b and c with nobody: any two files leave nine, and all three leave one."""
    corners = [(a, b, c) for a in "xy" for b in "xy" for c in "xy"]
    people = [corner for corner in corners for _ in range(1 if corner == ("y",) * 3 else 8)]
    cube = pd.DataFrame(people, columns=list("abc")).assign(id=[f"p{i}" for i in range(57)])
    cube.to_csv(home / "cube.csv", index=False)
    files = {c: kept_column(home, f"careless-{c}", c, series="") for c in "abc"}
    assert all(set(file[c]) == {"x", "y"} for c, file in files.items())
    assert cube.groupby(["a", "b"]).size().min() == 9  # what two files tell of a person
    found = cube.groupby(["a", "b", "c"]).size()
    assert (found < 5).sum() == 1
    kept_column(home, "one", "a")
    kept_column(home, "two", "b")  # with the first one it passes
    with pytest.raises(GateError, match=r"all 2 earlier releases.*: 1 of 57 people"):
        kept_column(home, "three", "c")


def test_who_left_is_what_the_subtraction_of_two_files_shows(home):
    """The illness of people who left, class by class: counts of one year less those of the next.

    The base rate is the commonest illness; the subtraction is right for everyone that is told.
    """
    from veladura.release.intersected import added
    from veladura.release.series import Entry

    rng = np.random.default_rng(5)
    group, ill = rng.integers(0, 30, 600), rng.choice(["a", "b", "c", "d"], 600)
    gone = rng.choice(600, 12, replace=False)
    stay = np.setdiff1d(np.arange(600), gone)
    before, after = (
        Counter(zip(group, ill, strict=True)),
        Counter(zip(group[stay], ill[stay], strict=True)),
    )
    left = before - after
    alone = [at for at in gone if np.count_nonzero(group[gone] == group[at]) == 1]
    guesses = {at: next(value for cell, value in left if cell == group[at]) for at in alone}
    right = np.mean([guesses[at] == ill[at] for at in alone])
    base = max(Counter(ill).values()) / 600
    assert len(alone) >= 5
    assert right == 1.0 > 2 * base
    numbers = np.arange(600)
    old = Entry("old", "1", 5, ("q",), {}, numbers, group)
    new = Entry("new", "2", 5, ("q",), {}, numbers[stay], group[stay])
    assert added(old, new).leavers == gone.size  # fewer than five of any class


ROWS = """
[source]
path = "{file}.parquet"
[columns]
id = {{role = "identifier"}}
age = {{role = "{age}"}}
sex = {{role = "{sex}"}}
employer = {{role = "{work}", kind = "category", exact = "asked for"}}
cost = {{role = "sensitive", exact = "asked for"}}
[[step]]
method = "k-anonymity"
k = 5
quasi_identifiers = ["{known}"]
hierarchies = {{ {levels} }}
[release]
folder = "out/{name}"
[custodian]
folder = "safe/{name}"
{series}
"""
AGES = {
    "age": "quasi-identifier",
    "sex": "dropped",
    "work": "dropped",
    "known": "age",
    "levels": "age = {widths = [10, 50]}",
}
SEXES = {
    "age": "dropped",
    "sex": "quasi-identifier",
    "work": "undecided",
    "known": "sex",
    "levels": "",
}


def one_of_them(home, name, file, roles, series='series = "costs"'):
    path = home / f"{name}.toml"
    text = ROWS.format(file=file, name=name, series=series, **roles)
    if roles["work"] == "dropped":
        text = text.replace(', exact = "asked for"}\ncost', "}\ncost")
    path.write_text(text, encoding="utf-8")
    run(read_plan(path))
    return pd.read_parquet(home / "out" / name / "data" / "dataset-1.parquet")


def test_exact_columns_of_a_k_anonymous_year_find_people_of_the_one_before(home):
    """Costs link the files, whole numbers in one year and decimals in the next."""
    rng = np.random.default_rng(9)
    people = pd.DataFrame({"id": np.arange(1_200), "age": rng.integers(20, 70, 1_200)})
    people["sex"] = rng.choice(["f", "m"], 1_200)
    people["employer"] = rng.zipf(1.6, 1_200).clip(1, 300).astype(str)
    people["cost"] = rng.lognormal(7, 0.8, 1_200).round().astype(int)
    people.to_parquet(home / "first.parquet", index=False)
    people.astype({"id": float, "cost": float}).to_parquet(home / "second.parquet", index=False)
    first = one_of_them(home, "one", "first", AGES)
    second = one_of_them(home, "careless", "second", SEXES, series="")
    held = second.astype({"sex": str, "employer": str}).groupby(["sex", "employer"])["cost"]
    held = held.agg(set)
    costs = first.groupby(first["age"].astype(str))["cost"].agg(list)
    found = 0
    ages = fits(people.assign(zip="1"), first.assign(zip="*"))
    for (group, _), sex, employer, cost in zip(
        ages, people["sex"], people["employer"], people["cost"], strict=True
    ):
        left = [other for other in costs[group] if other in held.get((sex, employer), ())]
        found += cost in left and len(left) < 5
    assert found > 200
    with pytest.raises(GateError, match=f"{found:,} of 1,200 people in both are among fewer"):
        one_of_them(home, "two", "second", SEXES)
    one_of_them(home, "again", "second", AGES)  # the control: nothing new is known of anybody


def test_three_years_join_to_find_people_of_the_first():
    """Employers lead to wages, wages in a third release to costs, and costs to the class."""
    from veladura.release.series import Entry, Series

    rng = np.random.default_rng(2)
    who, work = np.arange(300), rng.integers(0, 60, 300)
    wage, cost = rng.permutation(300), rng.permutation(300)
    none = np.empty(0, dtype=np.int64)
    classes = Entry(
        "one", "1", 5, ("age",), {}, who, who // 30, exact=("cost",), shown={"cost": cost}
    )
    of_rows = {"kind": "rows", "alone": none, "k": 0, "levels": {}, "person": who}
    exact = {"work": work, "wage": wage}
    rows = Entry("two", "2", columns=("work",), group=work, exact=(*exact,), shown=exact, **of_rows)
    exact = {"wage": wage, "cost": cost}
    middle = Entry("three", "3", columns=(), group=none, exact=(*exact,), shown=exact, **of_rows)
    groups = pd.DataFrame({"group": who // 30, "work": work})
    found = (groups.groupby(["group", "work"])["work"].transform("size") < 5).sum()
    series = Series("none of these")
    for before, new in (((classes, rows), middle), ((classes, middle), rows)):
        (broken,) = (result for result in series.against(new, before) if result.broken)
        assert broken.broken == found
        assert f"through the rows of '{middle.name}'" in str(broken)
    assert not any(result.broken for result in series.against(rows, [classes]))
