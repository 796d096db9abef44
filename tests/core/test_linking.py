"""What cannot be done with linked tables is refused before anything is drawn or charged."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.generators.linked import homes_and_people
from tests.table.test_linked import chain, people_and_visits

import veladura as vd
from veladura.core import registry
from veladura.core.linked import CHECKS, PartsWarning
from veladura.core.linking import linked_words, shared_columns
from veladura.core.promise import Evidence, Promise, prove
from veladura.errors import PlanError, PromiseError
from veladura.release.split import write_tables
from veladura.table.linked import LinkedTable

SEX = {"columns": ["sex"], "domain": {"sex": ["f", "m"]}, "epsilon": 1.0, "rows_per_person": 3}


@pytest.fixture(scope="module")
def visits():
    return vd.open_linked(*chain(*people_and_visits(300), key="visit"))


@pytest.fixture(scope="module")
def homes():
    homes, people = homes_and_people(200)
    return vd.open_linked(
        LinkedTable(name="homes", path=homes, key="home", unit="household"),
        LinkedTable(name="people", path=people, key="who", parent="homes", unit="person"),
    )


@pytest.mark.parametrize(
    "recipe",
    [
        vd.DirichletMultinomial(**SEX),
        vd.Steps([vd.Recode(columns={"cost": {"digits": 1}}), vd.DirichletMultinomial(**SEX)]),
    ],
    ids=["alone", "last step"],
)
def test_a_refused_private_release_costs_nothing(visits, recipe):
    ledger = vd.Ledger(epsilon=10)
    with pytest.raises(PlanError, match="releases no keys"):
        recipe.protect(visits, ledger=ledger)
    assert ledger.spent == 0
    with pytest.raises(PlanError, match="releases no keys"):
        recipe.fit(visits)


def test_a_fitted_private_method_refuses_before_it_is_charged(visits):
    recipe, ledger = vd.DirichletMultinomial(**SEX), vd.Ledger(epsilon=10)
    alone = vd.open(visits.arrow, {"who": {"role": "person"}})
    fitted = recipe.fit(alone)
    fitted.sample(ledger=ledger)
    assert ledger.spent == 3  # the table by itself is charged: 3 rows of a person
    object.__setattr__(fitted, "table", visits.without_identifiers())
    with pytest.raises(PlanError, match="nothing was drawn"):
        fitted.sample(ledger=ledger)
    assert ledger.spent == 3


@pytest.mark.parametrize("number", [1, 2])
def test_the_step_that_loses_a_key_is_named_with_what_would_keep_it(homes, number):
    step = vd.KAnonymity(quasi_identifiers=["sex"], k=3)
    recipe = vd.Steps([vd.TopCode(columns={"age": 80}), step]) if number > 1 else step
    named = "step 2, k-anonymity, keeps" if number > 1 else "k-anonymity keeps"
    with pytest.raises(PlanError, match=named) as refused:
        recipe.fit(homes)
    assert "['home']" in str(refused.value)
    assert 'counted = "households"' in str(refused.value).partition("Hint")[2]


def test_counted_households_keep_both_keys(homes):
    recipe = vd.KAnonymity(quasi_identifiers=["sex"], k=3, counted="households")
    with pytest.warns(PartsWarning):
        release = recipe.protect(homes, seed=1)
    parts = release.linked()
    assert set(parts["people"].home) == set(parts["homes"].home)
    assert len(parts["people"]) == homes.rows


@pytest.mark.parametrize(
    "recipe",
    [
        vd.Noise(columns=["age"], scale=0.1),
        vd.Swap(columns=["cost", "age"]),
        vd.Pram(columns=["sex"]),
        vd.Cart(columns=["age", "cost"], m=1),
        vd.Pram(columns=["has_visits"]),
    ],
    ids=lambda recipe: f"{recipe.method} {recipe.columns[-1]}",
)
def test_a_column_of_the_table_above_is_not_changed_row_by_row(visits, recipe):
    changed = next(name for name in recipe.columns if name != "cost")
    with pytest.raises(
        PromiseError, match=f"{recipe.method} changes {changed}, a column of people"
    ):
        recipe.fit(visits)


def test_columns_are_shared_where_a_key_has_several_rows(visits, homes):
    assert shared_columns(visits) == dict.fromkeys(("sex", "age", "has_visits"), "people")
    assert set(shared_columns(homes)) == {"rooms"}
    one_each = pd.DataFrame({"who": [1, 2], "cost": [3, 4]})
    people = pd.DataFrame({"who": [1, 2], "age": [30, 40]})
    table = vd.open_linked(
        LinkedTable(name="people", path=people, key="who"),
        LinkedTable(name="visits", path=one_each, parent="people"),
    )
    assert shared_columns(table) == {}


def test_a_suppressed_value_is_nothing_of_a_row_that_does_not_exist():
    """Columns that k-anonymity gives up hold a star in all rows, those of nobody's visits too."""
    settings = {
        "columns": ["ward"],
        "tables": [
            {"name": "people", "columns": [], "key": "who"},
            {"name": "visits", "columns": ["ward"], "parent_key": "who", "present": "has_visits"},
        ],
    }
    promise = Promise("linked-tables", "package", settings)
    for wards, status in ((["*", "*"], "holds"), (["*", "a"], "broken"), (["a", None], "holds")):
        frame = pd.DataFrame({"who": [1, 2], "has_visits": ["yes", "no"], "ward": wards})
        table = vd.open(frame, {"who": {"role": "person"}}).without_identifiers()
        assert prove(promise, Evidence(table), CHECKS).status == status


