"""What an earlier release promised counts: its own k, its households, its l-diversity."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import GateError, PlanError, VeladuraWarning
from veladura.plan.reading import read_plan
from veladura.plan.run import past, run
from veladura.release.earlier import promised_of
from veladura.release.intersected import added, added_to_all
from veladura.release.series import Entry, Series

PLAN = """
[source]
path = "people.csv"
[columns]
id = {{role = "person"}}
home = {{role = "household"}}
age = {{role = "quasi-identifier"}}
ill = {{role = "sensitive", kind = "category", exact = "not known outside"}}
[[step]]
method = "k-anonymity"
k = {k}
quasi_identifiers = ["age"]
max_suppression = 0.5
levels = {{ age = {age} }}
{more}
[step.hierarchies.age]
widths = [5, 10, 50]
[release]
folder = "out/{name}"
[custodian]
folder = "safe/{name}"
series = "register"
{custodian}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    rng = np.random.default_rng(3)
    # families live together: whoever is in one class of years lives in few homes
    age = np.sort(rng.integers(20, 70, 900))
    people = pd.DataFrame({"id": [f"p{i:04d}" for i in range(900)], "home": np.arange(900) // 4})
    people["age"] = age
    people["ill"] = np.where(age % 10 < 5, "no", rng.choice(["no", "yes"], 900))
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def plan(home, name, k, age, more="", custodian=""):
    path = home / f"{name}.toml"
    text = PLAN.format(name=name, k=k, age=age, more=more, custodian=custodian)
    path.write_text(text, encoding="utf-8")
    return read_plan(path)


def in_small(home, band: int, k: int) -> int:
    """Count with pandas: people who share their band of ages with fewer than k."""
    age = pd.read_csv(home / "people.csv")["age"]
    return int((age.groupby(age // band).transform("size") < k).sum())


def test_a_smaller_k_for_the_same_people_breaks_the_larger_one(home):
    run(plan(home, "one", 100, 2))
    people = pd.read_csv(home / "people.csv")
    below = in_small(home, 1, 100)
    assert below > 800  # years of age hold about eighteen people
    again = plan(home, "two", 3, 0)
    with pytest.raises(GateError, match=rf"{below:,} of {len(people):,} people .* k = 100"):
        run(again)
    assert not (home / "out" / "two").exists()
    (result,) = past(again)
    assert (result.k, result.below, result.broken) == (100, below, below)
    told = CliRunner().invoke(app, ["risk", str(home / "two.toml")])
    assert told.exit_code == 4
    assert "k = 100" in told.output
    # the controls: the same generalisation, whatever its k; and a larger k than before
    run(plan(home, "same", 3, 2))
    assert past(plan(home, "coarse", 200, 3))[0].below == 0


def test_the_other_way_round_nothing_is_broken(home):
    run(plan(home, "one", 3, 0))
    run(plan(home, "two", 100, 2))
    assert [entry.k for entry in Series("register").entries()] == [3, 100]


def test_the_holder_may_accept_it_with_a_reason_that_the_manifest_has(home):
    run(plan(home, "one", 100, 2))
    reason = "the first was withdrawn before anybody got it"
    with pytest.warns(VeladuraWarning, match=r"accepted by the holder: .* k = 100"):
        run(plan(home, "two", 3, 0, custodian=f'breaks_earlier = "{reason}"'))
    manifest = json.loads((home / "out" / "two" / "manifest.json").read_text())
    assert [limit["reason"] for limit in manifest["loosened"]] == [reason]
    assert "loosened" not in json.loads((home / "out" / "one" / "manifest.json").read_text())
    with pytest.raises(PlanError, match="it is blank"):
        plan(home, "three", 3, 0, custodian='breaks_earlier = " "')


def entry(name: str, k: int, group, **more) -> Entry:
    group = np.array(group)
    return Entry(name, name, k, ("q",), {}, np.arange(group.size), group, **more)


def test_of_three_releases_the_largest_k_counts():
    first = entry("1", 4, [1, 1, 1, 1, 2, 2, 2, 2])
    second = entry("2", 2, [3] * 8)
    third = entry("3", 2, [5, 5, 6, 6, 7, 7, 7, 7])
    joint = added_to_all([first, second], third)
    assert (joint.below, joint.alone, joint.k) == (4, 0, 4)
    calm = added_to_all([entry("1", 2, first.group), second], third)  # the control
    assert calm.below == 0


def test_households_are_counted_where_households_were_promised():
    """Four people in every group of both, of two homes: two is fewer than three."""
    group, home = [1] * 8, np.array([1, 1, 2, 2, 3, 3, 4, 4])
    old = entry("1", 3, group, promised={"counted": "households"})
    new = entry("2", 3, [5, 5, 5, 5, 6, 6, 6, 6], home=home)
    result = added(old, new)
    assert (result.below, result.counted) == (8, "households")
    assert "k = 3 households" in str(result)
    assert added(entry("1", 3, group), new).below == 0  # the control: people
    blind = added(old, entry("2", 3, new.group))
    assert blind.unjudged == ("k of households",)
    assert "cannot be judged" in str(blind)


def test_sensitive_values_are_counted_where_l_was_promised():
    group, ill = [1] * 8, np.array([1, 1, 1, 1, 1, 2, 1, 2])
    close = ["t-closeness", {"column": "ill", "t": 0.5}]
    old = entry("1", 2, group, promised={"diverse": {"ill": 2}, "models": [close]})
    new = entry("2", 2, [5, 5, 5, 5, 6, 6, 6, 6], values={"ill": ill})
    result = added(old, new)
    assert (result.below, result.alike, result.broken) == (0, 4, 4)
    assert result.unjudged == ("t-closeness (without ill)",)
    assert added(entry("1", 2, group), new).broken == 0  # the control: nothing of values promised
    joint = added_to_all([old, entry("2", 2, group)], new)
    assert joint.alike == 4


def test_a_plan_that_breaks_l_diversity_or_households_of_an_earlier_one_is_refused(home):
    diverse = '[[step.models]]\ncolumn = "ill"\nl = 2'
    run(plan(home, "one", 5, 2, diverse))
    (kept,) = Series("register").entries()
    assert kept.promised == {"diverse": {"ill": 2}}
    assert not kept.values
    assert kept.home is None
    people = pd.read_csv(home / "people.csv")
    values = people.groupby(people["age"] // 5)["ill"].transform("nunique")
    with pytest.raises(GateError, match=rf"{(values < 2).sum():,} are in groups with fewer"):
        run(plan(home, "two", 5, 1))  # bands of five years: in half of them nobody is ill


def test_a_plan_that_breaks_k_of_households_is_refused(home):
    run(plan(home, "one", 20, 2, 'counted = "households"'))
    (kept,) = Series("register").entries()
    assert kept.promised == {"counted": "households"}
    people = pd.read_csv(home / "people.csv")
    homes = people.groupby("age")["home"].transform("nunique")
    sizes = people.groupby("age")["home"].transform("size")
    below = int(((homes < 20) & (sizes >= 3)).sum())
    with pytest.raises(GateError, match=rf"{below:,} of .* k = 20 households"):
        run(plan(home, "two", 3, 0))


def far_people(home, bands: list[int], t: float) -> int:
    """Count with pandas: people of split classes whose share of ill is further than t from all."""
    people = pd.read_csv(home / "people.csv")
    ill = people["ill"] == "yes"
    group = [people["age"] // band for band in bands]
    share = ill.groupby(group).transform("mean")
    return int(((share - ill.mean()).abs() > t + 1e-9).sum())


def test_closeness_of_an_earlier_release_is_asked_of_the_smaller_groups(home):
    """Ages that end in 0 to 4 are never ill: classes of ten years are close, of five are not."""
    close = '[[step.models]]\ncolumn = "ill"\nt = 0.15'
    run(plan(home, "one", 5, 2, close))
    far = far_people(home, [10, 5], 0.15)
    assert far > 0
    assert far_people(home, [10], 0.15) == 0
    with pytest.raises(GateError, match=rf"; {far:,} are in groups that break its t-closeness"):
        run(plan(home, "two", 5, 1))
    with warnings.catch_warnings():  # the control: the same classes, and nothing to warn of
        warnings.simplefilter("error", VeladuraWarning)
        run(plan(home, "same", 5, 2))


def test_people_who_left_a_class_do_not_break_its_closeness(home):
    close = '[[step.models]]\ncolumn = "ill"\nt = 0.15'
    run(plan(home, "one", 5, 2, close))
    people = pd.read_csv(home / "people.csv")
    left = people["age"].between(30, 39) & (people["ill"] == "no") & (np.arange(900) % 9 > 0)
    people[~left].to_csv(home / "people.csv", index=False)
    assert far_people(home, [10], 0.15) > 0
    assert past(plan(home, "two", 5, 2))[0].broken == 0


@pytest.mark.parametrize(
    ("name", "model", "breaks"),
    [
        ("beta-likeness", {"column": "ill", "beta": 0.5}, 4),
        ("beta-likeness", {"column": "ill", "beta": 3.5}, 0),
        ("entropy-l-diversity", {"column": "ill", "l": 2, "kind": "entropy"}, 4),
        ("recursive-l-diversity", {"column": "ill", "l": 2, "kind": "recursive", "c": 4.0}, 4),
        ("average-risk", {"risk": 0.2}, 8),
        ("average-risk", {"risk": 0.25}, 0),
        ("k-map", {"k": 2}, 0),
    ],
)
def test_every_model_is_asked_again(name, model, breaks):
    """Eight people, a quarter ill: in one group nobody is, in the other two of four are.

    By hand: the share of the ill rises to .5 (beta is 1), that of the others to 1 (a third); values
    of one kind have no entropy, two by two have log 2; every person's risk is 1 / 4.
    """
    ill = pd.DataFrame({"ill": ["no", "no", "no", "no", "no", "yes", "no", "yes"]})
    old = entry("1", 2, [1] * 8, promised={"models": [[name, model]]})
    new = entry("2", 2, [5] * 4 + [6] * 4, source=vd.open(ill), whose=np.arange(8))
    result = added(old, new)
    assert result.unlike == ({name: breaks} if breaks else {})
    assert result.unjudged == (("k-map (without the population of then)",) if "k" in model else ())
    joint = added_to_all([old, entry("2", 2, [1] * 8)], new)
    assert joint.unlike == result.unlike


def test_a_register_of_before_is_read(home):
    run(plan(home, "one", 5, 2))
    (path,) = Series("register").folder.glob("*.json")
    about = json.loads(path.read_text(encoding="utf-8"))
    del about["promised"], about["seal"], about["before"], about["drawn"], about["delta"]
    path.write_text(json.dumps(about), encoding="utf-8")
    (kept,) = Series("register").entries()
    assert kept.promised == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", VeladuraWarning)
        assert past(plan(home, "two", 5, 2))[0].broken == 0


def test_numbers_of_models_are_what_the_methods_write():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 300), "ill": rng.choice(list("ab"), 300)})
    recipe = vd.KAnonymity(
        quasi_identifiers=["age"],
        k=5,
        max_suppression=0.5,
        models=[vd.LDiversity(column="ill", l=2), vd.TCloseness(column="ill", t=0.9)],
        hierarchies={"age": vd.Hierarchy.intervals([10, 50])},
    )
    promised = promised_of(recipe.protect(frame))
    assert promised["diverse"] == {"ill": 2}
    assert [(name, model["t"]) for name, model in promised["models"]] == [("t-closeness", 0.9)]
