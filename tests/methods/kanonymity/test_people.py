"""k-anonymity counts people: a person with several rows is one of k, whatever the settings."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.release.verify import holds, verify

K = 4
ROLES = {"patient": {"role": "person"}, "home": {"role": "household"}}


def visits(people: int = 150, seed: int = 5) -> pd.DataFrame:
    """Return visits: sex and age belong to the patient, ward and drug to the visit."""
    rng = np.random.default_rng(seed)
    visited = np.repeat(np.arange(people), rng.integers(1, 11, people))
    of_person = {
        "sex": rng.choice(["f", "m"], people),
        "age": rng.integers(20, 60, people),
    }
    frame = pd.DataFrame(
        {
            "patient": [f"social-{7919 * (p + 13)}" for p in visited],
            "home": [f"home-{p // 2}" for p in visited],
            **{name: values[visited] for name, values in of_person.items()},
            "ward": rng.choice(list("abcdef"), visited.size, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]),
            "drug": rng.choice(["p", "q", "r", "s"], visited.size, p=[0.6, 0.2, 0.15, 0.05]),
        }
    )
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def coarse(age: int, level: int) -> object:
    return [age, age // 5, age // 20, "*"][level]


def merged(ward: str, level: int) -> str:
    return [ward, "ab" if ward in "ab" else "cdef", "*"][level]


AGES = vd.Hierarchy.explicit(
    [(str(a), *(f"{coarse(a, i)}" for i in (1, 2, 3))) for a in range(20, 60)]
)
WARDS = vd.Hierarchy.explicit([(w, merged(w, 1), "*") for w in "abcdef"])


def settings(*names: str, **further: Any) -> dict[str, Any]:
    trees = {"sex": vd.Hierarchy.star(), "age": AGES, "ward": WARDS}
    hierarchies = {name: trees[name] for name in names}
    return {"quasi_identifiers": list(names), "k": K, "hierarchies": hierarchies, **further}


def by_hand(frame: pd.DataFrame, vector: tuple[int, int]) -> int:
    """Return the rows in classes of fewer than K people, at levels of age and ward."""
    keys = [
        frame["age"].map(lambda a: coarse(a, vector[0])),
        frame["ward"].map(lambda w: merged(w, vector[1])),
    ]
    people = frame.groupby(keys)["patient"].transform("nunique")
    return int((people < K).sum())


@pytest.mark.parametrize("allowed", [0, 20, 60])
def test_minimal_generalisations_are_those_of_a_search_by_hand(allowed: int) -> None:
    frame = visits()
    recipe = vd.KAnonymity(**settings("age", "ward", max_suppression=allowed))
    fitted: Any = recipe.fit(vd.open(frame, ROLES))
    nodes = list(product(range(4), range(3)))
    good = {node for node in nodes if by_hand(frame, node) <= allowed}
    minimal = {
        node
        for node in good
        if not any(o != node and o[0] <= node[0] and o[1] <= node[1] for o in good)
    }
    assert {tuple(node.levels.values()) for node in fitted.minimal} == minimal
    for node in fitted.minimal:
        assert node.suppressed == by_hand(frame, tuple(node.levels.values()))
    rows_only: Any = recipe.fit(frame.drop(columns=["patient", "home"]))
    assert rows_only.node((0, 1)).suppressed < by_hand(frame, (0, 1))  # visits were taken for k


CASES: list[tuple[list[str], dict[str, Any]]] = [
    (["sex", "age"], {}),
    (["age", "ward"], {}),
    (["age", "ward"], {"suppressed": "star"}),
    (["sex", "age"], {"suppressed": "star"}),
    (["sex", "age"], {"suppressed": "cells"}),
    (["sex", "age"], {"recoding": "local"}),
    (["sex", "age"], {"recoding": "mondrian"}),
    (["sex", "age"], {"missing": "wildcard"}),
    (["sex", "age"], {"missing": "both"}),
    (["sex", "age"], {"prefer": ["loss"]}),
    (["age", "ward"], {"prefer": ["discernibility"]}),
    (["age", "ward"], {"models": [vd.LDiversity(column="drug", l=3)]}),
    (["sex", "age"], {"models": [vd.LDiversity(column="drug", l=2, kind="entropy")]}),
    (["sex", "age"], {"models": [vd.TCloseness(column="drug", t=0.3)]}),
]


@pytest.mark.parametrize(("names", "further"), CASES)
def test_every_class_of_the_written_files_has_k_people(
    tmp_path: Path, names: list[str], further: dict[str, Any]
) -> None:
    frame = visits()
    recipe = vd.KAnonymity(**settings(*names, max_suppression=0.1, **further))
    release = recipe.protect(vd.open(frame, ROLES), seed=1)
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe", format="csv")
    assert holds(verify(folder))
    written = pd.read_csv(folder / "data" / "dataset-1.csv", dtype=str, keep_default_na=False)
    assert "home" not in written
    assert not set(written["patient"]) & set(frame["patient"])
    left = written[~(written[names] == "*").all(axis=1)]
    assert left.groupby(names)["patient"].nunique().min() >= K
    assert left.groupby("patient")[names].nunique().eq(1).all(axis=None)
    # the link, which only the holder has: the people who are really there
    link = np.asarray(release.rows)
    true = release.datasets[0].assign(who=frame["patient"].to_numpy()[link]).astype(str)
    true = true[~(true[names] == "*").all(axis=1)]
    assert true.groupby(names, dropna=False)["who"].nunique().min() >= K


def test_ten_visits_of_one_patient_were_a_class_of_ten() -> None:
    frame = visits()
    lonely = frame["patient"] == frame["patient"].value_counts().index[0]
    frame.loc[lonely, "age"] = 59
    frame.loc[frame["age"].eq(59) & ~lonely, "age"] = 58
    free = settings("age", max_suppression=0.5) | {"k": 2}
    rows = vd.KAnonymity(**free).protect(frame.drop(columns=["patient", "home"]), seed=1)
    assert (rows.datasets[0]["age"] == 59).sum() == lonely.sum() > 2
    people = vd.KAnonymity(**free).protect(vd.open(frame, ROLES), seed=1)
    assert not (people.datasets[0]["age"].astype(str) == "59").any()


def test_diversity_counts_a_value_of_a_person_once() -> None:
    """Entropy 2-diversity of a class: nine visits with one value are one person's."""
    frame = pd.DataFrame(
        {
            "patient": ["a"] * 9 + ["b", "c", "d"],
            "zip": ["1"] * 12,
            "drug": ["p"] * 9 + ["p", "q", "q"],
        }
    )
    model = vd.LDiversity(column="drug", l=2, kind="entropy")
    recipe = vd.KAnonymity(quasi_identifiers=["zip"], k=2, models=[model], max_suppression=0)
    release = recipe.protect(vd.open(frame, {"patient": {"role": "person"}}), seed=1)
    assert len(release.datasets[0]) == 12
    with pytest.raises(DataError, match="no solution"):
        recipe.protect(frame.drop(columns="patient"), seed=1)


