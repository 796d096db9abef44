"""Draw what comes after an earlier release: its rows stay, and rows of new waves are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.blas import one_thread
from veladura.base.context import Context
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial, Single
from veladura.methods.cart.fitted import FittedCart
from veladura.methods.cart.pictures import compared
from veladura.methods.households.children import SEEN, SO_FAR, renamed, whole_numbers
from veladura.methods.households.drawing import Family, joined
from veladura.methods.households.extends import digest_until, wave_text
from veladura.methods.households.fitted import FittedHouseholds, settings_of
from veladura.methods.households.household_cart import HouseholdCart
from veladura.methods.households.joining import Joining, predictors, shared_by
from veladura.methods.households.levels import Level
from veladura.methods.households.promises import implied_by
from veladura.methods.households.waves import Panel, Part, Waves
from veladura.table.codes import Column, relabelled

if TYPE_CHECKING:
    from veladura.core.earlier import Earlier


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
    joining
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
    joining: Joining | None
    newcomers: FittedHouseholds | None

    def draw(self, context: Context) -> Drawn:
        """Draw the m datasets, each from streams of its own.

        The combining rule is that of the earlier release.
        """
        inner = context.within("extension")
        with one_thread():  # more threads would change last digits
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
        families = [] if self.going_on is None else [self.going_on]
        families += [] if self.joining is None else [self.joining.people, self.joining.rows]
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
        if np.any(seen > 0):
            if self.going_on is not None:
                parts.append(self._new_rows(replicate, panel, seen, context))
            if self.joining is not None:
                parts += self.joining.drawn(replicate, panel, seen, context)
        parts += self._new_homes(replicate, parts, context)
        columns = {n: joined([part.columns[n] for part in parts]) for n in self.table.names}
        names = {role: self._unit(role) for role in panel.numbers}
        return Draw(
            columns,
            linked=False,
            units={
                n: np.concatenate([part.units[role] for part in parts]) for role, n in names.items()
            },
            known={n: int(panel.numbers[role].max(initial=0)) for role, n in names.items()},
        )

    def _unit(self, role: str) -> str:
        """Return the column that numbers people or households."""
        schema = self.table.units.schema
        return str(schema.person if role == "person" else schema.household)

    def _released(self, panel: Panel) -> Part:
        return Part(panel.columns, self._numbers(panel, panel.person))

    def _numbers(self, panel: Panel, person: Ints) -> dict[str, Ints]:
        """Return the released numbers of some rows, by their person."""
        return {
            role: numbers[person if role == "person" else panel.home[person]]
            for role, numbers in panel.numbers.items()
        }

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
        people = self.recipe.cart().people_in_level
        most = shared_by(self.levels[-1].sizes(self.levels[-2].units), people)
        room = np.clip(np.minimum(most - panel.rows_so_far, seen[panel.home]), 0, None)
        back = self.waves.coming_back(people)
        return np.where(np.isin(panel.last_waves(self.waves.time), back), room, 0)

    def _new_homes(self, replicate: int, parts: Sequence[Part], context: Context) -> list[Part]:
        """Draw new households with new numbers; none where too few of the original are new.

        Their number is Poisson around that of the original, for Bayesian draws with a mean from
        its posterior (Jeffreys): whether one more has come does not show in it. Where the design is
        kept, households are those of the design, as in any release that keeps it.
        """
        if self.newcomers is None:
            return []
        number: int | None = None
        if not self.recipe.keep:
            rng = context.streams("number of newcomers", replicate)
            mean = float(self.newcomers.levels[0].units)
            if self.recipe.cart().kind_of_draws == "bayesian":
                mean = rng.standard_gamma(mean + 0.5)
            number = int(rng.poisson(mean))
            if not number:
                return []
        draw = self.newcomers.dataset(replicate, context.within("newcomers"), number)
        columns = {
            name: _relabelled(draw.columns[name], self.codes[name]) for name in self.table.names
        }
        numbers = {}
        for role in parts[0].units:
            last = max(int(part.units[role].max(initial=0)) for part in parts)
            numbers[role] = last + 1 + draw.units[self._unit(role)]
        return [Part(columns, numbers)]


def _relabelled(column: Column, original: Column) -> Column:
    """Return a column of new households in the codes of the original."""
    if original.labels is None:
        return original.with_values(column.values, column.missing)
    return relabelled(column, original.labels)
