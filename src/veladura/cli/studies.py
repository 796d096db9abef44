"""What the command line shows of a study: every exhibit with its verdict, tables beside theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from veladura.cli.show import say
from veladura.cli.tables import PlainConsole, print_table
from veladura.studies.study import STUDIES, facts_of
from veladura.studies.writing import counts

if TYPE_CHECKING:
    from veladura.studies.study import Exhibit, Study

_COLOURS = {"reproduced": "green", "corrected": "yellow", "not reproducible": "red"}
_console = PlainConsole(highlight=False)


def show_studies() -> None:
    """List the documents whose studies can be run."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for number in STUDIES:
        facts = facts_of(number)
        text = f"{escape(facts['title'])}\n[dim]{escape(facts['source'])}[/]"
        table.add_row(number, text, f"{len(facts['exhibit'])} tables and figures")
    print_table(_console, table)
    say("Run one: veladura study 003 [--full] [--data FILE] [--out FOLDER]", quiet=False)


def show_study(study: Study, page: Path, *, quiet: bool) -> None:
    """Show every exhibit of a study, and where its page is."""
    if quiet:
        return
    say(f"{study.title}\n{study.source}\n{study.settings}", quiet=False)
    say("Each figure: ours, (its Monte Carlo error), [what the source prints].", quiet=False)
    for exhibit in study.exhibits:
        _show_exhibit(exhibit)
    for note in study.notes:
        say(f"\nWarned: {note}", quiet=False)
    found = ", ".join(f"{number} {verdict}" for verdict, number in counts(study).items())
    say(f"\n{len(study.exhibits)} tables and figures: {found}.\npage  {page}", quiet=False)


def _show_exhibit(exhibit: Exhibit) -> None:
    colour = _COLOURS[exhibit.verdict]
    title = f"\n[bold]{escape(exhibit.number)}[/] {escape(exhibit.title)}"
    _console.print(f"{title}: [{colour}]{exhibit.verdict}[/]", soft_wrap=True)
    if exhibit.why:
        say(f"  {exhibit.why}", quiet=False)
    result = exhibit.result
    if result is None:
        if exhibit.needs:
            say(f"  Not run: it needs {exhibit.needs}.", quiet=False)
        return
    if result.rows:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for place, name in enumerate(result.header):
            table.add_column(escape(name), justify="right" if place else "left")
        for row in result.rows:
            table.add_row(*(escape(str(entry)) for entry in row))
        print_table(_console, table)
    if result.remark:
        say(f"  {result.remark}", quiet=False)
    if result.picture is not None:
        say("  drawn: on the page", quiet=False)
