"""Replicated uniques, DiSCO, TCAP and k-map against their definitions, counted row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from(["x", "y", None])),
    min_size=1,
    max_size=14,
)


def frame(rows):
    return pd.DataFrame(rows, columns=["k", "q", "t"]).astype({"k": object, "t": object})


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_replicated_uniques_are_those_counted_by_hand(before, after):
    before, after = frame(before), frame(after)
    keys = [list(zip(f["k"], f["q"], strict=True)) for f in (before, after)]
    single = [key for key in keys[0] if keys[0].count(key) == 1]
    found = vd.risk.replicated(before, after, ["k", "q"])
    assert float(found.original) == pytest.approx(len(single) / len(before))
    assert float(found.released) == pytest.approx(
        sum(keys[1].count(key) == 1 for key in keys[1]) / len(after)
    )
    assert float(found.found) == pytest.approx(sum(key in keys[1] for key in single) / len(before))
    assert float(found.replicated) == pytest.approx(
        sum(keys[1].count(key) == 1 for key in single) / len(before)
    )


def by_definition(before, after):
    """DiSCO, TCAP and DCAP, one original row after the other."""
    known = [(k, q, t) for k, q, t in after.fillna("missing").itertuples(index=False)]
    disco = reached = dcap = 0.0
    for k, q, t in before.fillna("missing").itertuples(index=False):
        targets = [c for a, b, c in known if (a, b) == (k, q)]
        dcap += targets.count(t) / len(targets) if targets else 0.0
        if len(set(targets)) == 1:
            reached += 1
            disco += targets[0] == t
    return disco / len(before), disco / reached if reached else 0.0, dcap / len(before)


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_disco_tcap_and_dcap_are_those_counted_by_hand(before, after):
    before, after = frame(before), frame(after)
    found = vd.risk.attribution(before, after, ["k", "q"], "t")
    assert [float(found.disco), float(found.tcap), float(found.dcap)] == pytest.approx(
        by_definition(before, after)
    )
    own = vd.risk.attribution(before, before, ["k", "q"], "t")
    assert (
        float(own.disco)
        == pytest.approx(float(own.original))
        == pytest.approx(float(own.disclosive))
    )


def test_numbers_of_many_values_are_guessed_by_groups():
    before = pd.DataFrame({"k": np.repeat(np.arange(50), 2), "y": np.arange(100.0)})
    near = before.assign(y=before["y"] + 0.1)
    assert float(vd.risk.attribution(before, near, ["k"], "y", groups=10).disco) > 0.9
    assert (
        float(
            vd.risk.attribution(
                before, near.assign(y=near["y"][::-1].to_numpy()), ["k"], "y", groups=10
            ).disco
        )
        < 0.1
    )


def test_several_datasets_give_the_mean_and_an_interval():
    before = pd.DataFrame({"k": [1, 2], "t": ["x", "y"]})
    found = vd.risk.attribution(before, [before, before.assign(t=["y", "x"])], ["k"], "t")
    assert (found.disco.value, found.disco.lower, found.disco.upper) == (0.5, 0.0, 1.0)


@settings(max_examples=40, deadline=None)
@given(rows, rows)
def test_k_map_counts_the_persons_of_each_row(sample, others):
    sample = frame(sample)
    population = pd.concat([sample, frame(others)], ignore_index=True)
    keys = list(zip(population["k"], population["q"], strict=True))
    persons = [keys.count(key) for key in zip(sample["k"], sample["q"], strict=True)]
    found = vd.risk.k_map(sample, population, ["k", "q"], k=3)
    assert found.per_record.tolist() == persons
    assert int(found.k) == min(persons)
    assert float(found.below) == pytest.approx(np.mean([p < 3 for p in persons]))
    assert float(found.average) == pytest.approx(np.mean([1 / p for p in persons]))


def test_the_assessment_tells_the_worst_column_and_refuses_what_was_recoded():
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "zip": rng.integers(1000, 1020, 300).astype(str),
            "sex": rng.choice(list("fm"), 300),
            "ill": rng.choice(list("yn"), 300),
        }
    )
    swapped = vd.assess(people, vd.Pram(columns=["ill"]).protect(people, seed=1))
    assert 0 < float(swapped["risk.attribution.tcap"]) <= 1
    assert float(swapped["risk.replicated.uniques"]) >= 0
    hierarchy = {"zip": vd.Hierarchy.mask(4), "sex": vd.Hierarchy.mask(1)}
    generalised = vd.assess(
        people,
        vd.KAnonymity(quasi_identifiers=["zip", "sex"], k=20, hierarchies=hierarchy).protect(
            people
        ),
    )
    assert (
        float(generalised["risk.replicated.uniques"]) == 0
    )  # nobody is alone in classes of twenty
    for name in ("risk.attribution.disco", "risk.match.emr", "risk.distance.copies"):
        assert "recoded" in generalised.figures[name].why


def test_coarser_keys_leave_those_alone_who_were_alone_before():
    """Of a recoded release: the rows that are alone, each an original unique, by counting both tables by hand."""
    rng = np.random.default_rng(2)
    people = pd.DataFrame(
        {"zip": rng.integers(1000, 1400, 100).astype(str), "sex": rng.choice(list("fm"), 100)}
    )
    groups = {f"{first}*": [f"{first}{last}" for last in range(10)] for first in range(100, 140)}
    table = vd.open(people, {name: {"role": "quasi-identifier"} for name in people})
    release = vd.Recode(columns={"zip": {"groups": groups}}).protect(table)
    alone = ~release.datasets[0].duplicated(keep=False)
    assert 0 < alone.sum() < 100
    assert float(vd.assess(table, release)["risk.replicated.uniques"]) == pytest.approx(
        alone.mean()
    )
    assert not people[alone.to_numpy()].duplicated(keep=False).any()


def test_mistakes_are_told():
    people = pd.DataFrame({"k": ["a", "b"], "t": ["x", "y"]})
    with pytest.raises(PlanError, match="at least one key"):
        vd.risk.replicated(people, people, "k")
    with pytest.raises(PlanError, match="not one of them"):
        vd.risk.attribution(people, people, ["t"], "t")
    with pytest.raises(PlanError, match="groups"):
        vd.risk.attribution(people, people, ["k"], "t", groups=1)
    with pytest.raises(PlanError, match="at least one key"):
        vd.risk.k_map(people, people, [])
    with pytest.raises(PlanError, match="at least 1"):
        vd.risk.k_map(people, people, ["k"], k=0)
    with pytest.raises(DataError, match="1 rows of the table are not in the population") as error:
        vd.risk.k_map(people, people.iloc[:1], ["k"])
    assert "'b'" not in str(error.value)
    for measure in (
        lambda f: vd.risk.replicated(f, people, ["k"]),
        lambda f: vd.risk.attribution(f, people, ["k"], "t"),
        lambda f: vd.risk.k_map(f, people, ["k"]),
    ):
        with pytest.raises(DataError, match="no rows"):
            measure(people.iloc[:0])
