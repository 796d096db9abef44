"""veladura studio: start the page, where its packages are installed."""

from __future__ import annotations

from pathlib import Path

from veladura.cli.show import say
from veladura.errors import PlanError


def open_studio(source: str | None, out: Path, *, port: int, browser: bool) -> None:
    """Serve the studio until the terminal ends it."""
    try:
        from veladura.studio.server import serve, session_of
    except ModuleNotFoundError as error:
        msg = f"the studio needs the package {error.name}.\n\nHint: pip install 'veladura[studio]'."
        raise PlanError(msg) from None
    serve(
        session_of(source, out),
        port=port,
        browser=browser,
        say=lambda text: say(text, quiet=False),
    )
