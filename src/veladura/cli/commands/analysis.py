"""Commands for those who received a release: models, posteriors, estimates and counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veladura.cli.commands.options import Folder, Force, Large, Level, OutTable, Quiet

# What can be asked of `analyze`.
Formula = Annotated[str | None, typer.Argument(help='A model, as in "log(income) ~ age + C(sex)".')]
Family = Annotated[
    str,
    typer.Option(help="gaussian, binomial, poisson, gamma, quasi-binomial or quasi-poisson."),
]
Weights = Annotated[str | None, typer.Option(help="A column of sampling weights.")]
Design = Annotated[
    bool,
    typer.Option(help="Use the declared weights, strata and clusters of the survey design."),
]
Replication = Annotated[
    str | None,
    typer.Option(
        help="How replicate weights were made: brr, fay, jackknife, jkn, jk2 or bootstrap. By"
        " default as declared, or as the weights show."
    ),
]
Rho = Annotated[float | None, typer.Option(help="With --replication fay: Fay's coefficient.")]
Robust = Annotated[bool, typer.Option("--robust", help="Robust (sandwich) standard errors.")]
Ratios = Annotated[
    bool,
    typer.Option("--ratios", help="Show odds ratios or rate ratios instead of coefficients."),
]
Tests = Annotated[
    list[str] | None,
    typer.Option(help="A term whose coefficients are tested together; repeat for several terms."),
]
Posterior = Annotated[
    bool,
    typer.Option(
        "--posterior", help="Show the exact posterior of a differentially private release."
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        help="With --posterior: column=value; several values: a|b, several columns: comma."
    ),
]
Among = Annotated[
    list[str] | None,
    typer.Option(help="With --event: the group, as column=value; give two groups to compare them."),
]
Columns = Annotated[
    list[str] | None, typer.Option(help="With --posterior: the proportions of one column.")
]
Prior = Annotated[
    float, typer.Option(help="With --posterior: the Dirichlet prior parameter of each cell.")
]
Places = Annotated[
    str | None,
    typer.Option(
        help="The columns of coordinates, as in east,north: with a formula, a Bayesian spatial"
        " regression; with --rectangle by default those that were moved."
    ),
]
Rectangles = Annotated[
    list[str] | None,
    typer.Option(
        help="With --event: its share in a rectangle, name=west,south,east,north; repeat it."
    ),
]
Beside = Annotated[
    str | None,
    typer.Option(help="With --places or --rectangle: the original, shown beside. Private."),
]
Picture = Annotated[
    Path | None, typer.Option(help="Write a picture of the intervals (.png, .svg, .pdf).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def analyze(
    folder: Folder,
    formula: Formula = None,
    family: Family = "gaussian",
    level: Level = 0.95,
    weights: Weights = None,
    design: Design = True,
    replication: Replication = None,
    rho: Rho = None,
    robust: Robust = False,
    ratios: Ratios = False,
    test: Tests = None,
    posterior: Posterior = False,
    event: Event = None,
    among: Among = None,
    column: Columns = None,
    prior: Prior = 0.5,
    places: Places = None,
    rectangle: Rectangles = None,
    beside: Beside = None,
    picture: Picture = None,
    out: OutTable = None,
    as_json: AsJson = False,
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
            replication=replication,
            rho=rho,
            robust=robust,
            ratios=ratios,
            tests=test or [],
            as_json=as_json,
            picture=picture,
            out=out,
            large=large,
        )


def survey(
    folder: Folder,
    mean: Annotated[list[str] | None, typer.Option(help="A column; repeat it.")] = None,
    total: Annotated[list[str] | None, typer.Option(help="A column; repeat it.")] = None,
    ratio: Annotated[
        list[str] | None, typer.Option(help="Two columns, as in income/members; repeat it.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="One estimate for each value of it.")] = None,
    level: Level = 0.95,
    weights: Annotated[str | None, typer.Option(help="The column of sampling weights.")] = None,
    strata: Annotated[str | None, typer.Option(help="The column of strata.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The column of clusters.")] = None,
    fraction: Annotated[
        str | None,
        typer.Option(help="The column of the sampled share of a stratum's clusters."),
    ] = None,
    design: Design = True,
    replicate: Annotated[
        list[str] | None, typer.Option(help="A column of replicate weights; repeat it.")
    ] = None,
    replication: Replication = None,
    rho: Rho = None,
    out: OutTable = None,
    large: Large = False,
) -> None:
    """Estimate means, totals and ratios of a release by its survey design.

    By default weights, strata, clusters and replicate weights are those that the roles of the
    columns declare. A named column takes the place of the declared one.
    """
    from veladura.cli.survey import show_survey

    show_survey(
        folder,
        {"mean": mean or [], "total": total or [], "ratio": ratio or []},
        by=by,
        level=level,
        named={"weights": weights, "strata": strata, "cluster": cluster, "fraction": fraction},
        design=design,
        replicates=replicate or [],
        replication=replication,
        rho=rho,
        out=out,
        large=large,
    )


def counts(
    folder: Folder,
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
