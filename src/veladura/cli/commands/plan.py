"""Commands that confirm, run and explain a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veladura.cli.commands.options import Force, Quiet


def confirm(
    plan: Annotated[Path, typer.Argument(help="The plan to confirm.")],
    accept_all: Annotated[
        bool,
        typer.Option(
            "--accept-all", help="Accept every guess and every exact column. For scripts."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Walk through what is open in a plan, one decision at a time, and write the answers into it.

    Until then a run writes a draft.
    """
    from veladura.cli.confirm import answers
    from veladura.cli.show import say
    from veladura.errors import PlanError
    from veladura.plan import confirm as asking

    try:
        left = asking.confirm(plan, asking.accept_all() if accept_all else answers()).unconfirmed
    except typer.Abort:
        msg = (
            "the questions were not answered to the end. The plan was left as it is.\n\nHint:"
            " answer in a terminal, or accept everything with --accept-all."
        )
        raise PlanError(msg) from None
    done = f"{len(left)} points are still open: a run writes a draft." if left else "Confirmed."
    say(f"{plan} written. {done} Next: veladura run {plan}", quiet=quiet)


def run(
    plan: Annotated[Path, typer.Argument(help="The plan to run.")],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Check plan, source, settings, gate and folders. Write nothing."
        ),
    ] = False,
    unsafe_repeatable: Annotated[
        bool,
        typer.Option(
            "--unsafe-repeatable",
            help="Accept a seed for private draws. For tests only: the release is not private.",
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Protect and assess a table and write the release.

    Nothing is written if a promise is broken or a limit of the gate fails.
    """
    from veladura.cli.show import progress, say, show_outcome, show_short_seed, show_unconfirmed
    from veladura.plan import run as line
    from veladura.plan.reading import read_plan

    read = read_plan(plan)
    show_unconfirmed(read.unconfirmed, quiet=quiet)
    show_short_seed(read.run.seed, quiet=quiet)
    if read.requests:
        from veladura.cli.requests import run_all

        run_all(read, dry_run=dry_run, force=force, quiet=quiet)
        return
    if dry_run:
        line.rehearse(read, force=force, unsafe_repeatable=unsafe_repeatable)
        say(
            "The plan is valid: source, settings, gate and folders were checked. Nothing was"
            " written.",
            quiet=quiet,
        )
        return
    outcome = line.run(
        read, force=force, unsafe_repeatable=unsafe_repeatable, progress=progress(quiet=quiet)
    )
    show_outcome(outcome, quiet=quiet)


def ways(
    plan: Annotated[Path, typer.Argument(help="A plan with a k-anonymity step.")],
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            help="Choose by this policy instead of the plan's; repeat for several, applied in turn."
        ),
    ] = None,
) -> None:
    """List the ways to reach k-anonymity, and what each does to every column. Private.

    Nothing is released. After a run its search is not repeated: the custodian's folder has it.
    """
    from veladura.cli.show import progress
    from veladura.plan.reading import read_plan
    from veladura.plan.ways import ways_of

    typer.echo(ways_of(read_plan(plan), progress(quiet=False), prefer or ()))


def tree(
    plan: Annotated[Path, typer.Argument(help="A plan with a cart step.")],
    column: Annotated[str, typer.Argument(help="A column that the step replaces.")],
    most: Annotated[
        int, typer.Option(help="Most leaves: the largest pruned subtree that has no more.")
    ] = 12,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10,
    out: Annotated[
        Path | None, typer.Option(help="A private folder for the text and the pictures.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Show the tree of a column: splits, leaves, pruned subtrees. Private: do not share.

    Nothing is released.
    """
    from veladura.cli.show import progress, say
    from veladura.plan.reading import read_plan
    from veladura.plan.trees import tree_report

    read = read_plan(plan)
    report = tree_report(read, column, most=most, folds=folds, progress=progress(quiet=quiet))
    typer.echo(str(report))
    if out is not None:
        files = report.write(out, read.folder)
        say("\n".join(["", "written (private: do not share)", *map(str, files)]), quiet=quiet)


def indicators(
    plan: Annotated[Path, typer.Argument(help="A plan with a critical-cart step.")],
    record: Annotated[
        Path | None,
        typer.Option(
            help="The record.json of a run: rows in the order of the released files, a file for"
            " each dataset. By default in the order of the source."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("indicators.csv"),
    force: Force = False,
) -> None:
    """Write the indicators Z of the critical cells: true where a value is replaced.

    Private: Z tells of every person whether the true value is critical. The holder may hand it out.
    """
    from veladura.cli.critical import write_indicators

    write_indicators(plan, record, out, force=force)
