"""What a drafted private table has: the weight of a survey, and no more than noise leaves room."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.methods.private import propose
from veladura.table.inspect import inspect_table

pytestmark = pytest.mark.quick
pytest.importorskip(
    "opendp",
    reason="the extra dp is not installed: pip install 'veladura[dp]'; these tests DID NOT RUN",
)


def survey_of(people: int) -> vd.Table:
    """Return people of whom the rich have twice the weight."""
    rng = np.random.default_rng(people)
    rich = rng.random(people) < 0.4
    frame = pd.DataFrame(
        {
            "pond": np.where(rich, 400.0, 200.0) + rng.integers(0, 9, people),
            "revenu": np.where(rich, 9000, 3000) + 10 * rng.integers(0, 99, people),
            **{f"q{i}": rng.choice(list("abcdefghijkl")[: 2 * i], people) for i in range(1, 7)},
        }
    )
    return vd.open(frame, {"pond": {"role": "weight"}, "revenu": {"role": "sensitive"}})


def drafted(table: vd.Table) -> vd.Marginals:
    made = vd.Marginals.suggest_for(table, inspect_table(table))
    assert isinstance(made, vd.Marginals)
    return made


def test_a_draft_has_the_weight_by_which_a_survey_is_estimated():
    """Its weighted mean is that of the population, 5 standard errors at most from the survey's."""
    table = survey_of(20_000)
    recipe = drafted(table)
    assert "pond" in recipe.columns
    assert "pond" in recipe.private_cuts
    release = recipe.protect(table)
    shown = vd.survey_mean(release, "revenu")
    frame = table.read().to_pandas()
    weighted = float(np.average(frame["revenu"], weights=frame["pond"]))
    assert abs(shown.value[0] - weighted) < 5 * shown.error[0]
    assert abs(float(frame["revenu"].mean()) - weighted) > 8 * shown.error[0]  # the control


def test_a_draft_has_as_many_columns_as_noise_leaves_room_for():
    many, few = drafted(survey_of(20_000)), drafted(survey_of(300))
    assert len(few.columns) < len(many.columns) == 8
    assert few.expected(300).verdict != "hopeless"
    assert many.expected(300).verdict == "hopeless"  # what run refuses
    assert "pond" in few.columns
    for given in (few.domain, few.bounds, few.private_cuts):
        assert {*given} <= {*few.columns}


def test_a_weight_that_is_the_same_for_all_is_left_out():
    table = survey_of(2000)
    frame = table.read().to_pandas().assign(pond=3.5)
    assert "pond" not in drafted(vd.open(frame, {"pond": {"role": "weight"}})).columns


def test_settings_without_a_column_are_settings():
    settings = propose.table_settings(survey_of(500), inspect_table(survey_of(500)))
    left = propose.without(settings, "q3")
    assert "q3" in settings["columns"]
    assert vd.Marginals(**left).columns == tuple(n for n in settings["columns"] if n != "q3")
