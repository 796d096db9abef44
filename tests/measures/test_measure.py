"""Measures are known by name, and what they declare is what they give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.core.release import Dataset, Release
from veladura.core.rules import AsReleased
from veladura.errors import ColumnError, PlanError
from veladura.measures import measure as m


@pytest.fixture
def people():
    return pd.DataFrame({"sex": ["f", "m"] * 20, "income": np.arange(40) * 10.0})


@pytest.fixture
def release(people):
    return vd.Noise(columns=["income"]).protect(people, seed=1)


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(m, "_REGISTERED", dict(m._REGISTERED))


def test_every_figure_has_a_full_name_and_a_meaning():
    names = m.figure_names()
    assert len(names) == len(set(names))
    for wanted in (
        "risk.uniqueness.average_prosecutor",
        "risk.unchanged.cells",
        "utility.columns.worst",
        "utility.correlations.mean",
    ):
        assert wanted in names
    for measure in m.measures().values():
        assert all(meaning.text.endswith(".") for meaning in measure.figures.values())


@pytest.mark.usefixtures("registry")
def test_a_new_measure_is_in_the_assessment_and_the_names(people, release):
    @m.measure(
        "utility.rows",
        figures={"released": m.Meaning("Released rows.", better="high", unit="count")},
    )
    def rows(subject):
        return {"released": Estimate.exact(subject.tables[0].rows)}

    assert m.figure_names()[-1] == "utility.rows.released"
    assert int(vd.assess(people, release)["utility.rows.released"]) == 40


@pytest.mark.usefixtures("registry")
def test_a_measure_that_does_not_apply_gives_its_reason(people, release):
    @m.measure("risk.never", figures={"a": m.Meaning("A."), "b": m.Meaning("B.")})
    def never(_subject):
        msg = "because."
        raise m.NotApplicable(msg)

    assessment = vd.assess(people, release)
    assert [assessment.figures[f"risk.never.{x}"].why for x in "ab"] == ["because.", "because."]
    with pytest.raises(m.NotApplicable, match=r"risk\.never\.a does not apply: because\."):
        assessment["risk.never.a"]


@pytest.mark.usefixtures("registry")
def test_one_figure_of_a_measure_may_not_apply(people, release):
    @m.measure("risk.half", figures={"a": m.Meaning("A."), "b": m.Meaning("B.")})
    def half(_subject):
        return m.Measured({"a": Estimate.exact(1), "b": m.NotApplicable("no b.")}, {"a": "note"})

    figures = vd.assess(people, release).figures
    assert figures["risk.half.a"].note == "note"
    assert figures["risk.half.b"].why == "no b."


@pytest.mark.usefixtures("registry")
def test_a_measure_must_give_what_it_declares(people, release):
    @m.measure("risk.wrong", figures={"a": m.Meaning("A.")})
    def wrong(_subject):
        return {"b": Estimate.exact(1)}

    with pytest.raises(ValueError, match="declares \\['a'\\] and gives \\['b'\\]"):
        vd.assess(people, release)


@pytest.mark.usefixtures("registry")
def test_two_measures_may_not_share_a_name():
    register = m.measure("risk.uniqueness", figures={"a": m.Meaning("A.")})
    with pytest.raises(ValueError, match="two measures are called"):
        register(lambda _subject: {})


@pytest.mark.parametrize(
    ("name", "figures"),
    [("cost.x", {"a": m.Meaning("A.")}), ("risk", {"a": m.Meaning("A.")}), ("risk.x", {})],
)
def test_a_name_starts_with_its_family_and_has_figures(name, figures):
    with pytest.raises(ValueError, match="needs a name that starts with"):
        m.measure(name, figures=figures)


@pytest.mark.parametrize(
    ("settings", "word"), [({"better": "lower"}, "better"), ({"unit": "percent"}, "unit")]
)
def test_meanings_are_checked(settings, word):
    with pytest.raises(PlanError, match=f"{word} .* is not known"):
        m.Meaning("A.", **settings)


def test_the_interval_of_a_share_stays_a_share():
    estimate = m.over_datasets([0.0, 0.1, 1.0], upper=1.0)
    assert (estimate.lower, estimate.upper) == (0.0, 1.0)
    assert m.over_datasets([0.3]).is_exact


def test_a_subject_needs_the_released_columns_and_rows(people, release):
    with pytest.raises(ColumnError, match=r"the release names columns .*\['income'\]"):
        m.Subject(vd.open(people[["sex"]], {"sex": "category"}), release)
    with pytest.raises(PlanError, match="39 rows, the release was made of one with 40"):
        m.Subject(vd.open(people[:39], {"sex": "category"}), release)


def test_rows_without_a_link_are_not_aligned(people, release):
    unlinked = Release(
        tuple(Dataset(d.table) for d in release.tables), None, release.steps, (), AsReleased()
    )
    subject = m.Subject(vd.open(people, {"sex": "category"}), unlinked)
    with pytest.raises(m.NotApplicable, match="not linked"):
        subject.aligned()


def test_changed_columns_are_in_the_order_of_the_table(people):
    release = vd.Noise(columns=["b", "a"]).protect(
        people.assign(a=people["income"], b=people["income"] * 2), seed=1
    )
    assert m.Subject(release.original, release).changed == ["a", "b"]
