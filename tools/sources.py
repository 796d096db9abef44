"""Everything that the source documents describe, with what does it: run it, and write the page.

``python tools/sources.py`` runs the quick form of every item in sources.toml, ``--all`` also the
tests that hold the slow ones, and ``--write`` writes docs/sources.md. Items are numbered as in an
audit of the five documents.
"""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent
PAGE = HOME.parent / "docs" / "sources.md"
TITLES = {
    "000": "CART with heavy tails (Martins 2019)",
    "001": "Synthetic geography (Nunes 2018)",
    "002": "k-anonymity (Samarati and Sweeney 1998)",
    "003": "Differential privacy (Marcolin 2018)",
    "004": "Critical cells (Aslanyan and Topchyan)",
}
HEAD = (
    "# What the source documents describe, and what does it\n\nFive documents stand behind"
    " veladura. Here is everything that they describe, compute, draw or wish for, item by item,"
    " with the command or function that does it. `python tools/sources.py` runs the quick form of"
    " every item and checks what comes out; `tests/end_to_end/test_sources.py` does the same in"
    " `make test`. Names such as `people` and `release` are those of the examples that the script"
    " sets up (`tools/sources.toml`). Their tables and figures beside ours: [studies](studies.md)."
    "\n"
)


@dataclass(frozen=True)
class Item:
    """One thing that a document describes.

    Attributes
    ----------
    how
        Python, a command line, or nothing where it is not done.
    check
        An expression that must be true of the result ``_``, or the test that holds a slow one.
    note
        Why it is done differently, in part, or not.
    """

    number: str
    what: str
    how: str = ""
    check: str = ""
    note: str = ""

    @property
    def source(self) -> str:
        """The document."""
        return self.number.split(".")[0]

    @property
    def slow(self) -> bool:
        """Whether a test holds it."""
        return self.check.startswith("tests/")


@cache
def table() -> dict[str, Any]:
    """Return the table of items as it is written."""
    return tomllib.loads((HOME / "sources.toml").read_text(encoding="utf-8"))


def items() -> list[Item]:
    """Return all items in order."""
    return [Item(number, *parts) for number, parts in table()["items"].items()]


@cache
def names(source: str) -> dict[str, Any]:
    """Return the names that the items of a document use, set up once."""
    found: dict[str, Any] = runpy.run_path(str(HOME / "source_checks.py"))
    setup = table()["setup"]
    exec(compile(setup["all"] + setup[source], f"setup {source}", "exec"), found)  # noqa: S102
    return found


def run(item: Item) -> None:
    """Do what an item says; an AssertionError tells that something else comes out."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as home, chdir(home):
        warnings.simplefilter("ignore")
        known = dict(names(item.source))
        known["cli"] = lambda line: command(line, known)
        result = (
            command(item.how, known)
            if item.how.startswith("veladura ")
            else _value(item.how, known)
        )
        known["_"] = result
        if not eval(item.check, known):  # noqa: S307  # our own table
            msg = f"{item.number}: not {item.check}"
            raise AssertionError(msg)


def command(line: str, known: dict[str, Any]) -> str:
    """Run a command line in an empty folder with people.csv; return what it prints."""
    import shlex

    from typer.testing import CliRunner

    from veladura.cli.main import app

    known["people"].to_csv("people.csv", index=False)
    for number, part in enumerate(line.split(" && ")):
        done = CliRunner().invoke(app, shlex.split(part.removeprefix("veladura ")))
        if done.exit_code:
            msg = f"{part} ended with {done.exit_code}: {done.output[-300:]} {done.exception!r}"
            raise AssertionError(msg, number)
    return str(done.output)


def _value(code: str, known: dict[str, Any]) -> Any:
    """Run statements; return the value of the last one, an expression."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)  # noqa: S101
    exec(compile(tree, "how", "exec"), known)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "how", "eval"), known)  # noqa: S307


def page() -> str:
    """Return the page of all items."""
    lines = [HEAD]
    for source, title in TITLES.items():
        mine = [item for item in items() if item.source == source]
        done = sum(bool(item.how) for item in mine)
        lines += [f"## {source}: {title}", "", f"{len(mine)} items, {done} done.", ""]
        lines += ["| item | what it describes | what does it | |", "| --- | --- | --- | --- |"]
        lines += [" ".join(_row(item)) for item in mine]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(item: Item) -> Iterator[str]:
    shown = item.how.strip().splitlines()[-1] if item.how else "not done"
    code = f"`` {shown} ``".replace("|", "\\|") if item.how else shown
    held = f"held by `{item.check.split('::')[-1]}`. " if item.slow else ""
    yield f"| {item.number} | {item.what} | {code} | {held}{item.note} |"


def main() -> int:
    """Run the items that are asked for."""
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
        print(PAGE)
        return 0
    failed = 0
    for item in items():
        if not item.how:
            state = "not done"
        elif item.slow:
            state = "held by a test"
            if "--all" in sys.argv:
                done = subprocess.run(
                    [sys.executable, "-m", "pytest", "-q", item.check], check=False
                )
                state = "passed" if done.returncode == 0 else "FAILED"
        else:
            try:
                run(item)
                state = "done"
            except Exception as error:  # noqa: BLE001  # all of them are told
                state = f"FAILED: {type(error).__name__}: {error}"
        failed += state.startswith("FAILED")
        print(f"{item.number:8} {state:14} {item.what}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
