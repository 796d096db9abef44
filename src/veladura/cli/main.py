"""The command line: a thin layer over `run`, `verify` and `init`.

Exit codes: 0 done; 1 unexpected failure; 2 invalid plan or command; 3 unusable data; 4 broken
promise or failed limit; 5 privacy budget exceeded; 6 a draft that its holder has not confirmed; 130
interrupted, by Ctrl-C or a signal to end.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Annotated

import typer

from veladura.errors import VeladuraError

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

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]


Large = Annotated[
    bool,
    typer.Option("--large", help="Read data that unfold to much more than their files."),
]


def main() -> None:
    """Run the command line; mistakes of a user are explained in words, without a traceback."""
    from veladura.cli.interruption import Interrupted, asked_to_end, deaf, interruptible
    from veladura.cli.voice import complain, speak_warnings

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
        if isinstance(error, VeladuraError):
            complain(error)
            sys.exit(error.exit_code)
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
        from os import environ

        if environ.get("VELADURA_DEBUG"):
            raise
        sys.exit(1)


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


@app.command()
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
    table: Annotated[
        str | None, typer.Option(help="The table of the database, if it has several.")
    ] = None,
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
        str,
        typer.Option(
            "--for", help="For whom the release is: open-data, researchers or one-partner."
        ),
    ] = "open-data",
    out: Annotated[Path, typer.Option(help="The plan to write.")] = Path("plan.toml"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Inspect a table and write a commented plan that runs without a change."""
    from veladura.cli.show import progress, say, show_roles
    from veladura.plan.draft import drafted, write_draft

    with progress(quiet=quiet)("inspecting the table", 1) as advance:
        plan = drafted(source, table=table, method=method, audience=audience, home=out.parent)
        advance()
    write_draft(plan.text, out, force=force)
    show_roles(plan.guesses, plan.rows, plan.treatment, quiet=quiet)
    say(f"{out} written. Confirm it, then run it:", quiet=quiet)
    say(f"  veladura confirm {out}\n  veladura run {out}", quiet=quiet)


@app.command()
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
    table: Annotated[
        str | None, typer.Option(help="The table of the database, if it has several.")
    ] = None,
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
    from veladura.table.source import open_unwarned

    if html is not None:
        refuse_near_release(html)
    opened = open_unwarned(source, table=table)
    names = [] if known is None else [name.strip() for name in known.split(",")]
    found = look_at(opened, by, target=target, known=names)
    show_look(found)
    if html is not None:
        say(f"page       {found.save(html)}   (private: do not share)", quiet=False)


@app.command()
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


@app.command()
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
        from veladura.plan.plan import read_plan

        picture = drawn_hierarchy(read_plan(source), column)
    else:
        picture = Hierarchy.from_csv(source).to_svg(name=column or source.stem)
    private_folder(out.absolute().parent)
    write_private(out, picture)
    say(f"{out} written   (private: do not share)", quiet=False)


@app.command()
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


@app.command()
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
    from veladura.cli.show import progress, say, show_outcome, show_unconfirmed
    from veladura.plan import run as line
    from veladura.plan.plan import read_plan

    read = read_plan(plan)
    show_unconfirmed(read.unconfirmed, quiet=quiet)
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


@app.command()
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
    from veladura.plan.plan import read_plan
    from veladura.plan.ways import ways_of

    typer.echo(ways_of(read_plan(plan), progress(quiet=False), prefer or ()))


@app.command()
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
    from veladura.plan.plan import read_plan
    from veladura.plan.trees import tree_report

    read = read_plan(plan)
    report = tree_report(read, column, most=most, folds=folds, progress=progress(quiet=quiet))
    typer.echo(str(report))
    if out is not None:
        files = report.write(out, read.folder)
        say("\n".join(["", "written (private: do not share)", *map(str, files)]), quiet=quiet)


@app.command()
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


@app.command()
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
        path: prove_again(path, source, record, key=key, digest=digest, large=large)
        for path in release_folders(folder)
    }
    show_verified(results, authentic=key is not None or digest is not None, quiet=quiet)
    if not all(map(holds, results.values())):
        raise typer.Exit(4)
    if any(map(is_draft, results.values())):
        raise typer.Exit(6)


@app.command()
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


