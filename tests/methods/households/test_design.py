"""A synthesis by household that keeps the design of a survey: strata, clusters, their errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.generators.households import ROLES, households

import veladura as vd
from veladura.errors import PlanError
from veladura.table.inspect import inspect_table

AREAS, EACH = 60, 20
DESIGN = {**ROLES, "stratum": {"role": "strata"}, "area": {"role": "cluster"}}
KEPT = ("stratum", "area")


def sampled(seed: int = 7) -> pd.DataFrame:
    """Return households in areas that have much in common: a rent that depends on the area."""
    people = households(AREAS * EACH, seed=seed)
    rng = np.random.default_rng(seed)
    home = people.home.rank(method="dense").astype(int).to_numpy() - 1
    area = rng.permutation(np.repeat(np.arange(AREAS), EACH))
    effect, own = rng.normal(0, 1, AREAS), rng.normal(0, 1, AREAS * EACH)
    rent = np.round(600 + 150 * effect[area] + 100 * own, -1)
    return people.assign(
        stratum=np.array(["a", "b", "c"])[area % 3][home],
        area=1000 + area[home],
        rent=rent[home],
        weight=1.0 + (area % 5)[home],
    )


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    return sampled()


@pytest.fixture(scope="module")
def release(survey):
    roles = {**DESIGN, "weight": {"role": "weight"}}
    recipe = vd.HouseholdCart(keep=KEPT, draws="plain", m=3)
    return recipe.protect(vd.open(survey, roles), seed=2)


def by_area(frame: pd.DataFrame) -> pd.DataFrame:
    homes = frame.drop_duplicates("home")
    return homes.groupby("area").agg(stratum=("stratum", "first"), homes=("home", "size"))


def test_every_cluster_has_as_many_households_as_the_survey(survey, release):
    for frame in release.datasets:
        pd.testing.assert_frame_equal(by_area(frame), by_area(survey), check_dtype=False)
        assert frame.groupby("home")[["stratum", "area", "rent"]].nunique().to_numpy().max() == 1


def test_kept_columns_are_told_as_released_exactly(release):
    assert release.exact == KEPT
    assert release.rule.name == "partial"
    assert {proof.status for proof in release.proofs} == {"holds"}
    assert release.manifest["steps"][0]["settings"]["keep"] == list(KEPT)


def error_of(frame: pd.DataFrame) -> float:
    """Return the design-based error of the mean rent, by pandas: between areas within strata."""
    mean = np.average(frame.rent, weights=frame.weight)
    score = frame.weight * (frame.rent - mean) / frame.weight.sum()
    totals = score.groupby([frame.stratum, frame.area]).sum()
    strata = totals.groupby("stratum")
    return float(np.sqrt((strata.size() * strata.var(ddof=1)).sum()))


def test_the_error_of_the_design_is_that_of_the_survey(survey, release):
    """Within a third; rows drawn one by one lose it, and so do households without their areas."""
    own = error_of(survey)
    kept = np.mean([error_of(frame) for frame in release.datasets])
    assert 0.8 * own < kept < 1.34 * own
    table = vd.open(survey, {**ROLES, "area": {"role": "cluster"}})
    free = vd.HouseholdCart(m=1).protect(table, seed=2).datasets[0]
    thrown = free.assign(area=np.random.default_rng(1).permutation(free.area))
    assert error_of(thrown) < 0.6 * own


def test_intervals_use_the_design_that_is_kept(survey, release):
    mean = vd.survey_mean(release, "rent")
    own = np.average(survey.rent, weights=survey.weight)
    assert abs(mean.value[0] - own) < 4 * mean.error[0]
    assert mean.error[0] == pytest.approx(error_of(survey), rel=0.4)


@pytest.mark.parametrize(
    ("keep", "words"), [(("age",), "no columns of households"), (("members",), "count them")]
)
def test_only_columns_of_households_can_be_kept(survey, keep, words):
    with pytest.raises(PlanError, match=words):
        vd.HouseholdCart(keep=keep, m=1).protect(vd.open(survey, DESIGN), seed=1)


def test_a_drafted_plan_keeps_strata_and_clusters(survey):
    table = vd.open(survey, DESIGN).without_identifiers()
    suggested = vd.HouseholdCart.suggest_for(table, inspect_table(table))
    assert suggested.keep == KEPT
    assert suggested.draws == "plain"
