"""Commands that help to decide between plans: earlier releases, risk and utility, budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veladura.cli.commands.options import Quiet


def risk(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    against: Annotated[
        str | None, typer.Option(help="The series of earlier releases; by default the plan's own.")
    ] = None,
) -> None:
    """Show what the release of a plan would add to earlier ones of its series. Private.

    Nothing is written. The exit code is 4 where an earlier promise would be broken.
    """
    from veladura.plan.reading import read_plan
    from veladura.plan.run import past
    from veladura.plan.series import no_release

    asked = read_plan(plan)
    results = past(asked, against)
    if not results:
        typer.echo(no_release(asked, against))
    for result in results:
        typer.echo(str(result))
    if any(result.broken for result in results):
        raise typer.Exit(4)


def compare(
    plans: Annotated[
        list[Path],
        typer.Argument(help="Two or more plans for the same source; one with --sweep."),
    ],
    orders: Annotated[
        list[str] | None,
        typer.Option(
            help="With one critical-cart plan: compare orders of replacement, as in income,wealth;"
            " repeat it, or all."
        ),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            help="Values of a setting to try, as in k=2,5,10; repeat for every combination."
        ),
    ] = None,
    risk: Annotated[
        str | None,
        typer.Option(help="The risk figure, such as risk.uniqueness.average_prosecutor."),
    ] = None,
    utility: Annotated[
        str | None, typer.Option(help="The utility figure, such as utility.pmse.ratio.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="The page with the risk-utility map. Private: do not share."),
    ] = Path("comparison.html"),
    workers: Annotated[
        int | None, typer.Option(help="Plans to run at the same time; by default one per core.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore results of earlier comparisons, and keep none.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Compare plans for one table on a risk-utility map. Nothing is released."""
    from veladura.base.private_files import write_private
    from veladura.cli.show import progress, show_comparison
    from veladura.comparison.making import compare_plans
    from veladura.comparison.sweep import parse_sweeps

    if orders:
        from veladura.cli.critical import show_orders

        show_orders(plans, orders, progress(quiet=quiet))
        return
    comparison = compare_plans(
        plans,
        sweep=parse_sweeps(sweep or []),
        risk=risk,
        utility=utility,
        workers=workers,
        fresh=fresh,
        progress=progress(quiet=quiet),
    )
    write_private(out, comparison.to_html())
    show_comparison(comparison, out, quiet=quiet)


def budget(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="The home of the ledgers; by default VELADURA_LEDGER or the user's state folder."
        ),
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="List every private draw.")] = False,
    what_if: Annotated[
        Path | None,
        typer.Option(
            help="A plan: what its private step can be expected to give for several epsilons."
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="With --what-if: the number of rows; by default of the source."),
    ] = None,
) -> None:
    """Show the privacy budget of each source: spent and left; or what a budget would buy."""
    from veladura.cli.budget import show_budget, show_what_if

    if what_if is None:
        show_budget(folder, events=events)
    else:
        show_what_if(what_if, rows)
