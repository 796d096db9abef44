"""Attacks on a release by columns that nobody decided on, or that say what others hide."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from veladura.errors import PlanError
from veladura.plan.confirm import accept_all, confirm
from veladura.plan.reading import read_plan
from veladura.plan.run import rehearse, run

ROWS = 600
PLAN = """
unconfirmed = []
[source]
path = "people.csv"
[columns]
age = {role = "quasi-identifier"}
sex = {role = "quasi-identifier"}
district = {role = "quasi-identifier"}
answer = {role = "harmless", exact = "an opinion on the weather"}
[[step]]
method = "k-anonymity"
k = 5
max_suppression = 0.5
[release]
folder = "out/release"
[custodian]
folder = "safe/record"
"""


def people() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "district": rng.choice(list("abcdefgh"), ROWS),
            "answer": rng.choice(["no", "yes"], ROWS),
        }
    )


@pytest.fixture
def plan(tmp_path):
    """A plan that was confirmed with the columns of `people`."""
    people().to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8")
    confirm(path, accept_all())
    return path


def released(path) -> str:
    """Everything that left, as text."""
    folder = path.parent / "out" / "release"
    if not folder.exists():
        return ""
    rows = pd.read_parquet(folder / "data" / "dataset-1.parquet")
    return rows.to_csv() + (folder / "manifest.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("column", ["full_name", "number"])
@pytest.mark.parametrize("way", [run, rehearse])
def test_a_column_added_after_confirmation_does_not_leave(plan, column, way):
    secret = [f"{column}-{i:06d}" for i in range(ROWS)]
    people().assign(**{column: secret}).to_csv(plan.parent / "people.csv", index=False)
    with pytest.raises(PlanError, match=f"(?s)does not name.*{column}.*dropped"):
        way(read_plan(plan))
    assert secret[0] not in released(plan)


def test_naming_it_is_not_enough_the_source_must_be_confirmed_again(plan):
    people().assign(shoe=np.arange(ROWS) % 9).to_csv(plan.parent / "people.csv", index=False)
    text = plan.read_text(encoding="utf-8").replace(
        "[[step]]", 'shoe = {role = "harmless", exact = "nobody asks"}\n[[step]]', 1
    )
    plan.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=r"not the one that was confirmed.*new columns: \['shoe'\]"):
        run(read_plan(plan))
    confirm(plan, accept_all())
    assert run(read_plan(plan)).standing.status == "confirmed"


def told_districts(original: pd.DataFrame, release: pd.DataFrame) -> float:
    """Share of released people whose district an intruder reads off another exact column."""
    key = original.groupby("office")["district"].agg(lambda values: values.mode()[0])
    link = release["office"].map(key)
    truth = original.set_index("row")["district"].reindex(release["row"]).to_numpy()
    return float((link.to_numpy() == truth).mean())


def test_a_district_that_another_column_tells_is_not_protected_by_a_star(plan):
    """The attack works on the release that the holder insists on; without a word it is refused."""
    frame = people()
    frame["office"] = "office " + frame["district"]
    frame["row"] = np.arange(ROWS)
    frame.to_csv(plan.parent / "people.csv", index=False)
    star = "[step.hierarchies.district]\nmasked = 1\n"
    text = PLAN.replace("[[step]]", 'office = {role = "other"}\nrow = {role = "other"}\n[[step]]')
    text = text.replace("k = 5", "k = 200").replace("[release]", f"{star}[release]")
    plan.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=f"office: it gives back district for {ROWS} of {ROWS}"):
        run(read_plan(plan))
    assert released(plan) == ""
    insisting = (
        plan.read_text(encoding="utf-8")
        .replace('office = {role = "other"', 'office = {role = "other", exact = "a test"')
        .replace('row = {role = "other"', 'row = {role = "other", exact = "a test"')
    )
    plan.write_text(insisting, encoding="utf-8")
    run(read_plan(plan))
    folder = plan.parent / "out" / "release"
    release = pd.read_parquet(folder / "data" / "dataset-1.parquet")
    assert set(release["district"]) == {"*"}
    assert told_districts(frame, release) > 0.99
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    office = next(column for column in manifest["exact"] if column["name"] == "office")
    assert office["gives_back"] == ["district"]
    assert office["reason"] == "a test"


def test_a_new_category_of_an_exact_column_does_not_leave(plan):
    """A remark typed into a list of answers after it was confirmed; fewer answers are no harm."""
    secret, frame = "ask Ms Keller of 4 Mill Lane", people()
    frame.loc[3, "answer"] = secret
    frame.to_csv(plan.parent / "people.csv", index=False)
    for way in (run, rehearse):
        with pytest.raises(PlanError, match=r"(?s)answer has 1 more.*confirm again"):
            way(read_plan(plan))
    assert secret not in released(plan)
    frame[frame["answer"] == "no"].to_csv(plan.parent / "people.csv", index=False)
    assert run(read_plan(plan)).standing.status == "confirmed"
    assert "yes" not in plan.read_text(encoding="utf-8").split("[confirmed]")[1]
