"""Fit the new rows of people who were released before, and of those who join their households."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.context import Context
from veladura.errors import PlanError
from veladura.methods.households.children import (
    MEMBER,
    SEEN,
    SO_FAR,
    Columns,
    whole_numbers,
)
from veladura.methods.households.drawing import Family
from veladura.methods.households.given import fit_given
from veladura.methods.households.growing import fit_children
from veladura.methods.households.joining import Joining, predictors, shared_by
from veladura.methods.households.members import Members, kind_in, kinds_in_order
from veladura.methods.households.rules import MemberRules
from veladura.methods.households.waves import Waves

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart
    from veladura.methods.households.household_cart import HouseholdCart
    from veladura.methods.households.levels import Level


@dataclass(frozen=True, eq=False, repr=False)
class Fitting:
    """Fits the models of people who were there before, and of those who join their households.

    Attributes
    ----------
    hidden
        Columns of the design that predict nothing here.
    """

    recipe: HouseholdCart
    levels: Sequence[Level]
    waves: Waves
    context: Context
    coded: Sequence[str]
    hidden: tuple[str, ...]

    @property
    def enough(self) -> int:
        """Fewest people or households that anything is learnt of."""
        cart = self.recipe.cart()
        return max(cart.people_in_leaf, cart.people_in_level)

    @property
    def by_household(self) -> bool:
        """Whether people are members of households."""
        return len(self.levels) > 2  # noqa: PLR2004

    def seen(self) -> Ints:
        """Return in how many new waves anybody of each household with rows so far is seen."""
        waves, rows = self.waves, np.flatnonzero(self.waves.is_new)
        home = waves.home[waves.person[rows]]
        pairs = np.unique(np.column_stack([home, waves.columns[waves.time].values[rows]]), axis=0)
        number = np.bincount(pairs[:, 0].astype(np.int64), minlength=waves.known_home.size)
        return number[waves.known_home].astype(np.int64)

    def present(self, seen: Ints) -> FittedCart | None:
        """Return the model of who is seen again, by household; None without households."""
        if not self.by_household:
            return None
        units, past = predictors(self.levels, self.waves.so_far(), self.waves.time, self.hidden)
        own = {SEEN: whole_numbers(SEEN, seen)}
        return fit_given(self.recipe, units, own, self.context.within("seen"), self.coded, past)

    def going_on(self, seen: Ints) -> Family | None:
        """Return the models of the new rows of people who have rows; None where too few have."""
        waves = self.waves
        panel, known = waves.so_far(), waves.known
        rows = np.flatnonzero(waves.is_new & known[waves.person])
        if np.unique(waves.person[rows]).size < self.enough:
            return None
        fixed = [name for level in self.levels[:-1] for name in level.columns]
        units = {n: c for n, c in panel.of_people(fixed).items() if n not in self.hidden}
        units[SO_FAR] = whole_numbers(SO_FAR, panel.rows_so_far)
        there = np.ones(panel.people, dtype=bool)
        if self.by_household:
            units[SEEN] = whole_numbers(SEEN, seen[panel.home])
            there = seen[panel.home] > 0
        kept = np.flatnonzero(there)
        past = panel.past(self.levels[-1].columns)
        return self._rows(
            {name: column.take(kept) for name, column in units.items()},
            {p: {n: c.take(kept) for n, c in cs.items()} for p, cs in past.items()},
            rows,
            _places(there)[_places(known)[waves.person[rows]]],
            "going on",
        )

    def joining(self, seen: Ints) -> Joining | None:
        """Return the models of people who join households; None where too few do."""
        waves = self.waves
        join = ~waves.known & waves.known_home[waves.home]
        if not self.by_household or np.unique(waves.home[join]).size < self.enough:
            return None
        here = np.flatnonzero(join)
        first = _first_rows(waves)[here]
        fixed = [name for level in self.levels[:-1] for name in level.columns]
        own = {name: waves.columns[name].take(first) for name in fixed}
        rows = np.flatnonzero(join[waves.person])
        given = {name: column for name, column in own.items() if name not in self.hidden}
        return Joining(
            self._joiners(seen, {n: own[n] for n in self.levels[-2].columns}, waves.home[here]),
            self._rows(given, {}, rows, _places(join)[waves.person[rows]], "joined"),
            self.levels,
            waves.time,
            self.hidden,
            self.recipe.across,
            shared_by(
                self.levels[-2].sizes(self.levels[-3].units), self.recipe.cart().people_in_level
            ),
        )

    def _joiners(self, seen: Ints, own: Columns, home: Ints) -> Family:
        """Return the models of how many join a household, and of their columns."""
        waves, people = self.waves, self.levels[-2]
        units, past = predictors(self.levels, waves.so_far(), waves.time, self.hidden)
        units[SEEN] = whole_numbers(SEEN, seen)
        there = np.flatnonzero(seen > 0)  # whose household is not seen does not join it
        place = _places(seen > 0)[_places(waves.known_home)[home]]
        children = fit_children(
            self.recipe,
            {name: column.take(there) for name, column in units.items()},
            own,
            place,
            _positions(place),
            (people.kind, people.kinds),
            self.context.within("joining"),
            self.coded,
            all_move=True,
            past={MEMBER: {n: c.take(there) for n, c in past[MEMBER].items()}},
        )
        return Family(children, None)

    def _rows(
        self, units: Columns, past: dict[str, Columns], rows: Ints, person: Ints, label: str
    ) -> Family:
        """Return the models of new rows of some people."""
        waves = self.waves
        own = {name: waves.columns[name].take(rows) for name in self.levels[-1].columns}
        members = Members(own, person, of_person=True)
        kind = kind_in(members, [waves.time])
        if kind is None:
            msg = (
                f"the rows after the earlier release are of too many {waves.time!r} to be waves:"
                " events at any time are not extended.\n\nHint: release the table anew, or put the"
                " number of a wave into it."
            )
            raise PlanError(msg)
        children = fit_children(
            self.recipe,
            units,
            own,
            person,
            _positions(person),
            (kind, kinds_in_order(members, kind)),
            self.context.within(label),
            self.coded,
            all_move=False,
            past=past,
        )
        return Family(children, MemberRules({}, (), (), distinct=(waves.time,)))


def _first_rows(waves: Waves) -> Ints:
    """Return the first row of each person."""
    return np.searchsorted(waves.person, np.arange(waves.home.size)).astype(np.int64)


def _places(chosen: Mask) -> Ints:
    """Return the place of each chosen unit among them."""
    return np.cumsum(chosen).astype(np.int64) - 1


def _positions(unit: Ints) -> Ints:
    """Return the place of each row in its unit, from 1; rows of a unit follow each other."""
    return np.arange(unit.size) - np.searchsorted(unit, unit) + 1
