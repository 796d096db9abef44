"""MariaDB gives the same table as a file, and its collation equates nothing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError

from .test_sources import DECLARED, as_parquet, assert_same, people, shuffled

pytestmark = [pytest.mark.mariadb, pytest.mark.xdist_group("mariadb")]
NO_SERVER = "no MariaDB server: apt-get install mariadb-server"
SYSTEM = Path("/usr/share/mysql")
SYSTEM_TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
TYPES = (
    "zip text, name varchar(20), age bigint, income double, born date, member varchar(5),"
    " grade text, seen datetime, small smallint"
)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture(scope="module")
def server(own_folder) -> Iterator[int]:
    """Start a server on the loopback with a data folder of its own; return its port."""
    daemon = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin")
    if daemon is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NO_SERVER)
    home = own_folder("mariadb")
    own = [daemon, "--no-defaults", f"--datadir={home}/data", "--innodb-use-native-aio=0"]
    own += ["--skip-name-resolve", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M"]
    own += ["--user=root"] if os.geteuid() == 0 else []
    port = free_port()
    place = [f"--port={port}", f"--socket={home}/socket", f"--pid-file={home}/pid"]
    with (home / "log").open("wb") as log:
        create_system_tables(own, home / "data", log)
        process = subprocess.Popen(
            [*own, *place, "--bind-address=127.0.0.1"], stdout=log, stderr=log
        )
    try:
        wait_for(port, process, home / "log")
        yield port
    finally:
        process.terminate()
        process.wait(30)


def create_system_tables(own: list[str], data: Path, log: BinaryIO) -> None:
    """Do what mariadb-install-db does inside the folder, and nothing outside of it.

    That script also looks the host up and changes the owner of installed files: both fail in a
    sandbox.
    """
    (data / "mysql").mkdir(parents=True)
    tables = [(SYSTEM / name).read_text() for name in SYSTEM_TABLES]
    settings = "set @auth_root_socket = null, @skip_auth_anonymous = 1;"
    statements = "\n".join(["use mysql;", settings, *tables]).encode()
    done = subprocess.run(
        [*own, "--bootstrap"], input=statements, stdout=log, stderr=log, check=False
    )
    if done.returncode:
        give_up(Path(log.name))


def give_up(log: Path) -> NoReturn:
    """Leave the tests out: the terminal summary says loudly that they did not run, and why."""
    pytest.skip(f"no MariaDB server: it does not start on this machine ({log.read_text()[-800:]})")


def wait_for(port: int, process: subprocess.Popen, log: Path) -> None:
    import pymysql

    for _ in range(200):
        try:
            pymysql.connect(host="127.0.0.1", port=port, user="root").close()
        except pymysql.MySQLError:
            if process.poll() is not None:
                give_up(log)
            time.sleep(0.1)
        else:
            return
    give_up(log)


@pytest.fixture(scope="module")
def cursor(server):
    import pymysql

    connection = pymysql.connect(host="127.0.0.1", port=server, user="root", autocommit=True)
    with connection.cursor() as own:
        own.execute("CREATE DATABASE clinic CHARACTER SET utf8mb4")
        own.execute("USE clinic")
        own.execute("CREATE USER ana IDENTIFIED BY 'hunter2'")
        own.execute("GRANT SELECT ON clinic.* TO ana")  # reading is enough
        yield own
    connection.close()


@pytest.fixture(scope="module")
def url(server, cursor) -> str:
    return f"mariadb://ana:hunter2@127.0.0.1:{server}/clinic"


def test_mariadb_gives_the_same_table(url, cursor, tmp_path):
    cursor.execute(f"CREATE TABLE people ({TYPES})")
    words = {True: "true", False: "false", None: None}  # it has no type of true and false
    listed = shuffled(people(), 4).to_pylist()
    rows = [tuple({**row, "member": words[row["member"]]}.values()) for row in listed]
    insert = "INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
    cursor.executemany(insert, rows)
    reference = as_parquet(people(), tmp_path, DECLARED)
    assert_same(vd.open(url, DECLARED, table="people"), reference)
    as_mysql = url.replace("mariadb://", "mysql://")
    assert_same(vd.open(as_mysql, DECLARED, table="people"), reference)


def test_texts_that_the_collation_equates_stay_apart(url, cursor):
    words = ["Ana", "ana", "aná", "ana ", "ANA", "ß", "ss"]
    cursor.execute("CREATE TABLE words (w varchar(10), n bigint)")
    cursor.executemany("INSERT INTO words VALUES (%s, %s)", [(w, 2**60 + 1) for w in words])
    cursor.execute("SELECT COUNT(DISTINCT w) FROM words")
    assert cursor.fetchone()[0] < len(words)  # the server's own count
    opened = vd.open(url, {"w": "category"}, table="words")
    counts = opened.counts(["w"])
    assert counts.size.tolist() == [1] * len(words)
    assert set(opened.arrow["w"].to_pylist()) == set(words)
    assert set(opened.arrow["n"].to_pylist()) == {2**60 + 1}


def test_a_plan_runs_from_mariadb(url, cursor, tmp_path, monkeypatch):
    from veladura.plan.draft import draft
    from veladura.plan.reading import read_plan
    from veladura.plan.run import run

    frame = pd.DataFrame({"zip": ["02138", "02139"] * 40, "sex": ["f", "m", "m", "f"] * 20})
    cursor.execute("CREATE TABLE register (zip varchar(5), sex varchar(1))")
    cursor.executemany("INSERT INTO register VALUES (%s, %s)", frame.to_numpy().tolist())
    text = draft(url, table="register", method="k-anonymity", home=tmp_path)
    assert "hunter2" not in text
    (tmp_path / "plan.toml").write_text(text)
    monkeypatch.setenv("VELADURA_PASSWORD", "hunter2")
    outcome = run(read_plan(tmp_path / "plan.toml"))
    assert len(outcome.release.datasets[0]) == 80
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert not any(b"hunter2" in path.read_bytes() for path in files)


def test_it_is_not_written_to(url, cursor):
    from veladura.table.write import check_database

    cursor.execute("CREATE TABLE small (a int)")
    cursor.execute("INSERT INTO small VALUES (1), (2)")
    with pytest.raises(DataError, match="no table can be written"):
        check_database(vd.open(url, table="small"))


def test_errors_show_no_password(url, refused):
    with refused(DataError, "not in the database"):
        vd.open(url, table="nobody")
    with pytest.raises(DataError) as error:
        vd.open(url.replace("hunter2", "wrong-hunter3"), table="words")
    assert "hunter" not in str(error.value)
