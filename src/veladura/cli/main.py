"""The command line: a thin layer over `run`, `verify` and `init`.

Exit codes: 0 done; 1 unexpected failure; 2 invalid plan or command; 3 unusable data; 4 broken
promise or failed limit; 5 privacy budget exceeded; 6 a draft that its holder has not confirmed; 130
interrupted, by Ctrl-C or a signal to end.
"""

from __future__ import annotations

import gc
import sys
from os import environ
from typing import Annotated

import typer

from veladura.cli.commands import analysis, choice, plan, release, source, tour
from veladura.errors import VeladuraError

UNEXPECTED = 1

app = typer.Typer(
    name="veladura",
    help=(
        "Statistical disclosure control: turn a confidential table into a release that is safe to"
        " publish and useful to analyse, with measured risk and utility."
    ),
    epilog=(
        "Exit codes: 0 done, 1 unexpected failure, 2 invalid plan or command, 3 unusable data, 4"
        " broken promise or failed limit, 5 privacy budget exceeded, 6 a draft that its"
        " holder has not confirmed."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback would show values of the data
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = (  # in the order of the help
    source.init,
    source.look,
    source.link,
    source.hierarchy,
    plan.confirm,
    plan.run,
    plan.ways,
    plan.tree,
    plan.indicators,
    release.verify,
    release.sign,
    release.assess,
    analysis.analyze,
    choice.risk,
    analysis.survey,
    analysis.counts,
    choice.compare,
    release.certificate,
    release.split,
    choice.budget,
    tour.study,
    tour.studio,
    tour.example,
    tour.demo,
)
for _command in COMMANDS:
    app.command()(_command)


def main() -> None:
    """Run the command line; mistakes of a user are explained in words, without a traceback."""
    from veladura.cli.interruption import Interrupted, asked_to_end, deaf, interruptible
    from veladura.cli.voice import speak_warnings

    # A command lives for seconds, and nearly all that it makes lives as long: to look for cycles
    # of garbage as often as Python does by default took a twentieth of the time.
    gc.set_threshold(50_000, 20, 100)
    try:
        with interruptible(), speak_warnings():
            app(standalone_mode=True)
    except (Exception, KeyboardInterrupt, Interrupted) as error:
        if asked_to_end() or not isinstance(error, Exception):
            deaf()
            typer.echo("interrupted: a release folder is whole or was not written.", err=True)
            sys.exit(130)
        code = _explain(error)
        if code == UNEXPECTED and environ.get("VELADURA_DEBUG"):
            raise
        sys.exit(code)


def _explain(error: Exception) -> int:
    """Say what went wrong; return the exit code of the mistake."""
    from veladura.cli.voice import complain

    if isinstance(error, VeladuraError):
        complain(error)
        return error.exit_code
    # the message of an unknown error may hold values
    typer.echo(
        f"unexpected failure ({type(error).__name__}): a mistake of the program, not of your"
        " table or plan. Nothing was released.",
        err=True,
    )
    typer.echo(
        "Hint: set VELADURA_DEBUG=1 to see the traceback; it may contain values of the data.",
        err=True,
    )
    return UNEXPECTED


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        import veladura

        typer.echo(f"veladura {veladura.__version__}")
        raise typer.Exit


if __name__ == "__main__":
    main()
