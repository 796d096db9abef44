"""Fit what comes next of a panel: who is still there, their new rows, who joins and who is new.

Everything is learnt of the original: of people with rows in the waves that were released, given
these rows, and of people without, alone. It is drawn given released rows (`extended`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.base.context import Context
from veladura.errors import PlanError
from veladura.methods.cart.drawn_as import perhaps_codes
from veladura.methods.households.checks import check_across, check_settings
from veladura.methods.households.extended import ExtendedHouseholds
from veladura.methods.households.fit import counted_columns, fit
from veladura.methods.households.going_on import Fitting
from veladura.methods.households.levels import find_levels
from veladura.methods.households.standing import Standing, refuse_varying, released_panel
from veladura.methods.households.waves import Waves, find_waves
from veladura.methods.masks.number_codes import find_codes
from veladura.table.codes import Codes
from veladura.table.table import from_arrow

if TYPE_CHECKING:
    from veladura.core.earlier import Earlier
    from veladura.methods.households.fitted import FittedHouseholds
    from veladura.methods.households.household_cart import HouseholdCart
    from veladura.methods.households.levels import Level
    from veladura.methods.households.waves import Panel
    from veladura.table.table import Table


def fit_extension(
    recipe: HouseholdCart, table: Table, earlier: Earlier, context: Context
) -> ExtendedHouseholds:
    """Return the recipe fitted to what comes after an earlier release of a prepared table."""
    if table.source.links or table.units.schema.episode is not None:
        msg = (
            "releases of linked tables cannot be extended, nor those of episodes: of which one a"
            " new row is would have to be drawn too.\n\nHint: release the panel as one table."
        )
        raise PlanError(msg)
    columns = {name: table.column(name) for name in table.names}
    codes = Codes(columns, np.arange(table.rows))
    check_settings(recipe, table, codes)
    levels = find_levels(table, columns, recipe.members)
    waves = find_waves(levels, columns, earlier.tables, recipe.members)
    check_across(recipe.across, table, columns, levels)
    people = levels[-2]
    own = {name: columns[name].take(people.row) for name in people.columns}
    standing = Standing.of(own, people.parent, recipe.members)
    schema = table.units.schema
    names = schema.household if len(levels) > 2 else None, str(schema.person)  # noqa: PLR2004
    panels = [released_panel(t, columns, waves.time, names, standing) for t in earlier.tables]
    for panel in panels:
        for level, unit in zip(reversed(levels[:-1]), _units(panel), strict=False):
            refuse_varying(panel, level.columns, unit)
    coded = find_codes(table, codes, perhaps_codes(codes, table.names))
    fitting = Fitting(recipe, levels, waves, context.within("extension"), coded, _design(table))
    seen = fitting.seen()
    return ExtendedHouseholds(
        recipe,
        table,
        codes,
        levels=levels,
        counted=counted_columns(columns, levels),
        waves=waves,
        earlier=earlier,
        panels=panels,
        hidden=fitting.hidden,
        present=fitting.present(seen),
        going_on=fitting.going_on(seen),
        joining=fitting.joining(seen),
        newcomers=_newcomers(recipe, table, levels, waves, context),
    )


def _units(panel: Panel) -> list[Ints]:
    """Return the person of each row, then its household."""
    return [panel.person, panel.home[panel.person]]


def _design(table: Table) -> tuple[str, ...]:
    """Return the columns whose numbers are names, or whose names are too many to learn from."""
    fields = [field for field in table.schema if field.role in ("strata", "cluster")]
    return tuple(f.name for f in fields if f.role == "cluster" or f.kind in ("integer", "number"))


def _newcomers(
    recipe: HouseholdCart, table: Table, levels: Sequence[Level], waves: Waves, context: Context
) -> FittedHouseholds | None:
    """Return the recipe fitted to households without rows so far; None where they are too few."""
    cart = recipe.cart()
    new = ~waves.known_home
    if np.count_nonzero(new) < max(cart.people_in_leaf, cart.people_in_level):
        return None
    # rows of the table, by person and then in any order: levels put them in their own
    rows = levels[-1].row[new[waves.home][levels[-1].parent]]
    whole = table.units
    part = from_arrow(whole.arrow.take(pa.array(np.sort(rows))), whole.schema, whole.source)
    return fit(recipe, part.without_identifiers(), context.within("newcomers"))
