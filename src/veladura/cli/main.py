"""The command line: a thin layer over `run`, `verify` and `init`.

Exit codes: 0 done; 1 an unexpected failure; 2 the plan or the call is not valid; 3 the data
cannot be used; 4 a promise or a threshold does not hold; 5 a privacy budget is overspent; 130
interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from veladura.errors import VeladuraError

app = typer.Typer(
    name="veladura",
    help=(
        "Turn a confidential table into a release that is safe to publish, useful to analyse, and"
        " proven to be both."
    ),
    epilog=(
        "Exit codes: 0 done, 2 plan or call not valid, 3 data cannot be used, 4 promise or"
        " threshold broken, 5 privacy budget overspent."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback would show values of the data
    context_settings={"help_option_names": ["-h", "--help"]},
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]


def main() -> None:
    """Run the command line; a user's mistake is told in words, never as a traceback."""
    try:
        app(standalone_mode=True)
    except VeladuraError as error:
        _complain(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was released.", err=True)
        sys.exit(130)
    except Exception as error:  # the message of an unknown error may hold values
        typer.echo(f"unexpected failure ({type(error).__name__}). Nothing was released.", err=True)
        typer.echo(
            "Hint: VELADURA_DEBUG=1 shows where; the trace may hold values of the data.", err=True
        )
        from os import environ

        if environ.get("VELADURA_DEBUG"):
            raise
        sys.exit(1)


def _complain(error: VeladuraError) -> None:
    from rich.console import Console

    text, _, hint = str(error).partition("\n\n")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print("error:", style="bold red", end=" ")
    console.print(text, markup=False)
    if hint:
        console.print(hint, style="dim", markup=False)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", is_eager=True)
    ] = False,
) -> None:
    if version:
        import veladura

        typer.echo(f"veladura {veladura.__version__}")
        raise typer.Exit


