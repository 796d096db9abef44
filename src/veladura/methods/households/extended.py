"""Draw what comes after an earlier release: its rows stay, and rows of new waves are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.context import Context
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial, Single
from veladura.methods.cart.fitted import FittedCart
from veladura.methods.cart.pictures import compared
from veladura.methods.households.children import (
    LAST,
    MEMBER,
    PAST,
    SEEN,
    SO_FAR,
    Columns,
    renamed,
    whole_numbers,
)
from veladura.methods.households.drawing import Family, joined
from veladura.methods.households.extends import digest_until, wave_text
from veladura.methods.households.fitted import FittedHouseholds, settings_of
from veladura.methods.households.household_cart import HouseholdCart
from veladura.methods.households.levels import Level
from veladura.methods.households.promises import implied_by
from veladura.methods.households.rules import MemberRules
from veladura.methods.households.waves import Panel, Waves
from veladura.table.codes import Column, relabelled

if TYPE_CHECKING:
    from veladura.core.earlier import Earlier

TRIES = 10  # draws again of people who join a household and break its rules


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Rows of a dataset: their columns, and numbers of people and households."""

    columns: Columns
    units: Mapping[str, Ints]


@dataclass(frozen=True, eq=False, repr=False)
class ExtendedHouseholds(Fitted[HouseholdCart]):
    """Models of what comes after an earlier release, ready to draw. Holds original values.

    Attributes
    ----------
    levels, counted
        As in `FittedHouseholds`.
    waves
        The original's.
    panels
        The datasets of the earlier release.
    hidden
        Columns that predict nothing.
    present
        In how many new waves a household is seen; None without households.
    going_on
        The new rows of people who have rows; None where all are gone.
    joining, joined_rows
        People who join households, and their rows; None where nobody does.
    newcomers
        New households; None where there are none.
    """

    levels: Sequence[Level]
    counted: tuple[str, ...]
    waves: Waves
    earlier: Earlier
    panels: Sequence[Panel]
    hidden: tuple[str, ...]
    present: FittedCart | None
    going_on: Family | None
    joining: Family | None
    joined_rows: Family | None
    newcomers: FittedHouseholds | None

    def draw(self, context: Context) -> Drawn:
        """Draw the m datasets, each from streams of its own.

        The combining rule is that of the earlier release.
        """
        from threadpoolctl import threadpool_limits

        inner = context.within("extension")
        with threadpool_limits(1, user_api="blas"):  # more threads would change last digits
            datasets = context.map(
                "drawing new waves", lambda r: self._dataset(r, inner), range(self.recipe.m)
            )
        settings = self._settings()
        proper = self.recipe.cart().kind_of_draws == "bayesian"
        return Drawn(
            datasets=datasets,
            changed=self.recipe.changes(self.table.names),
            rule=Partial(proper=proper) if self.recipe.keep else Single(proper=proper),
            settings=settings,
            promises=implied_by(settings),
            public_pictures=compared,
        )

    def _settings(self) -> dict[str, Any]:
        """Return what the manifest says: of columns, also what it said of the earlier release."""
        families = [f for f in (self.going_on, self.joining, self.joined_rows) if f is not None]
        stages = [stage for family in families for stage in family.children.models]
        stages += [] if self.newcomers is None else self.newcomers.stages()
        names = self.table.names
        made = settings_of(self.recipe, names, self.levels, self.counted, stages)
        for key in ("moved_numbers_in", "rare_levels_merged_in"):
            both = {*made.get(key, ()), *self.earlier.settings.get(key, ())}
            if key != "moved_numbers_in":
                both -= set(made.get("moved_numbers_in", ()))
            made |= {key: [name for name in names if name in both]} if both else {}
        time, tables = self.waves.columns[self.waves.time], self.earlier.tables
        said = {"columns": [time.name], "until": wave_text(time, self.waves.until)}
        rows = [digest_until(table, said) for table in tables]
        return {**made, "extends": {**said, "release": self.earlier.digest, "rows": rows}}

    def _dataset(self, replicate: int, context: Context) -> Draw:
        """Draw the rows of new waves, and add them to those that were released."""
        panel = self.panels[replicate]
        parts = [self._released(panel)]
        seen = self._seen(replicate, panel, context)
        if self.going_on is not None:
            parts.append(self._new_rows(replicate, panel, seen, context))
        if self.joining is not None and self.joined_rows is not None:
            parts.append(self._joiners(replicate, panel, seen, context))
        if self.newcomers is not None:
            parts.append(self._new_homes(replicate, parts, context))
        columns = {n: joined([part.columns[n] for part in parts]) for n in self.table.names}
        known = {name: int(numbers.max(initial=0)) for name, numbers in panel.numbers.items()}
        units = {name: np.concatenate([part.units[name] for part in parts]) for name in known}
        return Draw(columns, linked=False, units=units, known=known)

    def _released(self, panel: Panel) -> Part:
        return Part(panel.columns, self._numbers(panel, panel.person))

    def _numbers(self, panel: Panel, person: Ints) -> dict[str, Ints]:
        """Return the released numbers of some rows, by their person."""
        return {
            name: numbers[person if name == self._person else panel.home[person]]
            for name, numbers in panel.numbers.items()
        }

    @property
    def _person(self) -> str:
        return str(self.table.units.schema.person)

    @property
    def _fixed(self) -> list[str]:
        """The columns that are constant within people."""
        return [name for level in self.levels[:-1] for name in level.columns]

    def _seen(self, replicate: int, panel: Panel, context: Context) -> Ints:
        """Draw in how many new waves each household is seen."""
        if self.present is None:
            return np.full(panel.homes, np.iinfo(np.int64).max)
        units, past = predictors(self.levels, panel, self.waves.time, self.hidden)
        given = units | {k: c for p, cs in past.items() for k, c in renamed(cs, p).items()}
        inner = context.within("seen")
        drawn = self.present.completed(replicate, panel.homes, given, inner)[SEEN]
        most = int(self.present.codes[SEEN].values.max(initial=0))
        return np.clip(drawn.values.astype(np.int64), 0, most)

    def _new_rows(self, replicate: int, panel: Panel, seen: Ints, context: Context) -> Part:
        """Draw the new rows of people who have rows, given these."""
        assert self.going_on is not None  # noqa: S101  # the caller asked
        here = np.flatnonzero(seen[panel.home] > 0)
        units = {n: c for n, c in panel.of_people(self._fixed).items() if n not in self.hidden}
        units[SO_FAR] = whole_numbers(SO_FAR, panel.rows_so_far)
        units[SEEN] = whole_numbers(SEEN, seen[panel.home])
        for prefix, columns in panel.past(self.levels[-1].columns).items():
            units |= renamed(columns, prefix)
        units = {name: column.take(here) for name, column in units.items()}
        inner, room = context.within("going on"), self._room(panel, seen)[here]
        unit, drawn = self.going_on.drawn(replicate, units, here.size, inner, room)
        person = here[unit]
        own = {name: column.take(person) for name, column in panel.of_people(self._fixed).items()}
        return Part(own | drawn, self._numbers(panel, person))

    def _room(self, panel: Panel, seen: Ints) -> Ints:
        """Return the most new rows of each person.

        As many as the household is seen, no more in all than enough people of the original have,
        and none after a gap from which fewer came back.
        """
        most = _shared_by(self.levels[-1].sizes(self.levels[-2].units), self.recipe)
        room = np.clip(np.minimum(most - panel.rows_so_far, seen[panel.home]), 0, None)
        back = self.waves.coming_back(self.recipe.cart().people_in_level)
        return np.where(np.isin(panel.last_waves(self.waves.time), back), room, 0)

    def _joiners(self, replicate: int, panel: Panel, seen: Ints, context: Context) -> Part:
        """Draw people who join households, and their rows."""
        assert self.joining is not None and self.joined_rows is not None  # noqa: S101, PT018
        here = np.flatnonzero(seen > 0)
        units, past = predictors(self.levels, panel, self.waves.time, self.hidden)
        units[SEEN] = whole_numbers(SEEN, seen)
        units |= renamed(past[MEMBER], MEMBER)
        units = {name: column.take(here) for name, column in units.items()}
        size = np.bincount(panel.home, minlength=panel.homes)
        most = _shared_by(self.levels[-2].sizes(self.levels[-3].units), self.recipe)
        room = np.maximum(most - size, 0)[here]
        home, people = self._fitting_joiners(replicate, panel, here, units, room, context)
        fixed = panel.of_people(self.levels[0].columns)
        of_home = {n: c.take(panel.first_members(self.waves.time)[home]) for n, c in fixed.items()}
        known = of_home | people
        given = {name: column for name, column in known.items() if name not in self.hidden}
        inner = context.within("joined")
        person, drawn = self.joined_rows.drawn(replicate, given, home.size, inner)
        own = {name: column.take(person) for name, column in known.items()}
        first = int(panel.numbers[self._person].max(initial=0)) + 1
        numbers = {
            name: first + person if name == self._person else numbers_[home[person]]
            for name, numbers_ in panel.numbers.items()
        }
        return Part(own | drawn, numbers)

    def _fitting_joiners(
        self,
        replicate: int,
        panel: Panel,
        here: Ints,
        units: Columns,
        room: Ints,
        context: Context,
    ) -> tuple[Ints, dict[str, Column]]:
        """Return the household of each who joins, and columns; none where rules stay broken."""
        assert self.joining is not None  # noqa: S101  # the caller asked
        rules: MemberRules = self.recipe.across
        old = panel.of_people([*self.levels[0].columns, *self.levels[-2].columns])
        left = np.arange(here.size)
        homes: list[Ints] = []
        drawn: list[dict[str, Column]] = []
        for attempt in range(TRIES):
            some = {name: column.take(left) for name, column in units.items()}
            inner = context.within("joining", *([attempt] if attempt else []))
            unit, people = self.joining.drawn(replicate, some, left.size, inner, room[left])
            home = here[left[unit]]
            wrong = np.zeros(panel.homes, dtype=bool)
            if rules.relatives:
                fixed = panel.of_people(self.levels[0].columns)
                new = {n: c.take(panel.first_members(self.waves.time)[home]) for n, c in fixed.items()} | people
                all_ = {name: joined([old[name], new[name]]) for name in old}
                both = np.concatenate([panel.home, home])
                wrong = rules.broken(all_, both, panel.homes) > 0
            right = np.flatnonzero(~wrong[home])
            homes.append(home[right])
            drawn.append({name: column.take(right) for name, column in people.items()})
            left = left[wrong[here[left]] & np.isin(here[left], home)]
            if not left.size:
                break
        both = np.concatenate(homes)
        sort = np.argsort(both, kind="stable")
        columns = {name: joined([d[name] for d in drawn]).take(sort) for name in drawn[0]}
        return both[sort], columns

    def _new_homes(self, replicate: int, parts: Sequence[Part], context: Context) -> Part:
        """Draw new households with new numbers.

        Their number is Poisson around that of the original, for Bayesian draws with a mean from
        its posterior (Jeffreys): whether one more has come does not show in it. Where the design is
        kept, households are those of the design, as in any release that keeps it.
        """
        assert self.newcomers is not None  # noqa: S101  # the caller asked
        number: int | None = None
        if not self.recipe.keep:
            rng = context.streams("number of newcomers", replicate)
            mean = float(self.newcomers.levels[0].units)
            if self.recipe.cart().kind_of_draws == "bayesian":
                mean = rng.standard_gamma(mean + 0.5)
            number = int(rng.poisson(mean))
        draw = self.newcomers.dataset(replicate, context.within("newcomers"), number)
        columns = {
            name: _relabelled(draw.columns[name], self.codes[name]) for name in self.table.names
        }
        last = {
            name: max(int(part.units[name].max(initial=0)) for part in parts)
            for name in parts[0].units
        }
        return Part(columns, {name: last[name] + 1 + draw.units[name] for name in last})


