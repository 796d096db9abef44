"""What `veladura analyze` shows: a model of a release, or the posterior of a private one."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from veladura.base.visible import visible
from veladura.cli.sampling import asked_sampling
from veladura.cli.tables import PlainConsole, print_table
from veladura.errors import PlanError, VeladuraError

if TYPE_CHECKING:
    from veladura.inference.analysis import Analysis
    from veladura.inference.hypotheses import Test
    from veladura.inference.posterior.compare import Questions

_console = PlainConsole(highlight=False)
HEADINGS = {
    "estimate": "estimate",
    "error": "error",
    "lower": "lower",
    "upper": "upper",
    "df": "df",
    "p": "p",
    "added": "added",
}
MOST_CELLS = 200  # printed; --out writes them all


def show_model(
    folder: Path,
    formula: str,
    family: str,
    level: float,
    weights: str | None,
    *,
    design: bool,
    replication: str | None,
    rho: float | None,
    robust: bool,
    ratios: bool,
    tests: Sequence[str],
    as_json: bool,
    picture: Path | None,
    out: Path | None,
    large: bool,
) -> None:
    """Show a model of a release: coefficients, tests and cautions."""
    from veladura.inference.analysis import analyze
    from veladura.release.package import load

    release = load(folder, large=large)
    analysis = analyze(
        release,
        formula,
        family=family,
        level=level,
        robust=robust,
        sampling=asked_sampling(release, {"weights": weights}, (), replication, rho, design=design),
    )
    results = _tests(analysis, tests)
    if picture is not None:
        _written(lambda: analysis.plot(picture, exponentiate=ratios), picture)
    if out is not None:
        _written(lambda: analysis.table(exponentiate=ratios).to_csv(out), out)
    if as_json:
        _print_json(analysis.to_dict() | {"tests": [_plain(asdict(test)) for test in results]})
        return
    _console.print(analysis.heading(), markup=False, soft_wrap=True)
    print_table(_console, _coefficients(analysis, ratios=ratios))
    for test in results:
        _console.print(str(test), markup=False, soft_wrap=True)
    if analysis.pooling.rule.adds_variance:
        _console.print("[dim]added: share of the variance that is due to the synthesis[/]")
    for caution in analysis.cautions:
        _console.print("caution:", style="yellow", end=" ")
        _console.print(caution, markup=False, soft_wrap=True)
    for label, path in (("picture", picture), ("table", out)):
        if path is not None:
            _console.print(f"{label:10} {path}", markup=False, soft_wrap=True)


def _tests(analysis: Analysis, asked: Sequence[str]) -> list[Test]:
    """Return the tests of some terms, or of the whole model: Wald, and likelihood ratio if any."""
    if asked:
        walds = [analysis.wald(term) for term in asked]
        return walds + (
            [analysis.likelihood_ratio(term) for term in asked] if analysis.has_likelihood else []
        )
    if set(analysis.design.terms) <= {"Intercept"}:
        return []
    try:
        return [analysis.wald()]
    except VeladuraError:  # not asked for: rule "full" does not always have one
        return []


def _coefficients(analysis: Analysis, *, ratios: bool) -> Table:
    frame = analysis.table(exponentiate=ratios)
    shown = Table(box=None, padding=(0, 2, 0, 0))
    shown.add_column("ratio of" if ratios else "term")
    columns = [name for name in HEADINGS if name != "added" or analysis.pooling.rule.adds_variance]
    for name in columns:
        shown.add_column(HEADINGS[name], justify="right")
    for term, row in frame.iterrows():
        shown.add_row(
            escape(str(term)), *(_figure(column, float(row[column])) for column in columns)
        )
    return shown


def _figure(column: str, value: float) -> str:
    if column == "df":
        return f"{value:.0f}" if np.isfinite(value) else "inf"
    if column == "p":
        return "<0.0001" if value < 1e-4 else f"{value:.4f}"  # noqa: PLR2004
    if column == "added":
        return f"{value:.0%}"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"  # noqa: PLR2004  # no exponents for incomes


def show_posterior(
    folder: Path,
    prior: float,
    level: float,
    event: str | None,
    among: Sequence[str],
    columns: Sequence[str],
    *,
    as_json: bool,
    picture: Path | None,
    out: Path | None,
    large: bool,
) -> None:
    """Show the exact posterior of a private release: all cells, some columns, or an event."""
    from veladura.inference.posterior.pictures import draw_picture
    from veladura.inference.posterior.posterior import posterior
    from veladura.release.package import load

    if among and event is None:
        msg = (
            "--among needs --event.\n\nHint: add --event column=value to say what is compared"
            " between the groups."
        )
        raise PlanError(msg)
    shares = posterior(load(folder, large=large), prior)
    tables = _questions(shares, event, among, columns, level)
    if picture is not None:
        _written(lambda: draw_picture(shares, picture, level), picture)
    if out is not None:
        _written(
            lambda: (
                next(iter(tables.values())).to_csv(out, index=False)
                if len(tables) == 1
                else shares.table(level).to_csv(out, index=False)
            ),
            out,
        )
    if as_json:
        about = {
            "rows_protected": shares.n,
            "prior": prior,
            "level": level,
            "method": shares.method,
            "error": float(shares.error),
        }
        _print_json(
            about
            | {
                name: [_plain(row) for row in frame.to_dict(orient="records")]
                for name, frame in tables.items()
            }
        )
        return
    for frame in tables.values():
        print_table(_console, _frame(frame.head(MOST_CELLS)))
        if len(frame) > MOST_CELLS:
            _console.print(
                f"... {len(frame) - MOST_CELLS:,} more cells. Write them all with --out FILE, or"
                " sum over the other columns with --column NAME.",
                markup=False,
            )
    summary = (
        f"\n{shares.n:,} people in the original; {100 * level:.4g} % credible intervals; prior"
        f" {prior:g} in each cell; {shares.method}, error at most {shares.error:.1g}."
    )
    _console.print(summary, markup=False, soft_wrap=True)
    for label, path in (("picture", picture), ("table", out)):
        if path is not None:
            _console.print(f"{label:10} {path}", markup=False, soft_wrap=True)


def _questions(
    shares: Questions, event: str | None, among: Sequence[str], columns: Sequence[str], level: float
) -> dict[str, Any]:
    """Return one table a question: an event in groups, the values of columns, or all cells."""
    import pandas as pd

    from veladura.inference.posterior.compare import answers, column_table

    tables: dict[str, Any] = {}
    for name in columns:
        if name not in shares.domain.names:
            what = "column"
            raise PlanError.unknown(what, name, shares.domain.names)
        tables[name] = column_table(shares, name, level)
    if event is not None:
        rows = [
            (question, e.value, e.lower, e.upper)
            for question, e in answers(shares, event, among, level).items()
        ]
        tables["answers"] = pd.DataFrame(rows, columns=["question", "estimate", "lower", "upper"])
    return tables or {"cells": shares.table(level)}


def _frame(frame: Any) -> Table:
    shown = Table(box=None, padding=(0, 2, 0, 0))
    numeric = [frame[name].dtype.kind == "f" for name in frame.columns]
    for heading, right in zip(frame.columns, numeric, strict=True):
        shown.add_column(escape(str(heading)), justify="right" if right else "left")
    for row in frame.itertuples(index=False):
        shown.add_row(
            *(
                (
                    _share(cell)
                    if isinstance(cell, float)
                    else escape("missing" if cell is None else str(cell))
                )
                for cell in row
            )
        )
    return shown


def _share(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"  # noqa: PLR2004


def nothing_asked(folder: Path) -> PlanError:
    """Return the error for a call without formula and posterior, with a call that works."""
    from veladura.release.package import load
    from veladura.report.snippets import command

    lines = command(load(folder), str(folder)).splitlines()
    calls = [line for line in lines if line.startswith("veladura analyze ")]
    call = calls[0] if calls else f'veladura analyze {folder} "response ~ term + term"'
    return PlanError(
        "a formula is missing (or --posterior, for a differentially private"
        f" release).\n\nHint: {call}"
    )


def _written(write: Any, path: Path) -> None:
    try:
        write()
    except (OSError, ValueError):
        msg = (
            f"{path} cannot be written.\n\nHint: the folder must exist, and the name of a picture"
            " must end in .png, .svg or .pdf."
        )
        raise PlanError(msg) from None


def _print_json(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(visible(text) + "\n")  # written out as JSON writes them


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    return {
        str(key): None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in row.items()
    }