@app.command()
def assess(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
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
            help="A plan: its [gate] gives the limits, [[intruder]] who looks for people,"
            " [utility] the holder's models, its source the kinds of the columns."
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
    from veladura.plan.plan import read_plan
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
    level: Annotated[float, typer.Option(help="The confidence level of the intervals.")] = 0.95,
    weights: Annotated[str | None, typer.Option(help="A column of sampling weights.")] = None,
    design: Annotated[
        bool,
        typer.Option(help="Use the declared weights, strata and clusters of the survey design."),
    ] = True,
    robust: Annotated[
        bool, typer.Option("--robust", help="Robust (sandwich) standard errors.")
    ] = False,
    ratios: Annotated[
        bool,
        typer.Option("--ratios", help="Show odds ratios or rate ratios instead of coefficients."),
    ] = False,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="A term whose coefficients are tested together; repeat for several terms."
        ),
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior", help="Show the exact posterior of a differentially private release."
        ),
    ] = False,
    event: Annotated[
        str | None,
        typer.Option(
            help="With --posterior: column=value; several values: a|b, several columns: comma."
        ),
    ] = None,
    among: Annotated[
        list[str] | None,
        typer.Option(
            help="With --event: the group, as column=value; give two groups to compare them."
        ),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="With --posterior: the proportions of one column.")
    ] = None,
    prior: Annotated[
        float, typer.Option(help="With --posterior: the Dirichlet prior parameter of each cell.")
    ] = 0.5,
    places: Annotated[
        str | None,
        typer.Option(
            help="The columns of coordinates, as in east,north: with a formula, a Bayesian spatial"
            " regression; with --rectangle by default those that were moved."
        ),
    ] = None,
    rectangle: Annotated[
        list[str] | None,
        typer.Option(
            help="With --event: its share in a rectangle, name=west,south,east,north; repeat it."
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(help="With --places or --rectangle: the original, shown beside. Private."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Write a picture of the intervals (.png, .svg, .pdf).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table (.csv).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    large: Large = False,
) -> None:
    """Fit a model to a release, show its posterior, or shares in rectangles of a map.

    The combining rule comes from the manifest; the original is not needed.
    """
    from veladura.cli import analyze as shown
    from veladura.errors import PlanError

    if posterior and formula is not None:
        msg = (
            "--posterior cannot be used with a formula.\n\nHint: use --event column=value, --among"
            " column=value or --column name."
        )
        raise PlanError(msg)
    if rectangle or (places is not None and formula is not None):
        from veladura.cli.places import Asked, show_rectangles, show_spatial

        asked = Asked(folder, places, beside, level, picture, out, large=large)
        if rectangle:
            show_rectangles(asked, rectangle, event)
        elif formula is not None:
            show_spatial(asked, formula)
    elif posterior:
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
            large=large,
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
            design=design,
            robust=robust,
            ratios=ratios,
            tests=test or [],
            as_json=as_json,
            picture=picture,
            out=out,
            large=large,
        )


@app.command()
def risk(
    plan: Annotated[Path, typer.Argument(help="A plan file of a k-anonymous release.")],
    against: Annotated[
        str | None, typer.Option(help="The series of earlier releases; by default the plan's own.")
    ] = None,
) -> None:
    """Show what the release of a plan would add to earlier ones of its series. Private.

    Nothing is written. The exit code is 4 where an earlier promise would be broken.
    """
    from veladura.plan.plan import read_plan
    from veladura.plan.run import past

    results = past(read_plan(plan), against)
    if not results:
        typer.echo("The series has no release yet.")
    for result in results:
        typer.echo(str(result))
    if any(result.below for result in results):
        raise typer.Exit(4)


@app.command()
def survey(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    mean: Annotated[list[str] | None, typer.Option(help="A column; repeat it.")] = None,
    total: Annotated[list[str] | None, typer.Option(help="A column; repeat it.")] = None,
    ratio: Annotated[
        list[str] | None, typer.Option(help="Two columns, as in income/members; repeat it.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="One estimate for each value of it.")] = None,
    level: Annotated[float, typer.Option(help="The confidence level of the intervals.")] = 0.95,
    weights: Annotated[str | None, typer.Option(help="The column of sampling weights.")] = None,
    strata: Annotated[str | None, typer.Option(help="The column of strata.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The column of clusters.")] = None,
    replicate: Annotated[
        list[str] | None, typer.Option(help="A column of replicate weights; repeat it.")
    ] = None,
    replication: Annotated[
        str, typer.Option(help="How they were made: brr, fay, jackknife or bootstrap.")
    ] = "brr",
    out: Annotated[Path | None, typer.Option(help="Write the table (.csv).")] = None,
    large: Large = False,
) -> None:
    """Estimate means, totals and ratios of a release by its survey design.

    By default weights, strata and clusters are those that the roles of the columns declare.
    """
    from veladura.cli.survey import show_survey

    show_survey(
        folder,
        {"mean": mean or [], "total": total or [], "ratio": ratio or []},
        by=by,
        level=level,
        design={"weights": weights, "strata": strata, "cluster": cluster},
        replicates=replicate or [],
        replication=replication,
        out=out,
        large=large,
    )


@app.command()
def counts(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    column: Annotated[
        list[str] | None, typer.Option(help="A column of the table; repeat it. By default all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("counts.csv"),
    large: Large = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a release as a table of counts (a contingency table), a CSV file for each dataset."""
    from veladura.cli.counts import write_counts
    from veladura.cli.show import say
    from veladura.release.package import load

    for path in write_counts(load(folder, large=large), column, out, force=force):
        say(f"{path} written.", quiet=quiet)


@app.command()
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


@app.command()
def certificate(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


if __name__ == "__main__":
    main()
