"""How the command line speaks of errors and warnings: one sentence, and what to do."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veladura.errors import VeladuraError, VeladuraWarning


def complain(error: VeladuraError) -> None:
    """Print an error of the user, and what to do."""
    _print("error:", "bold red", str(error))


@contextmanager
def speak_warnings() -> Iterator[None]:
    """Print warnings in the tool's own voice, each once, instead of Python's.

    The text of a warning of another library may hold values of the data, as a traceback may:
    ``VELADURA_DEBUG=1`` shows both.
    """
    spoken: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        *_: Any,
        **_more: Any,
    ) -> None:
        text = _text(message, category, filename)
        if text and text not in spoken:
            spoken.add(text)
            _print("caution:", "yellow", text)

    with warnings.catch_warnings():
        # every one of ours arrives, whatever was said before at the same line of code
        warnings.simplefilter("always", VeladuraWarning)
        warnings.showwarning = show
        yield


def _text(message: Warning | str, category: type[Warning], filename: str) -> str:
    if issubclass(category, VeladuraWarning):
        return str(message)
    if os.environ.get("VELADURA_DEBUG"):
        return f"{category.__name__}: {message}"
    return (
        f"{_library(filename)}, which veladura uses, gave a {category.__name__}.\n\nHint: set"
        " VELADURA_DEBUG=1 to see its text; it may contain values of the data."
    )


def _library(filename: str) -> str:
    """Return the name of the library that a file belongs to."""
    parts = Path(filename).parts
    places = [i for i, part in enumerate(parts) if part in {"site-packages", "dist-packages"}]
    if "veladura" in parts and not places:
        return "a part of the program"
    return Path(parts[places[-1] + 1]).stem if places and places[-1] + 1 < len(parts) else "Python"


def _print(mark: str, style: str, message: str) -> None:
    from veladura.cli.tables import PlainConsole

    text, _, hint = message.partition("\n\n")
    # the stream of this moment: while a progress bar is shown, it prints above the bar
    console = PlainConsole(file=sys.stderr, highlight=False, soft_wrap=True)
    console.print(mark, style=style, end=" ")
    console.print(text, markup=False)
    if hint:
        console.print(hint, style="dim", markup=False)
