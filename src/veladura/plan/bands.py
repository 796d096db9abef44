"""Cuts that a drafted plan proposes for keys of numbers and dates: a step in comments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from veladura.plan.commented import comment

if TYPE_CHECKING:
    from veladura.base.arrays import Floats
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

FEWEST_VALUES = 12  # with fewer there is little to cut
SHARES = (0.2, 0.4, 0.6, 0.8)  # of the people below each cut, roughly
LEAST_SHARE = 0.05  # of the people in every band
MOST_ROWS = 1_000_000
ROUND = (1.0, 2.0, 5.0)  # times a power of ten
EPOCH = date(1970, 1, 1)
WORDS = (
    "Bands instead of exact keys: a step that cuts them, to put before the others. Remove the # of"
    " its lines. Cut points are public: those proposed here are round numbers near the fifths of"
    " this table; before a private step, write cuts that everybody knows. Keep the cuts once they"
    " are published: other cuts later would tell more."
)


def bands_text(table: Table, facts: Mapping[str, Facts]) -> str:
    """Return a commented ``recode`` step with cuts for the keys that have many values."""
    cuts = {}
    if table.rows > MOST_ROWS:  # its columns would be fetched
        return ""
    for name in table.schema.of_role("quasi-identifier"):
        if (
            table.schema[name].kind in ("integer", "number", "date")
            and facts[name].distinct >= FEWEST_VALUES
            and (proposed := proposed_cuts(table.select([name]).column(name)))
        ):
            cuts[name] = {"cuts": proposed}
    if not cuts:
        return ""
    step = '[[step]]\nmethod = "recode"\n' + "".join(
        tomli_w.dumps({"step": {"columns": {name: rule}}}) for name, rule in cuts.items()
    )
    lines = [*comment(WORDS), *(f"#   {line}".rstrip() for line in step.splitlines())]
    return "\n".join(lines) + "\n"


def proposed_cuts(column: Column) -> list[Any]:
    """Return round cuts near the fifths of a column; none where no band would hold enough people.

    Examples
    --------
    Cuts of ages from 0 to 99, each as often: [20, 40, 60, 80].
    """
    present = np.sort(column.values[~column.missing].astype(np.float64))
    if present.size < FEWEST_VALUES or not np.isfinite(present).all():
        return []
    fifths = np.quantile(present, SHARES)
    if column.field.kind == "date":
        years = sorted({_day(value).year for value in fifths})
        days = np.array([(date(year, 1, 1) - EPOCH).days for year in years], dtype=np.float64)
        kept = _wide_enough(present, days)
        return [date.fromordinal(EPOCH.toordinal() + int(day)).isoformat() for day in kept]
    gap = np.min(np.diff(np.unique(fifths)), initial=np.inf)
    if not np.isfinite(gap):
        return []
    base = _round_base(float(gap))
    kept = _wide_enough(present, np.unique(np.round(fifths / base) * base))
    whole = column.field.kind == "integer" or base >= 1
    return [int(cut) if whole else float(f"{cut:.12g}") for cut in kept]


def _round_base(gap: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most a gap."""
    power = 10.0 ** np.floor(np.log10(gap))
    return float(max(times * power for times in ROUND if times * power <= gap * (1 + 1e-9)))


def _wide_enough(present: Floats, cuts: Floats) -> Floats:
    """Return the cuts, from below, between which enough people are."""
    kept: list[float] = []
    for cut in cuts:
        below = np.searchsorted(present, [kept[-1] if kept else -np.inf, cut])
        if min(below[1] - below[0], present.size - below[1]) >= LEAST_SHARE * present.size:
            kept.append(float(cut))
    return np.array(kept)


def _day(value: float) -> date:
    return date.fromordinal(EPOCH.toordinal() + int(value))
