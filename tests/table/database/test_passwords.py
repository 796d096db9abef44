"""Passwords come from the environment, and no file that is written holds one."""

from __future__ import annotations

from types import SimpleNamespace

import ibis
import pandas as pd
import pytest

import veladura as vd
from veladura.plan.draft import draft
from veladura.plan.plan import PasswordWarning
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.run import run
from veladura.table.database.passwords import has_password, with_password, without_password

pytestmark = pytest.mark.quick

SECRET, OTHER = "hunt/er2@:&x", "own"
PLAN = """
[source]
url = "postgresql://ana:hunter2@server/clinic"  # or postgresql://eva:hunter2@other/db
table = "people"
[[step]]
method = "noise"
columns = ["age"]
[release]
folder = "out/release"
[custodian]
folder = "safe/record"
"""


@pytest.fixture
def server(monkeypatch):
    """Stand in for PostgreSQL: remember the URL, and give the tables of a DuckDB."""
    asked = []
    for name in ("VELADURA_PASSWORD", "PGPASSWORD"):
        monkeypatch.delenv(name, raising=False)

    def connect(url):
        asked.append(url)
        backend = ibis.duckdb.connect()
        backend.con.register("rows", pd.DataFrame({"age": [float(i % 50) for i in range(90)]}))
        backend.con.execute("CREATE TABLE people AS SELECT * FROM rows")
        return backend

    monkeypatch.setattr(ibis, "connect", connect)
    return SimpleNamespace(asked=asked)


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("postgresql://ana:hunter2@server/clinic", "postgresql://ana@server/clinic"),
        ("postgresql://ana:h@nt:er2@server:5432/c", "postgresql://ana@server:5432/c"),
        ("postgres://server/c?user=ana&password=hunter2", "postgres://server/c?user=ana"),
        ("postgresql://ana@server/c?sslmode=require", "postgresql://ana@server/c?sslmode=require"),
        ("duckdb:////home/a:b@c/h.db", "duckdb:////home/a:b@c/h.db"),
    ],
)
def test_urls_lose_their_password_only(url, bare):
    assert without_password(url) == bare
    assert has_password(url) == (url != bare)


def test_a_url_takes_the_password_of_the_environment(server, monkeypatch):
    from psycopg.conninfo import conninfo_to_dict

    url = "postgresql://ana@server/clinic"
    assert with_password(url) == url
    monkeypatch.setenv("PGPASSWORD", OTHER)
    assert conninfo_to_dict(with_password(url))["password"] == OTHER
    monkeypatch.setenv("VELADURA_PASSWORD", SECRET)
    for given in (url, "postgresql://server/clinic", "postgresql://server/clinic?user=ana"):
        vd.open(given, {"age": "number"}, table="people")
        assert conninfo_to_dict(server.asked[-1])["password"] == SECRET
    for empty in ("postgresql://ana:@server/clinic", "postgresql://server/clinic?password="):
        assert not has_password(empty)
        assert conninfo_to_dict(with_password(empty))["password"] == SECRET
    vd.open(f"postgresql://ana:{OTHER}@server/clinic", {"age": "number"}, table="people")
    assert conninfo_to_dict(server.asked[-1])["password"] == OTHER
    assert with_password("duckdb:///h.duckdb") == "duckdb:///h.duckdb"


@pytest.mark.usefixtures("server")
def test_init_writes_no_password(tmp_path):
    text = draft("postgresql://ana:hunter2@server/clinic", table="people", home=tmp_path)
    assert "hunter2" not in text
    assert "VELADURA_PASSWORD" in text
    assert parse_plan(text).source.url == "postgresql://ana@server/clinic"
    assert "VELADURA_PASSWORD" not in draft(
        "postgresql://ana@server/clinic", table="people", home=tmp_path
    )


@pytest.mark.usefixtures("server")
def test_run_warns_of_a_password_and_keeps_none(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.warns(PasswordWarning, match=r"(?s)holds the password.*VELADURA_PASSWORD") as seen:
        outcome = run(read_plan(tmp_path / "plan.toml"))
    assert all("hunter2" not in str(warning.message) for warning in seen)
    written = [*outcome.folder.rglob("*"), *outcome.custodian.rglob("*")]
    assert (outcome.custodian / "record.json") in written
    for path in written:
        assert path.is_dir() or b"hunter2" not in path.read_bytes()
