"""What a synthesis row by row harms: effects that its settings take out, households, clusters."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from veladura.errors import VeladuraWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veladura.core.release import Release
    from veladura.methods.cart.cart import Cart
    from veladura.table.table import Table


class AttenuationWarning(VeladuraWarning):
    """A setting takes effects out of the release."""


def warn_of_harm(recipe: Cart) -> None:
    """Warn of settings that take effects out of the release."""
    asked = {
        "prune": recipe.prune > 0,
        "complexity": recipe.complexity > 0,
        'order "dependence"': recipe.order == "dependence",
    }
    if harmful := [name for name, given in asked.items() if given]:
        warnings.warn(
            f"{', '.join(harmful)}: harmful for inference. Slopes of regressions on the release are"
            " attenuated, often by several standard errors.\n\nHint: leave it out; for larger"
            " leaves set min_leaf.",
            AttenuationWarning,
            stacklevel=4,
        )


def warn_of_households(recipe: Cart, table: Table) -> None:
    """Warn of columns that all members of a household share: rows are drawn one by one."""
    from veladura.table.shared import shared_by_households

    if shared := shared_by_households(table, recipe.replaced(table.schema)):
        warnings.warn(
            f"columns {shared} are the same for all members of a household, and are drawn for each"
            " row by itself: members no longer share them, and errors of their means come out too"
            " small.\n\nHint: the method households draws them once for each household.",
            VeladuraWarning,
            stacklevel=4,
        )


def warn_of_clusters(recipe: Cart, table: Table) -> None:
    """Warn of clusters that stay while columns are drawn: rows are drawn one by one."""
    drawn = recipe.replaced(table.schema)
    kept = [name for name in table.schema.of_role("cluster") if name not in drawn]
    if kept and drawn:
        warnings.warn(
            f"rows are drawn one by one while the clusters {kept} stay: what people of one cluster"
            " have in common is kept only as far as trees find it, and errors by the design are"
            " approximate. Analysts are told.\n\nHint: the method households, with keep, draws"
            " effects of clusters.",
            VeladuraWarning,
            stacklevel=4,
        )


def cluster_cautions(release: Release, columns: Sequence[str], changed: Sequence[str]) -> list[str]:
    """Return what an analyst of a survey must know of columns that were drawn row by row."""
    clusters = [n for n in release.tables[0].table.schema.of_role("cluster") if n not in changed]
    if not clusters or not columns:
        return []
    named = ", ".join(map(repr, columns))
    caution = (
        f"{named}: drawn row by row. What people of one cluster have in common is kept only as far"
        " as trees find it: standard errors by the design are approximate."
    )
    return [caution]
