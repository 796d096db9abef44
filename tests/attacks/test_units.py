"""Attack: ten visits of one patient as k = 10, and the rows of a patient linked across classes.

Before people were counted, a class could be the visits of one patient (`WON`). With a person column
an attacker who has nothing but the released files recounts k in people, and tries to link the
numbers of different classes by equality, by order in the file and by arithmetic: he must do no
better than the base rate. Numberings that are not random lose to the same attacks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd

K = 5
KEYS = ["sex", "age", "ward"]
PLAN = """
[source]
path = "visits.csv"

[columns]
social_number = {role = "person", kind = "category"}
home = {role = "household", kind = "category"}
sex = {role = "quasi-identifier"}
age = {role = "quasi-identifier", kind = "integer"}
ward = {role = "quasi-identifier"}
diagnosis = {role = "sensitive", exact = "no register has diagnoses"}

[[step]]
method = "k-anonymity"
quasi_identifiers = ["sex", "age", "ward"]
k = 5
max_suppression = 0.1

[release]
folder = "out/release"
format = "csv"

[custodian]
folder = "safe/record"
"""
PRIVATE = """
[source]
path = "visits.csv"

[columns]
social_number = {role = "person", kind = "category"}
home = {role = "dropped", kind = "category"}
sex = {role = "dropped"}
age = {role = "dropped", kind = "integer"}
ward = {role = "sensitive"}
diagnosis = {role = "sensitive"}

[[step]]
method = "dirichlet-multinomial"
columns = ["ward", "diagnosis"]
epsilon = 0.5
EACH
[step.domain]
ward = ["a", "b", "c", "d"]
diagnosis = ["flu", "asthma", "fracture"]

[budget]
accept_noise = true

[release]
folder = "out/private"

