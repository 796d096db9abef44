"""Clusters that stay while rows are drawn one by one: they are places, not numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import VeladuraWarning

WORDS = "have in common is kept only as far as trees find it"
ROLES = {"w": {"role": "weight"}, "c": {"role": "cluster"}}


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(300), 8)
    noise = 60 * rng.normal(size=300)[cluster] + 80 * rng.normal(size=2400)
    return pd.DataFrame(
        {
            "rent": (900 + noise).round(-1),
            "age": rng.integers(18, 90, 2400),
            "w": rng.uniform(1, 2, 2400).round(1),
            "c": [f"area {place}" for place in rng.permutation(300)[cluster]],
        }
    )


def quiet_survey_mean(release, column):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vd.survey_mean(release, column)


@pytest.mark.parametrize("numbered", [True, False])
def test_numbers_of_clusters_are_places_and_both_are_told(survey, tmp_path, numbered):
    """As numbers they hid two thirds of the variance between places: trees cut them in order."""
    places = survey["c"].str.split().str[1].astype(int) if numbered else survey["c"]
    table = vd.open(survey.assign(c=places), ROLES)
    with pytest.warns(VeladuraWarning, match=WORDS):
        release = vd.Cart(columns=["rent"], draws="plain", m=5).protect(table, seed=1)
    with pytest.warns(VeladuraWarning, match=f"'rent': drawn row by row.*{WORDS}"):
        drawn = vd.survey_mean(release, "rent")
    with pytest.warns(VeladuraWarning, match=WORDS):
        release.analyze("rent ~ age")
    kept = vd.Noise(columns=["age"]).protect(table, seed=1)
    true = quiet_survey_mean(kept, "rent")
    assert float(drawn.error[0]) == pytest.approx(float(true.error[0]), rel=0.1)
    with pytest.warns(VeladuraWarning, match=WORDS):  # whoever opens the files is told, too
        vd.survey_mean(
            vd.load(release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c")), "rent"
        )


def test_what_was_not_drawn_and_tables_without_clusters_are_not_doubted(survey):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = vd.Cart(columns=["age"], m=2).protect(vd.open(survey, ROLES), seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vd.survey_mean(release, "rent")
        alone = survey.drop(columns="c")
        vd.survey_mean(vd.Cart(columns=["rent"], m=2).protect(alone, seed=1), "rent")
