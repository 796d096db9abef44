"""Fit the rows of units: models of their number, of their kinds, and of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.errors import PlanError
from veladura.methods.households.children import (
    BEFORE,
    FIRST,
    FROM,
    LAST,
    MEMBER,
    NUMBER_OF,
    PAST,
    POSITION,
    SECOND,
    SEEN,
    SIZE,
    SO_FAR,
    TO,
    Children,
    Columns,
    counts,
    groups_of,
    renamed,
    taken,
    whole_numbers,
)
from veladura.methods.households.effects import EFFECT
from veladura.methods.households.given import fit_given
from veladura.numeric.distinct import places
from veladura.table.codes import Column
from veladura.table.units import people_per_cell

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart
    from veladura.methods.households.household_cart import HouseholdCart

FEWEST_OF_KIND = 50  # units with rows of a kind that has models of its own


def fit_children(
    recipe: HouseholdCart,
    units: Columns,
    rows: Columns,
    unit: Ints,
    position: Ints,
    kinds_of: tuple[str | None, Sequence[float]],
    context: Context,
    coded: Sequence[str],
    *,
    all_move: bool,
    clusters: Ints | None = None,
    past: Mapping[str, Columns] | None = None,
    owner: Ints | None = None,
) -> Children:
    """Return the models of the rows of units.

    Parameters
    ----------
    units
        The columns of units, in their canonical order.
    rows, unit, position
        The columns of rows, and for each its unit and its place there, from 1; sorted by both.
    kinds_of
        The column that says what a row is in its unit, and its values in the order of rows.
    all_move
        Whether numbers that many people share move too. An age that hundreds have stands nearly
        alone among those of a leaf, and members who come out as they are, one given the other, add
        up to their household.
    clusters
        The cluster of each unit, where its effects are predictors.
    past
        By prefix, columns of units of which each column is drawn given the strongest few: their
        rows so far, of which no row is drawn.
    owner
        The person of each unit, where these are episodes, such as visits: what the visits of one
        patient share is held by one.
    """
    kind, order = kinds_of
    number = next(iter(units.values())).size if units else int(unit.max(initial=-1)) + 1
    size = np.bincount(unit, minlength=number).astype(np.int64)
    cart = recipe.cart()
    holder = np.arange(number) if owner is None else owner
    largest = _largest_of(size, holder)
    enough = min(max(cart.people_in_leaf, cart.people_in_level), largest.size)
    most = int(np.sort(largest)[::-1][enough - 1])
    sized = {SIZE: whole_numbers(SIZE, size)}
    model = fit_given(
        recipe, units, sized, context.within("size"), coded, past, owner, clusters=clusters
    )
    start = np.zeros(number, dtype=np.int64)
    start[unit[position == 1]] = np.flatnonzero(position == 1)
    known = {**units, **sized}
    fitting = _Fitting(
        recipe,
        known,
        rows,
        unit,
        position,
        start,
        context,
        coded,
        clusters,
        owner,
        all_move=all_move,
        past=past or {},
    )
    if kind is None:
        groups, levels = np.minimum(position, 3) - 1, []
        kinds: list[FittedCart] = []
    else:
        kinds = [fitting.kind_model(kind, which) for which in range(1, min(most, 3) + 1)]
        merged = fitting.merged(kind, kinds)
        levels = _levels_of(merged, holder[unit], enough)
        groups = groups_of(merged, unit, position, levels)
        composition = counts(merged, unit, levels, number)
        fitting = replace(fitting, units={**fitting.units, **composition})
    if kind is None:
        groups[position > most] = -1  # too few units have so many rows: none is drawn
    else:
        groups -= _too_few(groups, unit)  # then one model for all rows of a kind
    bodies = [fitting.body(np.flatnonzero(groups == g), kind, g) for g in range(groups.max() + 1)]
    return Children(tuple(rows), model, kind, order, kinds, levels, bodies, most)


def _largest_of(size: Ints, holder: Ints) -> Ints:
    """Return the largest number of rows that a unit of each holder has.

    Examples
    --------
    >>> _largest_of(np.array([2, 9, 1]), np.array([0, 0, 1])).tolist()
    [9, 1]
    """
    largest = np.zeros(int(holder.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(largest, holder, size)
    return largest


def _too_few(groups: Ints, unit: Ints) -> Ints:
    """Return 1 for later rows of a kind that too few units have, else 0."""
    homes = people_per_cell(groups, unit, int(groups.max()) + 1)
    few: Ints = ((groups % 2 == 1) & (homes[groups] < FEWEST_OF_KIND)).astype(np.int64)
    return few


@dataclass(frozen=True, eq=False, repr=False)
class _Fitting:
    """Fits the models of rows.

    Attributes
    ----------
    start
        The first row of each unit.
    owner
        The person of each unit, where units are episodes of people.
    """

    recipe: HouseholdCart
    units: Columns
    rows: Columns
    unit: Ints
    position: Ints
    start: Ints
    context: Context
    coded: Sequence[str]
    clusters: Ints | None
    owner: Ints | None
    all_move: bool
    past: Mapping[str, Columns]

    def kind_model(self, kind: str, which: int) -> FittedCart:
        """Return the model of the kind of first rows, of second ones, or of later ones."""
        at = np.minimum(self.position, 3) == which
        here = np.flatnonzero(at)
        kept = {name: column.take(self.unit[here]) for name, column in self.units.items()}
        before = self._before(here, [kind])[: 3 if which > 2 else which - 1]  # noqa: PLR2004
        if which > 2:  # noqa: PLR2004
            kept[POSITION] = whole_numbers(POSITION, self.position[here])
        for prefix, columns in zip((FIRST, SECOND, BEFORE), before, strict=False):
            kept |= renamed(columns, prefix)
        own = {kind: self.rows[kind].take(here)}
        people = self._people(here)
        inner = self.context.within("kind", which)
        return fit_given(
            self.recipe, kept, own, inner, self.coded, people=people, clusters=self._clusters(here)
        )

    def _people(self, here: Ints) -> Ints | None:
        """Return whose each of some rows is; None where nobody has two of them."""
        whose = self.unit[here] if self.owner is None else self.owner[self.unit[here]]
        return whose if np.bincount(whose).max() > 1 else None

    def _clusters(self, here: Ints) -> Ints | None:
        return None if self.clusters is None else self.clusters[self.unit[here]]

    def merged(self, kind: str, models: Sequence[FittedCart]) -> Column:
        """Return the kinds of all rows as their models know them: rare ones are merged."""
        values = self.rows[kind].values.copy()
        for which, model in enumerate(models, start=1):
            values[np.minimum(self.position, 3) == which] = model.codes[kind].values
        return self.rows[kind].with_values(values)

    def body(self, here: Ints, kind: str | None, group: int) -> FittedCart | None:
        """Return the model of the columns of some rows, given their units and earlier rows."""
        if not here.size:
            return None
        own = {n: column.take(here) for n, column in self.rows.items() if n != kind}
        if not own:
            return None
        kept = {name: column.take(self.unit[here]) for name, column in self.units.items()}
        kept[POSITION] = whole_numbers(POSITION, self.position[here])
        if kind is not None:
            kept[kind] = self.rows[kind].take(here)
        before = dict(zip((FIRST, SECOND, BEFORE), self._before(here, list(own)), strict=True))
        for prefix, columns in self.past.items():
            before[prefix] = {n: column.take(self.unit[here]) for n, column in columns.items()}
        used = {prefix: c for prefix, c in before.items() if _is_there(c)}
        ruled = {name for rule in self.recipe.row_rules for name in parse(rule).columns}
        kept = {name: column for name, column in kept.items() if name in ruled or _varies(column)}
        people = self._people(here)
        inner = self.context.within("body", group)
        return fit_given(
            self.recipe,
            kept,
            own,
            inner,
            self.coded,
            used,
            people,
            all_move=self.all_move,
            clusters=self._clusters(here),
            everyone=self.rows if self.all_move and kind is not None else None,
        )

    def _before(self, here: Ints, names: Sequence[str]) -> list[dict[str, Column]]:
        """Return the first row, the second and the one before of some rows, missing if none."""
        place, start = self.position[here], self.start[self.unit[here]]
        at = [
            np.where(place > 1, start, -1),
            np.where(place > 2, start + 1, -1),  # noqa: PLR2004
            np.where(place > 2, here - 1, -1),  # noqa: PLR2004
        ]
        return [{name: taken(self.rows[name], rows) for name in names} for rows in at]


def _levels_of(kind: Column, unit: Ints, enough: int) -> list[float]:
    """Return the kinds that have models of their own: enough units have rows of them.

    All others share one model, and with them the rarest of these if the others are too few.
    """
    here = np.flatnonzero(~kind.missing)
    values, place = places(kind.values[here])
    homes = people_per_cell(place, unit[here], values.size)
    chosen = np.flatnonzero(homes >= FEWEST_OF_KIND)
    chosen = chosen[np.argsort(-homes[chosen], kind="stable")]
    left = np.unique(unit[~np.isin(kind.values, values[chosen]) | kind.missing]).size
    if 0 < left < enough:
        chosen = chosen[:-1]
    return [float(value) for value in values[np.sort(chosen)]]


def _is_there(columns: Columns) -> bool:
    return any(not column.missing.all() for column in columns.values())


def _varies(column: Column) -> bool:
    """Whether a column can predict anything."""
    key = column.key()
    return bool(key.size and np.any(key != key[0]))


def refuse_names(names: Sequence[str]) -> None:
    """Refuse columns that have the name of a predictor made here."""
    rows = (FIRST, SECOND, BEFORE, SIZE, POSITION, NUMBER_OF, EFFECT)
    made = (*rows, *PAST, MEMBER, SO_FAR, LAST, SEEN, FROM, TO)
    if clash := [name for name in names if name.startswith(made)]:
        msg = (
            f"columns {clash} begin with words that the method uses for earlier members."
            "\n\nHint: give them other names."
        )
        raise PlanError(msg)
