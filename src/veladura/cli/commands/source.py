"""Commands that look at a source, before anything is protected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veladura.cli.commands.options import Force, Quiet, TableName


def init(
    source: Annotated[
        str,
        typer.Argument(
            help=(
                "A file (CSV, Parquet, DuckDB, SQLite, SPSS, Stata, SAS, Excel) or the URL of a"
                " database."
            )
        ),
    ],
    others: Annotated[
        list[str] | None,
        typer.Argument(help="Files of further tables that are linked with it by keys."),
    ] = None,
    table: TableName = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=(
                "One method, such as cart: only its columns are protected. By default the whole"
                " table is."
            )
        ),
    ] = None,
    audience: Annotated[
        str | None,
        typer.Option(
            "--for",
            help=(
                "For whom the release is: open-data (the default), researchers or one-partner. It"
                " sets the purpose of a synthesis too."
            ),
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The plan to write.")] = Path("plan.toml"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Inspect a table and write a commented plan that runs without a change."""
    from veladura.cli.show import progress, say, show_roles
    from veladura.plan.draft import drafted, write_draft

    with progress(quiet=quiet)("inspecting the table", 1) as advance:
        plan = drafted(
            source,
            table=table,
            method=method,
            audience=audience,
            home=out.parent,
            others=others or (),
        )
        advance()
    write_draft(plan.text, out, force=force)
    show_roles(plan.guesses, plan.rows, plan.treatment, quiet=quiet)
    say(f"{out} written. Confirm it, then run it:", quiet=quiet)
    say(f"  veladura confirm {out}\n  veladura run {out}", quiet=quiet)


def look(
    source: Annotated[str, typer.Argument(help="A file or the URL of a database.")],
    by: Annotated[
        str | None, typer.Option(help="A column whose groups are compared, such as sex.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="A column of numbers that is tested against every other column."),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            help="Columns an intruder may know, as in zip,birth,sex: people below each k are shown."
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="The column that tells people apart, where they have several rows; else the one"
            " that init would take."
        ),
    ] = None,
    table: TableName = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the custodian's page. Not inside or beside a release."),
    ] = None,
) -> None:
    """Show frequencies, moments, tests and correlations of a source. Private: do not share.

    Nothing is released.
    """
    from veladura.base.private_files import refuse_near_release
    from veladura.cli.show import say, show_look
    from veladura.report.look import look as look_at
    from veladura.table.roles.guess import person_of
    from veladura.table.source import open_unwarned

    if html is not None:
        refuse_near_release(html)
    opened = open_unwarned(source, table=table)
    if whose := person or person_of(opened):
        opened = open_unwarned(source, {whose: {"role": "person"}}, table=table)
        other = "" if person else "; --person names another column"
        say(f"people     counted by {whose!r}{other}", quiet=False)
    names = [] if known is None else [name.strip() for name in known.split(",")]
    found = look_at(opened, by, target=target, known=names)
    show_look(found)
    if html is not None:
        say(f"page       {found.save(html)}   (private: do not share)", quiet=False)


def link(
    source: Annotated[str, typer.Argument(help="The source, or a release folder.")],
    register: Annotated[
        str, typer.Argument(help="A list of people that an outsider has, such as a voter list.")
    ],
    on: Annotated[
        str,
        typer.Option(
            help="Columns that both have, as in zip,birth,sex; zip=postcode where names differ."
        ),
    ],
    table: Annotated[
        str | None, typer.Option(help="The table of the source's database, if it has several.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to list who is found; by default the custodian's folder."),
    ] = None,
) -> None:
    """Find people of a source or a release in an outside register, by every set of columns.

    The list of who is found is private; the terminal shows numbers of people only.
    """
    from veladura.cli.show import show_found
    from veladura.measures.source.register import link as link_with
    from veladura.release.package import load
    from veladura.table.database.scratch import custodian_home
    from veladura.table.source import open_unwarned

    is_release = (Path(source) / "manifest.json").is_file()
    opened = load(source) if is_release else open_unwarned(source, table=table)
    parts = (item.partition("=") for item in on.split(","))
    names = {own.strip(): (other or own).strip() for own, _, other in parts}
    found = link_with(opened, register, names)
    place = out or custodian_home() / "links" / f"{Path(source).stem}.csv"
    show_found(found, found.save(place))


def hierarchy(
    source: Annotated[
        Path, typer.Argument(help="A plan with a k-anonymity step, or a hierarchy file (CSV).")
    ],
    column: Annotated[
        str | None, typer.Option(help="With a plan: the column whose hierarchy is drawn.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("hierarchy.svg"),
) -> None:
    """Draw a generalisation hierarchy: its domains, and the tree of its values.

    Private: the picture of a plan shows values of its source.
    """
    from veladura.base.private_files import private_folder, refuse_near_release, write_private
    from veladura.cli.show import say
    from veladura.numeric.hierarchies.hierarchy import Hierarchy
    from veladura.plan.ways import drawn_hierarchy

    refuse_near_release(out)
    if source.suffix.lower() == ".toml":
        from veladura.plan.reading import read_plan

        picture = drawn_hierarchy(read_plan(source), column)
    else:
        picture = Hierarchy.from_csv(source).to_svg(name=column or source.stem)
    private_folder(out.absolute().parent)
    write_private(out, picture)
    say(f"{out} written   (private: do not share)", quiet=False)
