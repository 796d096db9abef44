"""What the rooms show and write, without a browser."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.studio.browser import write_people

from veladura.core import registry
from veladura.plan.reading import read_plan
from veladura.studio import rooms
from veladura.studio.answers import FieldError
from veladura.studio.fields import settings_of, step_from
from veladura.studio.rooms.columns import rows_of
from veladura.studio.session import Session


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    write_people(folder)
    return folder


@pytest.fixture
def session(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", "region.geojson"):
        Path(name).write_bytes((home / name).read_bytes())
    opened = Session(Path("plan.toml"), "people.csv")
    opened.open()
    yield opened
    opened.close()


def plan_now() -> dict:
    return tomllib.loads(Path("plan.toml").read_text(encoding="utf-8"))


def uniques(names: list[str]) -> int:
    """People with a combination nobody else has, counted by pandas."""
    table = pd.read_csv("people.csv")
    sizes = table.groupby(names, dropna=False).size()
    return int((sizes == 1).sum())


@pytest.mark.parametrize("names", [["age"], ["sex", "age"], ["sex", "age", "income", "x", "y"]])
def test_the_number_of_unique_people_is_that_of_pandas(session, names):
    html = rooms.do(session, "risk/count", {"known": names}).html
    assert f'data-unique="{uniques(names)}"' in html


def test_what_a_column_does_is_the_difference_of_two_counts(session):
    html = rooms.do(session, "risk/parts", {"known": ["sex", "age"]}).html
    fewer = uniques(["sex", "age"]) - uniques(["sex"])
    more = uniques(["sex", "age", "area"]) - uniques(["sex", "age"])
    assert f"{fewer:,} fewer unique without it" in html
    assert f"{more:,} more unique with it" in html


def test_values_are_shown_only_on_asking(session):
    table = pd.read_csv("people.csv")
    secret = [f"{value}" for value in table["x"]]  # coordinates are nobody's name or count
    for name in ("columns", "risk", "protect", "run", "release"):
        html = rooms.show(session, name, {})
        assert not [value for value in secret if f">{value}<" in html]
    asked = rooms.do(session, "risk/people", {"known": ["x", "y"]}).html
    assert [value for value in secret if f">{value}<" in asked]


def test_an_intruder_goes_into_the_plan_and_out_again(session):
    rooms.do(session, "risk/save", {"name": "neighbour", "known": ["sex", "age"]})
    assert plan_now()["intruder"][-1] == {"name": "neighbour", "knows": ["sex", "age"]}
    assert read_plan("plan.toml").intruders[-1].name == "neighbour"
    rooms.do(session, "risk/remove", {"name": "neighbour"})
    assert "neighbour" not in [who["name"] for who in plan_now()["intruder"]]
    with pytest.raises(FieldError, match="knows nothing"):
        rooms.do(session, "risk/save", {"name": "nobody", "known": []})


def test_columns_are_confirmed_one_by_one_then_the_plan(session):
    for row in rows_of(session):
        assert not row.confirmed
        with pytest.raises(FieldError, match="not confirmed"):
            rooms.do(session, "release/confirm", {})
        rooms.do(session, "columns/confirm", {"column": row.name})
    rooms.do(session, "release/reasons", {f"reason:{n}": "known" for n in ("sex", "area", "ill")})
    rooms.do(session, "release/confirm", {})
    assert plan_now()["unconfirmed"] == []
    assert "confirmed" in plan_now()


def test_one_reason_for_all_columns_that_have_none(session):
    rooms.do(session, "protect/draft", {"method": "geography", "region": "region.geojson"})
    assert "The same reason for all that are empty" in rooms.show(session, "release", {})
    columns = ("age", "ill", "income")  # the step changes places alone
    form = {f"reason:{name}": "" for name in columns} | {"reason:age": "on the badge"}
    rooms.do(session, "release/reasons", {**form, "every": "in no register"})
    told = {name: plan_now()["columns"][name].get("exact") for name in columns}
    assert told == {"age": "on the badge", "ill": "in no register", "income": "in no register"}


def test_another_role_drafts_the_steps_again_where_they_contradict(session):
    said = rooms.do(session, "columns/set", {"column": "income", "role": "dropped"}).say
    assert "drafted again" in said
    plan = read_plan("plan.toml")
    assert plan.columns["income"].role == "dropped"
    assert "income" not in plan.recipe.changes(())


def test_labels_and_order(session):
    rooms.do(session, "columns/labels", {"column": "sex", "labels": "f = women\nm = men"})
    assert plan_now()["columns"]["sex"]["labels"] == {"f": "women", "m": "men"}
    rooms.do(session, "columns/labels", {"column": "sex", "labels": "f = girls"})
    assert plan_now()["columns"]["sex"]["labels"] == {"f": "girls"}
    with pytest.raises(FieldError):
        rooms.do(session, "columns/labels", {"column": "sex", "labels": "women"})
    rooms.do(session, "columns/set", {"column": "ill", "kind": "ordered", "order": "no\nyes"})
    assert plan_now()["columns"]["ill"]["order"] == ["no", "yes"]


def test_limits_of_a_column_go_into_the_steps_that_draw_it(session):
    with pytest.raises(FieldError, match="no step of the plan"):  # coarsened, not drawn
        rooms.do(session, "columns/limits", {"column": "age", "min": "0"})
    rooms.do(session, "protect/draft", {"method": "cart"})
    rooms.do(session, "columns/limits", {"column": "age", "min": "0", "max": "120"})
    rooms.do(session, "columns/limits", {"column": "income", "min": "0"})
    assert plan_now()["step"][0]["limits"]["age"] == {"min": 0.0, "max": 120.0}
    assert read_plan("plan.toml").steps[0].limits["income"].max is None
    row = next(row for row in rows_of(session) if row.name == "age")
    assert row.limits == ("0", "120")
    with pytest.raises(FieldError) as caught:
        rooms.do(session, "columns/limits", {"column": "age", "min": "9", "max": "1"})
    assert caught.value.field == "min"
    with pytest.raises(FieldError) as caught:
        rooms.do(session, "columns/limits", {"column": "age", "max": "old"})
    assert caught.value.field == "max"
    rooms.do(session, "columns/limits", {"column": "age"})
    assert "age" not in plan_now()["step"][0].get("limits", {})


def test_labels_of_a_stata_file_are_taken_over(session):
    labelled = pd.DataFrame({"sex": [1, 2], "height": [170, 180]})
    labelled.to_stata("labels.dta", write_index=False, value_labels={"sex": {1: "women", 2: "men"}})
    said = rooms.do(session, "columns/import", {"file": "labels.dta"}).say
    assert said.startswith("1 of 7 columns")
    assert plan_now()["columns"]["sex"]["labels"] == {"1": "women", "2": "men"}
    with pytest.raises(FieldError, match="no such file"):
        rooms.do(session, "columns/import", {"file": "absent.sav"})


def test_hierarchies_by_cuts_groups_and_arx(session):
    rooms.show(session, "hierarchy", {"column": "age"})
    rooms.do(session, "hierarchy/numbers", {"column": "age", "levels": [[30, 50, 70], [50]]})
    step = next(s for s in plan_now()["step"] if s["method"] == "k-anonymity")
    assert step["hierarchies"]["age"] == {"cuts": [[30.0, 50.0, 70.0], [50.0]]}
    groups = {
        "column": "area",
        "code": ["north", "south", "west"],
        "first": ["ns", "ns", ""],
        "second": ["all", "all", "all"],
    }
    rooms.do(session, "hierarchy/groups", groups)
    step = next(s for s in plan_now()["step"] if s["method"] == "k-anonymity")
    assert step["hierarchies"]["area"]["grouped"] == [
        {"ns": ["north", "south"]},
        {"all": ["ns", "west"]},
    ]
    rows = "north;n;*\nsouth;s;*\nwest;s;*\n"
    rooms.do(session, "hierarchy/arx", {"column": "area", "arx": rows})
    html = rooms.show(session, "hierarchy", {"column": "area"})
    view = session.views.find(html.split('class="button" href="/view/')[1].split('"')[0])
    assert view.make().decode() == rows
    with pytest.raises(FieldError) as caught:
        rooms.do(session, "hierarchy/arx", {"column": "area", "arx": "north;n;*\nnorth;m;*\n"})
    assert caught.value.field == "arx"


def test_a_map_has_east_to_the_right_whichever_column_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    lat, lon = rng.random((2, 300)).round(4)
    table = pd.DataFrame({"lat": 47 + lat, "lon": 8 + lon})
    table.loc[0] = [47.0, 9.3]  # far in the east, in the south
    table["sex"] = rng.choice(["f", "m"], 300)
    table.to_csv("places.csv", index=False)
    opened = Session(Path("plan.toml"), "places.csv")
    opened.open()
    html = rooms.show(opened, "hierarchy", {"column": "lat, lon"})
    opened.close()
    assert 'data-turned="yes"' in html
    assert '<rect class="place" x="590" y="590"' in html  # the lower right corner
    assert '<rect class="place" x="590" y="0"' not in html


def test_long_lists_of_columns_are_told_shortly():
    from veladura.studio.pages import _environment

    shortly = _environment().filters["shortly"]
    assert shortly(list("abcdefg")) == "a, b, c, d, e, f and g"
    assert shortly(list("abcdefghij")) == "a, b, c, d, e, f and 4 more"


def test_the_same_person_cannot_prepare_and_approve(session):
    with pytest.raises(FieldError) as caught:
        rooms.do(session, "release/about", {"prepared_by": "Ana B", "approved_by": "ana  b"})
    assert caught.value.field == "approved_by"


def test_a_limit_of_the_gate(session):
    rooms.do(session, "release/limit", {"figure": "risk.unchanged.rows", "max": "0.5"})
    assert plan_now()["gate"]["risk.unchanged.rows"] == {"max": 0.5}
    with pytest.raises(FieldError) as caught:  # looser than the default, without a reason
        rooms.do(session, "release/limit", {"figure": "risk.holes.ratio", "max": "9"})
    assert caught.value.field == "reason"
    rooms.do(session, "release/limit", {"figure": "risk.unchanged.rows"})
    assert "risk.unchanged.rows" not in plan_now()["gate"]


NOT_SUITED = {  # to this table, or without the holder's word
    "reweight": {"column": "weight", "total": 1000.0, "digits": 2},
    "calibrate": {"column": "weight", "totals": {"sex": {"f": 1200.0, "m": 1100.0}}},
}
METHODS = [m for m in registry.METHODS if m != "steps" and registry.available(m)]


@pytest.mark.parametrize("method", METHODS)
def test_a_form_gives_back_the_step_it_shows(session, method):
    """Every setting of every method survives the way into the form and back."""
    from veladura.base.settings import to_plain

    _, source = session.ready
    cls = registry.find(method)
    given = NOT_SUITED.get(method, {})
    if method not in NOT_SUITED:
        given = to_plain(cls.suggest_for(source.table.without_identifiers(), source.facts))
    step = {"method": method, **given}
    form = {s.name: s.value for s in settings_of(cls, step) if s.value}
    assert step_from(cls, method, form) == step
    assert all(s.meaning for s in settings_of(cls, step)), "a setting without a help text"


def test_the_map_puts_the_safer_left_and_the_more_useful_above():
    from veladura.base.estimate import Estimate
    from veladura.comparison.candidate import Candidate
    from veladura.comparison.result import Comparison
    from veladura.measures.measure import Figure
    from veladura.studio.rooms.run import map_of

    def candidate(name, risk, error, fit):
        figures = {
            "risk.intruders.strongest": Figure("r", "R: r.", "low", Estimate.exact(risk)),
            "utility.detail.two": Figure("d", "D: d.", "low", Estimate.exact(error)),
            "utility.fit": Figure("f", "F: f.", "high", Estimate.exact(fit)),
        }
        return Candidate(name, "noise", figures=figures)

    both = (candidate("safe", 0.1, 0.5, 0.2), candidate("useful", 0.9, 0.1, 0.8))
    for utility in ("utility.detail.two", "utility.fit"):
        drawn = map_of(Comparison(both, "risk.intruders.strongest", utility))["points"]
        safe, useful = drawn
        assert safe.x < useful.x
        assert useful.y < safe.y  # a picture counts from its upper edge


@pytest.mark.parametrize("role", ["household", "identifier"])
def test_a_column_that_leaves_the_release_is_known_to_no_intruder(session, role):
    rooms.do(session, "risk/save", {"name": "n", "known": ["area", "age"], "within:age": "2"})
    rooms.do(session, "risk/save", {"name": "m", "known": ["area"]})
    rooms.do(session, "columns/set", {"column": "area", "role": role})
    intruders = {who["name"]: who for who in plan_now()["intruder"]}
    assert intruders["n"] == {"name": "n", "knows": ["age"], "within": {"age": 2.0}}
    assert "m" not in intruders  # it knew nothing else
    assert all("area" not in who["knows"] for who in intruders.values())


def test_codes_for_missing_are_read_as_missing(session):
    table = pd.read_csv("people.csv")
    code = str(int(table["age"].mode()[0]))
    rooms.do(session, "columns/missing", {"column": "age", "missing": f"{code}, -9"})
    assert plan_now()["columns"]["age"]["missing"] == [code, "-9"]
    row = next(row for row in rows_of(session) if row.name == "age")
    assert (row.missing, row.codes) == (int((table["age"] == int(code)).sum()), f"{code}, -9")
    rooms.do(session, "columns/missing", {"column": "age", "missing": ""})
    assert "missing" not in plan_now()["columns"]["age"]
