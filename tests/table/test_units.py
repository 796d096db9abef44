"""A person with several rows counts once, in memory and in a database; bad units are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError, VeladuraError
from veladura.table.units import people_per_cell, person_numbers, rekeyed

ROLES = {"patient": {"role": "person"}, "home": {"role": "household"}}


def visits(people: int = 200, seed: int = 3) -> pd.DataFrame:
    """Return visits of patients; the sex stays, the ward changes from visit to visit."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        sex = rng.choice(["f", "m"])
        rows += [
            (f"P{person:04d}", f"H{person // 3}", sex, rng.choice(list("abcde")), rng.integers(9))
            for _ in range(rng.integers(1, 11))
        ]
    frame = pd.DataFrame(rows, columns=["patient", "home", "sex", "ward", "days"])
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def opened(frame: pd.DataFrame, folder: Path, *, lazy: bool) -> Any:
    if not lazy:
        return vd.open(frame, ROLES)
    frame.to_parquet(folder / "visits.parquet")
    return vd.open(folder / "visits.parquet", ROLES)


@pytest.mark.parametrize("lazy", [0, 1])
@pytest.mark.parametrize("columns", [["sex"], ["sex", "ward"], ["ward", "days"]])
def test_people_are_counted_once_a_tuple(tmp_path: Path, lazy: int, columns: list[str]) -> None:
    frame = visits()
    table = opened(frame, tmp_path, lazy=bool(lazy)).without_identifiers()
    assert table.names == ["sex", "ward", "days"]
    assert table.people == frame["patient"].nunique() < table.rows == len(frame)
    counts = table.people_counts(columns)
    grouped = frame.groupby(columns)["patient"]
    assert counts.size.tolist() == grouped.nunique().tolist()
    assert counts.rows.tolist() == grouped.size().tolist()
    assert counts.people == frame["patient"].nunique()
    rare = counts.size <= np.median(counts.size)
    listed = list(grouped.unique())
    held = {person for people, few in zip(listed, rare, strict=True) if few for person in people}
    assert counts.holders(rare) == len(held)
    risk = frame[[*columns, "patient"]].assign(f=grouped.transform("nunique"))
    assert np.sort(counts.highest(1 / counts.size)) == pytest.approx(
        np.sort(1 / risk.groupby("patient")["f"].min())
    )


def test_without_a_person_column_every_row_is_a_person() -> None:
    frame = visits()
    table = vd.open(frame[["sex", "ward"]], {"sex": {}})
    counts = table.people_counts(["sex"])
    assert counts.size.tolist() == frame["sex"].value_counts().sort_index().tolist()
    assert counts.people == table.people == len(frame) == counts.highest(counts.size * 1.0).size
    assert counts.holders(np.array([True, False])) == (frame["sex"] == "f").sum()
    assert person_numbers(table).tolist() == list(range(len(frame)))


@pytest.mark.parametrize("lazy", [0, 1])
def test_fetched_views_keep_their_units_row_for_row(tmp_path: Path, lazy: int) -> None:
    frame = visits()
    table = opened(frame, tmp_path, lazy=bool(lazy)).without_identifiers().fetched()
    beside = table.arrow.to_pandas().assign(person=person_numbers(table))
    expected = frame.groupby("patient")["days"].apply(sorted).tolist()
    assert sorted(beside.groupby("person")["days"].apply(sorted).tolist()) == sorted(expected)
    assert table.select(["days"]).people == frame["patient"].nunique()


def test_people_of_a_cell() -> None:
    rng = np.random.default_rng(1)
    cells, persons = rng.integers(0, 9, 500), rng.integers(0, 60, 500)
    expected = [len(set(persons[cells == cell])) for cell in range(10)]
    assert people_per_cell(cells, persons, 10).tolist() == expected


def test_new_numbers_hold_within_classes_only() -> None:
    frame = visits()
    table = vd.open(frame, ROLES)
    plain = rekeyed(table, "patient", np.random.default_rng(0)).arrow.to_pandas()
    both = plain.assign(old=frame["patient"])
    assert both.groupby("old")["patient"].nunique().eq(1).all()
    assert sorted(both["patient"].unique()) == list(range(1, frame["patient"].nunique() + 1))
    apart = rekeyed(table, "patient", np.random.default_rng(0), ["ward"]).arrow.to_pandas()
    assert apart.groupby("patient")["ward"].nunique().eq(1).all()
    numbers = apart.assign(old=frame["patient"]).groupby(["old", "ward"])["patient"]
    assert numbers.nunique().eq(1).all()
    assert apart["patient"].nunique() == len(frame.groupby(["patient", "ward"]))


@pytest.mark.parametrize("lazy", [0, 1])
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"patient": [None, "a", "a"]}, DataError, "missing in 1 rows"),
        ({"home": ["x", "x", "y"]}, DataError, "1 people of 'patient' lie in a second household"),
        ({"other": ["x", "x", "y"]}, PlanError, "2 columns have the role 'person'"),
    ],
)
def test_bad_units_are_refused(
    tmp_path: Path, lazy: int, change: dict[str, list[Any]], error: type[Exception], words: str
) -> None:
    frame = pd.DataFrame({"patient": list("baa"), "home": list("xyy"), "days": [1, 2, 3]})
    frame = frame.assign(**change)
    roles = {**ROLES, **({"other": {"role": "person"}} if "other" in change else {})}
    frame.to_parquet(tmp_path / "visits.parquet")
    with pytest.raises(error, match=words) as refused:
        vd.open(tmp_path / "visits.parquet" if lazy else frame, roles)
    assert isinstance(refused.value, VeladuraError)
    assert "Hint" in str(refused.value)
