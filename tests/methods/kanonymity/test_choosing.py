"""Choosing among minimal generalisations: ties, a policy for each quasi-identifier, later requests.

The expected choices are counted here, node by node, from the rows.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from tests.methods.kanonymity.test_search import EIGHT, HIERARCHIES, TWELVE

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.kanonymity import kanonymity as module
from veladura.plan.draft import draft
from veladura.plan.reading import read_plan
from veladura.plan.run import run
from veladura.plan.ways import ways_of


def fit(frame, k, **more):
    names = list(HIERARCHIES)
    settings = {"quasi_identifiers": names, "hierarchies": HIERARCHIES, "max_suppression": 0}
    return vd.KAnonymity(**{**settings, "k": k, **more}).fit(frame)


def test_ties_are_reported():
    """k = 2 of the paper's twelve rows: [0, 1] and [1, 0] have the same distance."""
    fitted = fit(TWELVE, 2, prefer="min-distance")
    equal = [tuple(node.levels.values()) for node in fitted.equally_preferred]
    assert equal == [(0, 1), (1, 0)]
    assert tuple(fitted.chosen.levels.values()) == (0, 1)
    alone = fit(TWELVE, 2, prefer="min-relative-distance")
    assert [tuple(n.levels.values()) for n in alone.equally_preferred] == [(0, 1)]
    settings = fitted.sample().manifest["steps"][0]["settings"]
    assert settings["equally_preferred"] == 2
    words = "\n".join(str(text) for show in fitted.sample().pictures for text in show().values())
    assert "2 are equally preferable by min-distance" in words
    marked = [way for way in fitted.minimal.best if way.equal]
    assert len(marked) == 2
    assert "prefer 2 ways equally" in repr(fitted.minimal)


@pytest.mark.parametrize("vector", list(itertools.product(range(3), range(3), range(2))))
def test_strategies_are_the_paths_of_the_lattice(vector):
    """Counted by walking down: the paths to a node are those to the nodes one step below it."""
    from veladura.methods.kanonymity.choice import strategies_to

    def paths(node: tuple[int, ...]) -> int:
        below = [
            (*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level > 0
        ]
        return sum(map(paths, below)) if below else 1

    assert strategies_to(vector) == paths(vector)


def test_the_number_of_strategies_is_shown():
    fitted = fit(TWELVE, 2)
    assert fitted.node((1, 2)).strategies == math.comb(3, 1)
    assert "6 nodes and 3 strategies" in repr(fitted.minimal)


SETS = [["a", "b"], ["c", "d"]]


def table_of(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.integers(0, 8, 60) for name in "abcd"})


LADDER = {name: vd.Hierarchy.intervals([2, 4]) for name in "abcd"}


def raised(frame: pd.DataFrame, names, levels) -> list[tuple]:
    width = [1, 2, 4, 10**6]
    columns = [frame[name] // width[level] for name, level in zip(names, levels, strict=True)]
    return list(zip(*columns, strict=True))


def costs(frame, names, levels, policy, k):
    sizes = Counter(raised(frame, names, levels)).values()
    return {
        "min-distance": sum(levels),
        "max-distinct": -sum(size >= k for size in sizes),
        "min-suppression": sum(size for size in sizes if size < k),
    }[policy]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "prefer",
    [
        [["min-distance"], ["max-distinct"]],
        [["max-distinct"], ["min-distance"]],
        [["min-suppression", "min-distance"], ["min-distance"]],
    ],
)
def test_each_quasi_identifier_has_its_own_policy(seed, prefer):
    frame, k = table_of(seed), 4
    fitted = vd.KAnonymity(
        quasi_identifiers=SETS, k=k, max_suppression=0.3, hierarchies=LADDER, prefer=prefer
    ).fit(frame)
    left = list(fitted.vectors)
    for names, places, policies in zip(SETS, ((0, 1), (2, 3)), prefer, strict=True):
        for policy in policies:
            cost = {v: costs(frame, names, [v[p] for p in places], policy, k) for v in left}
            left = [v for v in left if cost[v] == min(cost.values())]
    assert sorted(tuple(n.levels.values()) for n in fitted.equally_preferred) == sorted(left)
    assert tuple(fitted.chosen.levels.values()) == min(left)


