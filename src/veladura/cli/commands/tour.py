"""Commands that show the whole: studies, the page in the browser, the demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veladura.cli.commands.options import Force, Quiet


def study(
    number: Annotated[
        str | None,
        typer.Argument(help="000, 001, 002, 003 or 004; without it they are listed."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Many repetitions: minutes. By default a minute or two."),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="A file with the data of the source, where they are not simulated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write; by default study-NUMBER.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the simulations.")] = 1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run the study of a source document again: its tables and figures beside ours."""
    from veladura.cli.show import progress
    from veladura.cli.studies import show_studies, show_study
    from veladura.studies.study import study as rerun
    from veladura.studies.writing import check_folder, write

    if number is None:
        show_studies()
        return
    folder = out or Path(f"study-{number}")
    check_folder(folder, force=force)
    result = rerun(number, full=full, data=data, seed=seed, progress=progress(quiet=quiet))
    page = write(result, folder)
    show_study(result, page, quiet=quiet)


def studio(
    source: Annotated[
        str | None,
        typer.Argument(help="A table, a plan, or a release folder; by default plan.toml."),
    ] = None,
    port: Annotated[int, typer.Option(help="The port; by default any that is free.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address of the page.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="The plan that is written for a table, or goes on with it.")
    ] = Path("plan.toml"),
) -> None:
    """Open the studio: the whole work in the browser, from a table to a verified release.

    It listens on this machine only, and ends with the terminal.
    """
    from veladura.cli.studio import open_studio

    open_studio(source, out, port=port, browser=not no_browser)


def example(
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("survey"),
    households: Annotated[
        int, typer.Option(min=160, help="Households to interview, about 2.5 people each.")
    ] = 20_000,
    waves: Annotated[int, typer.Option(min=1, max=9, help="Years in which they are asked.")] = 3,
    seed: Annotated[int, typer.Option(help="The same seed draws the same people.")] = 2024,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a generated household survey: one file a year, and the panel of all years."""
    from veladura.cli.show import say
    from veladura.example.survey import write_survey

    for path, rows in write_survey(out, households, waves, seed, force=force).items():
        say(f"{path}   {rows:,} rows", quiet=quiet)


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("demo"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Protect the bundled clinic register with every method, one release each."""
    from veladura.cli.show import progress, show_demo
    from veladura.plan.demo import run_demo

    outcomes = run_demo(out, force=force, progress=progress(quiet=quiet))
    show_demo(outcomes, out, quiet=quiet)