@app.command()
def init(
    source: Annotated[
        str,
        typer.Argument(
            help="A file (CSV, Parquet, SPSS, Stata, SAS, Excel) or the URL of a database."
        ),
    ],
    table: Annotated[
        str | None, typer.Option(help="The table to read, when the source is a database.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="The method to fill in.")] = None,
    out: Annotated[Path, typer.Option(help="Where the plan goes.")] = Path("plan.toml"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Look at a table and write a commented plan that runs as it stands."""
    from veladura.cli.show import progress, say
    from veladura.plan.draft import draft, write_draft

    with progress(quiet=quiet)("looking at the table", 1) as advance:
        text = draft(source, table=table, method=method, home=out.parent)
        advance()
    write_draft(text, out, force=force)
    say(f"{out} written. Read it, then: veladura run {out}", quiet=quiet)


@app.command()
def run(
    plan: Annotated[Path, typer.Argument(help="The plan to carry out.")],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check plan, source, gate names and folders; draw nothing."),
    ] = False,
    unsafe_repeatable: Annotated[
        bool,
        typer.Option(
            "--unsafe-repeatable",
            help="Let a seed move private draws. For tests only: such a release is not private.",
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Protect, assess and package a table; refuse when a promise or a threshold does not hold."""
    from veladura.cli.show import progress, say, show_outcome, show_unconfirmed
    from veladura.plan import run as line
    from veladura.plan.plan import read_plan

    read = read_plan(plan)
    show_unconfirmed(read.unconfirmed, quiet=quiet)
    if dry_run:
        line.rehearse(read, force=force, unsafe_repeatable=unsafe_repeatable)
        say(
            "the plan is valid: source, settings, gate and folders were checked; nothing was"
            " drawn.",
            quiet=quiet,
        )
        return
    outcome = line.run(
        read, force=force, unsafe_repeatable=unsafe_repeatable, progress=progress(quiet=quiet)
    )
    show_outcome(outcome, quiet=quiet)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A release folder, or a folder of them.")],
    source: Annotated[
        str | None, typer.Option(help="The original table, to prove again what only it can prove.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="The record.json of the custodian folder; goes with --source."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Recompute every promise that the files can prove; exit code 4 when one is broken."""
    from veladura.cli.show import show_verified
    from veladura.release.verify import holds, release_folders
    from veladura.release.verify import verify as prove_again

    results = {path: prove_again(path, source, record) for path in release_folders(folder)}
    show_verified(results, quiet=quiet)
    if not all(map(holds, results.values())):
        raise typer.Exit(4)


@app.command()
def assess(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    source: Annotated[
        str | None, typer.Option(help="The original table; by default that of --plan.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="The record.json of the custodian folder: links released rows to the original."
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="A plan: its [gate] gives the limits, and its source the columns' kinds."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the custodian's page.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the figures for programs.")] = None,
    quiet: Quiet = False,
) -> None:
    """Show risk and utility of a release beside its original; exit code 4 when a limit is missed. For the holder, not for publication."""
    from veladura.cli.show import progress, show_reassessed
    from veladura.errors import PlanError
    from veladura.plan.plan import read_plan
    from veladura.release.gate import require
    from veladura.release.reassess import reassess

    read = None if plan is None else read_plan(plan)
    if source is None and read is None:
        msg = "the original is needed: --source people.csv, or --plan plan.toml."
        raise PlanError(msg)
    original = source if source is not None or read is None else read.open()
    found = reassess(
        folder,
        original,
        record,
        limits=None if read is None else read.gate,
        progress=progress(quiet=quiet),
    )
    show_reassessed(found, html, json, quiet=quiet)
    require(found.verdicts)


@app.command()
def analyze(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    formula: Annotated[
        str | None, typer.Argument(help='A model, as in "log(income) ~ age + C(sex)".')
    ] = None,
    family: Annotated[
        str,
        typer.Option(help="gaussian, binomial, poisson, gamma, quasi-binomial or quasi-poisson."),
    ] = "gaussian",
    level: Annotated[float, typer.Option(help="The probability of an interval.")] = 0.95,
    weights: Annotated[str | None, typer.Option(help="A column of sampling weights.")] = None,
    robust: Annotated[bool, typer.Option("--robust", help="Sandwich standard errors.")] = False,
    ratios: Annotated[
        bool, typer.Option("--ratios", help="Odds or rate ratios instead of their logarithms.")
    ] = False,
    test: Annotated[
        list[str] | None,
        typer.Option(help="A term to test as a whole; may be given several times."),
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior", help="The exact posterior of a differentially private release."
        ),
    ] = False,
    event: Annotated[
        str | None,
        typer.Option(help="With --posterior: column=value, values with |, columns with a comma."),
    ] = None,
    among: Annotated[
        list[str] | None,
        typer.Option(help="With --event: a group to ask it of; two groups are compared."),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="With --posterior: the shares of one column's values.")
    ] = None,
    prior: Annotated[
        float, typer.Option(help="With --posterior: the Dirichlet parameter of each cell.")
    ] = 0.5,
    picture: Annotated[
        Path | None, typer.Option(help="Write a picture of the intervals (PNG, SVG, PDF).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table (CSV).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what a release says of the population, from its folder alone; the manifest chooses the rule."""
    from veladura.cli import analyze as shown
    from veladura.errors import PlanError

    if posterior and formula is not None:
        msg = (
            "--posterior takes no formula.\n\nHint: --event column=value, --among column=value and"
            " --column name ask the posterior."
        )
        raise PlanError(msg)
    if posterior:
        shown.show_posterior(
            folder,
            prior,
            level,
            event,
            among or [],
            column or [],
            as_json=as_json,
            picture=picture,
            out=out,
        )
    elif formula is None:
        raise shown.nothing_asked(folder)
    else:
        shown.show_model(
            folder,
            formula,
            family,
            level,
            weights,
            robust=robust,
            ratios=ratios,
            tests=test or [],
            as_json=as_json,
            picture=picture,
            out=out,
        )


@app.command()
def compare(
    plans: Annotated[list[Path], typer.Argument(help="Two or more plans of one source.")],
    risk: Annotated[
        str | None,
        typer.Option(help="The figure on the risk axis, as in risk.uniqueness.average_prosecutor."),
    ] = None,
    utility: Annotated[
        str | None, typer.Option(help="The figure on the utility axis, as in utility.pmse.ratio.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            help="Where the page with the map goes. It is the custodian's: do not publish it."
        ),
    ] = Path("comparison.html"),
    workers: Annotated[
        int | None, typer.Option(help="Plans at work at once; by default one for each core.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure everything anew; keep nothing.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run several plans of one table without releasing anything, and draw their risk and utility on one map."""
    from veladura.cli.show import progress, show_comparison
    from veladura.comparison.making import compare_plans

    found = compare_plans(
        plans,
        risk=risk,
        utility=utility,
        workers=workers,
        fresh=fresh,
        progress=progress(quiet=quiet),
    )
    out.write_text(found.to_html(), encoding="utf-8")
    show_comparison(found, out, quiet=quiet)


@app.command()
def certificate(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("certificate.html"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a release as one sheet to print, sign and file: promises, hashes, versions, blank lines for those who approve."""
    from veladura.cli.show import say
    from veladura.errors import FolderError
    from veladura.release.certificate import certificate as sheet

    if out.exists() and not force:
        msg = f"{out} exists already.\n\nHint: name another file with --out, or use --force."
        raise FolderError(msg)
    out.write_text(sheet(folder), encoding="utf-8")
    say(f"{out} written: print it on one A4 sheet.", quiet=quiet)


@app.command()
def budget(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help=(
                "A plan, or a custodian's folder; by default VELADURA_CUSTODIAN or the user's state"
                " folder."
            )
        ),
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="List every draw.")] = False,
) -> None:
    """Show what private draws of each source have cost, and what is left."""
    from veladura.cli.show import show_budget

    show_budget(folder, events=events)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where everything is written.")] = Path("demo"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run the whole pipeline on the bundled clinic register, one release per method."""
    from veladura.cli.show import progress, show_demo
    from veladura.plan.demo import run_demo

    outcomes = run_demo(out, force=force, progress=progress(quiet=quiet))
    show_demo(outcomes, out, quiet=quiet)


if __name__ == "__main__":
    main()
