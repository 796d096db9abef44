"""A release that nobody can use is said to be so, with what to change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.measures.useless import useless

ROWS = 400


@pytest.fixture
def people():
    rng = np.random.default_rng(2)
    age = rng.integers(20, 80, ROWS)
    return pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Ulm", "Bern", "Graz"], ROWS),
            "pay": np.round(age * 40 + rng.normal(0, 90, ROWS)),
        }
    )


def told(people, recipe, seed=1):
    release = recipe.protect(people, seed=seed)
    return release, useless(vd.assess(people, release), release)


def test_a_usable_release_is_not_complained_of(people):
    _, sentences = told(people, vd.Noise(columns=["pay"], scale=0.05))
    assert sentences == []


def test_a_starred_column_is_named_with_what_to_change(people):
    hierarchy = vd.Hierarchy.explicit([(town, "*") for town in ("Ulm", "Bern", "Graz")])
    recipe = vd.KAnonymity(quasi_identifiers=["town"], k=200, hierarchies={"town": hierarchy})
    release, sentences = told(people, recipe)
    assert set(release.datasets[0]["town"]) == {"*"}
    assert [sentence.split(" ")[0] for sentence in sentences] == ["town"]
    assert "in all rows" in sentences[0]
    assert "smaller k" in sentences[0]


def test_one_value_is_told_without_the_value(people):
    towns = {"groups": {"Secretville": ["Ulm", "Bern", "Graz"]}}
    _, sentences = told(people, vd.Recode(columns={"town": towns}))
    assert sentences[0].startswith("town has one value in all rows")
    assert "Secretville" not in " ".join(sentences)


def test_most_people_left_out_is_told_in_people(people):
    people["town"] = [f"t{i % 100}" if i % 10 < 6 else "Ulm" for i in range(ROWS)]
    recipe = vd.KAnonymity(quasi_identifiers=["town"], k=5, max_suppression=0.7, levels={"town": 0})
    release, sentences = told(people, recipe)
    assert len(release.datasets[0]) == 160
    assert "160 of 400 people" in sentences[-1]


def test_a_constant_column_that_was_constant_before_is_nobodys_fault(people):
    people["country"] = "A"
    hierarchy = vd.Hierarchy.explicit([("A", "*")])
    recipe = vd.KAnonymity(
        quasi_identifiers=["country", "town"], k=2, hierarchies={"country": hierarchy}
    )
    _, sentences = told(people, recipe)
    assert sentences == []


def with_figures(assessment, **values):
    figures = dict(assessment.figures)
    for short, value in values.items():
        name = f"utility.pmse.{short}"
        figures[name] = replace(figures[name], estimate=Estimate.exact(value))
    return replace(assessment, figures=figures)


def test_a_pmse_ratio_in_the_hundreds_is_told_unless_rows_alone_make_it_large(people):
    release = vd.Noise(columns=["pay"], scale=0.05).protect(people, seed=1)
    assessed = vd.assess(people, release)
    (sentence,) = useless(with_figures(assessed, value=0.2, ratio=350.0), release)
    assert "pMSE ratio is 350" in sentence
    assert "veladura compare" in sentence
    assert useless(with_figures(assessed, value=0.2, ratio=20.0), release) == []
    assert useless(with_figures(assessed, value=0.0004, ratio=350.0), release) == []
