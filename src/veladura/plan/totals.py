"""Totals that a drafted plan may calibrate weights to: a step in comments, for the holder to fill.

Suppressed rows and drawn values change what weights add up to. Which totals of the population are
known is public knowledge that no table shows, so that none is proposed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import tomli_w

from veladura.plan.commented import comment
from veladura.table.codes import label_text

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

MOST_LEVELS = 12
WORDS = (
    "Weights that add up to known totals: a step to put last, in place of reweight if there is one"
    " (which promises the total as it is). Remove the # of its lines, and write the people of the"
    " population in every category, from a census or another public source, in place of 0."
    " Categories are those that are released; a column of numbers has its sum: totals.income ="
    ' 1000000; crossed columns have one table inside the other: totals."sex, region".f.north = 500.'
)


def totals_text(table: Table, facts: Mapping[str, Facts], recipe: Recipe) -> str:
    """Return a commented ``calibrate`` step for a plan that releases a weight; else nothing."""
    weight = next(iter(table.schema.of_role("weight")), None)
    if weight is None or recipe.private:
        return ""
    step = f'[[step]]\nmethod = "calibrate"\n{tomli_w.dumps({"column": weight})}'
    if (name := _category(table, facts)) is not None:
        values = table.counts([name]).columns[0].to_arrow().drop_null().unique().to_pylist()
        levels = dict.fromkeys(sorted(map(label_text, values)), 0)
        step += tomli_w.dumps({"step": {"totals": {name: levels}}})
    else:
        step += "[step.totals]\n"
    lines = [*comment(WORDS), *(f"#   {line}".rstrip() for line in step.splitlines())]
    return "\n".join(lines) + "\n"


def _category(table: Table, facts: Mapping[str, Facts]) -> str | None:
    """Return the released category of fewest values: totals of it are the likeliest to be known."""
    roles = ("quasi-identifier", "undecided", "other", "harmless")
    names = [
        column.name
        for column in table.schema
        if column.role in roles
        and column.kind in ("category", "ordered")
        and 1 < facts[column.name].distinct <= MOST_LEVELS
    ]
    return min(names, key=lambda name: facts[name].distinct, default=None)
