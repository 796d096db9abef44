"""One call gives risk and utility, readable by people, pages and programs."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.core.release import Dataset, Release
from veladura.core.rules import AsReleased
from veladura.errors import ColumnError, PlanError
from veladura.measures.assessment import Assessment
from veladura.measures.measure import Figure
from veladura.measures.registry import figure_names


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(200)],
            "sex": rng.choice(["f", "m"], 200),
            "income": rng.normal(50, 9, 200).round(1),
        }
    )


@pytest.fixture
def table(people):
    return vd.open(people, {"id": {"role": "identifier"}, "sex": {"role": "quasi-identifier"}})


@pytest.fixture
def release(table):
    return vd.Noise(columns=["income"], scale=0.5).protect(table, seed=1)


def test_every_figure_is_there(table, release):
    assessment = vd.assess(table, release)
    assert list(assessment.figures) == [figure.name for figure in assessment]
    own = [f"risk.intruders.{who.name}" for who in assessment.intruders]
    assert [name for name in assessment.figures if name not in own] == figure_names()
    assert len(assessment) == len(figure_names()) + len(own)
    assert all(isinstance(figure.estimate, Estimate) or figure.why for figure in assessment)
    assert int(assessment["risk.uniqueness.classes"]) == 2


def test_a_control_and_a_weight_leave_no_figure_out(people):
    people = people.assign(w=2.0, town=[f"town {i % 3}" for i in range(len(people))])
    weighted = vd.open(
        people,
        {
            "id": {"role": "identifier"},
            "sex": {"role": "quasi-identifier"},
            "w": {"role": "weight"},
        },
    )
    release = vd.Noise(columns=["income"], scale=0.5).protect(weighted, seed=1)
    control = people.assign(income=people["income"] + 1)
    assessment = vd.assess(weighted, release, control=control)
    missing = [figure.name for figure in assessment if figure.estimate is None]
    without = {name.rpartition(".")[0] for name in missing if not name.endswith(".households")}
    assert without == {
        "utility.replaceability",
        "risk.informed_intruder",
        "risk.location",
        "utility.location",
        "utility.generalisation",
        "utility.recoded",
        "utility.households",
    }  # of other methods


def test_it_is_a_function_however_often_it_is_asked_for(table, release):
    assert callable(vd.assess)
    vd.assess(table, release)
    assert callable(vd.assess)


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_the_original_may_be_anything_that_opens(people, table, release, form, tmp_path):
    source = people
    if form != "frame":
        source = tmp_path / f"people.{form}"
        people.to_csv(source, index=False) if form == "csv" else people.to_parquet(source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vd.assess(source, release).to_json() == vd.assess(table, release).to_json()


def test_roles_of_a_loaded_release_hold_for_an_original_without_any(people, release):
    loaded = Release(
        tuple(Dataset(d.table) for d in release.tables), None, release.steps, (), AsReleased()
    )
    assessment = vd.assess(people, loaded)
    assert int(assessment["risk.uniqueness.original_uniques"]) == 0  # over sex alone
    assert "not linked" in assessment.figures["risk.unchanged.rows"].why


def test_the_wrong_table_is_refused(people, release):
    with pytest.raises(PlanError, match="150 rows"):
        vd.assess(people[:150], release)
    with pytest.raises(ColumnError, match="income"):
        vd.assess(people.drop(columns="income"), release)


def test_an_unknown_figure_is_named_with_the_nearest(table, release):
    with pytest.raises(PlanError, match=r"did you mean 'risk\.uniqueness\.classes'"):
        vd.assess(table, release)["risk.uniqueness.clases"]


def test_it_prints_as_a_table_with_reasons():
    exact = Figure("risk.a.b", "Some meaning.", "low", Estimate.exact(3), note="Column: x.")
    text = str(
        Assessment(
            {
                "risk.a.b": exact,
                "risk.a.c": Figure("risk.a.c", "Other.", "high", None, why="no link."),
            }
        )
    )
    assert "risk.a.b  3      low     Some meaning. Column: x." in text
    assert text.endswith("not applicable:\nrisk.a.c: no link.")


def test_html_is_escaped():
    figure = Figure("risk.a.b", "<script>alert(1)</script>", "low", None, why="<b>", note="<i>")
    html = Assessment({"risk.a.b": figure}).to_html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in html
    assert 'scope="row"' in html


def test_json_is_plain_and_without_nan(table, release):
    told = vd.assess(table, release).to_json()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    nan = Assessment(
        {
            "risk.a.b": Figure(
                "risk.a.b", "M.", "low", Estimate(float("nan"), float("nan"), float("nan"))
            )
        }
    ).to_json()
    assert nan["risk.a.b"]["value"] is None


def test_repr_shows_no_value_of_the_data(table, release):
    assert "p17" not in repr(vd.assess(table, release))


@pytest.mark.parametrize("rows", [2, 3, 5, 9])
def test_tiny_tables_are_assessed_and_saved(rows, tmp_path):
    frame = pd.DataFrame({"x": np.arange(rows) / 2, "g": ["a"] * rows, "m": [None] * rows})
    release = vd.TopCode(columns={"x": 0.4}).protect(frame)
    assert "risk.uniqueness.classes" in vd.assess(frame, release).figures
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
