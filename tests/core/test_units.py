"""Numbers of people and households never come out as they are, whatever the method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.release.verify import holds, verify

ROLES = {"patient": {"role": "person"}, "home": {"role": "household"}}


def visits(people: int = 80, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    visited = np.repeat(np.arange(people), rng.integers(1, 6, people))
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], people)[visited],
            "patient": visited * 1013 + 500_000,
            "home": [f"home-{i // 2}" for i in visited],
            "ward": rng.choice(list("abc"), visited.size),
            "days": rng.integers(1, 30, visited.size),
            "cost": rng.gamma(2, 500, visited.size).round(2),
        }
    ).sample(frac=1, random_state=seed, ignore_index=True)


LINKED: dict[str, Any] = {
    "noise": vd.Noise(columns=["cost"]),
    "pram": vd.Pram(columns=["ward"]),
    "swap": vd.Swap(columns=["days"]),
    "topcode": vd.TopCode(columns={"cost": 2000}),
    "recode": vd.Recode(columns={"days": {"round": 5}}),
    "cart": vd.Cart(columns=["cost"], m=2),
    "steps": vd.Steps([vd.TopCode(columns={"cost": 2000}), vd.Pram(columns=["ward"])]),
}


@pytest.mark.parametrize("name", LINKED)
def test_units_are_released_under_new_numbers(name: str, tmp_path: Path) -> None:
    frame = visits()
    release = LINKED[name].protect(vd.open(frame, ROLES), seed=5)
    for released in release.datasets:
        assert list(released) == list(frame)  # in their places
        for column in ("patient", "home"):
            units = frame[column].nunique()
            assert sorted(released[column].astype(int).unique()) == list(range(1, units + 1))
            pairs = pd.DataFrame({"old": frame[column], "new": released[column]})
            assert pairs.groupby("old")["new"].nunique().eq(1).all()
            assert pairs.groupby("new")["old"].nunique().eq(1).all()
    assert set(release.units) == {"patient", "home"}
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe", format="csv")
    assert holds(verify(folder))
    assert holds(verify(folder, vd.open(frame, ROLES), tmp_path / "b" / "safe" / "record.json"))
    loaded = vd.load(folder)
    assert loaded.tables[0].table.people == frame["patient"].nunique()
    assert loaded.units == release.units
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "patient has new numbers, drawn at random" in report
    for path in folder.rglob("*"):
        assert path.is_dir() or b"home-" not in path.read_bytes()


def test_every_dataset_and_every_seed_has_numbers_of_its_own() -> None:
    table = vd.open(visits(), ROLES)
    release = vd.Cart(columns=["cost"], m=2).protect(table, seed=5)
    first, second = (frame["patient"].to_numpy() for frame in release.datasets)
    again = vd.Cart(columns=["cost"], m=2).protect(table, seed=5).datasets[0]["patient"]
    other = vd.Cart(columns=["cost"], m=2).protect(table, seed=6).datasets[0]["patient"]
    assert (first == again.to_numpy()).all()
    for numbers in (second, other.to_numpy()):
        assert abs(np.corrcoef(first.astype(float), numbers.astype(float))[0, 1]) < 0.4


def test_new_rows_belong_to_nobody() -> None:
    # uniform draws of days would be taken for codes
    table = vd.open(visits(), {**ROLES, "days": {"kind": "integer"}})
    release = vd.Cart(m=1).protect(table, seed=5)
    assert list(release.datasets[0]) == ["sex", "ward", "days", "cost"]
    assert "the link between the rows of a person is not kept" in release.units["patient"]
    assert "not released" in release.manifest["units"]["home"]


def test_a_step_after_k_anonymity_keeps_the_numbers_apart() -> None:
    recipe = vd.Steps(
        [
            vd.KAnonymity(quasi_identifiers=["sex", "ward"], k=3, max_suppression=0.1),
            vd.Noise(columns=["cost"]),
        ]
    )
    released = recipe.protect(vd.open(visits(), ROLES), seed=5).datasets[0]
    assert released.groupby("patient")[["sex", "ward"]].nunique().eq(1).all(axis=None)
    assert released.groupby(["sex", "ward"])["patient"].nunique().min() >= 3
    assert "home" not in released


def test_two_lists_of_keys_that_vary_within_a_person_are_refused() -> None:
    recipe = vd.Steps(
        [
            vd.KAnonymity(quasi_identifiers=["sex", "ward"], k=2, max_suppression=0.1),
            vd.KAnonymity(quasi_identifiers=["days"], k=2, max_suppression=0.1),
        ]
    )
    with pytest.raises(PlanError, match=r"(?s)one list.*Hint"):
        recipe.protect(vd.open(visits(), ROLES), seed=5)


def test_microaggregation_refuses_people_with_several_rows() -> None:
    with pytest.raises(PlanError, match=r"(?s)80 people have \d+ rows.*one row a person"):
        vd.Microaggregation(columns=["cost"]).protect(vd.open(visits(), ROLES), seed=5)
    alone = visits().drop_duplicates("patient").reset_index(drop=True)
    release = vd.Microaggregation(columns=["cost"]).protect(vd.open(alone, ROLES), seed=5)
    assert release.datasets[0].groupby("cost")["patient"].nunique().min() >= 3


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_gives_the_same_release_as_its_frame(tmp_path: Path, suffix: str) -> None:
    frame = visits()
    path = tmp_path / f"visits.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    recipe = vd.KAnonymity(quasi_identifiers=["sex", "ward"], k=3, max_suppression=0.1)
    columns = list(frame.drop(columns="home"))
    near = recipe.protect(vd.open(frame, ROLES), seed=5).datasets[0]
    far = recipe.protect(vd.open(path, ROLES), seed=5).datasets[0]
    groups = [one.groupby(["sex", "ward"])["patient"].nunique().tolist() for one in (near, far)]
    assert groups[0] == groups[1]
    assert list(far) == columns
