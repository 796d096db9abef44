"""Several recipients of one table: what each gets, and what two of them know together."""

from __future__ import annotations

import json
import tomllib
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from veladura.errors import GateError, PlanError
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.requests import plans_of, run_requests
from veladura.plan.run import run
from veladura.release.verify import holds, verify

PLAN = """
[source]
path = "people.csv"

[columns]
id = {role = "identifier"}
age = {role = "quasi-identifier"}
zip = {role = "quasi-identifier", kind = "category"}
ill = {role = "sensitive", exact = "not known outside"}
stay = {role = "sensitive", exact = "not known outside"}

[[step]]
method = "k-anonymity"
k = 5
max_suppression = 0
prefer = ["loss"]
[step.hierarchies.age]
widths = [10, 50]
[step.hierarchies.zip]
masked = 1

[[intruder]]
name = "neighbour"
knows = ["age", "zip"]
within = {age = 2}

[[intruder]]
name = "office"
knows = ["zip"]

[release]
folder = "out/people"
recipient = "somebody"
[custodian]
folder = "safe/people"
[run]
seed = 4
"""


@pytest.fixture
def home(tmp_path):
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"id": [f"p{i:05d}" for i in range(1_500)]})
    people["age"] = rng.integers(20, 70, 1_500)
    people["zip"] = rng.choice([f"{a}{b}" for a in "12" for b in "0123456789"], 1_500)
    people["ill"] = rng.choice(["yes", "no"], 1_500)
    people["stay"] = rng.poisson(4, 1_500)
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def plan(home, *requests):
    text = PLAN + "".join(f"\n[[request]]\n{request}\n" for request in requests)
    (home / "plan.toml").write_text(text, encoding="utf-8")
    return read_plan(home / "plan.toml")


def released(home, name):
    return pd.read_parquet(home / "out" / "people" / name / "data" / "dataset-1.parquet")


AGES = 'name = "ages"\ncolumns = ["age", "ill"]\nintruders = ["neighbour"]'
ZIPS = 'name = "zips"\ncolumns = ["zip", "stay"]\nrecipient = "city"'


def test_each_recipient_gets_its_columns_and_nobody_is_asked_twice(home):
    outcomes, told = run_requests(plan(home, AGES))
    assert list(outcomes) == ["ages"]
    assert told == []
    assert sorted(released(home, "ages").columns) == ["age", "ill"]
    folder = home / "out" / "people" / "ages"
    assert holds(verify(folder))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["recipient"] == "somebody"
    assert "zip" not in json.dumps(manifest["steps"])


def test_two_recipients_who_know_more_together_are_refused_with_the_number(home):
    """Counted by pandas: years of age in one file, whole ZIP codes in the other."""
    people = pd.read_csv(home / "people.csv", dtype={"zip": str})
    both = Counter(zip(people["age"], people["zip"], strict=True))
    sizes = [both[pair] for pair in zip(people["age"], people["zip"], strict=True)]
    below, alone = sum(size < 5 for size in sizes), sum(size == 1 for size in sizes)
    with pytest.raises(GateError) as refused:
        run_requests(plan(home, AGES, ZIPS))
    words = f"ages and zips: {below:,} of 1,500 people .* {alone:,} of them alone"
    assert refused.match(words)
    assert not (home / "out").exists()


def test_the_same_generalisation_for_both_is_released(home):
    both = [
        f'name = "{name}"\ncolumns = ["age", "zip", "{more}"]'
        for name, more in (("a", "ill"), ("b", "stay"))
    ]
    outcomes, _ = run_requests(plan(home, *both))
    assert list(outcomes) == ["a", "b"]
    first, second = released(home, "a"), released(home, "b")
    assert sorted(first["age"].astype(str)) == sorted(second["age"].astype(str))


def test_a_request_is_a_plan_of_its_own(home):
    whole = plan(home, AGES)
    run_requests(whole)
    before = (home / "out" / "people" / "ages" / "data" / "dataset-1.parquet").read_bytes()
    (own,) = plans_of(whole).values()
    (home / "alone.toml").write_text(own.text, encoding="utf-8")
    run(read_plan(home / "alone.toml"), force=True)
    after = (home / "out" / "people" / "ages" / "data" / "dataset-1.parquet").read_bytes()
    assert before == after


def test_k_policies_and_intruders_of_a_request(home):
    request = 'name = "x"\nk = 9\nprefer = ["min-distance"]\nintruders = ["office"]'
    request += '\npurpose = "a study"'
    (own,) = plans_of(plan(home, request)).values()
    (step,) = own.steps
    assert (step.k, list(step.prefer)) == (9, ["min-distance"])
    assert [who.name for who in own.intruders] == ["office"]
    assert own.release.purpose == "a study"
    (own,) = plans_of(plan(home, AGES)).values()
    assert tomllib.loads(own.text)["intruder"] == [
        {"name": "neighbour", "knows": ["age"], "within": {"age": 2}}
    ]


