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
k = 5
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


def released(home, name, age, zip_, series='series = "register"'):
    text = PLAN.format(age=age, zip=zip_, name=name, series=series)
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
