"""Risks count people: recounted with pandas on visits of patients with up to ten rows."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.measures.measure import Subject
from veladura.measures.risk.attribution import attribution
from veladura.measures.risk.classes import classes
from veladura.measures.risk.individual import individual
from veladura.measures.risk.replicated import replicated
from veladura.measures.risk.suda2 import suda2
from veladura.measures.risk.uniqueness import uniqueness
from veladura.numeric.individual_risk import negative_binomial_risk

ROLES = {"patient": {"role": "person"}}
KNOWN = ["sex", "age", "ward"]


def visits(people: int = 120, seed: int = 11) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    visited = np.repeat(np.arange(people), rng.integers(1, 11, people))
    return pd.DataFrame(
        {
            "patient": [f"p{i}" for i in visited],
            "sex": rng.choice(["f", "m"], people)[visited],
            "age": rng.integers(20, 90, people)[visited],
            "ward": rng.choice(list("abcd"), visited.size),
            "income": rng.normal(3000, 800, visited.size).round(0),
            "weight": rng.integers(5, 50, people)[visited] * 1.0,
        }
    ).sample(frac=1, random_state=seed, ignore_index=True)


@pytest.fixture
def frame() -> pd.DataFrame:
    return visits()


@pytest.fixture
def table(frame: pd.DataFrame) -> Any:
    return vd.open(frame, ROLES)


def people_of(frame: pd.DataFrame, columns: list[str]) -> pd.Series:
    """Return for every row how many people share its values."""
    return frame.groupby(columns)["patient"].transform("nunique")


def test_uniqueness_and_classes(frame: pd.DataFrame, table: Any) -> None:
    shared = people_of(frame, KNOWN)
    people = frame["patient"].nunique()
    fewest = shared.groupby(frame["patient"]).min()
    risk, by_class = uniqueness(table, KNOWN), classes(table, KNOWN)
    assert int(risk.rows) == people
    assert int(risk.sample_uniques) == int(by_class.uniques) == (fewest == 1).sum()
    assert float(risk.average_prosecutor) == pytest.approx((1 / fewest).mean())
    assert float(by_class.prosecutor_average) == pytest.approx((1 / fewest).mean())
    assert float(by_class.at_risk) == pytest.approx((1 / fewest > 0.2).mean())
    assert int(by_class.smallest) == shared.min()
    as_rows = uniqueness(frame, KNOWN)  # ten visits hid a patient
    assert float(as_rows.average_prosecutor) < float(risk.average_prosecutor) / 2


def test_ten_rows_of_one_person_are_unique() -> None:
    frame = pd.DataFrame({"patient": ["a"] * 10 + ["b", "c"], "zip": [1] * 10 + [2, 2]})
    table = vd.open(frame, ROLES)
    assert int(uniqueness(table, ["zip"]).sample_uniques) == 1
    assert float(suda2(table, ["zip"]).special) == pytest.approx(1 / 3)
    assert int(uniqueness(frame, ["zip"]).sample_uniques) == 0


def test_individual_risk(frame: pd.DataFrame, table: Any) -> None:
    risk = individual(table, KNOWN, weight="weight")
    once = frame.drop_duplicates(["patient", *KNOWN])
    totals = once.groupby(KNOWN)["weight"].agg(["size", "sum"])
    each = negative_binomial_risk(totals["size"].to_numpy(), totals["sum"].to_numpy())
    rows = frame.merge(totals.assign(risk=each), left_on=KNOWN, right_index=True)
    worst = rows.groupby("patient")["risk"].max()
    assert float(risk.expected) == pytest.approx(worst.sum())
    assert float(risk.average) == pytest.approx(worst.mean())


def test_special_uniques(frame: pd.DataFrame, table: Any) -> None:
    special = set()
    for size in (1, 2):
        for columns in combinations(KNOWN, size):
            alone = people_of(frame, list(columns)) == 1
            special |= set(frame.loc[alone, "patient"])
    share = len(special) / frame["patient"].nunique()
    assert float(suda2(table, KNOWN, max_size=2).special) == pytest.approx(share)


def test_replicated_and_attribution(frame: pd.DataFrame, table: Any) -> None:
    release = vd.Pram(columns=["ward"], retain=0.7).protect(table, seed=4)
    after = release.datasets[0].assign(patient=frame["patient"])
    before_size, after_size = people_of(frame, KNOWN), after.groupby(KNOWN)["patient"].nunique()
    found = frame.set_index(KNOWN).index.map(after_size.to_dict().get)
    both = (before_size == 1) & (np.nan_to_num(found.astype(float)) == 1)
    people = frame["patient"].nunique()
    assert float(replicated(table, release, KNOWN).replicated) == pytest.approx(
        frame.loc[both, "patient"].nunique() / people
    )
    risk = attribution(table, release, ["sex", "age"], "ward")
    wards = after.groupby(["sex", "age"])["ward"].agg(["nunique", "first"])
    rows = frame.merge(wards, left_on=["sex", "age"], right_index=True, how="left")
    right = (rows["nunique"] == 1) & (rows["first"] == rows["ward"])
    assert float(risk.disco) == pytest.approx(rows.loc[right, "patient"].nunique() / people)


def test_an_assessment_counts_people_and_says_what_it_cannot(
    frame: pd.DataFrame, table: Any
) -> None:
    release = vd.Noise(columns=["income"], scale=0.5).protect(table, seed=3)
    assessed = vd.assess(table, release)
    people = frame["patient"].nunique()
    kept = release.datasets[0]["income"].to_numpy() == frame["income"].to_numpy()
    unchanged = assessed.figures["risk.unchanged.rows"]
    assert unchanged.base == people
    assert float(assessed["risk.unchanged.rows"]) == pytest.approx(
        frame.loc[kept, "patient"].nunique() / people
    )
    assert assessed.figures["risk.replicated.uniques"].base == people
    assert f"{people} people have {len(frame)} rows" in assessed.figures["risk.match.tmr"].why
    same = vd.assess(frame, release)  # the frame that was opened: its roles are known
    assert {n: f.estimate for n, f in same.figures.items()} == {
        n: f.estimate for n, f in assessed.figures.items()
    }


def test_people_of_a_release_are_those_of_the_original(frame: pd.DataFrame, table: Any) -> None:
    """Released numbers differ from class to class: fewer known columns must not add people."""
    recipe = vd.KAnonymity(quasi_identifiers=["age", "ward"], k=3, max_suppression=0.2)
    release = recipe.protect(table, seed=1)
    subject = Subject(table.without_identifiers(), release)
    link = np.asarray(release.rows)
    after = release.datasets[0].assign(who=frame["patient"].to_numpy()[link])
    counted = subject.tables[0].people_counts(["sex"]).size.tolist()
    assert counted == after.groupby("sex")["who"].nunique().tolist()
    assert counted != after.groupby("sex")["patient"].nunique().tolist()
