"""Two tables with one parent: visits and prescriptions of patients, opened, drawn, taken apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.table.test_linked import people_and_visits

import veladura as vd
from veladura.core.linked import CHECKS
from veladura.core.promise import Evidence, prove
from veladura.errors import DataError, PlanError
from veladura.table.find_links import find_links
from veladura.table.linked import LinkedTable


def three(number: int = 900, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return patients, their visits, and prescriptions: more for older people, doses by drug."""
    people, visits = people_and_visits(number, seed)
    rng = np.random.default_rng(seed + 100)
    at = np.repeat(np.arange(number), rng.poisson(np.where(people.age > 60, 2.0, 0.7)))
    drug = rng.choice(["x", "y", "z"], at.size, p=[0.5, 0.3, 0.2])
    given = pd.DataFrame(
        {
            "who": people.who.to_numpy()[at],
            "drug": drug,
            "dose": np.where(drug == "x", 10, 40) + 5 * rng.integers(0, 4, at.size),
        }
    )
    given["day"] = 30 * given.groupby("who").cumcount().to_numpy() + rng.integers(1, 29, at.size)
    return people, visits, given


def linked(people, visits, given, **settings):
    return (
        LinkedTable(name="people", path=people, key="who"),
        LinkedTable(name="visits", path=visits, parent="people", link="patient", key="visit"),
        LinkedTable(name="drugs", path=given, parent="people", **settings),
    )


def test_every_row_of_both_tables_is_there_once():
    people, visits, given = three(200)
    table = vd.open_linked(*linked(people, visits, given))
    frame = table.arrow.to_pandas()
    assert table.person == "who"
    assert table.people == len(people)
    alone = ~people.who.isin([*visits.patient, *given.who])
    assert alone.any()
    assert frame.row_of.value_counts().to_dict() == {"visits": len(visits), "drugs": len(given)}
    assert (frame.has_rows == "no").sum() == frame.row_of.isna().sum() == alone.sum()
    for name, own, columns in (
        ("visits", visits.rename(columns={"patient": "who"}), ["who", "ward", "cost", "day"]),
        ("drugs", given.rename(columns={"day": "day_drugs"}), ["who", "drug", "dose", "day_drugs"]),
    ):
        part = frame[frame.row_of == name][columns].sort_values(columns).reset_index(drop=True)
        wanted = own[columns].sort_values(columns).reset_index(drop=True)
        pd.testing.assert_frame_equal(part, wanted, check_dtype=False)


@pytest.fixture(scope="module")
def tables():
    return three()


@pytest.fixture(scope="module")
def release(tables):
    return vd.HouseholdCart(m=2).protect(vd.open_linked(*linked(*tables)), seed=3)


def test_artificial_patients_have_visits_and_prescriptions_of_their_own(release):
    for i in range(2):
        parts = release.linked(i)
        assert not parts["people"].who.duplicated().any()
        assert set(parts["visits"].who) <= set(parts["people"].who)
        assert set(parts["drugs"].who) <= set(parts["people"].who)
        assert parts["visits"][["ward", "cost", "day"]].notna().all().all()
        assert parts["drugs"][["drug", "dose", "day_drugs"]].notna().all().all()
    assert {proof.status for proof in release.proofs} == {"holds"}


def figures(people, visits, drugs) -> dict[str, float]:
    """Return how many rows people have, and what holds within them, by pandas alone."""
    old = people.set_index("who").age > 60
    by = [frame.groupby("who").size().reindex(old.index).fillna(0) for frame in (visits, drugs)]
    return {
        **{f"rows {i}": each.mean() for i, each in enumerate(by)},
        **{f"rows of the old {i}": each[old].mean() for i, each in enumerate(by)},
        "dose of x": drugs[drugs.drug == "x"].dose.mean(),
        "dose of others": drugs[drugs.drug != "x"].dose.mean(),
        "cost": np.log(visits.cost).mean(),
    }


def test_numbers_and_columns_of_both_tables_are_kept(tables, release):
    """Against the errors of samples of patients: 5 of them, twice in a Bayesian draw."""
    people, visits, given = tables
    visits = visits.rename(columns={"patient": "who"})
    own = figures(people, visits, given)
    other = [figures(*_sample(seed)) for seed in range(20)]
    errors = pd.DataFrame(other).std()
    for i in range(2):
        parts = release.linked(i)
        found = figures(parts["people"], parts["visits"], parts["drugs"])
        apart = {name: abs(found[name] - own[name]) / errors[name] / np.sqrt(2) for name in own}
        assert max(apart.values()) < 5, apart
    # broken control: prescriptions of anybody
    mixed = given.assign(who=np.random.default_rng(1).permutation(given.who.sample(frac=1)))
    thrown = figures(people.assign(age=people.age.to_numpy()[::-1]), visits, mixed)
    name = "rows of the old 1"
    assert abs(thrown[name] - own[name]) > 5 * np.sqrt(2) * errors[name]


def _sample(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    people, visits, given = three(seed=50 + seed)
    return people, visits.rename(columns={"patient": "who"}), given


def test_the_check_sees_rows_that_hold_something_of_another_table(release):
    promise = next(one for one in release.promises if one.name == "linked-tables")
    frame = release.datasets[0]
    spoilt = frame.assign(cost=frame.cost.fillna(1.0))
    for data, status in ((frame, "holds"), (spoilt, "broken")):
        table = vd.open(data, {"who": {"role": "person"}}).without_identifiers()
        assert prove(promise, Evidence(table), CHECKS).status == status


def test_init_finds_two_tables_with_one_parent(tmp_path):
    names = ("people", "visits", "drugs")
    paths = {name: tmp_path / f"{name}.csv" for name in names}
    for name, frame in zip(names, three(300), strict=True):
        frame.to_csv(paths[name], index=False)
    found = find_links(paths)
    assert found[0].name == "people"
    assert {(table.name, table.parent) for table in found[1:]} == {
        ("visits", "people"),
        ("drugs", "people"),
    }


def test_what_cannot_be_is_refused():
    people, visits, given = three(100)
    with pytest.raises(PlanError, match="has a unit"):
        vd.open_linked(*linked(people, visits, given, unit="person"))
    with pytest.raises(DataError, match="belong to nothing"):
        vd.open_linked(*linked(people, visits, given.assign(who=-1)))
    below = LinkedTable(name="bills", path=given, parent="visits", link="who")
    with pytest.raises(PlanError, match="no chain"):
        vd.open_linked(*linked(people, visits, given), below)