@pytest.mark.parametrize(
    ("further", "word"),
    [
        ({"recoding": "local"}, "local"),
        ({"recoding": "mondrian"}, "mondrian"),
        ({"suppressed": "cells"}, "cells"),
        ({"missing": "wildcard"}, "wildcard"),
        ({"models": [vd.TCloseness(column="drug", t=0.5)]}, "t-closeness"),
        ({"quasi_identifiers": [["age"], ["ward"]]}, "several lists"),
    ],
)
def test_what_cannot_be_counted_in_people_is_refused(further: dict[str, Any], word: str) -> None:
    recipe = vd.KAnonymity(**(settings("age", "ward") | further))
    with pytest.raises(PlanError, match=f"(?s){word}.*counted in people.*Hint"):
        recipe.fit(vd.open(visits(), ROLES))


def test_several_quasi_identifiers_of_the_patient_are_each_counted() -> None:
    frame = visits()
    recipe = vd.KAnonymity(**settings("sex", "age") | {"quasi_identifiers": [["sex"], ["age"]]})
    release = recipe.protect(vd.open(frame, ROLES), seed=1).datasets[0]
    for name in ("sex", "age"):
        assert release.groupby(name)["patient"].nunique().min() >= K


def test_fewer_people_than_k() -> None:
    frame = visits(3)
    assert len(frame) > K
    with pytest.raises(DataError, match="3 people, fewer than k"):
        vd.KAnonymity(**settings("age")).fit(vd.open(frame, ROLES))


def test_a_tampered_number_breaks_the_promise(tmp_path: Path) -> None:
    release = vd.KAnonymity(**settings("age", "ward")).protect(vd.open(visits(), ROLES), seed=1)
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe", format="csv")
    path = folder / "data" / "dataset-1.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows.assign(patient="1").to_csv(path, index=False)
    lines = {line.claim: line.status for line in verify(folder)}
    assert lines[release.claims[0]] == "broken"


@pytest.mark.parametrize("allowed", [0, 15, 60, 200])
def test_people_who_add_up_are_searched_like_rows(allowed: int) -> None:
    """Sex and age belong to the patient: the compiled walk, against every node by hand."""
    frame = visits()

    def lost(vector: tuple[int, int]) -> int:
        sex = frame["sex"] if not vector[0] else frame["sex"].str.slice(0, 0)
        keys = [sex, frame["age"].map(lambda a: coarse(a, vector[1]))]
        return int((frame.groupby(keys)["patient"].transform("nunique") < K).sum())

    fitted: Any = vd.KAnonymity(**settings("sex", "age", max_suppression=allowed)).fit(
        vd.open(frame, ROLES)
    )
    good = {node for node in product(range(2), range(4)) if lost(node) <= allowed}
    minimal = {
        node
        for node in good
        if not any(o != node and o[0] <= node[0] and o[1] <= node[1] for o in good)
    }
    assert {tuple(node.levels.values()) for node in fitted.minimal} == minimal
    assert all(node.suppressed == lost(tuple(node.levels.values())) for node in fitted.minimal)


def test_a_population_is_compared_with_people(tmp_path: Path) -> None:
    frame = visits()
    people = frame.drop_duplicates("patient")[["sex", "age"]]
    pd.concat([people, people]).to_csv(tmp_path / "town.csv", index=False)
    town = tmp_path / "town.csv"
    models = [vd.KMap(k=6, population=town), vd.DeltaPresence(lower=0, upper=0.5, population=town)]
    recipe = vd.KAnonymity(**settings("sex", "age", models=models, max_suppression=0.1))
    release = recipe.protect(vd.open(frame, ROLES), seed=1)  # half of the town, whoever it is
    assert release.datasets[0].groupby(["sex", "age"])["patient"].nunique().min() >= K
    with pytest.raises(DataError, match="not in the population"):
        recipe.protect(frame.drop(columns=["patient", "home"]), seed=1)
