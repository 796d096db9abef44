"""Filter: released rows satisfy the rule, and nothing tells how many do not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import ColumnError, DataError, PlanError
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.run import run

ROWS = 1237


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    age = rng.integers(0, 95, ROWS).astype(float)
    age[rng.random(ROWS) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], ROWS),
            "income": np.exp(rng.normal(10, 0.6, ROWS)).round(-2),
        }
    )


def test_the_kept_rows_are_those_of_pandas(people):
    release = vd.Filter(where='age >= 18 and sex == "f" or income > 50_000').protect(people)
    expected = people.query('age >= 18 and sex == "f" or income > 50_000')
    pd.testing.assert_frame_equal(release.datasets[0], expected)
    assert people.index[release.rows].equals(expected.index)


def test_a_missing_value_satisfies_no_comparison(people):
    released = vd.Filter(where="not (age < 18)").protect(people).datasets[0]
    assert released["age"].isna().sum() == people["age"].isna().sum()  # not (false) is true
    assert vd.Filter(where="age >= 18").protect(people).datasets[0]["age"].notna().all()


@pytest.mark.parametrize(
    ("where", "error", "match"),
    [
        ("age >", PlanError, "ends too early"),
        ("agee > 1", ColumnError, "agee"),
        ("age > 200", DataError, "no row satisfies"),
    ],
)
def test_conditions_that_cannot_be_used_are_refused(people, where, error, match):
    with pytest.raises(error, match=match):
        vd.Filter(where=where).protect(people)


def test_it_reads_columns_as_the_source_has_them(people):
    recode = vd.Recode(columns={"age": {"cuts": [18, 65]}})
    with pytest.raises(PlanError, match="before the one that changes them"):
        vd.Steps([recode, vd.Filter(where="age >= 18")])
    release = vd.Steps([vd.Filter(where="age >= 18"), recode]).protect(people)
    assert set(release.datasets[0]["age"]) == {"[18, 65)", ">= 65"}
    # the promise is about ages, which are bands now: it was proved, and is no longer made
    assert [promise.name for promise in release.promises] == ["bands"]


def test_it_may_not_come_before_a_private_step_that_takes_the_number_of_rows_as_public(people):
    """Neighbours differ in one replaced person: whether the filter keeps them changes the rows."""
    domain = {"sex": ["f", "m"]}
    private = vd.BetaBinomial(columns=["sex"], domain=domain, epsilon=1)
    with pytest.raises(PlanError, match="add-remove"):
        vd.Steps([vd.Filter(where="age >= 18"), private])
    secret = vd.BetaBinomial(columns=["sex"], domain=domain, epsilon=1, neighbours="add-remove")
    vd.Steps([vd.Filter(where="age >= 18"), secret])


def test_private_counts_after_it_are_those_of_the_people_it_keeps(people, tmp_path):
    """From a plan to `verify`. Noise at epsilon 20 is below 3 with probability 1 - 1e-20."""
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(
        """[source]
path = "people.csv"
[columns.age]
role = "other"
[columns.sex]
role = "other"
[columns.income]
role = "other"
[[step]]
method = "filter"
where = "age >= 18"
[[step]]
method = "noisy-counts"
columns = ["sex"]
domain = {sex = ["f", "m"]}
epsilon = 20
neighbours = "add-remove"
[run]
[release]
folder = "out/release"
format = "csv"
[custodian]
folder = "safe/record"
""",
        encoding="utf-8",
    )
    outcome = run(read_plan(tmp_path / "plan.toml"))
    released = pd.read_csv(outcome.folder / "data" / "dataset-1.csv")["sex"].value_counts()
    kept = people[people["age"] >= 18]["sex"].value_counts()
    assert (released - kept).abs().max() <= 5
    assert (people["sex"].value_counts() - kept).min() > 50
    lines = vd.verify(outcome.folder)
    assert {line.status for line in lines} <= {"holds", "attested"}
    text = (outcome.folder / "manifest.json").read_text(encoding="utf-8")
    assert "age >= 18" in text
    assert str(ROWS) not in text


def test_a_promise_that_a_row_breaks_is_found(people, tmp_path):
    release = vd.Filter(where="age >= 18").protect(people)
    folder = release.save(tmp_path / "out" / "release", tmp_path / "safe" / "record", format="csv")
    (line,) = [line for line in vd.verify(folder) if line.claim.startswith("Filter")]
    assert line.status == "holds"
    path = folder / "data" / "dataset-1.csv"
    rows = pd.read_csv(path)
    rows.loc[3, "age"] = 4
    rows.to_csv(path, index=False)
    assert {line.status for line in vd.verify(folder) if line.claim.startswith("Filter")} == {
        "broken"
    }


def test_figures_are_about_the_people_who_satisfy_it(people):
    """Against the whole source, half of each column would seem lost."""
    grown = people[people["age"] >= 18]
    recipe = vd.Noise(columns=["income"], scale=0.3)
    chain = vd.Steps([vd.Filter(where="age >= 18"), recipe])
    filtered = vd.assess(people, chain.protect(people, seed=3))
    alone = vd.assess(grown, recipe.protect(grown, seed=3))
    for name in ("risk.uniqueness.original_uniques", "utility.generalisation.completeness"):
        if alone.figures[name].estimate is not None:
            assert float(filtered[name]) == float(alone[name])
    assert filtered.figures["risk.unchanged.rows"].base == len(grown)
    assert float(filtered["utility.columns.worst"]) < 0.1
    whole = vd.utility.columns(people, grown)
    assert float(whole.worst) > 0.15


def test_the_release_tells_nobody_how_many_were_left_out(people, tmp_path):
    """Neither the rows of the source nor those left out are in a file that leaves."""
    chain = vd.Steps([vd.Filter(where="age >= 18"), vd.Noise(columns=["income"])])
    release = chain.protect(people, seed=5)
    release.save(tmp_path / "out" / "release", tmp_path / "safe" / "record", format="csv")
    out = ROWS - len(release.datasets[0])
    told = [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".html", ".json")]
    assert len(told) >= 3
    for path in told:
        text = path.read_text(encoding="utf-8")
        for number in (ROWS, out):
            assert f" {number:,} " not in text, path.name
            assert f": {number}," not in text, path.name
    private = (tmp_path / "safe" / "record" / "report-custodian.html").read_text(encoding="utf-8")
    assert f"{out:,} of {ROWS:,} rows do not satisfy" in private
    manifest = json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())
    assert manifest["steps"][0]["settings"] == {"where": "age >= 18"}


def test_from_a_plan(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    plan = parse_plan('[source]\npath = "people.csv"\n[[step]]\nmethod = "filter"\nwhere = "age<5"')
    assert plan.recipe == vd.Filter(where="age<5")


def test_its_condition_may_be_on_a_column_that_is_not_released(people):
    """Figures are about the people whom it keeps, though the release has not the column."""
    places = people.dropna().reset_index(drop=True)
    places["north"] = np.arange(len(places)) % 10
    areas = vd.Areas(x="age", y="north", areas={"all": [0, 0, 100, 10]})
    chain = vd.Steps([vd.Filter(where="north < 5"), areas])
    some = places[places["north"] < 5].reset_index(drop=True)
    figures = vd.assess(places, chain.protect(places))
    same = vd.assess(some, areas.protect(some))
    everybody = vd.assess(places, areas.protect(places))
    name = "risk.uniqueness.average_prosecutor"
    assert float(figures[name]) == float(same[name]) != float(everybody[name])
