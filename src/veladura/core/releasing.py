"""The one way from a fitted method to its release: draws become tables, promises are proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.core.promise import Promise
from veladura.core.release import Dataset, Release, Step

if TYPE_CHECKING:
    from veladura.base.context import Context
    from veladura.core.recipe import Draw, Drawn, Fitted
    from veladura.table.codes import Codes
    from veladura.table.table import Table


def released(fitted: Fitted[Any], context: Context) -> Release:
    """Return the release that a fitted method draws, its promises proved."""
    from veladura.core.units import with_new_numbers

    release = unproved(fitted, fitted.draw(context), context)
    release = with_new_numbers(release, context.streams)
    release.prove()
    return release


def unproved(fitted: Fitted[Any], drawn: Drawn, context: Context) -> Release:
    """Return a drawn release before its promises are proved."""
    recipe = fitted.recipe
    settings = recipe.settings() if drawn.settings is None else drawn.settings
    own = Step(recipe.method, settings, tuple(drawn.changed), type(recipe))
    release = Release(
        tuple(as_dataset(fitted.table, fitted.codes, draw) for draw in drawn.datasets),
        fitted.table,
        drawn.steps or (own,),
        drawn.promises,
        drawn.rule,
        recipe,
        context.streams,
    )
    return replace(
        release,
        pictures=(partial(drawn.pictures, release),),
        public_pictures=(partial(drawn.public_pictures, release),),
    )


def as_dataset(table: Table, codes: Codes, draw: Draw | Dataset) -> Dataset:
    """Return a draw as a table in the order of the input."""
    from veladura.table.recode import fresh, replace
    from veladura.table.units import with_units
    from veladura.table.write import settle

    if isinstance(draw, Dataset):
        return draw
    if draw.table is not None:
        return Dataset(settle(draw.table))
    if not draw.linked:
        return Dataset(fresh(table, draw.columns))
    rows = codes.rows if draw.rows is None else draw.rows
    rows = rows if draw.kept is None else rows[draw.kept]
    order = np.argsort(rows, kind="stable")
    columns = {name: column.take(order) for name, column in draw.columns.items()}
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    drawn = replace(table, columns, rows[order])
    if table.whole is not None:
        drawn = drawn.beside(with_units(drawn, table, rows[order]))
    return Dataset(drawn, rows[order], place)


def proved(promises: Sequence[Promise], release: Release) -> None:
    """Refuse a release that breaks one of some promises."""
    replace(release, promises=tuple(promises)).prove()
