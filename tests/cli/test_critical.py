"""Indicators Z and orders of a plan with critical cells, from the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from veladura.cli.main import app
from veladura.errors import FolderError, PlanError

PLAN = """
[source]
path = "people.csv"
[columns.income]
role = "sensitive"
exact = "below the limits everybody may know it"
[columns.wealth]
role = "sensitive"
exact = "below the limits everybody may know it"
[columns.age]
role = "other"
exact = "everybody knows it"
{before}
[[step]]
method = "critical-cart"
critical = {{income = "income > 2000", wealth = "wealth > 300 and age > 40"}}
groups = []
m = 2
[run]
seed = 5
[release]
folder = "out/release"
format = "csv"
[custodian]
folder = "safe/record"
"""


@pytest.fixture
def home(tmp_path):
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"age": rng.integers(20, 80, 200)})
    people["income"] = 1000 + 20 * people["age"] + rng.integers(0, 900, 200)
    people["wealth"] = rng.integers(0, 500, 200) + people["age"]
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN.format(before=""), encoding="utf-8")
    return tmp_path


def ask(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def truth(people: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "income_replaced": people["income"] > 2000,
            "wealth_replaced": (people["wealth"] > 300) & (people["age"] > 40),
        }
    )


def test_z_of_a_plan_is_that_of_its_conditions_in_the_order_of_the_source(home):
    text = ask("indicators", home / "plan.toml", "--out", home / "z.csv")
    marks = truth(pd.read_csv(home / "people.csv"))
    pd.testing.assert_frame_equal(pd.read_csv(home / "z.csv"), marks)
    assert f"income_replaced {int(marks['income_replaced'].sum())}" in text
    assert oct((home / "z.csv").stat().st_mode & 0o777) == "0o600"
    with pytest.raises(FolderError, match="exists already"):
        ask("indicators", home / "plan.toml", "--out", home / "z.csv")


@pytest.mark.parametrize("before", ["", '[[step]]\nmethod = "sample"\nfraction = 0.5\n'])
def test_z_of_a_run_stands_beside_the_released_rows(home, before):
    """Where Z is false the released value is the original one, row by row of each file."""
    (home / "plan.toml").write_text(PLAN.format(before=before), encoding="utf-8")
    ask("run", home / "plan.toml")
    record = home / "safe" / "record" / "record.json"
    out = home / "handed" / "z.csv"
    ask("indicators", home / "plan.toml", "--record", record, "--out", out)
    people = pd.read_csv(home / "people.csv")
    for number in (1, 2):
        marks = pd.read_csv(out.with_stem(f"z-{number}"))
        data = pd.read_csv(home / "out" / "release" / "data" / f"dataset-{number}.csv")
        assert len(marks) == len(data)
        same = ~marks.to_numpy()
        kept = data[same.all(axis=1)]
        known = people.merge(kept, on=["age", "income", "wealth"], how="right", indicator=True)
        assert (known["_merge"] == "both").all()
        # released critical cells are critical too, so Z can be read off the other columns' marks
        assert (truth(data)["income_replaced"] == marks["income_replaced"]).all()
        if not before:
            assert marks.sum().tolist() == truth(people).sum().tolist()


def test_orders_of_a_plan_are_compared(home):
    text = ask("compare", home / "plan.toml", "--orders", "all")
    assert "income, wealth" in text
    assert "wealth, income" in text
    one = ask(
        "compare", home / "plan.toml", "--orders", "wealth,income", "--orders", "income,wealth"
    )
    assert one.splitlines()[:4] == text.splitlines()[:4]


def test_a_plan_without_critical_cells_is_told(home):
    text = (home / "plan.toml").read_text(encoding="utf-8")
    start, _, end = text.partition("[[step]]")
    other = (
        '[[step]]\nmethod = "noise"\ncolumns = ["income", "wealth"]\n[run]'
        + end.partition("[run]")[2]
    )
    (home / "plan.toml").write_text(start + other, encoding="utf-8")
    for command in (["indicators"], ["compare", "--orders", "all"]):
        with pytest.raises(PlanError, match="critical-cart"):
            ask(*command, home / "plan.toml")


def test_z_is_not_written_beside_a_release(home):
    ask("run", home / "plan.toml")
    with pytest.raises(FolderError, match="beside a release"):
        ask("indicators", home / "plan.toml", "--out", home / "out" / "z.csv")


def test_a_step_that_changes_what_z_reads_is_refused(home):
    before = '[[step]]\nmethod = "recode"\n[step.columns.age]\nround = 10\n'
    (home / "plan.toml").write_text(PLAN.format(before=before), encoding="utf-8")
    with pytest.raises(PlanError, match="age"):
        ask("indicators", home / "plan.toml", "--out", home / "z.csv")
