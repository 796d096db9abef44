"""The guard by attack: what a page elsewhere, another program or a stranger's name can ask for."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from tests.studio.browser import SECONDS, studio, write_people

from veladura.studio.guard import HEADERS, POLICY, Guard
from veladura.studio.server import serve
from veladura.studio.session import Session

TOKEN, HOST = "secret", "127.0.0.1:8000"
OWN = {
    "host": HOST,
    "origin": f"http://{HOST}",
    "x-veladura-token": TOKEN,
    "sec-fetch-site": "same-origin",
}


def admitted(method: str, path: str, headers: dict[str, str] | list[tuple[str, str]]) -> bool:
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.encode(), value.encode()) for name, value in pairs],
    }
    return Guard(None, 8000, TOKEN).admits(scope)  # type: ignore[arg-type]


def test_the_own_page_is_admitted():
    assert admitted("POST", "/do/plan/undo", OWN)
    assert admitted("GET", "/room/columns", {k: OWN[k] for k in OWN if k != "origin"})
    assert admitted("GET", "/", {"host": HOST, "sec-fetch-site": "none"})


@pytest.mark.parametrize(
    "change",
    [
        {"host": "localhost:8000"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:8001"},
        {"host": "evil.example:8000"},
        {"host": "127.0.0.1:8000.evil.example"},
        {"host": None},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:8001"},
        {"origin": "null"},
        {"origin": None},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"x-veladura-token": "secret2"},
        {"x-veladura-token": ""},
        {"x-veladura-token": None},
    ],
)
def test_one_wrong_header_is_enough_to_be_refused(change):
    headers = {name: value for name, value in {**OWN, **change}.items() if value is not None}
    assert not admitted("POST", "/do/plan/undo", headers)


def test_a_header_given_twice_is_refused():
    twice = [*OWN.items(), ("host", "evil.example")]
    assert not admitted("POST", "/do/plan/undo", twice)
    assert not admitted("POST", "/do/plan/undo", [*OWN.items(), ("x-veladura-token", "other")])
    assert not admitted("GET", "/", [("host", HOST), ("origin", OWN["origin"]), ("origin", "null")])


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "CONNECT"])
def test_other_methods_are_refused(method):
    assert not admitted(method, "/do/plan/undo", OWN)


@pytest.mark.parametrize(
    "path", ["/room/columns", "/events", "/do/plan/undo", "//", "/static", "/Static/studio.js"]
)
def test_nothing_but_the_empty_shell_is_given_without_the_token(path):
    stranger = {"host": HOST, "sec-fetch-site": "same-origin"}
    assert not admitted("GET", path, stranger)


def test_a_foreign_page_cannot_even_load_the_shell():
    assert not admitted("GET", "/", {"host": HOST, "sec-fetch-site": "cross-site"})
    assert not admitted("GET", "/", {"host": HOST, "origin": "http://evil.example"})


def ask(port: int, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.putrequest(method, path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(b"{}" if method == "POST" else None)
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


def test_the_running_studio_gives_strangers_nothing(tmp_path: Path):
    write_people(tmp_path, rows=60)
    with studio(tmp_path, "people.csv") as address:
        split = urlsplit(address)
        port, token = split.port, split.fragment.removeprefix("token=")
        assert port is not None
        host = f"127.0.0.1:{port}"
        own = {"Host": host, "X-Veladura-Token": token, "Origin": f"http://{host}"}
        for wrong in (
            {"Host": f"evil.example:{port}"},
            {"Origin": "http://evil.example"},
            {"X-Veladura-Token": token[:-1] + "!"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            for method, path in (("GET", "/room/columns"), ("POST", "/do/plan/undo")):
                status, headers, body = ask(port, method, path, {**own, **wrong})
                assert (status, body) == (403, b"")
                assert "access-control-allow-origin" not in headers
        # the shell without a token holds nothing of this table, and nobody's secret
        status, headers, body = ask(port, "GET", "/", {"Host": host})
        assert status == 200
        assert b"people" not in body
        assert token.encode() not in body
        assert headers["content-security-policy"] == POLICY
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert {name.decode() for name in HEADERS} <= set(headers)
        assert "set-cookie" not in headers
        status, _, body = ask(port, "GET", "/room/columns", own)
        assert status == 200
        assert b"html" in body
        assert ask(port, "GET", "/view/guessed", {"Host": host})[0] == 404


def test_a_signal_before_the_first_step_of_the_server_is_no_news(tmp_path, monkeypatch):
    """Python warns of a coroutine that was made and never begun; warnings are errors here."""

    def ended(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        server.serve()
        sockets[0].close()
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", ended)
    with pytest.raises(KeyboardInterrupt):
        serve(Session(None, release=tmp_path), browser=False, say=lambda _: None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_studio_that_ends_at_once_says_nothing_strange(tmp_path: Path, number: int):
    """Ended, or its terminal closed, while the table is being read: no complaint of a library."""
    write_people(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "veladura", "studio", "people.csv", "--no-browser"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "VELADURA_CUSTODIAN": str(tmp_path / "home")},
        # under nohup the signal would be ignored, and children inherit that
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        assert process.stdout is not None
        assert "http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(number)
        _, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.communicate()
    assert errors.strip().splitlines() in (
        [],
        ["interrupted: a release folder is whole or was not written."],
    )
