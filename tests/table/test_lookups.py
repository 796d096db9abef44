"""Visits belong to patients and to hospitals: one is the people's table, the other is looked up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.generators.linked import events_of, homes_and_people
from tests.generators.lookups import hospitals_of
from tests.table.test_linked import chain, people_and_visits

import veladura as vd
from veladura.core.linked import CHECKS
from veladura.core.lookups import JoinedWarning
from veladura.core.promise import Evidence, prove
from veladura.errors import DataError, PlanError
from veladura.table.find_links import find_links
from veladura.table.linked import LinkedTable


def tables(number: int = 300):
    people, visits = people_and_visits(number)
    return people, *hospitals_of(visits)


def linked(people, visits, hospitals, **settings):
    given = {"key": "hospital", "describes": "visits"} | settings
    return (
        *chain(people, visits, key="visit"),
        LinkedTable(name="hospitals", path=hospitals, **given),
    )


@pytest.fixture(scope="module")
def three():
    return tables()


@pytest.fixture(scope="module")
def release(three):
    return vd.Noise(columns=["cost"], scale=0.1).protect(vd.open_linked(*linked(*three)), seed=1)


def test_columns_of_hospitals_stand_beside_the_visits(three):
    people, visits, hospitals = three
    table = vd.open_linked(*linked(*three))
    assert table.schema.of_role("lookup") == ["hospital"]
    assert table.people == len(people)
    wanted = visits.merge(hospitals, on="hospital").rename(columns={"patient": "who"})
    frame = table.arrow.to_pandas()
    found = frame[frame.has_visits == "yes"]
    names = ["who", "day", "hospital", "beds", "kind"]
    ordered = [f[names].sort_values(["who", "day"]).reset_index(drop=True) for f in (found, wanted)]
    pd.testing.assert_frame_equal(*ordered, check_dtype=False)
    assert frame[frame.has_visits == "no"][["hospital", "beds", "kind"]].isna().all(axis=None)


def test_hospitals_come_back_as_a_table_under_new_keys(three, release):
    _, visits, hospitals = three
    made = release.linked()
    assert list(made) == ["people", "visits", "hospitals"]
    assert list(made["hospitals"].columns) == ["hospital", "beds", "kind"]
    assert made["hospitals"].hospital.is_unique
    assert not set(made["hospitals"].hospital) & set(hospitals.hospital)  # 900 and more
    assert set(made["visits"].hospital) == set(made["hospitals"].hospital)
    assert {"beds", "kind"}.isdisjoint(made["visits"].columns)
    rows = [f[["beds", "kind"]].value_counts().sort_index() for f in (made["hospitals"], hospitals)]
    assert rows[0].to_dict() == rows[1].to_dict()
    sizes = [sorted(f.hospital.value_counts()) for f in (made["visits"], visits)]
    assert sizes[0] == sizes[1]
    assert {proof.status for proof in release.proofs} == {"holds"}


def test_new_keys_say_nothing_of_the_old_ones(three):
    people, visits, _ = three
    visits, hospitals = hospitals_of(visits, 150)
    table = vd.open_linked(*linked(people, visits, hospitals))
    made = vd.Noise(columns=["cost"], scale=0.1).protect(table, seed=2)
    old = table.arrow.column("hospital").to_pandas()[made.tables[0].rows].to_numpy()
    pairs = pd.DataFrame({"old": old, "new": made.datasets[0].hospital.to_numpy()})
    pairs = pairs.dropna().drop_duplicates()
    assert pairs.old.is_unique
    assert pairs.new.is_unique
    # rank correlation of independent permutations: 4.5 standard errors
    assert abs(pairs.old.corr(pairs.new, method="spearman")) < 4.5 / np.sqrt(len(pairs) - 1)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda f: f.assign(beds=np.where(f.has_visits == "yes", np.arange(len(f)), np.nan)),
        lambda f: f.drop(columns="hospital"),
        lambda f: f.drop(columns="beds"),
    ],
    ids=["two rows of a key", "no key", "no column"],
)
def test_the_check_sees_hospitals_that_are_no_table(release, spoil):
    promise = next(p for p in release.promises if p.name == "linked-tables")
    roles = {"who": {"role": "person"}, "hospital": {"role": "lookup"}}
    frame = release.datasets[0]
    for one, status in ((frame, "holds"), (spoil(frame), "broken")):
        given = {name: role for name, role in roles.items() if name in one}
        table = vd.open(one, given).without_identifiers()
        assert prove(promise, Evidence(table), CHECKS).status == status


@pytest.mark.filterwarnings("ignore::veladura.core.linked.PartsWarning")
@pytest.mark.parametrize(
    "recipe",
    [
        vd.Pram(columns=["kind"]),
        vd.KAnonymity(quasi_identifiers=["sex", "kind"], k=3),
        vd.HouseholdCart(m=1),
    ],
    ids=["pram", "k-anonymity", "households"],
)
def test_what_stays_joined_is_said_and_has_no_key(three, recipe):
    """Rows of a hospital, each masked by itself, would tell its kind by the commonest value."""
    release = recipe.protect(vd.open_linked(*linked(*three)), seed=1)
    assert "hospital" not in release.datasets[0]
    assert release.units["hospital"].startswith("hospital is not released")
    with pytest.warns(JoinedWarning, match="hospitals stays joined to visits.*is not that of"):
        made = release.linked()
    assert list(made) == ["people", "visits", "hospitals"]
    assert {"beds", "kind"}.isdisjoint(made["visits"].columns)
    # a row for each combination, and joined again the rows of the release: nothing more is told
    values = made["hospitals"][["beds", "kind"]]
    assert not values.duplicated().any()
    joined = made["visits"].merge(made["hospitals"], on="hospitals_row", how="left")
    rows = release.datasets[0]
    rows = rows[rows.has_visits == "yes"][["cost", "beds", "kind"]]
    both = [f[["cost", "beds", "kind"]].value_counts(dropna=False) for f in (joined, rows)]
    assert both[0].to_dict() == both[1].to_dict()
    assert len(values) == len(rows[["beds", "kind"]].drop_duplicates())
    claim = next(proof.claim for proof in release.proofs if "Linked tables" in proof.claim)
    assert "hospitals stays joined to visits" in claim


def test_regions_of_patients_are_looked_up_too(three):
    people, visits, _ = three
    people = people.assign(region=np.arange(len(people)) % 7)
    regions = pd.DataFrame({"region": range(7), "cost": np.arange(7) * 10})
    table = vd.open_linked(
        *chain(people, visits, key="visit"),
        LinkedTable(name="regions", path=regions, key="region", describes="people"),
    )
    assert {"cost", "cost_regions"} <= set(table.names)
    made = vd.Recode(columns={"cost": {"digits": 1}}).protect(table, seed=1).linked()
    assert len(made["regions"]) == 7
    assert list(made["people"].columns) == ["who", "region", "sex", "age"]
    assert made["people"].region.value_counts().tolist() == people.region.value_counts().tolist()


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (lambda p, v, h: (p, v, h.iloc[1:]), DataError, "that table 'hospitals' does not have"),
        (lambda p, v, h: (p, v, h.assign(hospital=900)), DataError, "repeated in 29"),
        (
            lambda p, v, h: (p, v.drop(columns="hospital"), h),
            PlanError,
            "has no column",
        ),
    ],
    ids=["orphans", "repeated", "absent"],
)
def test_integrity_is_checked_on_the_way_in(three, spoil, error, words):
    with pytest.raises(error, match=words) as refused:
        vd.open_linked(*linked(*spoil(*three)))
    assert "900" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"describes": "stays"}, "none of the tables"),
        ({"unit": "person"}, "neither parent nor unit"),
        ({"key": None}, "it has a key"),
        ({"link": "patient"}, "which is the key or the link"),
    ],
)
def test_what_cannot_be_looked_up_is_refused(three, settings, words):
    with pytest.raises(PlanError, match=words):
        vd.open_linked(*linked(*three, **settings))


def test_a_key_that_a_second_table_holds_is_refused(three):
    """Drawn anew in one table, the old keys would come out in the other."""
    people, visits, hospitals = three
    homes = people.assign(hospital=hospitals.hospital.iloc[0])
    with pytest.raises(PlanError, match="hold keys of 'hospitals' too"):
        vd.open_linked(*linked(homes, visits, hospitals))


@pytest.mark.parametrize("seed", range(4))
def test_init_finds_what_is_looked_up(seed):
    people, visits = people_and_visits(300, seed)
    visits, hospitals = hospitals_of(visits, seed=seed)
    found = find_links({"hospitals": hospitals, "visits": visits, "people": people})
    assert [(t.name, t.parent, t.describes) for t in found] == [
        ("people", None, None),
        ("visits", "people", None),
        ("hospitals", None, "visits"),
    ]
    assert (found[-1].key, found[-1].link) == ("hospital", "hospital")


@pytest.mark.parametrize("seed", range(4))
def test_init_finds_the_drugs_of_prescriptions_in_a_chain_of_three(seed):
    people, visits = people_and_visits(300, seed)
    rng = np.random.default_rng(seed)
    drugs = pd.DataFrame(
        {"code": [f"D{n:03d}" for n in range(40)], "price": rng.integers(1, 99, 40)}
    )
    at = np.append(np.arange(40), rng.integers(0, 40, len(visits)))
    given = pd.DataFrame({"visit": rng.choice(visits.visit, at.size), "drug": drugs.code[at]})
    found = find_links({"drugs": drugs, "given": given, "visits": visits, "people": people})
    assert [(t.name, t.parent, t.describes, t.link) for t in found] == [
        ("people", None, None, None),
        ("visits", "people", None, "patient"),
        ("given", "visits", None, "visit"),
        ("drugs", None, "given", "drug"),
    ]
    table = vd.open_linked(*found)
    assert table.schema.of_role("lookup") == ["drug"]
    assert table.person == "who"


def test_an_event_that_holds_the_home_of_its_person_looks_nothing_up():
    homes, people = homes_and_people(150)
    events = events_of(people).merge(people[["who", "home"]], on="who")
    found = find_links({"homes": homes, "people": people, "events": events})
    assert [(t.name, t.parent, t.describes) for t in found] == [
        ("homes", None, None),
        ("people", "homes", None),
        ("events", "people", None),
    ]


def test_init_refuses_what_it_cannot_tell(three):
    people, visits, _ = three
    many, hospitals = hospitals_of(visits, 200)
    with pytest.raises(PlanError, match="neither names nor numbers of rows say"):
        find_links({"a": people, "b": many, "c": hospitals})
    named = find_links({"patients": people, "b": many, "c": hospitals})
    assert [t.describes for t in named] == [None, None, "b"]
    people, visits, hospitals = three
    bills = visits[["visit", "hospital"]].loc[visits.index.repeat(2)]
    with pytest.raises(PlanError, match="of 'visits' and of 'bills' hold keys of 'hospitals'"):
        find_links({"people": people, "visits": visits, "hospitals": hospitals, "bills": bills})
    fewer = hospitals.iloc[1:]
    with pytest.raises(PlanError, match="rows of 'visits' have a 'hospital' that 'hospitals'"):
        find_links({"people": people, "visits": visits, "hospitals": fewer})


def test_a_lookup_of_the_rows_of_a_chain_of_three(three):
    people, visits, hospitals = three
    bills = pd.DataFrame({"visit": visits.visit.repeat(2), "sum": np.arange(2 * len(visits)) % 9})
    first, second, third = linked(people, visits, hospitals)
    table = vd.open_linked(
        first, second, LinkedTable(name="bills", path=bills, parent="visits"), third
    )
    assert (table.person, table.schema.episode) == ("who", "visit")
    made = vd.Recode(columns={"cost": {"digits": 1}}).protect(table, seed=1).linked()
    assert {name: len(part) for name, part in made.items()} == {
        "people": len(people),
        "visits": len(visits),
        "bills": len(bills),
        "hospitals": len(hospitals),
    }
    assert made["visits"].hospital.notna().all()
    replaced = replace(third, path=hospitals.rename(columns={"beds": "sum"}))
    table = vd.open_linked(
        first, second, LinkedTable(name="bills", path=bills, parent="visits"), replaced
    )
    assert {"sum", "sum_hospitals"} <= set(table.names)
