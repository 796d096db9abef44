"""Commands that prove, sign and measure a release that was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veladura.cli.commands.options import Folder, Force, Large, Quiet


def verify(
    folder: Annotated[Path, typer.Argument(help="A release folder, or a folder of releases.")],
    source: Annotated[
        str | None, typer.Option(help="The original table, to check the attested promises again.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="The record.json in the custodian folder; required with --source."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The holder's public key: the folder must be signed with it."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(help="The digest of the release, as its holder told it by another way."),
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(help="The release that this one says it extends: rows are compared."),
    ] = None,
    large: Large = False,
    quiet: Quiet = False,
) -> None:
    """Check the files and promises of a release.

    Exit code 4 if one is broken, else 6 if the release is a draft.
    """
    from veladura.cli.show import show_verified
    from veladura.release.verify import holds, is_draft, release_folders
    from veladura.release.verify import verify as prove_again

    results = {
        path: prove_again(
            path, source, record, key=key, digest=digest, earlier=earlier, large=large
        )
        for path in release_folders(folder)
    }
    show_verified(results, authentic=key is not None or digest is not None, quiet=quiet)
    if not all(map(holds, results.values())):
        raise typer.Exit(4)
    if any(map(is_draft, results.values())):
        raise typer.Exit(6)


def sign(
    folder: Annotated[Path | None, typer.Argument(help="A release folder.")] = None,
    key: Annotated[Path | None, typer.Option(help="The file of the custodian's key.")] = None,
    new_key: Annotated[
        Path | None,
        typer.Option(help="Make a key in this file, and its public part beside it (.pub)."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Sign a release, so that others can prove that it is the one you released.

    Private: whoever has the key can sign in your name.
    """
    from veladura.cli.show import say
    from veladura.errors import PlanError
    from veladura.release import signature

    if new_key is not None:
        made, public = signature.new_key(new_key)
        say(f"key        {made}   (private: do not share)", quiet=quiet)
        say(f"public     {public}   (hand it out)", quiet=quiet)
        say(f"fingerprint {signature.key_fingerprint(public)}", quiet=quiet)
        key = key or made
    if folder is None:
        if new_key is None:
            msg = (
                "neither a release nor a key to make was named.\n\nHint: veladura sign release/"
                " --key FILE, or veladura sign --new-key FILE."
            )
            raise PlanError(msg)
        return
    if key is None:
        msg = "the key is missing.\n\nHint: add --key FILE; --new-key FILE makes one."
        raise PlanError(msg)
    digest = signature.sign(folder, key)
    say(f"{folder} signed.\ndigest     {digest}", quiet=quiet)


def assess(
    folder: Folder,
    source: Annotated[
        str | None, typer.Option(help="The original table; by default the source of --plan.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="The record.json in the custodian folder. It links released rows to the original."
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            # no brackets: the help takes them for markup, and drops them
            help="A plan: its gate gives the limits, its intruders are those who look for people,"
            " its utility has the holder's models, and its source the kinds of the columns."
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            help="An intruder knows a column within a distance: income=5000, 'income=10 %' or"
            " 'visit=30 days'; may be repeated."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the custodian's report.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the figures as JSON.")] = None,
    curve: Annotated[
        Path | None, typer.Option(help="Draw the match risk over the radius (SVG, PNG or PDF).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Show risk and utility of a release against its original. Private: do not share.

    Exit code 4 if a limit of the gate fails.
    """
    from veladura.cli.match import draw_curve, knowing
    from veladura.cli.show import progress, show_reassessed
    from veladura.errors import PlanError
    from veladura.plan.reading import read_plan
    from veladura.release.gate import require
    from veladura.release.reassess import reassess

    read = None if plan is None else read_plan(plan)
    if source is None and read is None:
        msg = "the original is missing.\n\nHint: add --source people.csv, or --plan plan.toml."
        raise PlanError(msg)
    original = source if source is not None or read is None else read.open()
    intruders = () if read is None else read.intruders
    if within:
        original, intruders = knowing(original, within, intruders)
    result = reassess(
        folder,
        original,
        record,
        limits=None if read is None else read.gate,
        intruders=intruders,
        models=() if read is None else read.utility.models,
        progress=progress(quiet=quiet),
    )
    show_reassessed(result, html, json, quiet=quiet)
    if curve is not None:
        draw_curve(result.assessment, curve)
    require(result.verdicts)


def certificate(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("certificate.html"),
    large: Large = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the certificate of a release: one A4 sheet to print and sign."""
    from veladura.cli.show import say
    from veladura.errors import FolderError
    from veladura.release.certificate import certificate as sheet

    if out.exists() and not force:
        msg = (
            f"{out} exists already.\n\nHint: name another file with --out, or replace it with"
            " --force."
        )
        raise FolderError(msg)
    out.write_text(sheet(folder, large=large), encoding="utf-8")
    say(f"{out} written. It prints on one A4 sheet.", quiet=quiet)


def split(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="The folder to write the tables to.")] = Path("tables"),
    large: Large = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the linked tables of a release as CSV files, one for each table and dataset."""
    from veladura.cli.show import say
    from veladura.release.split import write_tables

    for path, rows in write_tables(folder, out, large=large, force=force):
        say(f"{path}: {rows:,} rows", quiet=quiet)
