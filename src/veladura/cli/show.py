"""What the command line shows: progress bars, tables and short sentences."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from veladura.base.context import Advance, silent
from veladura.base.context import Progress as ProgressBar
from veladura.base.private_files import write_private
from veladura.cli.tables import PlainConsole, print_table
from veladura.measures.measure import FAMILIES, reasons
from veladura.measures.useless import useless
from veladura.release.folder import SUMS, file_hash
from veladura.report.opening import risk_sentence, risks_of
from veladura.report.words import figure as figure_text
from veladura.report.words import interval, limit

if TYPE_CHECKING:
    from veladura.comparison.result import Comparison
    from veladura.measures.assessment import Assessment
    from veladura.measures.measure import Figure
    from veladura.measures.source.register import Found
    from veladura.plan.run import Outcome
    from veladura.release.line import Line
    from veladura.release.reassess import Reassessed
    from veladura.report.look import Look
    from veladura.table.roles.guess import Guess

_MARKS = {
    "holds": "[green]holds[/]",
    "broken": "[bold red]broken[/]",
    "attested": "[yellow]attested[/]",
    "draft": "[bold yellow]DRAFT[/]",
}
_LIGHTS = {"green": "green", "amber": "yellow", "red": "bold red"}
_console = PlainConsole(highlight=False)
UNGUESSABLE = 64  # bits of a seed that nobody tries one by one


def progress(*, quiet: bool) -> ProgressBar:
    """Return a progress bar for a run: on a terminal only, and removed when the work is done."""
    return silent if quiet or not Console(stderr=True).is_terminal else _bar


@contextmanager
def _bar(label: str, total: int) -> Iterator[Advance]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        # One piece of work has no middle to show: the bar pulses instead of staying at zero.
        task = bar.add_task(label, total=total if total > 1 else None)
        yield lambda: bar.advance(task)


def say(text: str, *, quiet: bool) -> None:
    """Print a sentence."""
    if not quiet:
        _console.print(text, markup=False, soft_wrap=True)


def show_unconfirmed(unconfirmed: Sequence[str], *, quiet: bool) -> None:
    """List the points of a plan that its holder has not confirmed yet."""
    if unconfirmed and not quiet:
        _console.print("[yellow]Not confirmed by the holder yet[/] (`unconfirmed` in the plan):")
        for line in unconfirmed:
            _console.print(f"  - {line}", markup=False)


def show_short_seed(seed: int | None, *, quiet: bool) -> None:
    """Say that a seed can be found by trying: whoever has it repeats every draw of the run."""
    if quiet or seed is None or seed.bit_length() >= UNGUESSABLE:
        return
    _console.print(
        f"[bold yellow]short seed[/] The seed of this plan has {seed.bit_length()} bits: whoever"
        " tries all seeds of that length repeats the random draws of this release, and can take"
        " them back in part. Leave seed out of a plan whose release is published: then 128 random"
        " bits are drawn and kept in the custodian's record.",
        soft_wrap=True,
    )


def show_roles(
    guesses: Mapping[str, Guess], rows: int, treatment: Mapping[str, str], *, quiet: bool
) -> None:
    """Show what each column is thought to be, and why."""
    if not quiet:
        _console.print(roles_table(guesses, rows, treatment))


def roles_table(guesses: Mapping[str, Guess], rows: int, treatment: Mapping[str, str]) -> Table:
    """Return a table of the guesses: column, role, kind, why, people unique by it alone."""
    table = Table(
        title=f"Guessed from {rows:,} rows; check every line",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("column", overflow="fold", max_width=20)
    table.add_column("role", no_wrap=True)
    table.add_column("kind", overflow="fold", max_width=8)
    table.add_column("why", overflow="fold")
    table.add_column("unique\npeople", justify="right", no_wrap=True)
    for name, guess in guesses.items():
        drafted = f"\n[dim]plan: {escape(treatment[name])}[/]" if name in treatment else ""
        why = f"{escape(guess.why)}{drafted}"
        table.add_row(escape(name), guess.role, guess.kind, why, f"{guess.unique:,}")
    return table


def show_figures(assessment: Assessment, *, headlines: bool = False) -> int:
    """Show figures with their meaning and limit; return how many others apply to the release."""
    applicable = [figure for figure in assessment if figure.estimate is not None]
    shown = [
        figure
        for figure in assessment
        if (figure.estimate is not None and (figure.headline or not headlines))
        or figure.name in assessment.limits
    ]
    for family in FAMILIES:
        table = Table(
            title=family.capitalize(),
            title_justify="left",
            title_style="bold",
            box=None,
            padding=(0, 2, 0, 0),
            show_header=False,
        )
        for figure in (figure for figure in shown if figure.family == family):
            light = assessment.light(figure.name)
            allowed = limit(assessment.limits[figure.name], figure.unit) if light else ""
            verdict = f"\n[{_LIGHTS[light]}]{light}: {allowed}[/]" if light else ""
            said = escape(f"{figure.meaning} {figure.note}".strip())
            table.add_row(_number(figure), f"{escape(figure.name)}\n[dim]{said}[/]{verdict}")
        print_table(_console, table)
    return len([figure for figure in applicable if figure not in shown])


def _number(figure: Figure) -> str:
    """Return a figure as people write it, percentage and interval below."""
    if figure.estimate is None:
        return "-"
    value, _, share = figure_text(figure).partition(" (")
    below = [text for text in (share.removesuffix(")"), interval(figure)) if text]
    return "\n".join([value, *(f"[dim]{text}[/]" for text in below)])


def show_reassessed(
    result: Reassessed, html: Path | None, json: Path | None, *, quiet: bool
) -> None:
    """Show the figures of a release folder, and write them where asked."""
    from json import dumps

    if not quiet:
        show_figures(result.assessment)
        for why, names in reasons(result.assessment).items():
            _console.print(f"[dim]does not apply: {escape(', '.join(names))}: {escape(why)}[/]")
    for path, text in (
        (html, result.page),
        (json, lambda: dumps(result.assessment.to_json(), indent=2, ensure_ascii=False) + "\n"),
    ):
        if path is not None:
            write_private(path, text())
            say(f"written    {path}   (private: do not share)", quiet=quiet)


def show_outcome(outcome: Outcome, *, quiet: bool) -> None:
    """Show the result of a run: headline figures, gate and folders."""
    if quiet:
        return
    if risks := risks_of({}, outcome.assessment):
        say(f"{risk_sentence(risks)}\n", quiet=quiet)
    more = show_figures(outcome.assessment, headlines=True)
    _console.print(
        f"[dim]{more} more figures and the pictures are in"
        f" {escape(str(outcome.custodian / 'report-custodian.html'))}[/]",
        soft_wrap=True,
    )
    for sentence in useless(outcome.assessment, outcome.release):
        _console.print(f"[bold red]of little use[/] {escape(sentence)}", soft_wrap=True)
    for verdict in outcome.verdicts:
        _console.print(f"[green]gate passed[/] {escape(str(verdict))}")
    draft = "   (DRAFT: not confirmed)" if outcome.standing.status == "draft" else ""
    say(f"\nrelease    {outcome.folder}{draft}", quiet=quiet)
    say(f"custodian  {outcome.custodian}   (private: do not share)", quiet=quiet)
    say(f"digest     {file_hash(outcome.folder / SUMS)}", quiet=quiet)
    say(f"next       veladura verify {outcome.folder}", quiet=quiet)


def show_verified(results: Mapping[Path, Sequence[Line]], *, authentic: bool, quiet: bool) -> None:
    """Show every claim and whether it holds; when quiet, only broken ones and drafts.

    Parameters
    ----------
    authentic
        Whether a signature or a digest was checked.
    """
    for path, lines in results.items():
        shown = [line for line in lines if not quiet or line.status in ("broken", "draft")]
        if not shown:
            continue
        table = Table(
            title=escape(str(path)),
            title_justify="left",
            box=None,
            padding=(0, 2, 0, 0),
            show_header=False,
        )
        for line in shown:
            detail = "" if line.status == "draft" else line.detail
            table.add_row(_MARKS[line.status], escape(line.claim), escape(detail))
        print_table(_console, table)
        for line in lines:
            if line.status == "draft":
                say(f"not confirmed: {line.detail}", quiet=False)
    for sentence in proved_by(results.values(), authentic=authentic):
        say(sentence, quiet=quiet)


def proved_by(results: Iterable[Sequence[Line]], *, authentic: bool) -> list[str]:
    """Return what the lines prove, and to whom."""
    statuses = {line.status for lines in results for line in lines}
    if "broken" in statuses:
        return ["broken: the folder is not what it says. Do not rely on it."]
    said = ["holds: proved by the files themselves, whoever sent them."]
    if "attested" in statuses:
        said.append(
            "attested: the holder's word, which the files cannot prove. To check what the original"
            " proves, its holder adds --source and --record."
        )
    said.append(
        "The folder is the one that the holder released: key or digest say so. Who trusts the"
        " holder may rely on what is attested."
        if authentic
        else "Not proved: that the holder made this folder. Anyone can write one. Ask the holder"
        " for a public key (--key) or for the digest (--digest)."
    )
    return said


def show_demo(outcomes: Mapping[str, Outcome], out: Path, *, quiet: bool) -> None:
    """Show the verdict on the whole protection, then one line per method."""
    if quiet:
        return
    whole, *parts = outcomes.items()
    say(f"The whole table, as init protects it ({out / 'releases' / whole[0]}):", quiet=quiet)
    if risks := risks_of({}, whole[1].assessment):
        say(f"  {risk_sentence(risks)}", quiet=quiet)
    say("\nEach method by itself, a part of a protection and no release to publish:", quiet=quiet)
    names = {
        "risk.intruders.register": "the register finds",
        "utility.columns.worst": "largest change of a column",
    }
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("method")
    for heading in names.values():
        table.add_column(heading, justify="right")
    for method, outcome in parts:
        figures = {figure.name: figure for figure in outcome.assessment}
        table.add_row(method, *(_short(figures.get(name)) for name in names))
    print_table(_console, table)
    say(
        "\nthe register finds: people whom someone who knows the quasi-identifiers and the place of"
        " everybody can find in the release.\nlargest change of a column: distance between its"
        " distributions in the original and the release, from 0 % to 100 %.",
        quiet=quiet,
    )
    say(
        f"\nreleases   {out / 'releases'}/<name>/report.html\ncustodian "
        f" {out / 'custodian'}/<name>/   (private: do not share)",
        quiet=quiet,
    )
    say(f"next       {_program()} verify {out / 'releases'}", quiet=quiet)


def _short(figure: Figure | None) -> str:
    """Return a figure as people write it, without its interval."""
    return "-" if figure is None or figure.estimate is None else figure_text(figure)


def _program() -> str:
    """Return how to call this program: by its path where the shell does not find it by name."""
    return (
        "veladura"
        if shutil.which("veladura") or not sys.argv[0].endswith("veladura")
        else sys.argv[0]
    )


def show_comparison(comparison: Comparison, page: Path, *, quiet: bool) -> None:
    """Show one line a candidate, and the meaning of the two figures."""
    if quiet:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("candidate", "columns", "risk", "utility", "verdict"):
        table.add_column(heading)
    for name, _, columns, risk, utility, verdict in comparison.rows():
        colour = "green" if verdict == "on the frontier" else "yellow"
        table.add_row(
            escape(name),
            columns,
            *(escape(value).replace(" (", "\n(") for value in (risk, utility)),
            f"[{colour}]{escape(verdict)}[/]",
        )
    print_table(_console, table)
    for axis, figure in (("risk", comparison.risk), ("utility", comparison.utility)):
        meaning = next(
            (c.figures[figure].meaning for c in comparison.candidates if figure in c.figures), ""
        )
        _console.print(f"\n{axis}: {escape(figure)}. [dim]{escape(meaning)}[/]")
    for note in comparison.notes:
        say(note, quiet=quiet)
    say(f"\nmap        {page}   (private: do not share)", quiet=quiet)


def show_found(found: Found, place: Path) -> None:
    """Show how many people a register finds by each set of columns."""
    _console.print(
        f"{found.people:,} people, {found.registered:,} entries in the register."
        " [red]Private: do not share.[/]\n"
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("columns known")
    for heading in ("people with a match", "people found"):
        table.add_column(heading, justify="right")
    for row in found.rows():
        table.add_row(*map(escape, row))
    print_table(_console, table)
    _console.print(
        "[dim]found: nobody else of the table and one entry of the register has these values.[/]"
    )
    say(f"list       {place}   (private: do not share)", quiet=False)


def show_look(look: Look) -> None:
    """Show the tables of a look at a source."""
    _console.print(f"{look.rows:,} rows of {look.people:,} people. [red]Private: do not share.[/]")
    for part in look.tables:
        _console.print(f"\n[bold]{escape(part.title)}[/]")
        table = Table(box=None, padding=(0, 2, 0, 0))
        for place, heading in enumerate(part.headings):
            table.add_column(escape(heading), justify="right" if part.numeric(place) else "left")
        for row in part.rows:
            table.add_row(*map(escape, row))
        print_table(_console, table)
        if part.note:
            _console.print(f"[dim]{escape(part.note)}[/]")
