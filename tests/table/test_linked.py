"""Linked tables: keys are checked on the way in, found by content, and joined without loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.table.find_links import find_links
from veladura.table.linked import LinkedTable


def people_and_visits(number: int = 1200, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return people, some without visits, and visits whose costs go together."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "who": rng.permutation(10 * number)[:number],
            "sex": rng.choice(["f", "m"], number),
            "age": rng.integers(18, 90, number),
        }
    )
    at = np.repeat(np.arange(number), rng.poisson(np.where(people.age > 60, 2.4, 1.2)))
    effect = rng.normal(0, 1, number)
    visits = pd.DataFrame(
        {
            "visit": rng.permutation(at.size),
            "patient": people.who.to_numpy()[at],
            "ward": rng.choice(list("ABC"), at.size),
            "cost": np.exp(5 + 0.5 * effect[at] + 0.4 * rng.normal(size=at.size)).round(),
        }
    )
    order = visits.groupby("patient").cumcount().to_numpy()
    visits["day"] = 40 * order + rng.integers(1, 39, at.size)
    return people, visits.sample(frac=1, random_state=seed).reset_index(drop=True)


def chain(people, visits, **settings):
    return (
        LinkedTable(name="people", path=people, key="who"),
        LinkedTable(name="visits", path=visits, parent="people", link="patient", **settings),
    )


def test_a_joined_table_holds_every_row_of_both():
    people, visits = people_and_visits(200)
    table = vd.open_linked(*chain(people, visits, key="visit"))
    frame = table.arrow.to_pandas()
    alone = ~people.who.isin(visits.patient)
    assert alone.any()
    assert len(frame) == len(visits) + alone.sum()
    assert table.person == "who"
    assert table.people == len(people)
    merged = people.merge(visits, left_on="who", right_on="patient", how="left")
    names = ["who", "sex", "age", "ward", "cost", "day"]
    for one, other in ((frame, merged), (merged, frame)):
        ordered = [
            f[names].sort_values(["who", "day"]).reset_index(drop=True) for f in (one, other)
        ]
        pd.testing.assert_frame_equal(*ordered, check_dtype=False)
    assert (frame.has_visits == "no").sum() == alone.sum()


def test_three_tables_make_households_people_and_rows():
    people, visits = people_and_visits(300)
    homes = pd.DataFrame({"home": np.arange(120), "region": np.array(["n", "s"] * 60)})
    people["home"] = np.arange(len(people)) % 120
    three = (
        *chain(people, visits, key="visit")[1:],
        LinkedTable(name="homes", path=homes, key="home"),
        LinkedTable(name="people", path=people, key="who", parent="homes"),
    )
    table = vd.open_linked(*three)
    assert (table.schema.household, table.schema.person) == ("home", "who")
    release = vd.HouseholdCart(m=1).protect(table, seed=1)
    parts = release.linked()
    assert set(parts["visits"].who) <= set(parts["people"].who)
    assert set(parts["people"].home) <= set(parts["homes"].home)
    assert not parts["people"].who.duplicated().any()
    assert not parts["homes"].home.duplicated().any()


def patients_visits_drugs(number: int = 700, seed: int = 11):
    """Return three tables; some patients have no visit, and some visits no drug."""
    people, visits = people_and_visits(number, seed)
    rng = np.random.default_rng(seed)
    at = np.repeat(visits.visit.to_numpy(), rng.poisson(1.2, len(visits)))
    drugs = pd.DataFrame({"visit": at, "drug": rng.choice(list("ABCDEF"), at.size)})
    return people, visits, drugs


@pytest.mark.parametrize("text", [False, True])
def test_patients_without_visits_are_such_in_a_chain_of_three(text):
    people, visits, drugs = patients_visits_drugs()
    if text:
        visits, drugs = (d.assign(visit="v" + d.visit.astype(str)) for d in (visits, drugs))
    three = (
        *chain(people, visits, key="visit"),
        LinkedTable(name="drugs", path=drugs, parent="visits", link="visit"),
    )
    release = vd.HouseholdCart(m=1).protect(vd.open_linked(*three), seed=3)
    made = release.linked()
    assert set(made["visits"].who) < set(made["people"].who)
    assert set(made["drugs"].visit) < set(made["visits"].visit)
    assert made["people"].who.is_unique
    assert made["visits"].visit.is_unique
    frame = release.datasets[0]
    nothing = frame[frame.has_visits == "no"]
    assert nothing[["ward", "cost", "day", "drug"]].isna().all(axis=None)
    assert (nothing.has_drugs == "no").all()
    # shares of those without, at 4.5 standard errors of a difference
    for own, above, key in (("visits", "people", "who"), ("drugs", "visits", "visit")):
        source = {"people": people, "visits": visits.rename(columns={"patient": "who"})}
        source["drugs"] = drugs
        shares = [(~t[above][key].isin(t[own][key])).mean() for t in (source, made)]
        error = np.sqrt(2 * shares[0] * (1 - shares[0]) / len(source[above]))
        assert abs(shares[1] - shares[0]) < 4.5 * error


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (lambda p, v: (p.assign(who=1), v), DataError, "repeated in 199"),
        (lambda p, v: (p.assign(who=p.who.where(p.who > 50)), v), DataError, "missing in"),
        (lambda p, v: (p.iloc[5:], v), DataError, "belong to nothing"),
        (lambda p, v: (p, v.rename(columns={"patient": "x"})), PlanError, "has no column"),
        (lambda p, v: (p.rename(columns={"who": "x"}), v), PlanError, "has no column"),
    ],
)
def test_broken_keys_are_refused_with_numbers_of_rows(spoil, error, words):
    with pytest.raises(error, match=words):
        vd.open_linked(*chain(*spoil(*people_and_visits(200))))


def test_what_is_no_chain_is_refused():
    people, visits = people_and_visits(50)
    one = LinkedTable(name="a", path=people, key="who")
    for tables in (
        (one,),
        (one, LinkedTable(name="b", path=visits)),
        (one, *(LinkedTable(name=n, path=visits, parent="a", link="patient") for n in "bb")),
        (LinkedTable(name="a", path=people), LinkedTable(name="b", path=visits, parent="a")),
        (one, LinkedTable(name="b", path=visits, parent="nothing")),
    ):
        with pytest.raises(PlanError):
            vd.open_linked(*tables)


def test_keys_are_found_by_content():
    """An age lies among running numbers of visits too, and links nothing."""
    people, visits = people_and_visits(400)
    first, second = find_links({"v": visits, "p": people})
    assert (first.name, first.key) == ("p", "who")
    assert (second.name, second.parent, second.link, second.key) == ("v", "p", "patient", "visit")
    strangers = visits.assign(patient=visits.patient + 10**6)
    with pytest.raises(PlanError, match="no chain"):
        find_links({"v": strangers.drop(columns="visit"), "p": people})


def test_columns_of_the_same_name_are_told_apart():
    people, visits = people_and_visits(100)
    table = vd.open_linked(*chain(people, visits.rename(columns={"cost": "age"})))
    assert {"age", "age_visits"} <= set(table.names)


@pytest.mark.parametrize("kind", ["text", "fraction", "unlike"])
def test_links_that_cannot_be_keys_are_orphans_and_no_value_is_shown(kind):
    """Keys are whole numbers; Arrow's own error would show what stands in the link."""
    people, visits = people_and_visits(50)
    link = visits.patient.astype(object)
    link[3] = {"text": "secret-77", "fraction": 77.5, "unlike": "77.secret"}[kind]
    link = link.astype(float) if kind == "fraction" else link.astype(str)
    with pytest.raises(DataError, match=r"^1 rows of table 'visits'") as refused:
        vd.open_linked(*chain(people, visits.assign(patient=link)))
    assert "77" not in str(refused.value)


