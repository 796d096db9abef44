"""Tables of the source's database get their names when the release folder is there, not before."""

from __future__ import annotations

import duckdb
import pandas as pd
import pytest

from veladura.errors import FolderError
from veladura.plan.reading import read_plan
from veladura.plan.run import run
from veladura.release import package
from veladura.release.tables import PART

PLAN = """
[source]
url = "duckdb:///{home}/people.db"
table = "people"
[columns]
age = {{kind = "integer", exact = "invented"}}
income = {{kind = "integer"}}
[release]
folder = "out/people"
table = "released"
[custodian]
folder = "safe/people"
[[step]]
{step}
"""
NOISE = 'method = "noise"\ncolumns = ["income"]'
CART = 'method = "cart"\ncolumns = ["income"]\nm = 2'


@pytest.fixture
def home(tmp_path):
    people = pd.DataFrame({"age": [20, 30, 40] * 30, "income": range(1000, 1900, 10)})
    with duckdb.connect(str(tmp_path / "people.db")) as connection:
        connection.register("rows", people)
        connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    return tmp_path


def plan(home, step=NOISE):
    (home / "plan.toml").write_text(PLAN.format(home=home.as_posix(), step=step), encoding="utf-8")
    return read_plan(home / "plan.toml")


def tables(home):
    """Return the tables and their numbers of rows, as another program reads them."""
    with duckdb.connect(str(home / "people.db"), read_only=True) as connection:
        names = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
        count = "SELECT count(*) FROM {}"
        return {name: connection.execute(count.format(name)).fetchall()[0][0] for name in names}


@pytest.mark.parametrize(
    ("step", "expected"), [(NOISE, ["released"]), (CART, ["released_1", "released_2"])]
)
def test_tables_are_written_beside_the_folder(home, step, expected):
    run(plan(home, step))
    assert tables(home) == {"people": 90, **dict.fromkeys(expected, 90)}
    with pytest.raises(FolderError, match="exist"):
        run(plan(home, step))
    run(plan(home, step), force=True)
    assert tables(home) == {"people": 90, **dict.fromkeys(expected, 90)}


def test_a_folder_that_cannot_be_written_leaves_no_table(home, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(package, "write_hashes", full)
    with pytest.raises(FolderError, match="Nothing was released"):
        run(plan(home))
    assert tables(home) == {"people": 90}
    assert not (home / "out" / "people").exists()


def test_a_killed_run_leaves_no_table_under_a_released_name(home, monkeypatch):
    """What it leaves under another name is replaced by the next run."""
    with duckdb.connect(str(home / "people.db")) as connection:
        connection.execute(f"CREATE TABLE released{PART} AS SELECT 1 AS half")
    run(plan(home))
    assert tables(home) == {"people": 90, "released": 90}


def test_a_table_that_exists_is_refused_before_the_folder_is_written(home):
    with duckdb.connect(str(home / "people.db")) as connection:
        connection.execute("CREATE TABLE released AS SELECT 1 AS mine")
    with pytest.raises(FolderError, match="tables exist already"):
        run(plan(home))
    assert tables(home) == {"people": 90, "released": 1}
    assert not (home / "out" / "people").exists()
