"""The recipe of synthetic geography: places drawn from a disease-mapping model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from veladura.base.bounds import Bounds, bounds_of
from veladura.base.checks import MOST, MOST_DATASETS, check_choice, check_whole
from veladura.base.context import Context
from veladura.core.gates import SYNTHETIC
from veladura.errors import PlanError
from veladura.methods.geography.icar_priors import Priors
from veladura.methods.geography.located import LocationRecipe, check_grid
from veladura.methods.geography.region import Shape, plain_cells

if TYPE_CHECKING:
    from veladura.core.chunks import FittedChunks
    from veladura.methods.geography.choose import Choice
    from veladura.methods.geography.fitted import FittedGeography
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

MOST_SWEEPS = 10_000_000
Unit = Literal["point", "cell"]
ContinuousDraw = Literal["quantile", "normal"]
Addresses = Path | tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Geography(LocationRecipe):
    """Replace places by synthetic ones, drawn from a disease-mapping (ICAR) model.

    The declared region is cut into grid cells. The number of people with each combination of
    attributes in each cell is Poisson with a log-linear mean: main effects, intrinsic conditional
    autoregressive (ICAR) surfaces over the cells, one for all and one for each level, and extra
    variation. For each of m posterior draws every row gets a cell by the intensities of its
    combination, then a uniform point in the usable part of the cell. All other columns and the
    order of rows stay as they are.

    Where a column has the role "person", rows of one person at one place are a *home*: homes are
    counted, and a home gets one new place. Who moves gets the next new place by a gravity model,
    given the new place before it: near and populous cells attract, by as much as in the data.

    Parameters
    ----------
    x, y
        The columns of the coordinates.
    attributes
        Columns of few categories: people with the same values in all of them share a map.
    continuous
        Number columns that enter the model by their cell means; their values are replaced too.
    continuous_draw
        How these values are drawn: "quantile" keeps the distribution within each combination, so
        that bounds, skewness and whole numbers stay; "normal" draws from a normal law (Nunes 2018).
    limits
        Smallest and largest value that a continuous column may get, such as {"age": [0, 110]}.
        Where nobody is below 0, nobody comes to be.
    region
        The declared region: a file (GeoJSON, WKT, shapefile, CSV with rings), geometry, or [west,
        south, east, north]. It comes from public knowledge, never from the data; "hull" draws a
        coarse one around the data, with a caution.
    exclude
        Areas of it where nobody may be placed (water, parks), in the same forms, or a list of them.
    grid
        Squares from west to east and from south to north, or "choose" to take the size that
        `choose_grid` recommends.
    cells
        Declared polygons (census tracts, districts) as cells instead of squares: a file (GeoJSON
        with one feature each, WKT, shapefile) or GeoJSON. The region is then their union, unless
        it is given.
    cell_name
        The property of GeoJSON that names a polygon; by default "name", "id", "code", "geoid" or
        "tract".
    cell_column
        A column of categories that names the cell of a person: it gets the name of the new cell.
    release
        "point" draws a uniform point in the new cell; "cell" releases its centre, which stands for
        the cell.
    coordinates
        "planar", or "degrees" for longitude (x) and latitude (y).
    k
        Other places that each one is hidden among. A place is isolated if its k-th nearest other
        place is further away than the diagonal of a square: it is counted in the cell of a random
        point of a circle that it shares with k others or more. 0 counts all in their own cell, so
        that the map may show where one lonely home is.
    m
        Number of datasets. Valid standard errors need at least 2.
    missing
        What to do with rows that have no place: "refuse" the table, or "keep" them without one.
    stray
        What to do with a few places outside the region: "refuse", or count them in the "nearest"
        cell.
    fit_rows
        Most rows that the map is learnt from, a random sample of a larger table, whose rows pass
        chunk by chunk. By default all rows, or those that a quarter of ``[run] memory`` holds
        where they do not fit.
    time
        The column that orders the rows of a person who has several places; by default the order of
        the table does.
    addresses
        Valid addresses, a table with columns x and y or a list of points: every synthetic place
        moves to the nearest one.
    priors
        Hyperparameters of the model.
    sweeps, burn, chains
        Sweeps of each Markov chain, burn-in sweeps that are dropped, and the number of chains.
    most_sweeps
        Chains that have not settled (R-hat above 1.05, or an effective sample size below 100) go
        on, up to so many sweeps: eight times ``sweeps`` by default. A warning says when that was
        not enough.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import veladura as vd
    >>> rng = np.random.default_rng(1)
    >>> homes = pd.DataFrame(rng.random((200, 2)).round(4), columns=["x", "y"])
    >>> homes["ill"] = rng.random(200) < 0.3
    >>> recipe = vd.Geography(
    ...     x="x",
    ...     y="y",
    ...     attributes=["ill"],
    ...     region=[0, 0, 1, 1],
    ...     grid=(4, 4),
    ...     m=2,
    ...     sweeps=800,
    ...     burn=200,
    ...     chains=2,
    ... )
    >>> release = recipe.protect(homes, seed=7)
    >>> len(release.datasets), release.rule.name, release.datasets[0]["ill"].equals(homes["ill"])
    (2, 'partial', True)

    References
    ----------
    Paiva, T., Chakraborty, A., Reiter, J. and Gelfand, A. (2014). Imputation of confidential data
    sets with spatial locations using disease mapping models. Statistics in Medicine 33(11),
    1928-1945.
    Nunes, L. (2018). Dissertation on synthetic data with geographic coordinates and continuous
    attributes.
    """

    method = "geography"
    decisive = ("m", "grid", "release")
    sentence = (
        "Synthetic geography: places were replaced by artificial ones, drawn from a statistical"
        " model of where people with the same attributes live."
    )
    gate = SYNTHETIC
    synthesizes = True

    attributes: Sequence[str] = ()
    continuous: Sequence[str] = ()
    continuous_draw: ContinuousDraw = "quantile"
    limits: Mapping[str, Bounds] = field(default_factory=dict)
    grid: tuple[int, int] | Literal["choose"] = (20, 20)
    cells: Shape | None = field(default=None, repr=False)
    cell_name: str | None = None
    cell_column: str | None = None
    release: Unit = "point"
    k: int = 5
    m: int = 5
    time: str | None = None
    addresses: Addresses | None = field(default=None, repr=False, metadata={"private": True})
    priors: Priors = field(default_factory=Priors)
    sweeps: int = 5000
    burn: int = 1000
    chains: int = 4
    most_sweeps: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", plain_cells(self.cells))
        if self.cells is not None and self.region is None:
            object.__setattr__(self, "region", self.cells)
        super().__post_init__()
        checked = {name: bounds_of(pair, "limits") for name, pair in self.limits.items()}
        object.__setattr__(self, "limits", checked)
        if strange := sorted(set(self.limits) - set(self.continuous)):
            msg = f"limits names columns that continuous does not: {strange}."
            raise PlanError(msg)
        check_choice("release", self.release, get_args(Unit))
        check_choice("continuous_draw", self.continuous_draw, get_args(ContinuousDraw))
        _check_cells(self)
        if self.grid != "choose":
            check_grid(self.grid)
        _check_names(self)
        for name, least, most in (
            ("k", 0, MOST),
            ("sweeps", 10, MOST_SWEEPS),
            ("burn", 0, MOST_SWEEPS),
            ("chains", 1, MOST_DATASETS),
        ):
            check_whole(name, getattr(self, name), least, most)
        if self.most_sweeps is not None:
            check_whole("most_sweeps", self.most_sweeps, self.sweeps, MOST_SWEEPS)
        if (self.sweeps - self.burn) * self.chains < self.m:
            msg = (
                f"sweeps ({self.sweeps}) minus burn ({self.burn}), times {self.chains} chains, must"
                f" be at least m ({self.m}).\n\nHint: raise sweeps."
            )
            raise PlanError(msg)
        if isinstance(self.priors, Mapping):
            object.__setattr__(self, "priors", Priors(**self.priors))
        object.__setattr__(self, "addresses", _plain_addresses(self.addresses))

    def apply(self, table: Table, context: Context) -> FittedGeography:
        """Count rows by cell and combination, and draw from the posterior of the intensities."""
        from veladura.methods.geography.fit import fit

        return fit(self, table, context)

    def apply_to_sample(
        self, table: Table, number: int, context: Context
    ) -> FittedChunks[Geography]:
        """Draw the map from a sample; combinations of attributes are those of all rows."""
        from veladura.core.chunks import FittedChunks, fit_to_sample
        from veladura.methods.geography.fit import fit
        from veladura.methods.geography.passing import refuse_hull

        refuse_hull(self)
        named = [self.cell_column] if self.cell_column else []
        table.schema.check("attributes", self.attributes)
        near, sample, whole = fit_to_sample(
            self, table, number, context, [*self.attributes, *named]
        )
        return FittedChunks.of(self, near, fit(self, sample, context, whole))

    def choose(
        self, table: Any, grids: Sequence[tuple[int, int]] | None = None, seed: int | None = None
    ) -> Choice:
        """Return the risk-utility map of some grids, with the recommended one and the reason."""
        from veladura.methods.geography.choose import choose_grid

        return choose_grid(self, table, grids, seed=seed)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the coordinates, the name of the cell, and numbers that are drawn with them."""
        named = (self.cell_column,) if self.cell_column else ()
        return (*super().changes(names), *named, *self.continuous)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Geography:
        """Suggest coordinates, attributes, and a box to be replaced by the true region."""
        from veladura.methods.geography.propose import settings

        return cls(**settings(table, facts))


