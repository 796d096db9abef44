"""Fitting synthetic geography: the posterior of the map, by chains or approximately."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from veladura.base.context import Context
from veladura.methods.geography.centres import written_centres
from veladura.methods.geography.fitted import FittedGeography
from veladura.methods.geography.geography import Geography
from veladura.methods.geography.gridded import GriddedRows, settle
from veladura.methods.geography.icar import Draws, sample
from veladura.methods.geography.laplace import Approximation, approximate
from veladura.methods.geography.place import Writing
from veladura.methods.geography.snap import addresses_of
from veladura.table.codes import Codes

if TYPE_CHECKING:
    from veladura.table.table import Table
    from veladura.table.whole import Whole


MORE_SWEEPS = 8  # times the sweeps that chains may take until they have settled


def fit(
    recipe: Geography, table: Table, context: Context, whole: Whole | None = None
) -> FittedGeography:
    """Return the recipe fitted to a prepared table.

    Parameters
    ----------
    whole
        All rows, where the table is a sample of them: combinations and decimals are theirs.
    """
    if recipe.grid == "choose":
        from veladura.methods.geography.choose import choose_grid

        recipe = replace(recipe, grid=choose_grid(recipe, table, context=context).recommended)
    ground, codes = settle(recipe, table, context, whole)
    posterior = sample(
        *ground.model(),
        recipe.priors,
        m=recipe.m,
        context=context.within("geography"),
        sweeps=recipe.sweeps,
        burn=recipe.burn,
        chains=recipe.chains,
        most_sweeps=recipe.most_sweeps or MORE_SWEEPS * recipe.sweeps,
    )
    return _assembled(recipe, table, codes, ground, posterior)


def fit_quickly(recipe: Geography, table: Table, context: Context) -> FittedGeography:
    """Return the recipe fitted by the Laplace approximation: to compare grids, not to release."""
    ground, codes = settle(recipe, table, context)
    posterior = approximate(
        *ground.model(), recipe.priors, m=recipe.m, rng=context.streams("geography", "approximate")
    )
    return _assembled(recipe, table, codes, ground, posterior)


def _assembled(
    recipe: Geography,
    table: Table,
    codes: Codes,
    ground: GriddedRows,
    posterior: Draws | Approximation,
) -> FittedGeography:
    writing = Writing.of(codes[recipe.x], codes[recipe.y])
    addresses = None
    if recipe.addresses is not None:
        addresses = addresses_of(recipe.addresses, (recipe.x, recipe.y), ground.grid, writing)
    centres = written_centres(ground.grid, writing) if recipe.release == "cell" else None
    return FittedGeography(recipe, table, codes, ground, posterior, writing, addresses, centres)
