"""Start the studio: one server on 127.0.0.1, which ends with the terminal."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn

from veladura.errors import PlanError, VeladuraError
from veladura.studio.app import build
from veladura.studio.guard import Guard
from veladura.studio.session import Session

PATIENCE = 10  # seconds that a table which is being read may still take when the studio ends


def serve(
    session: Session, *, port: int = 0, browser: bool = True, say: Callable[[str], None] = print
) -> None:
    """Serve a session until it is interrupted.

    Parameters
    ----------
    port
        The port; 0 for any that is free.
    browser
        Whether to open the page in the user's browser.
    say
        Tells the address of the page.
    """
    token = secrets.token_urlsafe(32)
    bound = _bound(port)
    number = bound.getsockname()[1]
    address = f"http://127.0.0.1:{number}/#token={token}"
    running: list[uvicorn.Server] = []
    guarded = Guard(build(session, lambda: running[0].should_exit), number, token)
    server = uvicorn.Server(
        uvicorn.Config(
            guarded,
            access_log=False,
            log_level="critical",
            server_header=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=2,
        )
    )
    running.append(server)
    say(f"studio     {address}\n           Ctrl-C, or closing this terminal, stops it.")
    reader = threading.Thread(
        target=_opened, args=(session, lambda: server.should_exit), daemon=True
    )
    if session.release is None:
        reader.start()
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    # a signal may end it before its first step: that is no news for the user
    never = "coroutine 'Server.serve' was never awaited"
    warnings.filterwarnings("ignore", message=never, category=RuntimeWarning)
    try:
        server.run(sockets=[bound])
    finally:
        session.close()
        if reader.ident is not None:
            reader.join(PATIENCE)
        if reader.is_alive():  # a library complains of a thread that Python ends under it
            os._exit(0)


def _opened(session: Session, ends: Callable[[], bool]) -> None:
    """Open the table, then each room once: the first click finds its modules loaded."""
    from veladura.studio.rooms import ROOMS, show

    session.open()
    for name in ROOMS:
        with suppress(VeladuraError, OSError):
            if not ends():
                show(session, name, {})


def _bound(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port))
        bound.listen(64)  # before the address is told: the first request waits, and is not refused
    except (OSError, OverflowError):
        msg = f"port {port} is taken or not allowed.\n\nHint: name another with --port, or none."
        raise PlanError(msg) from None
    return bound


def session_of(source: str | None, out: Path) -> Session:
    """Return the session of what the command was given: a table, a plan or a release folder.

    Parameters
    ----------
    out
        The plan that is written for a table, or that belongs to it already.
    """
    given = Path(source) if source is not None else out
    if source is not None and (given / "manifest.json").is_file():
        return Session(None, release=given)
    if given.suffix.lower() == ".toml":
        if not given.exists():
            msg = (
                f"{given} does not exist.\n\nHint: veladura studio TABLE makes a plan for a table."
            )
            raise PlanError(msg)
        return Session(given)
    if source is None or (out.exists() and not _is_of(out, source)):
        msg = (
            f"{out} is the plan of another table.\n\nHint: open it with veladura studio {out}, or"
            " name another plan with --out."
        )
        raise PlanError(msg)
    return Session(out, source)


def _is_of(plan: Path, source: str) -> bool:
    """Whether a plan is about a source."""
    import tomllib

    try:
        about: dict[str, Any] = tomllib.loads(plan.read_text(encoding="utf-8")).get("source", {})
    except (OSError, ValueError):
        return False
    if "path" in about:
        return (plan.parent / str(about["path"])).resolve() == Path(source).resolve()
    return about.get("url") == source
