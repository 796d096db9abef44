"""Firms, departments and employees: the people are in the last of three tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import DataError, PlanError
from veladura.plan.linked import find_linked
from veladura.table.linked import LinkedTable


def firms(seed: int = 1, number: int = 40) -> dict[str, pd.DataFrame]:
    """Return firms with keys of text, departments, and employees with huge numbers."""
    rng = np.random.default_rng(seed)
    rooms, staff = 4 * number, 20 * number
    first = pd.DataFrame(
        {"firm": [f"F{n:03d}" for n in range(number)], "sector": rng.choice(list("abc"), number)}
    )
    of_firm = np.append(np.arange(number), rng.integers(0, number, rooms - number))
    second = pd.DataFrame(
        {
            "dep": 7000 + rng.permutation(rooms),
            "firm": first.firm.to_numpy()[of_firm],
            "kind": rng.choice(["sales", "lab"], rooms),
        }
    )
    of_room = np.append(np.arange(rooms), rng.integers(0, rooms, staff - rooms))
    third = pd.DataFrame(
        {
            "emp": 2**60 + rng.permutation(staff),
            "dep": second.dep.to_numpy()[of_room],
            "age": rng.integers(18, 66, staff),
            "sex": rng.choice(["f", "m"], staff),
        }
    )
    return {"firms": first, "departments": second, "employees": third}


def chain(tables: dict[str, pd.DataFrame], unit="person") -> list[LinkedTable]:
    keys = {"firms": "firm", "departments": "dep", "employees": "emp"}
    above = {"departments": "firms", "employees": "departments"}
    linked = [
        LinkedTable(name=n, path=t, key=keys[n], parent=above.get(n)) for n, t in tables.items()
    ]
    return [*linked[:2], replace(linked[2], unit=unit)]


def test_employees_are_the_people_and_everybody_keeps_firm_and_department():
    tables = firms()
    table = vd.open_linked(*chain(tables))
    assert (table.schema.household, table.person) == ("firm", "emp")
    assert table.schema.of_role("lookup") == ["dep"]
    assert table.people == len(tables["employees"])
    made = vd.Recode(columns={"age": {"digits": 1}}).protect(table, seed=1).linked()
    sizes = {name: len(part) for name, part in made.items()}
    assert sizes == {name: len(part) for name, part in tables.items()}
    # the same people in the same departments of the same firms, by what is not a key
    names = ["sex", "kind", "sector"]
    wanted = tables["employees"].merge(tables["departments"]).merge(tables["firms"])
    found = made["employees"].merge(made["departments"]).merge(made["firms"])
    assert found[names].value_counts().to_dict() == wanted[names].value_counts().to_dict()
    for key in ("firm", "dep"):
        staff = [sorted(f.groupby(key).size()) for f in (found, wanted)]
        assert staff[0] == staff[1]
        assert not {*found[key]} & {*wanted[key]}


def test_units_are_found_by_ages(tmp_path):
    for name, table in firms().items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / f"{name}.csv") for name in ("employees", "firms", "departments")]
    found = {table.name: table.unit for table in find_linked(files)}
    assert found == {"firms": "household", "departments": None, "employees": "person"}
    tables = firms()
    tables["employees"] = tables["employees"].drop(columns="age")
    opened = vd.open_linked(*chain(tables, unit=None))  # the control: nothing says who is who
    assert opened.person == "firm"


def test_a_firm_without_employees():
    tables = firms()
    tables["firms"].loc[len(tables["firms"])] = ["F999", "a"]
    table = vd.open_linked(*chain(tables))
    assert table.person is None
    assert table.rows == len(tables["employees"]) + 1
    assert table.schema.household == "firm"


@pytest.mark.parametrize(
    ("name", "spoil", "error", "words"),
    [
        ("departments", lambda d: d.iloc[1:], DataError, "rows of table 'employees' have a 'dep'"),
        ("firms", lambda d: d.iloc[1:], DataError, "rows of table 'departments' have a 'firm'"),
        ("departments", lambda d: d.assign(dep=7000), DataError, "repeated in 159"),
        ("employees", lambda d: d.assign(firm="F000"), PlanError, "has a column 'firm'"),
    ],
)
def test_integrity_is_checked_between_all_three(name, spoil, error, words):
    tables = firms()
    tables[name] = spoil(tables[name])
    with pytest.raises(error, match=words) as refused:
        vd.open_linked(*chain(tables))
    assert "F000" not in str(refused.value)


@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_the_drafted_k_anonymity_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    for name, table in firms().items():
        table.to_csv(f"{name}.csv", index=False)
    files = ["firms.csv", "departments.csv", "employees.csv"]
    for command in (
        ["init", *files, "--method", "k-anonymity", "--out", "plan.toml"],
        ["confirm", "plan.toml", "--accept-all"],
        ["run", "plan.toml"],
        ["verify", "release/firms"],
        ["split", "release/firms", "--out", "apart"],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    rows = pd.read_csv(tmp_path / "apart" / "employees-1.csv")
    homes = pd.read_csv(tmp_path / "apart" / "firms-1.csv")
    assert {*rows.firm} == {*homes.firm}
