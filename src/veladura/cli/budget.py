"""The terminal's view of privacy budgets: what was spent, and what a budget would buy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from veladura.cli.show import say
from veladura.cli.tables import PlainConsole, print_table

if TYPE_CHECKING:
    from veladura.plan.what_if import WhatIf

MOST_TABLES = 12
_console = PlainConsole(highlight=False)


def show_budget(folder: Path | None, *, events: bool) -> None:
    """Show the ledgers of all sources, or of another home than the user's."""
    from veladura.errors import PlanError
    from veladura.methods.private.kept import budget_rows, event_lines, ledger_home

    if folder is not None and folder.suffix != ".toml" and not folder.is_dir():
        msg = f"{folder} is not a folder.\n\nHint: name the home of the ledgers, or none."
        raise PlanError(msg)
    home = ledger_home() if folder is None or folder.suffix == ".toml" else folder
    rows = budget_rows(home)
    if not rows:
        say(f"No private draws are recorded in {home}.", quiet=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("source", "budget", "spent", "left", "draws"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*map(escape, row))
    print_table(_console, table)
    for line in event_lines(home) if events else ():
        say(line, quiet=False)


def show_what_if(path: Path, rows: int | None) -> None:
    """Show what the private step of a plan can be expected to give for several epsilons."""
    from veladura.plan.reading import read_plan
    from veladura.plan.what_if import PRIORS, what_if

    seen = what_if(read_plan(path), rows)
    say(
        f"{seen.method} of {', '.join(seen.columns)}: {seen.cells:,} {seen.reading.counted},"
        f" {seen.rows:,} rows."
        " Computed from these public quantities: no value of the data was looked at.\n",
        quiet=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in ("epsilon", "a person's epsilon", "expected error", seen.reading.interval):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    table.add_column("odds at most times", justify="right")
    for prior in PRIORS:
        table.add_column(f"belief of {prior:.0%} becomes at most", justify="right")
    for row in seen.outlooks:
        table.add_row(
            "->" if row.epsilon == seen.own.epsilon else "",
            f"{row.epsilon:g}",
            f"{row.loss:.3g}",
            f"{row.expected.error:.3f}",
            "-" if row.half_width is None else f"{row.half_width:.4f}",
            row.expected.verdict,
            f"{row.odds:.3g}",
            *(share_words(row.belief(prior)) for prior in PRIORS),
        )
    print_table(_console, table)
    say(
        f"\n{seen.reading.error.format(ignorance=seen.own.expected.ignorance)}\n"
        "belief: what someone who knows everybody else can at most come to believe about one"
        " person, who believed that much before.",
        quiet=False,
    )
    _show_tables(seen)
    for words in seen.better:
        say(f"better: {words}", quiet=False)


def _show_tables(seen: WhatIf) -> None:
    """Show what each table of a workload can be expected to be, the worst first."""
    if not seen.tables:
        return
    say(f"\nBy table, at epsilon = {seen.own.epsilon:g}, the worst first:", quiet=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("columns")
    for heading in ("cells", "expected error", seen.reading.interval):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for row in seen.tables[:MOST_TABLES]:
        table.add_row(
            escape(" x ".join(row.columns)),
            f"{row.cells:,}",
            f"{row.expected.error:.3f}",
            f"{row.half_width:.4f}",
            row.expected.verdict,
        )
    print_table(_console, table)
    if len(seen.tables) > MOST_TABLES:
        say(f"and {len(seen.tables) - MOST_TABLES} tables of less error.", quiet=False)


def share_words(share: float) -> str:
    """Return a belief in per cent; one that is not certain is not rounded to certainty.

    Examples
    --------
    >>> share_words(0.232), share_words(0.99996)
    ('23.2%', '>99.9%')
    """
    words = f"{share:.1%}"
    return ">99.9%" if words == "100.0%" and share < 1 else words