def test_a_release_without_classes_is_named(home):
    text = PLAN.replace(PLAN[PLAN.index("[[step]]") : PLAN.index("[[intruder]]")], "")
    text += '\n[[step]]\nmethod = "noise"\ncolumns = ["stay"]\n'
    text = text.replace(
        'zip = {role = "quasi-identifier", kind = "category"}', 'zip = {role = "dropped"}'
    )
    text = text[: text.index("[[intruder]]")] + text[text.index("[release]") :]
    text = text.replace(
        'age = {role = "quasi-identifier"}', 'age = {role = "harmless", exact = "x"}'
    )
    for name in ("one", "two"):
        text += f'\n[[request]]\nname = "{name}"\n'
    (home / "plan.toml").write_text(text, encoding="utf-8")
    outcomes, (told,) = run_requests(read_plan(home / "plan.toml"))
    assert list(outcomes) == ["one", "two"]
    assert told.startswith("one and two: no released column is one that an intruder")
    # the same draws link rows as exact columns do: counted again from the files
    files = [outcome.release.datasets[0][["age", "ill", "stay"]] for outcome in outcomes.values()]
    alone = [set(map(tuple, file[~file.duplicated(keep=False)].to_numpy())) for file in files]
    assert f"rows of {len(alone[0] & alone[1]):,} people are the same, and alone" in told
    assert "by age, ill, stay" in told


def test_the_command_makes_all_or_says_why(home, veladura):
    plan(home, AGES, ZIPS)
    done = veladura("run", "plan.toml", cwd=home)
    assert done.returncode == 4
    assert "people are in groups of fewer than k = 5" in " ".join(done.stderr.split())
    plan(home, AGES)
    done = veladura("run", "plan.toml", "--dry-run", cwd=home)
    assert done.returncode == 0, done.stderr
    assert not (home / "out").exists()
    done = veladura("run", "plan.toml", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "request    ages" in done.stdout
    assert (home / "safe" / "people" / "ages" / "record.json").exists()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ('name = "../elsewhere"', "names a folder"),
        ('name = ""', "names a folder"),
        ('name = "a"\nk = 1', "k"),
        ('name = "a"\nunknown = 1', "unknown"),
        ('name = "a"\ncolumns = ["agee"]', "agee"),
        ('name = "a"\nintruders = ["nobody"]', "nobody"),
    ],
)
def test_a_bad_request_is_refused_in_words(home, request_, words):
    with pytest.raises(PlanError, match=words):
        plans_of(plan(home, request_))


def test_names_are_told_apart_and_one_release_is_not_made_of_several(home):
    with pytest.raises(PlanError, match="same name"):
        plan(home, 'name = "a"', 'name = "A"')
    with pytest.raises(PlanError, match="two brackets"):
        parse_plan(
            'request = 1\n[source]\npath = "a.csv"\n[[step]]\nmethod = "noise"\ncolumns = ["x"]'
        )
    with pytest.raises(PlanError, match="several releases"):
        run(plan(home, AGES))