def test_keys_of_several_classes_are_told_by_run_page_and_split(visits, tmp_path):
    """The key of a patient with visits to two wards is two keys: a table of parts of patients."""
    recipe = vd.KAnonymity(quasi_identifiers=["ward"], k=2, max_suppression=0.0)
    with pytest.warns(PartsWarning, match="the released table people has") as told:
        release = recipe.protect(visits, seed=1)
    who = visits.arrow.column("who").to_numpy()
    frame = pd.DataFrame({"who": who, "ward": visits.arrow.column("ward").to_pylist()})
    parts = frame.groupby("ward", dropna=False).who.nunique().sum()
    assert f"has {parts:,} rows for {len(set(who)):,} of" in str(told[0].message)
    release.save(tmp_path / "out" / "release", tmp_path / "record")
    page = (tmp_path / "out" / "release" / "report.html").read_text(encoding="utf-8")
    assert "k-anonymity keeps the rows of linked tables under new keys that hold within" in page
    with pytest.warns(PartsWarning, match="people: keys hold within one equivalence class"):
        written = dict(write_tables(tmp_path / "out" / "release", tmp_path / "tables"))
    assert written[tmp_path / "tables" / "people-1.csv"] == parts


def test_whole_units_are_no_parts(visits, tmp_path):
    """Neither where each patient is in one class, nor by a method that keeps rows."""
    for recipe in (
        vd.KAnonymity(quasi_identifiers=["sex"], k=2, max_suppression=0.0),
        vd.Noise(columns=["cost"], scale=0.1),
    ):
        release = recipe.protect(visits, seed=1)  # a warning would be an error
        assert len(release.linked()["people"]) == visits.people
    release.save(tmp_path / "out" / "release", tmp_path / "record")
    assert write_tables(tmp_path / "out" / "release", tmp_path / "tables")


@pytest.mark.parametrize("name", list(registry.METHODS))
def test_every_method_says_what_it_does_with_linked_tables(name):
    recipe = registry.find(name)
    (said,) = linked_words([recipe])
    assert said == f"Linked tables: {name} {recipe.linked_tables}."
    if recipe.by_row:  # what is refused is said
        assert "with others below it" in recipe.linked_tables
    if recipe.private:
        assert "no keys" in recipe.linked_tables