def test_a_key_of_two_columns_is_refused_in_words():
    people, visits = people_and_visits(50)
    first, second = chain(people, visits)
    with pytest.raises(PlanError, match="name one column each"):
        vd.open_linked(replace(first, key=["who", "sex"]), second)


def firms_and_employees(empty: int = 0):
    rng = np.random.default_rng(2)
    firms = pd.DataFrame({"firm": [f"E{n:05d}" for n in rng.permutation(90_000)[:200]]})
    firms["branch"] = rng.choice(["trade", "crafts", "farming"], 200)
    at = np.repeat(np.arange(200 - empty), 1 + rng.poisson(3, 200 - empty))
    staff = pd.DataFrame(
        {"worker": rng.permutation(at.size), "works_for": firms.firm[at].to_list()}
    )
    return firms, staff.assign(
        age=rng.integers(18, 66, at.size), pay=rng.integers(900, 4000, at.size)
    )


def drafted(folder, firms, staff):
    from veladura.plan.linked import find_linked

    paths = [folder / "firms.csv", folder / "staff.csv"]
    for path, table in zip(paths, (firms, staff), strict=True):
        table.to_csv(path, index=False)
    return find_linked([str(path) for path in paths])


def test_employees_are_people_and_firms_are_what_they_share(tmp_path):
    chain_ = drafted(tmp_path, *firms_and_employees())
    assert [table.unit for table in chain_] == ["household", "person"]
    table = vd.open_linked(*chain_)
    assert (table.person, table.schema.household) == ("worker", "firm")


def test_firms_without_employees_are_accepted_and_rows_are_people(tmp_path):
    chain_ = drafted(tmp_path, *firms_and_employees(empty=9))
    assert [table.unit for table in chain_] == ["household", None]
    assert vd.open_linked(*chain_).schema.household == "firm"


def test_the_age_of_a_patient_at_each_visit_makes_no_people_of_visits(tmp_path):
    firms, staff = firms_and_employees()
    once = staff.groupby("works_for").age.transform("first")  # one age, some months later each time
    staff = staff.assign(age=once + staff.groupby("works_for").cumcount() // 2)
    chain_ = drafted(tmp_path, firms, staff)
    assert vd.open_linked(*chain_).person == "firm"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda p, v: (p, v.assign(patient=v.patient.where(v.index > 2, -5))),
            "3 rows of 'visits'",
        ),
        (lambda p, v: (pd.concat([p, p[:2]]), v), "2 rows of 'people' repeat a 'who'"),
        (
            lambda p, v: (
                pd.concat([p, p[:1]]),
                v.assign(patient=v.patient.where(v.index > 0, -5)),
            ),
            "1 rows of 'visits' have a 'patient' that 'people' lacks and 1 rows of 'people'",
        ),
        (
            lambda p, v: (
                p,
                v.assign(patient=v.patient.astype("Int64").where(v.index > 2, pd.NA)),
            ),
            "3 rows of 'visits' have no 'patient'",
        ),
    ],
    ids=["orphans", "repeated", "both", "missing"],
)
def test_the_nearest_link_is_named_with_the_rows_that_break_it(spoil, words):
    people, visits = spoil(*people_and_visits(300))
    with pytest.raises(PlanError, match="nearest to a link is 'patient' of 'visits'") as refused:
        find_links({"people": people, "visits": visits})
    assert words in str(refused.value)
    assert "-5" not in str(refused.value)  # no value of the data


def test_tables_that_have_nothing_in_common_have_no_nearest_link():
    people, visits = people_and_visits(300)
    others = visits.assign(patient=visits.patient + 1_000_000)
    with pytest.raises(PlanError, match="no chain of at most"):
        find_links({"people": people, "visits": others[["patient", "ward"]]})
