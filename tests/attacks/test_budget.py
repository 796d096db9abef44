"""Attack: get the privacy budget anew by following the tool's own hints.

Version 0.1 kept the ledger in the custodian's folder under the name of the source, so that another
folder, another name or a renamed file had the full epsilon again: every one of these attacks drew
a second release there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sqlite3

import pandas as pd
import pytest

import veladura as vd
from veladura.methods.private.identity import identity_of
from veladura.table.table import Source

PLAN = """
[source]
path = "{path}"
{name}
[columns]
sex = {{role = "quasi-identifier", kind = "category"}}
[release]
folder = "{out}/people"
[custodian]
folder = "{custodian}"
[[step]]
method = "dirichlet-multinomial"
columns = ["sex"]
epsilon = 1.0
[step.domain]
sex = ["f", "m"]
"""


@pytest.fixture
def home(tmp_path):
    pd.DataFrame({"sex": ["f", "m"] * 50}).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def plan(home, path="people.csv", out="out", custodian="safe/one", name=""):
    text = PLAN.format(path=path, out=out, custodian=custodian, name=name)
    (home / "plan.toml").write_text(text, encoding="utf-8")
    return "plan.toml"


def other_custodian(home):
    return plan(home, out="out2", custodian="safe/two")


def other_name(home):
    return plan(home, out="out2", custodian="safe/two", name='name = "patients"')


def name_in_capitals(home):
    return plan(home, out="out2", custodian="safe/two", name='name = "PEOPLE"')


def renamed_file(home):
    (home / "people.csv").rename(home / "persons.csv")
    return plan(home, path="persons.csv", out="out2", custodian="safe/two")


def copied_with_a_row_more(home):
    (home / "copy").mkdir()
    shutil.copyfile(home / "people.csv", home / "copy" / "people.csv")
    with (home / "copy" / "people.csv").open("a", encoding="utf-8") as file:
        file.write("f\n")
    return plan(home, path="copy/people.csv", out="out2", custodian="safe/two")


def other_custodian_variable(home, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(home / "elsewhere"))
    text = PLAN.format(path="people.csv", out="out2", custodian="x", name="")
    (home / "plan.toml").write_text(
        text.replace('[custodian]\nfolder = "x"\n', ""), encoding="utf-8"
    )
    return "plan.toml"


def link_to_the_file(home):
    (home / "other.csv").symlink_to("people.csv")
    return plan(home, path="other.csv", out="out2", custodian="safe/two")


def second_name_of_the_file(home):
    (home / "other.csv").hardlink_to(home / "people.csv")
    return plan(home, path="other.csv", out="out2", custodian="safe/two")


def other_format(home):
    pd.read_csv(home / "people.csv").to_parquet(home / "other.parquet", index=False)
    return plan(home, path="other.parquet", out="out2", custodian="safe/two")


def other_order(home):
    rows = pd.read_csv(home / "people.csv").sample(frac=1, random_state=1)
    rows.to_csv(home / "other.csv", index=False, sep=";")
    return plan(home, path="other.csv", out="out2", custodian="safe/two")


DATABASE = PLAN.replace('path = "{path}"', 'url = "{path}"\ntable = "people"')


def table_plan(home, url, name, out):
    text = DATABASE.format(path=url, name=f'name = "{name}"', out=out, custodian=f"safe/{out}")
    (home / "plan.toml").write_text(text, encoding="utf-8")
    return "plan.toml"


@pytest.mark.parametrize("again", ["sqlite:///./people.db", "sqlite:///../{home}/people.db", "/"])
def test_a_database_by_another_path_and_name_is_the_same(veladura, home, again):
    """Relative, with a detour or from the root: the budget is that of the table."""
    with contextlib.closing(sqlite3.connect(home / "people.db")) as connection:
        pd.DataFrame({"sex": ["f", "m"] * 50}).to_sql("people", connection, index=False)
    assert veladura(
        "run", table_plan(home, "sqlite:///people.db", "one", "out"), cwd=home
    ).returncode in (0, 6)
    url = f"sqlite:///{home / 'people.db'}" if again == "/" else again.format(home=home.name)
    second = veladura("run", table_plan(home, url, "two", "out2"), cwd=home)
    assert second.returncode == 5, second.stderr


@pytest.mark.parametrize(
    "again",
    [
        "postgresql://bob@server/clinic",
        "postgres://ana@SERVER:5432/clinic?sslmode=require",
        "postgresql://server/clinic",
    ],
)
@pytest.mark.parametrize("table", ["people", "public.People"])
def test_a_server_by_another_address_is_the_same(again, table):
    first = Source("one", url="postgresql://ana@server/clinic", table="people")
    other = Source("two", url=again, table=table)
    keys = [
        {key for key in identity_of(source_of(source)).keys if key.startswith("database")}
        for source in (first, other)
    ]
    assert keys[0] == keys[1]
    elsewhere = Source("two", url="postgresql://ana@server:5433/clinic", table=table)
    assert keys[0].isdisjoint(identity_of(source_of(elsewhere)).keys)


def source_of(source):
    return dataclasses.replace(vd.open(pd.DataFrame({"sex": ["f", "m"]})), source=source)


ATTACKS = (
    other_custodian,
    other_name,
    name_in_capitals,
    renamed_file,
    copied_with_a_row_more,
    link_to_the_file,
    second_name_of_the_file,
    other_format,
    other_order,
)


@pytest.mark.parametrize("attack", [*ATTACKS, other_custodian_variable])
def test_no_hint_resets_the_budget(veladura, home, attack, monkeypatch):
    assert veladura("run", plan(home), cwd=home).returncode in (0, 6)
    given = (home, monkeypatch) if attack is other_custodian_variable else (home,)
    second = veladura("run", attack(*given), cwd=home)
    assert second.returncode == 5, second.stderr
    assert not (home / "out2").exists()
