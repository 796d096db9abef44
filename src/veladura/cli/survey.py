"""What `veladura survey` shows: means, totals and ratios by the design of a survey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from veladura.cli.sampling import asked_sampling
from veladura.cli.tables import PlainConsole, print_table
from veladura.errors import PlanError

_console = PlainConsole(highlight=False)
LARGE = 1e5


def show_survey(
    folder: Path,
    asked: Mapping[str, Sequence[str]],
    *,
    by: str | None,
    level: float,
    named: Mapping[str, str | None],
    design: bool,
    replicates: Sequence[str],
    replication: str | None,
    rho: float | None,
    out: Path | None,
    large: bool,
) -> None:
    """Show estimates of a release, one row each."""
    from veladura.inference.known_replicates import known_replicates
    from veladura.inference.survey import Sampling
    from veladura.inference.totals import survey_mean, survey_ratio, survey_total
    from veladura.release.package import load

    if not any(asked.values()):
        msg = (
            "nothing to estimate.\n\nHint: name a column: --mean income, --total income, or --ratio"
            " income/members."
        )
        raise PlanError(msg)
    release = load(folder, large=large)
    sampling = asked_sampling(release, named, replicates, replication, rho, design=design)
    settings: dict[str, Any] = {"by": by, "level": level, "sampling": sampling}
    rows: list[tuple[str, str, Any]] = [
        (f"{what} of", name, estimate(release, name, **settings))
        for what, estimate in (("mean", survey_mean), ("total", survey_total))
        for name in asked[what]
    ]
    for text in asked["ratio"]:
        above, sign, below = text.partition("/")
        if not sign:
            msg = f"--ratio takes two columns, got {text!r}.\n\nHint: write --ratio income/members."
            raise PlanError(msg)
        ratio = survey_ratio(release, above.strip(), below.strip(), **settings)
        rows.append(("ratio of", text, ratio))
    used = sampling or Sampling.declared(release.tables[0].table.units.schema)
    if used.replicates:
        used, _ = known_replicates(used, release.tables[0].fetched())
    listed = [
        (f"{what} {name}" + (f", {by} = {group}" if by else ""), *figures)
        for what, name, combined in rows
        for group, *figures in zip(
            combined.names,
            combined.value,
            combined.error,
            combined.lower,
            combined.upper,
            strict=True,
        )
    ]
    words = "none declared: independent rows of equal weight" if used.is_simple else str(used)
    _console.print(
        f"Design: {words}. Rule {rows[0][2].rule!r}; {100 * level:.4g} % confidence intervals.",
        markup=False,
        soft_wrap=True,
    )
    shown = Table(box=None, padding=(0, 2, 0, 0))
    headings = ("estimate of", "estimate", "error", "lower", "upper")
    for place, heading in enumerate(headings):
        shown.add_column(heading, justify="right" if place else "left")
    for text, *figures in listed:
        shown.add_row(escape(text), *(_figure(float(figure)) for figure in figures))
    print_table(_console, shown)
    if out is not None:
        import pandas as pd

        pd.DataFrame(listed, columns=list(headings)).to_csv(out, index=False)
        _console.print(f"table      {out}", markup=False, soft_wrap=True)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:.5g}"
