"""Draws of the noise-aware posterior: shares of groups of people and of tables of some columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.streams import Streams
from veladura.errors import PlanError, VeladuraWarning
from veladura.inference.posterior.compare import cells_where
from veladura.methods.private.noise_aware import (
    NoiseAware,
    Protected,
    apart_words,
    resampled,
    unmeasured,
)
from veladura.numeric.graphical.rows import draw_rows

if TYPE_CHECKING:
    from veladura.methods.private.domain import Domain
    from veladura.numeric.graphical.model import Beliefs

SEED = 1  # an analyst gets the same answers from the same folder
MOST_LISTED = 20_000  # cells of a domain that can be asked for one by one


@dataclass(frozen=True)
class Group:
    """People with some values: by column, which categories."""

    chosen: tuple[tuple[int, tuple[int, ...]], ...]

    def __and__(self, other: Group) -> Group:
        """Return the people in both groups."""
        mine = dict(self.chosen)
        for column, places in other.chosen:
            both = set(mine.get(column, places)) & set(places)
            mine[column] = tuple(sorted(both))
        return Group(tuple(sorted(mine.items())))

    @property
    def empty(self) -> bool:
        """Whether nobody can be in the group."""
        return any(not places for _, places in self.chosen)


@dataclass(frozen=True, eq=False, repr=False)
class NoiseAwareDraws:
    """Posterior draws of the population, given the noisy tables of a release.

    Attributes
    ----------
    model
        The declared domain, the number of rows n, the noisy tables and the prior.
    protected
        Draws of the shares of the protected table.
    """

    model: NoiseAware
    protected: Protected = field(repr=False)

    @property
    def domain(self) -> Domain:
        """The declared domain."""
        return self.model.domain

    @property
    def n(self) -> int:
        """The number of rows that were protected."""
        return self.model.n

    @property
    def method(self) -> str:
        """How the draws were made."""
        return "Markov chains" if self.model.chained else "perturbed refits"

    @cached_property
    def _population(self) -> list[Beliefs]:
        return self.protected.population(Streams.of(SEED)("noise-aware", "population"))

    @property
    def error(self) -> float:
        """The largest Monte Carlo error of the share of a value of a column."""
        shares = [self.table_draws([name]) for name in self.domain.names]
        return float(max(s.std(axis=0).max() for s in shares) / len(self.protected.draws) ** 0.5)

    def table_draws(self, columns: Sequence[str]) -> Floats:
        """Return posterior draws of the shares of a table of some columns, one row each.

        Cells are in product order of the columns as they are given, the last fastest.
        """
        places = self._places(columns)
        axes = np.argsort(np.argsort(places))
        return np.array([np.transpose(b.table(places), axes).ravel() for b in self._population])

    def _places(self, columns: Sequence[str]) -> list[int]:
        names = self.domain.names
        for name in columns:
            if name not in names:
                what = "column"
                raise PlanError.unknown(what, name, names)
        if len(set(columns)) < len(columns) or not columns:
            msg = "name each column of the table once."
            raise PlanError(msg)
        return [names.index(name) for name in columns]

    @cached_property
    def _cells(self) -> Floats:
        """Draws of the shares of all cells."""
        if self.domain.cells > MOST_LISTED:
            msg = (
                f"the domain has {self.domain.cells:,} cells, too many to list.\n\nHint: ask for"
                " share(where(...)), or for table(columns=[...]) of some columns."
            )
            raise PlanError(msg)
        return self.table_draws(self.domain.names)

    def where(self, **values: Any) -> Mask | Group:
        """Return the people with the given values; a list means any of them, None means missing.

        Cells of the domain as a mask, or a group where the domain has too many.
        """
        if self.domain.cells <= MOST_LISTED:
            return cells_where(self.domain, values)
        chosen = []
        for name, wanted in values.items():
            [place] = self._places([name])
            alone = cells_where(self._alone(name), {name: wanted})
            chosen.append((place, tuple(np.flatnonzero(alone).tolist())))
        return Group(tuple(sorted(chosen)))

    def _alone(self, name: str) -> Domain:
        """Return the domain of one column."""
        missing = (name,) if name in self.domain.missing else ()
        return type(self.domain)({name: self.domain.values[name]}, missing)

    def between(self, column: str, low: float, high: float) -> Mask | Group:
        """Return the people whose number is from low to under high (to high, at the upper bound).

        Numbers are known by their bins: both limits must be edges of bins.
        """
        edges = self._edges(column)
        if low not in edges or high not in edges or not low < high:
            msg = (
                f"{column!r} is known by bins: both limits must be among their edges, the lower one"
                f" first.\n\nHint: the edges are {[float(f'{edge:.12g}') for edge in edges]}."
            )
            raise PlanError(msg)
        words = self.domain.texts(column)[edges.index(low) : edges.index(high)]
        return self.where(**{column: words})

    def _edges(self, column: str) -> list[float]:
        self._places([column])
        if column not in self.domain.edges:
            msg = f"{column!r} is a column of categories: use where(...)."
            raise PlanError(msg)
        return list(self.domain.edges[column])

    def _share_draws(self, group: Mask | Group) -> Floats:
        """Return draws of the share of a group in the population."""
        if not isinstance(group, Group):
            mask = np.asarray(group, dtype=bool)
            if mask.shape != (self.domain.cells,):
                msg = (
                    "a group must be what where(...) returns, or one truth value for each of"
                    f" {self.domain.cells} cells."
                )
                raise PlanError(msg)
            shares: Floats = self._cells @ mask
            return shares
        if group.empty:
            return np.zeros(len(self._population))
        if not group.chosen:
            return np.ones(len(self._population))
        columns = [column for column, _ in group.chosen]
        picked = np.ix_(*(places for _, places in group.chosen))
        return np.array([beliefs.table(columns)[picked].sum() for beliefs in self._population])

    def _rate(self, event: Mask | Group, given: Mask | Group | None) -> Floats:
        if given is None:
            return self._share_draws(event)
        below = self._share_draws(given)
        if not (below > 0).any():
            msg = "nobody can be in the group that the share is among."
            raise PlanError(msg)
        both = self._share_draws(event & given)  # type: ignore[operator]
        return both / np.where(below > 0, below, np.inf)

    def _caution(self, columns: Iterable[int]) -> None:
        """Warn where a question is about columns that were never measured together."""
        names = self.domain.names
        tables = [[names[column] for column in table.columns] for table in self.model.tables]
        if apart := unmeasured(tables, [names[column] for column in sorted(set(columns))]):
            warnings.warn(apart_words(apart), VeladuraWarning, stacklevel=3)

    def _columns_of(self, *groups: Mask | Group | None) -> list[int]:
        """Return the columns that decide who is in some groups."""
        return [column for group in groups for column in self._deciding(group)]

    def _deciding(self, group: Mask | Group | None) -> list[int]:
        if group is None or isinstance(group, Group):
            return [] if group is None else [column for column, _ in group.chosen]
        possible = self.domain.possible
        inside, outside = (
            (np.asarray(chosen, dtype=bool) & possible).reshape(self.domain.shape)
            for chosen in (group, ~np.asarray(group, dtype=bool))
        )
        return [
            axis
            for axis in range(inside.ndim)
            if (inside.any(axis=axis) & outside.any(axis=axis)).any()
        ]

    def draw(self, n: int, seed: int | Streams | None = None) -> Floats:
        """Return n posterior draws of the shares of all cells, one row each."""
        self._cells  # noqa: B018  # refuses a domain that is too large
        rng = Streams.of(seed)("posterior", "shares")
        chosen = rng.permutation(np.arange(n) % len(self.protected.draws))
        every = list(range(len(self.domain.names)))
        return np.array(
            [
                resampled(self.protected.draws[i], self.n, rng).table(every).ravel()
                for i in chosen.tolist()
            ]
        )

    def rows(self, m: int, size: int) -> list[list[Ints]]:
        """Return m tables of artificial rows as categories, each from a draw of the population."""
        streams = Streams.of(SEED)
        apart = np.linspace(0, len(self._population) - 1, m).astype(int).tolist()
        return [
            draw_rows(self._population[place], size, streams("noise-aware", "rows", number))
            for number, place in enumerate(apart)
        ]