@pytest.mark.parametrize(
    ("prefer", "match"),
    [
        ([["min-distance"]], "1 lists of policies"),
        ([["min-distance"], ["loss"]], "prefer of a quasi-identifier"),
    ],
)
def test_policies_that_fit_no_quasi_identifier_are_refused(prefer, match):
    with pytest.raises(PlanError, match=match):
        vd.KAnonymity(quasi_identifiers=SETS, prefer=prefer)
    with pytest.raises(PlanError, match="weights do not go"):
        vd.KAnonymity(quasi_identifiers=SETS, prefer=[["max-distinct"]] * 2, weights={"a": 2})


POLICIES = ["min-distance", "min-relative-distance", "max-distinct", "min-suppression", "loss"]


@pytest.mark.parametrize("policy", [*POLICIES, "balanced"])
@pytest.mark.parametrize("frame", [TWELVE, EIGHT], ids=["twelve", "eight"])
def test_another_policy_chooses_as_a_new_fit_does(frame, policy, monkeypatch):
    again = fit(frame, 2, prefer=policy, max_suppression=2)
    first = fit(frame, 2, prefer="min-suppression", max_suppression=2)
    monkeypatch.setattr(module, "find_minimal", None)  # a search would fail
    other = first.choose(policy)
    assert other.chosen.levels == again.chosen.levels
    assert len(other.equally_preferred) == len(again.equally_preferred)


def test_a_quality_model_is_refused_where_only_minimal_ones_are_kept():
    model = vd.LDiversity(column="secret", l=2)
    frame = TWELVE.assign(secret=["x", "y"] * 6)
    fitted = fit(frame, 2, models=[model], prefer="min-distance")
    assert fitted.choose("max-distinct").chosen
    with pytest.raises(PlanError, match="only the minimal ones"):
        fitted.choose("loss")


@pytest.fixture
def plan(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "zip": rng.choice(["02138", "02139", "02141", "02142"], 400),
            "age": rng.integers(18, 80, 400),
            "sex": rng.choice(["f", "m"], 400),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    text = draft(str(tmp_path / "people.csv"), method="k-anonymity", home=tmp_path)
    (tmp_path / "plan.toml").write_text(text)
    return tmp_path / "plan.toml"


def test_a_later_request_reads_the_minimal_set_that_a_run_kept(plan, monkeypatch):
    outcome = run(read_plan(plan))
    path = outcome.custodian / "minimal.json"
    assert path.stat().st_mode & 0o777 == 0o600
    before = ways_of(read_plan(plan))
    monkeypatch.setattr(module, "find_minimal", None)  # a search would fail
    after = ways_of(read_plan(plan), prefer=["max-distinct"])
    assert [n.levels for n in after] == [n.levels for n in before]
    distinct = {tuple(n.levels.values()): n.distinct for n in after}
    chosen = tuple(after.fitted.chosen.levels.values())
    assert distinct[chosen] == max(distinct.values())


def test_a_kept_set_of_other_data_or_settings_is_not_used(plan):
    outcome = run(read_plan(plan))
    path = outcome.custodian / "minimal.json"
    held = json.loads(path.read_text())
    held["minimal"] = [[0, 0, 0]]
    path.write_text(json.dumps(held))
    assert [tuple(n.levels.values()) for n in ways_of(read_plan(plan))] == [(0, 0, 0)]  # it is read
    text = plan.read_text()
    plan.write_text(text.replace("k = 5", "k = 7"))
    assert [tuple(n.levels.values()) for n in ways_of(read_plan(plan))] != [(0, 0, 0)]
    plan.write_text(text)
    frame = pd.read_csv(plan.parent / "people.csv", dtype=str)
    frame.iloc[1:].to_csv(plan.parent / "people.csv", index=False)
    assert [tuple(n.levels.values()) for n in ways_of(read_plan(plan))] != [(0, 0, 0)]
