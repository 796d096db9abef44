"""Sweeps: every combination is a candidate, and the curves show what each one lost."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.comparison.candidate import Candidate, Job, evaluate
from veladura.comparison.result import Comparison
from veladura.comparison.sweep import parse_sweeps, swept
from veladura.errors import PlanError

RECIPE = vd.KAnonymity(
    quasi_identifiers=["zip", "age"],
    hierarchies={"zip": vd.Hierarchy.mask(3), "age": vd.Hierarchy.intervals([5, 10, 20])},
    prefer="min-distance",
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(31)
    return pd.DataFrame(
        {
            "zip": rng.choice(["100", "101", "110", "200"], 300, p=[0.5, 0.3, 0.15, 0.05]),
            "age": rng.integers(20, 80, 300),
        }
    )


def test_every_combination_is_tried():
    made = swept(RECIPE, parse_sweeps(["k=2,5,10", "max_suppression=0,0.02"]))
    assert [(v["k"], v["max_suppression"]) for v, _ in made] == [
        (k, s) for k in (2, 5, 10) for s in (0, 0.02)
    ]
    assert all(r.k == v["k"] and r.max_suppression == v["max_suppression"] for v, r in made)


def test_in_a_chain_the_first_step_that_has_the_setting_is_meant():
    chain = vd.Steps([vd.Recode(columns={"age": {"round": 5}}), RECIPE])
    (_, first), (_, second) = swept(chain, {"k": [3, 4]})
    assert [step.method for step in first.recipes] == ["recode", "k-anonymity"]
    assert (first.recipes[1].k, second.recipes[1].k) == (3, 4)


@pytest.mark.parametrize("text", ["k", "k=", "=2", "k=2,5 k=3"])
def test_what_is_no_sweep_is_refused(text):
    with pytest.raises(PlanError, match="setting"):
        parse_sweeps(text.split())


def test_settings_that_are_not_there_are_refused():
    with pytest.raises(PlanError, match="setting to sweep"):
        swept(RECIPE, {"epsilon": [1]})
    with pytest.raises(PlanError, match="more than 60"):
        swept(RECIPE, {"k": list(range(2, 90))})
    with pytest.raises(PlanError, match="must be at least 2"):
        swept(RECIPE, {"k": [1]})


@pytest.fixture(scope="module")
def comparison(people) -> Comparison:
    """The candidates of a sweep, each measured here instead of in a process of its own."""
    from dataclasses import replace

    made = swept(RECIPE, {"k": [2, 10, 40], "max_suppression": [0, 0.1]})
    candidates = [
        replace(evaluate(Job(str(values), recipe, people)), swept=values) for values, recipe in made
    ]
    return Comparison(tuple(candidates), "risk.classes.smallest", "utility.detail.two")


def test_the_loss_of_each_attribute_is_that_of_its_release(comparison, people):
    """Within-class share of the variance of ranks, and of the entropy, by pandas."""
    for candidate in comparison.candidates:
        recipe = vd.KAnonymity(
            quasi_identifiers=RECIPE.quasi_identifiers,
            hierarchies=RECIPE.hierarchies,
            prefer="min-distance",
            **candidate.swept,
        )
        release = recipe.protect(people)
        released = release.datasets[0].set_axis(release.rows)
        if "age" in candidate.lost:
            ranks = people["age"].rank()
            within = ranks[released.index] - ranks[released.index].groupby(
                released["age"].to_numpy()
            ).transform("mean")
            total = ((ranks - ranks.mean()) ** 2).sum()
            gone = ((ranks.drop(released.index) - ranks.mean()) ** 2).sum()
            assert candidate.lost["age"] == pytest.approx(
                ((within**2).sum() + gone) / total, abs=0.02
            )
    losses = [c.lost.get("age", 0) + c.lost.get("zip", 0) for c in comparison.candidates[::2]]
    assert losses[0] < losses[-1]  # k = 40 costs more than k = 2


def test_the_curves_have_a_line_for_every_attribute(comparison):
    pictures = comparison.curves()
    assert list(pictures) == [
        f"{what}, against {name}"
        for name in ("k", "max_suppression")
        for what in ("Information lost by attribute", "Precision and completeness")
    ]
    first = pictures["Information lost by attribute, against k"].decode()
    for word in ("zip", "age", "max_suppression=0", "max_suppression=0.1", "information lost"):
        assert re.search(rf">{word}<", first)
    assert comparison.curves() == pictures  # the same bytes again
    page = comparison.to_html()
    assert "What is lost along the settings" in page
    assert page.count("data:image/svg+xml") == 5  # the map and four curves


def test_a_comparison_without_a_sweep_has_no_curves():
    comparison = Comparison((Candidate("a", "noise"),), "risk.a", "utility.b")
    assert comparison.curves() == {}


def test_from_python_and_from_a_plan(people, tmp_path):
    from veladura.comparison.making import compare_plans
    from veladura.plan.draft import draft

    found = vd.compare(people, RECIPE, sweep={"k": [2, 20]})
    assert [c.name for c in found.candidates] == ["k=2", "k=20"]
    assert [c.swept for c in found.candidates] == [{"k": 2}, {"k": 20}]
    assert not any(c.problem for c in found.candidates)
    people.to_csv(tmp_path / "people.csv", index=False)
    plan = tmp_path / "plan.toml"
    plan.write_text(draft(str(tmp_path / "people.csv"), method="k-anonymity", home=tmp_path))
    kept = compare_plans([plan], sweep=parse_sweeps(["k=3"]), fresh=True)
    assert [(c.name, c.swept) for c in kept.candidates] == [("k=3", {"k": 3})]
    with pytest.raises(PlanError, match="--sweep"):
        compare_plans([plan])
