"""A release without the design of its survey says so: to analysts, in the manifest, on the page."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.lost_design import design_words, lost_roles
from veladura.core.release import Release
from veladura.errors import VeladuraWarning

ROLES = {"w": {"role": "weight"}, "h": {"role": "strata"}, "c": {"role": "cluster"}}
WORDS = "strata and clusters are not released"


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(30), 10)
    return pd.DataFrame(
        {
            "y": rng.normal(size=300) + rng.normal(size=30)[cluster],
            "w": rng.uniform(1, 2, 300).round(1),
            "h": np.array(["a", "b", "c"])[cluster % 3],
            "c": cluster,
        }
    )


def without_design(survey: pd.DataFrame) -> Release:
    recipe = vd.Marginals(columns=("y",), epsilon=5.0, bounds={"y": (-9, 9)}, bins={"y": 8})
    return recipe.protect(vd.open(survey, ROLES))


def test_a_release_without_its_clusters_warns_and_one_with_them_does_not(survey):
    release = without_design(survey)
    assert release.lost_design == ("strata", "cluster")
    with pytest.warns(VeladuraWarning, match=WORDS):
        vd.survey_mean(release, "y")
    with pytest.warns(VeladuraWarning, match=WORDS):
        release.analyze("y ~ 1")
    whole = vd.Noise(columns=["y"]).protect(vd.open(survey, ROLES), seed=1)
    assert whole.lost_design == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vd.survey_mean(whole, "y")


def test_the_manifest_and_the_page_say_it(survey, tmp_path):
    release = without_design(survey)
    assert release.manifest["design_not_released"] == ["strata", "cluster"]
    folder = release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    loaded = vd.load(folder)
    assert loaded.lost_design == ("strata", "cluster")
    assert WORDS in (folder / "report.html").read_text(encoding="utf-8")
    plain = vd.Cart(m=2).protect(survey[["y"]], seed=1)
    assert "design_not_released" not in plain.manifest


def test_weights_without_strata_and_clusters_are_told(survey, tmp_path):
    """A plan may have dropped them: the page cannot know, and says what intervals take rows for."""
    pages = []
    for roles in ({"w": {"role": "weight"}}, ROLES):
        release = vd.Noise(columns=["y"]).protect(vd.open(survey, roles), seed=1)
        home = tmp_path / str(len(pages))
        release.save(home / "out" / "release", custodian=home / "safe" / "record")
        pages.append((home / "out" / "release" / "report.html").read_text(encoding="utf-8"))
    assert "neither strata nor clusters" in pages[0]
    assert "neither strata nor clusters" not in pages[1]  # the control: a design is released


def test_households_within_released_clusters_are_no_loss(survey):
    homes = survey.assign(home=np.arange(300) // 2, age=np.arange(300) % 5)
    roles = {**ROLES, "home": {"role": "household"}, "age": {"role": "quasi-identifier"}}
    recipe = vd.KAnonymity(quasi_identifiers=["age"], k=5)
    assert recipe.protect(vd.open(homes, roles), seed=1).lost_design == ()
    alone = homes.drop(columns="c")
    kept = {name: role for name, role in roles.items() if name != "c"}
    assert recipe.protect(vd.open(alone, kept), seed=1).lost_design == ("household",)


def lost(survey: pd.DataFrame, roles: dict[str, str], left_out: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the manifest says is lost where a step leaves columns out."""
    declared = {name: {"role": role} for name, role in roles.items()}
    release = vd.Noise(columns=["y"]).protect(vd.open(survey, declared), seed=1)
    for name in left_out:
        declared[name] = {"role": "dropped"}
    less = vd.Noise(columns=["y"]).protect(vd.open(survey, declared), seed=1)
    source = vd.open(survey, {name: {"role": role} for name, role in roles.items()}).units.schema
    assert lost_roles(source, release) == ()
    return lost_roles(source, less)


def test_only_what_no_other_column_tells_is_lost(survey):
    """A caution that rows count as independent is false where clusters or replicates are there."""
    frame = survey.assign(home=np.arange(300) // 2)
    for place in range(30):
        frame[f"r{place}"] = frame["w"] * np.where(frame["c"] == place, 0, 30 / 29)
    names = tuple(f"r{place}" for place in range(30))
    roles = {"w": "weight", "h": "strata", "c": "cluster", "home": "household"}
    roles |= dict.fromkeys(names, "replicate weight")
    assert lost(frame, roles, ("home",)) == ()  # members lie in one cluster
    assert lost(frame, roles, ("h", "c", "home")) == ()  # the replicates know it
    assert lost(frame, roles, names) == ()  # strata and clusters do
    assert lost(frame, roles, (*names, "c", "home")) == ("cluster", "household")
    assert lost(frame, roles, (*names, "h")) == ("strata",)
    assert lost(frame, roles, (*names, "h", "c")) == ("strata", "cluster", "replicate weight")
    assert "commonly smaller" in design_words(["strata"])
    assert "independent draws" in design_words(["strata", "cluster"])