[custodian]
folder = "safe/private"
"""


def visits(people: int = 500, seed: int = 9) -> pd.DataFrame:
    """Return ten visits a patient, sorted by patient as registers are."""
    rng = np.random.default_rng(seed)
    visited = np.repeat(np.arange(people), 10)
    return pd.DataFrame(
        {
            "social_number": [f"AHV-{756_000_000 + 37 * i}" for i in visited],
            "home": [f"H{i // 3}" for i in visited],
            "sex": rng.choice(["f", "m"], people)[visited],
            "age": rng.integers(0, 90, people)[visited],
            "ward": rng.choice(list("abcd"), visited.size),
            "diagnosis": rng.choice(["flu", "asthma", "fracture"], visited.size),
        }
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return visits()


@pytest.fixture(scope="module")
def release(table: pd.DataFrame) -> Any:
    opened = vd.open(table, {"social_number": {"role": "person"}, "home": {"role": "household"}})
    return vd.KAnonymity(quasi_identifiers=KEYS, k=K, max_suppression=0.1).protect(opened, seed=8)


def test_won_ten_visits_of_one_patient_were_k(table: pd.DataFrame) -> None:
    """Counted in rows, a class of k is one person or two: the person column is for that."""
    rows = table.drop(columns=["social_number", "home"])
    release = vd.KAnonymity(quasi_identifiers=["sex", "age"], k=10, max_suppression=0).protect(
        rows, seed=8
    )
    found = release.datasets[0].assign(who=table["social_number"].to_numpy())
    assert found.groupby(["sex", "age"])["who"].nunique().min() < K


def test_a_plan_run_from_the_command_line_counts_people(
    veladura: Any, tmp_path: Path, table: pd.DataFrame
) -> None:
    table.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path / "out" / "release"
    written = pd.read_csv(folder / "data" / "dataset-1.csv", dtype=str)
    assert written.groupby(KEYS)["social_number"].nunique().min() >= K
    assert "home" not in written
    verified = " ".join(veladura("verify", "out/release", cwd=tmp_path).stdout.split())
    assert "at least 5 people (a person with several rows counts once)" in verified
    assert "broken" not in verified
    for path in folder.rglob("*"):
        assert path.is_dir() or b"AHV-" not in path.read_bytes()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert "cannot be linked" in manifest["units"]["social_number"]
    assert "not released" in manifest["units"]["home"]
    assert manifest["promises"][0]["settings"]["person"] == "social_number"


def test_private_counts_are_charged_for_ten_rows_or_refused(
    veladura: Any, tmp_path: Path, table: pd.DataFrame
) -> None:
    table.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "bare.toml").write_text(PRIVATE.replace("EACH\n", ""), encoding="utf-8")
    refused = veladura("run", "bare.toml", cwd=tmp_path)
    assert refused.returncode != 0
    assert "rows_per_person" in refused.stderr + refused.stdout
    limited = PRIVATE.replace("EACH", "rows_per_person = 10")
    (tmp_path / "plan.toml").write_text(limited, encoding="utf-8")
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    manifest = json.loads((tmp_path / "out/private/manifest.json").read_text(encoding="utf-8"))
    event = manifest["steps"][0]["settings"]["events"][0]
    assert (event["epsilon"], event["neighbours"]) == ("5", "replace-person")


def test_every_class_holds_k_people_who_are_there(table: pd.DataFrame, release: Any) -> None:
    rows = release.datasets[0]
    assert rows.groupby(KEYS)["social_number"].nunique().min() >= K
    who = table["social_number"].to_numpy()[np.asarray(release.rows)]
    assert rows.assign(who=who).groupby(KEYS)["who"].nunique().min() >= K


def attacked(numbers: pd.Series, groups: pd.Series, who: pd.Series) -> dict[str, float]:
    """Return how many standard deviations each attack does better than guessing.

    An attack proposes pairs of rows in different classes; it wins where they are one patient's.
    """
    frame = pd.DataFrame({"n": numbers, "g": groups, "w": who}).reset_index(drop=True)
    people = frame.drop_duplicates(["n", "g", "w"]).sort_values("n", kind="stable")
    rng = np.random.default_rng(0)
    guess = [rng.permutation(len(frame)) for _ in range(60)]
    base = np.mean([_right(frame, frame.iloc[g])[0] for g in guess])
    pairs = {
        "equality": people.merge(people, on="n", suffixes=("", "_")).query("g != g_"),
        "file": _pairs(frame, frame.shift(1)),
        "nearest": _pairs(people, people.shift(1)),
        "modulo": pd.concat(
            [
                _pairs(part, part.shift(1))
                for modulus in range(2, 60)
                for part in [people.sort_values("n", key=lambda n, m=modulus: n % m)]
            ]
        ),
    }
    scores = {name: _score(found, float(base)) for name, found in pairs.items()}
    rank = people["w"].rank(method="dense").corr(people["n"], method="spearman")
    return scores | {"order": abs(float(rank)) * len(people) ** 0.5}


def _pairs(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    both = left.reset_index(drop=True).join(right.reset_index(drop=True).add_suffix("_"))
    return both.dropna().query("g != g_")


def _right(left: pd.DataFrame, right: pd.DataFrame) -> tuple[float, int]:
    pairs = _pairs(left, right)
    return float((pairs["w"] == pairs["w_"]).mean()), len(pairs)


def _score(pairs: pd.DataFrame, base: float) -> float:
    if pairs.empty:
        return 0.0
    hits, tried = (pairs["w"] == pairs["w_"]).sum(), len(pairs)
    return float((hits - tried * base) / (tried * base * (1 - base)) ** 0.5)


@pytest.fixture(scope="module")
def seen(table: pd.DataFrame, release: Any, tmp_path_factory: Any) -> pd.DataFrame:
    """Return the released file in its own order, with the holder's knowledge beside each row."""
    home = tmp_path_factory.mktemp("units")
    folder = release.save(home / "a" / "out", home / "b" / "safe", format="parquet")
    written = pd.read_parquet(folder / "data" / "dataset-1.parquet")
    record = pd.read_parquet(home / "b" / "safe" / "rows.parquet")
    order = vd.open(
        table, {"social_number": {"role": "person"}, "home": {"role": "household"}}
    ).without_identifiers()
    places = order.codes([]).rows[record["row"].to_numpy()]
    who = pd.Series(table["social_number"].to_numpy()[places])
    assert (table["ward"].to_numpy()[places] == written["ward"].to_numpy()).all()
    group = written.groupby(KEYS).ngroup()
    return pd.DataFrame({"n": written["social_number"], "g": group, "w": who})


def test_released_numbers_cannot_be_linked_across_classes(seen: pd.DataFrame) -> None:
    scores = attacked(seen["n"], seen["g"], seen["w"])
    assert scores["equality"] == 0
    assert seen.groupby("n")["g"].nunique().max() == 1
    assert max(scores.values()) < 4.5, scores


def test_numbers_that_are_not_drawn_lose(seen: pd.DataFrame) -> None:
    """Broken controls: one number a patient, and numbers in the order of the register."""
    same = seen["w"].rank(method="dense").astype(int)
    assert attacked(same, seen["g"], seen["w"])["equality"] > 10
    pairs = seen.assign(s=same).groupby(["s", "g"]).ngroup()
    scores = attacked(pairs, seen["g"], seen["w"])
    assert scores["nearest"] > 10
    assert scores["order"] > 10
    spread = pairs * 58 + 1  # the same order, hidden in large steps
    assert attacked(spread, seen["g"], seen["w"])["nearest"] > 10