def _check_cells(recipe: Geography) -> None:
    """Refuse settings of cells that contradict each other."""
    if recipe.cells is not None and recipe.grid == "choose":
        msg = 'grid = "choose" chooses squares; cells are declared.\n\nHint: leave out one of them.'
        raise PlanError(msg)
    if recipe.cell_name is not None and recipe.cells is None:
        msg = "cell_name names a property of the polygons of cells, and cells is not given."
        raise PlanError(msg)
    if recipe.cell_column is not None and recipe.cells is None and recipe.release == "point":
        msg = (
            "cell_column gets the name of a declared cell, and cells is not given.\n\nHint: give"
            ' cells, or release = "cell" to release the squares of the grid.'
        )
        raise PlanError(msg)
    if recipe.release == "cell" and recipe.addresses is not None:
        msg = 'addresses are points, and release = "cell" releases none: leave out one of them.'
        raise PlanError(msg)


def _check_names(recipe: Geography) -> None:
    for setting in ("attributes", "continuous"):
        named = getattr(recipe, setting)
        if isinstance(named, str) or not all(isinstance(name, str) for name in named):
            msg = f"{setting} must be a list of column names.\n\nHint: write {setting}=[...]."
            raise PlanError(msg)
    if recipe.time is not None and not isinstance(recipe.time, str):
        msg = 'time must be the name of a column.\n\nHint: write time="year".'
        raise PlanError(msg)
    named = tuple(name for name in (recipe.cell_column, recipe.time) if name)
    every = (recipe.x, recipe.y, *named, *recipe.attributes, *recipe.continuous)
    if twice := sorted({name for name in every if every.count(name) > 1}):
        msg = (
            "x, y, attributes, continuous, cell_column and time must be different columns; named"
            f" twice: {twice}."
        )
        raise PlanError(msg)


def _plain_addresses(given: Any) -> Addresses | None:
    """Return addresses in the form that the recipe stores: a path, or points as tuples."""
    if given is None or isinstance(given, Path):
        return given
    if isinstance(given, str):
        return Path(given)
    try:
        return tuple((float(x), float(y)) for x, y in given)
    except (TypeError, ValueError):
        msg = (
            "addresses must be the path of a table with the columns of the coordinates, or a list"
            " of points (x, y)."
        )
        raise PlanError(msg) from None
