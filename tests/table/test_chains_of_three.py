"""Chains of three tables count people: patients, not their visits; persons, not their homes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.generators.linked import drugs_of, events_of, homes_and_people
from tests.table.test_linked import people_and_visits

import veladura as vd
from veladura.base.context import Context
from veladura.base.streams import Streams
from veladura.errors import DataError, PlanError
from veladura.measures.risk.classes import classes
from veladura.measures.risk.individual import individual
from veladura.measures.risk.suda2 import suda2
from veladura.measures.risk.uniqueness import uniqueness
from veladura.methods.private.contribution import Contribution
from veladura.plan.linked import find_linked
from veladura.table.linked import LinkedTable

KNOWN = ["age", "sex", "area"]


def with_uniques(people: pd.DataFrame, alone: int) -> pd.DataFrame:
    """Return people of whom so many are alone by what is known, and all others at least two."""
    place = np.maximum(np.arange(len(people)) - alone, 0) // 2  # pairs; an odd one joins the last
    place = np.minimum(place, (len(people) - alone) // 2 - 1)
    area = np.where(np.arange(len(people)) < alone, "own", "shared")
    place = np.where(area == "own", np.arange(len(people)), place)
    return people.assign(age=20 + place % 60, sex=np.array(["f", "m"])[place // 60 % 2], area=area)


def patients(alone: int = 37) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    people, visits = people_and_visits(201)
    return with_uniques(people, alone), visits, drugs_of(visits)


def chain(people, visits, drugs):
    return (
        LinkedTable(name="patients", path=people, key="who"),
        LinkedTable(name="visits", path=visits, parent="patients", link="patient", key="visit"),
        LinkedTable(name="prescriptions", path=drugs, parent="visits"),
    )


def homes(seed: int = 1):
    first, people = homes_and_people(120, seed)
    return (
        LinkedTable(name="homes", path=first, key="home"),
        LinkedTable(name="persons", path=people.assign(area="a"), key="who", parent="homes"),
        LinkedTable(name="events", path=events_of(people), parent="persons"),
    ), people.assign(area="a")


def test_the_generator_makes_as_many_uniques_as_it_says():
    people = patients(37)[0]
    assert (people.groupby(KNOWN).who.transform("size") == 1).sum() == 37


@pytest.mark.parametrize("alone", [0, 1, 37])
def test_figures_of_risk_are_those_of_the_patients(alone):
    people, visits, drugs = patients(alone)
    table = vd.open_linked(*chain(people, visits, drugs))
    assert (table.schema.person, table.schema.episode) == ("who", "visit")
    assert table.schema.household is None
    assert table.people == len(people)
    size = people.groupby(KNOWN).who.transform("size")
    found = uniqueness(table, KNOWN)
    assert int(found.rows) == len(people)
    assert int(found.sample_uniques) == alone
    assert float(found.average_prosecutor) == pytest.approx((1 / size).mean())
    by_class = classes(table, KNOWN)
    assert int(by_class.uniques) == alone
    assert int(by_class.smallest) == size.min()
    assert float(suda2(table, KNOWN).special) == pytest.approx(alone / len(people))
    risk = individual(table, KNOWN, fraction=0.1)
    alike = individual(people, KNOWN, fraction=0.1)
    assert float(risk.expected) == pytest.approx(float(alike.expected))
    assert risk.households is None


def test_what_is_known_of_visits_is_counted_in_patients():
    """The ward differs from visit to visit: a patient is at risk by the rarest of them."""
    people, visits, drugs = patients()
    visits = visits.assign(ward=[f"w{n}" for n in np.arange(len(visits)) % 40])
    table = vd.open_linked(*chain(people, visits, drugs))
    both = people.merge(visits, left_on="who", right_on="patient", how="left")
    shared = both.groupby(["sex", "ward"], dropna=False).who.transform("nunique")
    fewest = shared.groupby(both.who).min()
    found = uniqueness(table, ["sex", "ward"])
    assert int(found.sample_uniques) == (fewest == 1).sum() > 0
    assert float(found.average_prosecutor) == pytest.approx((1 / fewest).mean())


def test_figures_of_homes_persons_and_events_are_those_of_the_persons():
    tables, people = homes()
    table = vd.open_linked(*tables)
    assert (table.schema.household, table.schema.person) == ("home", "who")
    assert table.schema.episode is None
    size = people.groupby(KNOWN).who.transform("size")
    found = uniqueness(table, KNOWN)
    assert int(found.rows) == len(people)
    assert int(found.sample_uniques) == (size == 1).sum() > 0
    assert float(found.average_prosecutor) == pytest.approx((1 / size).mean())


def test_k_counts_patients_and_both_keys_hold_within_a_class():
    people, visits, drugs = patients()
    table = vd.open_linked(*chain(people, visits, drugs))
    release = vd.KAnonymity(quasi_identifiers=KNOWN, k=4, max_suppression=0.5).protect(
        table, seed=1
    )
    assert {proof.status for proof in release.proofs} == {"holds"}
    frame, rows = release.datasets[0], release.tables[0].rows
    true = table.arrow.column("who").to_pandas()[rows].to_numpy()
    by = frame.groupby(KNOWN, dropna=False)
    assert (by.who.nunique() >= 4).all()
    assert by.who.nunique().tolist() == frame.assign(t=true).groupby(KNOWN).t.nunique().tolist()
    assert frame.groupby("visit").who.nunique().max() == 1
    promise = next(p for p in release.promises if p.name.startswith("group-size"))
    assert promise.settings["person"] == "who"
    parts = release.linked()
    assert set(parts["prescriptions"].visit) <= set(parts["visits"].visit)
    assert set(parts["visits"].who) <= set(parts["patients"].who)


def test_contributions_are_bounded_for_each_patient():
    """A column that names the patient shows whose rows are counted."""
    people, visits, drugs = patients()
    people = people.assign(shown=people.who)
    table = vd.open_linked(*chain(people, visits, drugs)).without_identifiers()
    assert table.arrow.column("shown").to_pandas().value_counts().max() > 3
    context = Context(Streams(1), seeded=True)
    counted = Contribution("replace-one", 3, None).counted(table, context)
    each = counted.arrow.column("shown").to_pandas().value_counts()
    assert each.max() == 3
    assert len(each) == len(people)


def test_new_numbers_of_visits_say_nothing_of_the_old_ones():
    people, visits, drugs = patients()
    table = vd.open_linked(*chain(people, visits, drugs))
    release = vd.Noise(columns=["dose"], scale=0.1).protect(table, seed=1)
    old = table.arrow.column("visit").to_pandas()[release.tables[0].rows].to_numpy()
    new = release.datasets[0].visit.to_numpy()
    pairs = pd.DataFrame({"old": old, "new": new}).drop_duplicates()
    assert pairs.old.is_unique
    assert pairs.new.is_unique
    assert sorted(pairs.new) == list(range(1, len(pairs) + 1))
    # rank correlation of independent permutations: 4.5 standard errors
    assert abs(pairs.old.corr(pairs.new, method="spearman")) < 4.5 / np.sqrt(len(pairs) - 1)


def written(folder, tables):
    for table in tables:
        table.path.to_csv(folder / f"{table.name}.csv", index=False)
    return [str(folder / f"{table.name}.csv") for table in tables]


def test_init_says_which_table_holds_the_people(tmp_path):
    found = find_linked(written(tmp_path, chain(*patients())))
    assert [(t.name, t.unit) for t in found] == [
        ("patients", "person"),
        ("visits", None),
        ("prescriptions", None),
    ]
    found = find_linked(written(tmp_path, homes()[0]))
    assert [(t.name, t.unit) for t in found] == [
        ("homes", "household"),
        ("persons", "person"),
        ("events", None),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_content_says_who_is_who_where_names_do_not(seed):
    people, visits = people_and_visits(200, seed)
    drugs = drugs_of(visits, seed)
    names = ("a", "b", "c")
    plain = [replace(t, name=n) for t, n in zip(chain(people, visits, drugs), names, strict=True)]
    plain = [plain[0], replace(plain[1], parent="a"), replace(plain[2], parent="b")]
    assert vd.open_linked(*plain).person == "who"
    first, second, third = homes(seed)[0]
    named = replace(first, name="a"), replace(second, name="b", parent="a")
    table = vd.open_linked(*named, replace(third, name="c", parent="b"))
    assert (table.schema.household, table.person) == ("home", "who")


def test_the_holder_says_who_is_who():
    first, second, third = chain(*patients())
    table = vd.open_linked(first, replace(second, unit="person"), third)
    assert (table.schema.household, table.person) == ("who", "visit")
    # the control: visits that count as people hide patients who are alone
    assert int(uniqueness(table, KNOWN).sample_uniques) < 37
    first, second, third = homes()[0]
    table = vd.open_linked(replace(first, unit="person"), second, third)
    assert (table.person, table.schema.episode) == ("home", "who")


def test_episodes_belong_to_one_person_each():
    frame = pd.DataFrame({"p": [1, 1, 2, 2], "e": [1, 1, 2, 2], "x": list("abcd")})
    roles = {"p": {"role": "person"}, "e": {"role": "episode"}}
    assert vd.open(frame, roles).people == 2
    with pytest.raises(PlanError, match="no column says whose they are"):
        vd.open(frame, {"e": {"role": "episode"}})
    with pytest.raises(DataError, match="missing in 0 rows, and 1 belong to a second person"):
        vd.open(frame.assign(e=[1, 1, 1, 2]), roles)
    with pytest.raises(DataError, match="missing in 1 rows"):
        vd.open(frame.assign(e=[1, 1, 2, None]), roles)


def test_households_draws_visits_in_their_time_and_sizes_of_homes():
    """What is promised of visits and of members counts each once, however many rows it has."""
    people, visits = people_and_visits(700, 11)
    three = chain(people, visits, drugs_of(visits))
    release = vd.HouseholdCart(m=1).protect(vd.open_linked(*three), seed=1)
    promise = next(p for p in release.promises if p.name == "distinct")
    assert promise.settings == {"columns": ["day"], "unit": "who", "of": "visit"}
    made = release.linked()
    assert not made["visits"].duplicated(["who", "day"]).any()
    (first, second, third), persons = homes()
    members = persons.home.value_counts()
    sized = first.path.assign(members=members.reindex(first.path.home).to_numpy())
    release = vd.HouseholdCart(m=1).protect(
        vd.open_linked(replace(first, path=sized), second, third), seed=1
    )
    promise = next(p for p in release.promises if p.name == "unit-sizes")
    assert promise.settings == {"columns": ["members"], "unit": "home", "of": "who"}
    made = release.linked()
    counted = made["persons"].home.value_counts().reindex(made["homes"].home)
    assert (counted.to_numpy() == made["homes"].members.to_numpy()).all()