def test_numbers_of_households_leave_only_where_they_are_asked_for(home):
    people = pd.read_csv(home / "people.csv", dtype={"zip": str})
    people.insert(1, "home", 10_001 + np.arange(len(people)) // 3)
    people.to_csv(home / "people.csv", index=False)
    text = PLAN.replace("age = {role", 'home = {role = "household"}\nage = {role', 1)
    text += f"\n[[request]]\n{AGES}\n"
    (home / "plan.toml").write_text(text, encoding="utf-8")
    run_requests(read_plan(home / "plan.toml"))
    assert sorted(released(home, "ages").columns) == ["age", "ill"]


def test_three_recipients_who_know_more_together_are_refused():
    """Any two of them pass: each has one of three columns, and a corner holds one person."""
    from veladura.plan.requests import _in_all
    from veladura.release.intersected import added
    from veladura.release.series import Entry

    cells = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    people = np.array([cell for cell in cells for _ in range(1 if sum(cell) == 3 else 5)])
    numbers = np.arange(len(people))
    entries = [
        Entry(name, "now", 2, ("q",), {}, numbers, 10 * at + people[:, at])
        for at, name in enumerate(("north", "south", "east"))
    ]
    assert all(not added(a, b).below for a in entries for b in entries if a is not b)
    (line,) = _in_all(entries)
    assert line.startswith("north, south, east: 1 of 36 people are in groups of fewer than k = 2")
    assert _in_all(entries[:2]) == []


def test_another_k_for_another_recipient_breaks_the_larger_one_unless_accepted(home):
    """Whoever holds both files is among fewer than the larger k; the numbers are by pandas."""
    many, few = 'name = "many"\nk = 400', 'name = "few"\nk = 5'
    both = plan(home, many, few)
    with pytest.raises(GateError, match=r"of 1,500 people are in groups of fewer than k = 400"):
        run_requests(both)
    assert not (home / "out").exists()
    run_requests(plan(home, 'name = "a"\nk = 5', few))  # the control: one and the same k
    text = (home / "plan.toml").read_text(encoding="utf-8")
    text = PLAN + f"\n[[request]]\n{many}\n\n[[request]]\n{few}\n"
    reason = "the second office keeps its file for itself"
    text = text.replace("[custodian]", f'[custodian]\nbreaks_earlier = "{reason}"')
    text = text.replace("out/people", "out/again").replace("safe/people", "safe/again")
    (home / "plan.toml").write_text(text, encoding="utf-8")
    outcomes, told = run_requests(read_plan(home / "plan.toml"))
    frames = {name: outcome.release.datasets[0] for name, outcome in outcomes.items()}
    pairs = pd.concat([frames[n][["age", "zip"]].astype(str) for n in ("many", "few")], axis=1)
    sizes = Counter(map(tuple, pairs.to_numpy()))
    below = sum(sizes[tuple(pair)] < 400 for pair in pairs.to_numpy())
    assert any(f"{below:,} of 1,500 people" in line and "accepted" in line for line in told)
    for name in ("many", "few"):
        path = home / "out" / "again" / name / "manifest.json"
        assert json.loads(path.read_text())["loosened"][0]["reason"] == reason


def test_models_that_two_releases_break_together_are_named():
    from veladura.plan.requests import _in_classes
    from veladura.release.intersected import Added

    said = Added("a", "1", 5, 90, 0, 0, 0, 0, {}, unlike={"t-closeness": 43})
    assert "43 in groups that break t-closeness" in _in_classes("a and b", said)


STEPS = """
[source]
path = "people.csv"
[columns]
x = {role = "quasi-identifier"}
y = {role = "quasi-identifier"}
age = {role = "quasi-identifier"}
wage = {role = "sensitive"}
cost = {role = "sensitive"}
[[step]]
method = "k-anonymity"
k = 4
quasi_identifiers = ["x", "y", "age"]
pairs = [["x", "y"]]
weights = {age = 2.0, "x, y" = 1.0}
[step.hierarchies."x, y"]
cell = 0.1
levels = 5
origin = [2.0, 40.0]
[[step]]
method = "cart"
columns = ["wage", "cost"]
groups = [["wage", "cost"]]
models = {wage = "forest", cost = "forest"}
predictors = {wage = ["age"], cost = ["age", "x"]}
"""


def steps_for(*columns):
    text = STEPS + f'[[request]]\nname = "a"\ncolumns = {list(columns)}\n'
    (own,) = plans_of(parse_plan(text)).values()
    return tomllib.loads(own.text)["step"]


def test_settings_of_columns_that_a_request_leaves_out_go_with_them():
    """Places, groups, models and predictors by column too: these were refused, or worse."""
    anonymous, cart = steps_for("age", "wage")
    assert anonymous["quasi_identifiers"] == ["age"]
    assert anonymous.keys().isdisjoint({"pairs", "hierarchies"})
    assert anonymous["weights"] == {"age": 2.0}
    assert (cart["models"], cart["groups"]) == ({"wage": "forest"}, [])
    assert cart["predictors"] == {"wage": ["age"]}
    places, cart = steps_for("x", "y", "wage", "cost")
    assert (places["pairs"], places["weights"]) == ([["x", "y"]], {"x, y": 1.0})
    assert cart["groups"] == [["wage", "cost"]]
    assert cart["predictors"] == {"wage": [], "cost": ["x"]}


def test_half_of_a_place_and_a_request_that_nothing_protects_are_refused_in_words():
    with pytest.raises(PlanError, match=r"request 'a': .* \['x', 'y'\] without the other"):
        steps_for("x", "wage")
    text = STEPS.replace("[[step]]", 'ill = {role = "harmless"}\n[[step]]', 1)
    text += '[[request]]\nname = "a"\ncolumns = ["ill"]\n'
    with pytest.raises(PlanError, match=r"request 'a': no \[\[step\]\] of the plan treats"):
        plans_of(parse_plan(text))
