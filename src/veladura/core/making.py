"""The one way a release comes about: drawn, put into tables, proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.core.lost_design import lost_roles
from veladura.core.release import Dataset, Release, Step
from veladura.errors import DataError

if TYPE_CHECKING:
    from veladura.base.context import Context
    from veladura.core.promise import Promise
    from veladura.core.recipe import Draw, Drawn, Fitted
    from veladura.table.codes import Codes
    from veladura.table.schema import Schema
    from veladura.table.table import Table


def released(fitted: Fitted[Any], context: Context, source: Schema | None = None) -> Release:
    """Return the release that a fitted method draws, its promises proved.

    The schema of the source says which part of a survey's design is not released.
    """
    from veladura.core.linked import with_links
    from veladura.core.units import with_new_numbers

    release = unproved(fitted, fitted.draw(context), context)
    refuse_empty(release)
    release = with_links(with_new_numbers(release, context.streams))
    if source is not None:
        release = replace(release, lost_design=lost_roles(source, release))
    release.prove()
    return release


def refuse_empty(release: Release) -> None:
    """Refuse a release in which a condition left no row."""
    last = release.steps[-1]
    drops = last.recipe is not None and last.recipe.drops_rows
    if drops and not all(dataset.table.rows for dataset in release.tables):
        msg = (
            f"no row satisfies the condition of the step {last.method}: nothing is left to"
            " release.\n\nHint: check the condition; a comparison with a missing value is false,"
            " and text is compared as it is written in the table."
        )
        raise DataError(msg)


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
        records=drawn.records,
    )
    return replace(
        release,
        pictures=(partial(drawn.pictures, release),),
        public_pictures=(partial(drawn.public_pictures, release),),
    )


def as_dataset(table: Table, codes: Codes, draw: Draw | Dataset) -> Dataset:
    """Return a draw as a table in the order of the input."""
    from veladura.table.recode import fresh, replace
    from veladura.table.units import with_numbers, with_units
    from veladura.table.write import settle

    if isinstance(draw, Dataset):
        return draw
    if draw.table is not None:
        pair = None if draw.before is None else (draw.table, draw.before)
        return Dataset(settle(draw.table), pair=pair)
    if not draw.linked:
        drawn = fresh(table, draw.columns)
        units = with_numbers(drawn, table, draw.units) if draw.units else None
        return Dataset(drawn if units is None else drawn.beside(units), known=draw.known)
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
