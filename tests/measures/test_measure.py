"""Measures are values: what they declare is what they give, and others may be added."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.base.limits import Limit
from veladura.core.release import Dataset, Release
from veladura.core.rules import AsReleased
from veladura.errors import ColumnError, NotApplicable, PlanError
from veladura.measures import measure as m
from veladura.release.gate import gate


@pytest.fixture
def people():
    return pd.DataFrame({"sex": ["f", "m"] * 20, "income": np.arange(40) * 10.0})


@pytest.fixture
def release(people):
    return vd.Noise(columns=["income"]).protect(people, seed=1)


def measure(name, function, *short):
    return m.Measure(name, {x: m.Meaning(f"{x.upper()}.") for x in short}, function)


def test_a_measure_of_your_own_is_in_the_assessment_and_may_have_a_limit(people, release):
    rows = m.Measure(
        "utility.rows",
        figures={"released": m.Meaning("Released rows.", better="high", unit="count")},
        function=lambda subject: {"released": Estimate.exact(subject.tables[0].rows)},
    )
    assert rows.names() == ["utility.rows.released"]
    assessment = vd.assess(people, release, measures=[rows])
    assert list(assessment.figures)[-1] == "utility.rows.released"
    assert int(assessment["utility.rows.released"]) == 40
    assert [v.passed for v in gate(assessment, {"utility.rows.released": Limit(min=41)})] == [False]


def test_a_measure_that_does_not_apply_gives_its_reason(people, release):
    def never(_subject):
        msg = "because."
        raise NotApplicable(msg)

    assessment = vd.assess(people, release, measures=[measure("risk.never", never, "a", "b")])
    assert [assessment.figures[f"risk.never.{x}"].why for x in "ab"] == ["because.", "because."]
    with pytest.raises(NotApplicable, match=r"risk\.never\.a does not apply: because\."):
        assessment["risk.never.a"]


def test_one_figure_of_a_measure_may_not_apply(people, release):
    def half(_subject):
        return m.Measured({"a": Estimate.exact(1), "b": NotApplicable("no b.")}, {"a": "note"})

    figures = vd.assess(people, release, measures=[measure("risk.half", half, "a", "b")]).figures
    assert figures["risk.half.a"].note == "note"
    assert figures["risk.half.b"].why == "no b."


def test_a_measure_must_give_what_it_declares(people, release):
    wrong = measure("risk.wrong", lambda _subject: {"b": Estimate.exact(1)}, "a")
    with pytest.raises(PlanError, match="declares \\['a'\\] and gives \\['b'\\]"):
        vd.assess(people, release, measures=[wrong])


def test_two_measures_may_not_share_a_name(people, release):
    twice = measure("risk.uniqueness", lambda _subject: {}, "a")
    with pytest.raises(PlanError, match=r"same name: \['risk.uniqueness'\]"):
        vd.assess(people, release, measures=[twice])


@pytest.mark.parametrize(
    ("name", "figures"),
    [("cost.x", {"a": m.Meaning("A.")}), ("risk", {"a": m.Meaning("A.")}), ("risk.x", {})],
)
def test_a_name_starts_with_its_family_and_has_figures(name, figures):
    with pytest.raises(PlanError, match="needs a name that starts with"):
        m.Measure(name, figures, lambda _subject: {})


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
    with pytest.raises(PlanError, match="39 rows, the release was made from one with 40"):
        m.Subject(vd.open(people[:39], {"sex": "category"}), release)


def test_rows_without_a_link_are_not_aligned(people, release):
    unlinked = Release(
        tuple(Dataset(d.table) for d in release.tables), None, release.steps, (), AsReleased()
    )
    subject = m.Subject(vd.open(people, {"sex": "category"}), unlinked)
    with pytest.raises(NotApplicable, match="not linked"):
        subject.aligned()


def test_changed_columns_are_in_the_order_of_the_table(people):
    release = vd.Noise(columns=["b", "a"]).protect(
        people.assign(a=people["income"], b=people["income"] * 2), seed=1
    )
    assert m.Subject(release.original, release).changed == ["a", "b"]


def test_a_share_of_people_is_not_called_one_of_rows():
    """Ten people with two rows each: a share of the release is one of ten, and says of whom."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"who": np.repeat(np.arange(10), 2), "sex": np.repeat(["f", "m"], 10)})
    frame["age"] = rng.integers(20, 60, 20)
    units = {"who": {"role": "person"}, "sex": {"role": "quasi-identifier"}}
    for columns, unit, base in ((units, "people", 10), ({"sex": units["sex"]}, "rows", 20)):
        table = vd.open(frame if "who" in columns else frame[["sex", "age"]], columns=columns)
        release = vd.Recode(columns={"age": {"round": 10}}).protect(table, seed=1)
        figure = next(f for f in vd.assess(table, release) if f.name == "risk.classes.at_risk")
        assert (figure.unit, figure.base) == (unit, base)
