"""Every column is accounted for, and a release is a draft until its holder confirmed it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.plan.accounting import exact_columns, exact_in, toml_key
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.run import rehearse, run
from veladura.release.certificate import certificate
from veladura.release.verify import holds, is_draft, verify

ROWS = 400


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "ref": [f"r{i:05d}" for i in rng.permutation(ROWS)],
            "sex": rng.choice(["f", "m"], ROWS),
            "answer": rng.choice(["no", "yes", "maybe"], ROWS),
            "income": np.round(rng.lognormal(10, 1, ROWS), 2),
            "lon": rng.integers(0, 20, ROWS),
            "lat": rng.integers(0, 20, ROWS),
        }
    )


def plan_text(columns: dict[str, str], *, head: str = "", step: str = "") -> str:
    """A whole plan: settings of each column as they stand in TOML."""
    own = {
        "ref": 'role = "identifier"',
        "sex": 'role = "other"',
        "answer": 'role = "other"',
        "income": 'role = "sensitive"',
        "lon": 'role = "dropped"',
        "lat": 'role = "dropped"',
        **columns,
    }
    tables = "".join(f"[columns.{name}]\n{lines}\n" for name, lines in own.items())
    step = step or '[[step]]\nmethod = "noise"\ncolumns = ["income"]\n'
    return (
        f'{head}\n[source]\npath = "people.csv"\n{tables}{step}'
        '[release]\nfolder = "out/release"\n[custodian]\nfolder = "safe/record"\n[run]\nseed = 1\n'
    )


REASONS = {
    "sex": 'role = "other"\nexact = "two values"',
    "answer": 'role = "other"\nexact = "an opinion"',
}


@pytest.fixture
def planned(tmp_path):
    """Write the source and a plan; return the plan as it is read."""
    people().to_csv(tmp_path / "people.csv", index=False)

    def write(text: str):
        path = tmp_path / "plan.toml"
        path.write_text(text, encoding="utf-8")
        return read_plan(path)

    return write


def test_a_release_with_reasons_is_confirmed_and_lists_them(planned):
    plan = planned(plan_text(REASONS))
    outcome = run(plan)
    manifest = json.loads((plan.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "confirmed"
    assert manifest["unconfirmed"] == []
    assert manifest["exact"] == [
        {"name": "sex", "reason": "two values", "unique": 0, "gives_back": []},
        {"name": "answer", "reason": "an opinion", "unique": 0, "gives_back": []},
    ]
    assert vd.load(plan.folder).manifest["exact"] == manifest["exact"]
    record = json.loads((outcome.custodian / "record.json").read_text(encoding="utf-8"))
    assert record["standing"]["exact"] == manifest["exact"]
    lines = verify(plan.folder)
    assert holds(lines)
    assert not is_draft(lines)
    assert "DRAFT" not in certificate(plan.folder)


@pytest.mark.parametrize(
    ("columns", "head", "said"),
    [
        ({}, "", "sex: released exactly"),
        (REASONS, 'unconfirmed = ["the region was proposed"]', "the region was proposed"),
    ],
)
def test_a_release_with_an_open_point_is_a_draft(planned, columns, head, said):
    plan = planned(plan_text(columns, head=head))
    assert run(plan).standing.status == "draft"
    manifest = json.loads((plan.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "draft"
    assert any(said in point for point in manifest["unconfirmed"])
    pages = [
        certificate(plan.folder),
        (plan.folder / "report.html").read_text(encoding="utf-8"),
        (plan.custodian_folder / "report-custodian.html").read_text(encoding="utf-8"),
    ]
    assert all("DRAFT" in page and said in page for page in pages)
    lines = verify(plan.folder)
    assert holds(lines)
    assert is_draft(lines)


@pytest.mark.parametrize("way", [run, rehearse])
def test_nearly_unique_columns_need_a_reason(planned, way):
    step = '[[step]]\nmethod = "pram"\ncolumns = ["answer"]\n'
    with pytest.raises(PlanError, match=r"income: \d+ of 400 people are unique by it alone"):
        way(planned(plan_text(REASONS, step=step)))
    accepted = {**REASONS, "income": 'role = "sensitive"\nexact = "nobody knows it"'}
    way(planned(plan_text(accepted, step=step)))


def test_coordinates_are_counted_as_a_pair(planned):
    """Each alone is harmless; together they are a place."""
    places = dict.fromkeys(("lon", "lat"), 'role = "geographic"\nexact = "cells"')
    half = {**places, "lat": 'role = "geographic"'}
    with pytest.raises(PlanError, match=r"lon and lat: \d+ of 400 people are unique"):
        run(planned(plan_text({**REASONS, **half})))
    plan = planned(plan_text({**REASONS, **places}))
    run(plan)
    manifest = json.loads((plan.folder / "manifest.json").read_text(encoding="utf-8"))
    pair = manifest["exact"][-1]
    sizes = people().groupby(["lon", "lat"]).size()
    assert (pair["name"], pair["unique"]) == ("lon and lat", int((sizes == 1).sum()))


@pytest.mark.parametrize("way", [run, rehearse])
def test_a_column_that_the_plan_does_not_name_is_refused(planned, way):
    text = plan_text(REASONS).replace('[columns.answer]\nrole = "other"\nexact = "an opinion"', "")
    with pytest.raises(
        PlanError, match=r"(?s)does not name: \['answer'\].*\[columns.answer\] role"
    ):
        way(planned(text))


def test_a_step_names_the_columns_that_it_changes(planned):
    text = plan_text(REASONS).replace('[columns.income]\nrole = "sensitive"\n', "")
    assert run(planned(text)).standing.status == "confirmed"


def test_a_column_that_the_source_lacks_is_refused(planned):
    with pytest.raises(PlanError, match="wage"):
        run(planned(plan_text({**REASONS, "wage": 'role = "sensitive"'})))


@pytest.mark.parametrize("reason", ["", "   "])
def test_an_empty_reason_is_refused(reason):
    with pytest.raises(PlanError, match=r"(empty|blank)"):
        parse_plan(plan_text({"sex": f'exact = "{reason}"'}))


def test_a_private_release_has_no_exact_column(planned):
    step = (
        '[[step]]\nmethod = "dirichlet-multinomial"\ncolumns = ["sex"]\nepsilon = 1.0\n'
        '[step.domain]\nsex = ["f", "m"]\n'
    )
    plan = planned(plan_text({}, step=step).replace("seed = 1\n", ""))
    assert exact_columns(plan, plan.open()) == []
    assert run(plan).standing.exact == ()


def test_a_private_release_is_never_refused_for_what_the_data_hold(planned):
    """A step before it may leave values as they are: only the private rows are released."""
    step = (
        '[[step]]\nmethod = "top-code"\ncolumns = {income = 100000}\n'
        '[[step]]\nmethod = "dirichlet-multinomial"\ncolumns = ["sex"]\nepsilon = 1.0\n'
        '[step.domain]\nsex = ["f", "m"]\n'
    )
    plan = planned(plan_text({}, step=step).replace("seed = 1\n", ""))
    assert exact_in(plan, plan.open()) == {}


def test_without_a_plan_the_manifest_lists_exact_columns_and_no_status():
    frame = people().drop(columns="ref")
    manifest = vd.Noise(columns=["income"]).protect(frame, seed=1).manifest
    assert [column["name"] for column in manifest["exact"]] == ["sex", "answer", "lon", "lat"]
    assert "status" not in manifest


def test_a_quasi_identifier_that_stays_as_it_is_is_shared_by_k_and_not_exact():
    frame = people()[["sex", "answer"]]
    release = vd.KAnonymity(quasi_identifiers=["sex"], k=5).protect(frame)
    assert release.changed == ()
    assert release.exact == ("answer",)


@pytest.mark.parametrize("name", ["age", "body mass", 'a"b', "x.y"])
def test_names_are_written_as_keys_of_a_plan(name):
    text = f'[source]\npath = "x"\n[columns.{toml_key(name)}]\nrole = "dropped"\n'
    step = '[[step]]\nmethod = "noise"\ncolumns = ["x"]\n'
    assert list(parse_plan(text + step).columns) == [name]


def test_a_top_coded_column_is_exact_below_its_limit(planned):
    """Replacing the largest values protects those who have them, and nobody else."""
    step = '[[step]]\nmethod = "top-code"\ncolumns = {income = 100000}\n'
    with pytest.raises(PlanError, match=r"income: \d+ of 400 people are unique"):
        run(planned(plan_text(REASONS, step=step)))
    rounded = f'{step}[[step]]\nmethod = "microaggregation"\ncolumns = ["income"]\n'
    assert run(planned(plan_text(REASONS, step=rounded))).standing.status == "confirmed"