def predictors(
    levels: Sequence[Level], panel: Panel, time: str, hidden: Sequence[str]
) -> tuple[dict[str, Column], dict[str, dict[str, Column]]]:
    """Return what predicts what becomes of households.

    Their own columns, their size and the last wave so far; and, of which the strongest are taken,
    the columns of their first member of it: what is constant, and the last row.
    """
    first = panel.first_members(time)
    fixed = panel.of_people([n for level in levels[:-1] for n in level.columns])
    homes = {n: fixed[n].take(first) for n in levels[0].columns if n not in hidden}
    homes[SO_FAR] = whole_numbers(SO_FAR, np.bincount(panel.home, minlength=panel.homes))
    homes[LAST] = whole_numbers(LAST, panel.homes_last_waves(time))
    rows = panel.past(levels[-1].columns)[PAST[-1]]
    member = {name: fixed[name].take(first) for name in levels[-2].columns}
    return homes, {MEMBER: member | {name: column.take(first) for name, column in rows.items()}}


def _shared_by(sizes: Ints, recipe: HouseholdCart) -> int:
    """Return the largest size that enough units of the original have, or a larger one."""
    enough = min(recipe.cart().people_in_level, sizes.size)
    return int(np.sort(sizes)[::-1][enough - 1])


def _relabelled(column: Column, original: Column) -> Column:
    """Return a column of new households in the codes of the original."""
    if original.labels is None:
        return original.with_values(column.values, column.missing)
    return relabelled(column, original.labels)
