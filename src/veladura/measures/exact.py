"""Columns that are released exactly: who is unique by them, and what they give back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from veladura.table.telling import Telling

if TYPE_CHECKING:
    from veladura.table.table import Table

# More people than this who are unique by one column: whoever knows it finds them, whatever
# protects the other columns. One in a hundred, so that a rare category is not refused.
NEARLY_UNIQUE = 0.01
# A protected column is given back when so many people's values follow from an exact one: typing
# errors and a few exceptions do not make a code list safe.
GIVEN_BACK = 0.95
# And so many of those whom guessing the commonest value gets wrong: a column that is the same for
# nearly everybody is guessed as well by anyone.
BEYOND_GUESSING = 0.8


@dataclass(frozen=True)
class ExactFacts:
    """What a column tells when it is released exactly, or two coordinates together.

    Attributes
    ----------
    columns
        The column, or the two coordinates.
    unique
        People who are unique by it alone.
    people
        All people.
    gives_back
        The protected columns that it gives back, each with the number of people whose value
        follows from it.
    """

    columns: tuple[str, ...]
    unique: int
    people: int
    gives_back: dict[str, int]

    @property
    def name(self) -> str:
        """The column, or both coordinates."""
        return " and ".join(self.columns)

    @property
    def nearly_unique(self) -> bool:
        """Whether it identifies more than one person in a hundred."""
        return self.unique > NEARLY_UNIQUE * self.people

    @property
    def dangerous(self) -> bool:
        """Whether only the holder's reason lets it out."""
        return self.nearly_unique or bool(self.gives_back)


def exact_facts(
    table: Table, names: Sequence[str], protected: Sequence[str]
) -> dict[str, ExactFacts]:
    """Return what each of some columns would tell if it were released exactly.

    Columns of role ``geographic`` are counted in pairs too. With a column of role ``person``,
    people are counted, not rows.

    Parameters
    ----------
    table
        The original, identifiers and all.
    names
        The columns that are released exactly.
    protected
        The columns whose original values are not to be told: dropped or changed by a method.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> towns = pd.DataFrame({"town": [1, 1, 2, 2], "district": ["a", "a", "b", "b"]})
    >>> exact_facts(vd.open(towns), ["town"], ["district"])["town"].gives_back
    {'district': 4}
    """
    table.schema.check("names", names)
    table.schema.check("protected", protected)
    telling = Telling(table, next(iter(table.schema.of_role("person")), None))
    telling.count_ahead([*names, *protected])
    guesses = {name: telling.commonest(name) for name in protected if _can_be_told(telling, name)}
    places = [name for name in table.schema.of_role("geographic") if name in names]
    released: list[tuple[str, ...]] = [*((name,) for name in names), *combinations(places, 2)]
    possible = {columns: _can_be_given_back(telling, columns, guesses) for columns in released}
    telling.cross_ahead((columns, name) for columns in released for name in possible[columns])
    every = [
        ExactFacts(
            columns,
            telling.alone(columns),
            telling.people,
            _given_back(telling, columns, possible[columns], guesses),
        )
        for columns in released
    ]
    return {facts.name: facts for facts in every}


def _can_be_told(telling: Telling, name: str) -> bool:
    """Whether enough people share their values: no rule tells a column of names."""
    shared = telling.people - telling.alone([name])
    return telling.person is not None or shared >= GIVEN_BACK * telling.people


def _can_be_given_back(
    telling: Telling, columns: Sequence[str], protected: Iterable[str]
) -> list[str]:
    """Return the protected columns that single columns do not rule out."""
    return [
        name
        for name in protected
        if name not in columns and telling.most_told(columns, name) >= GIVEN_BACK
    ]


def _given_back(
    telling: Telling, columns: Sequence[str], possible: Sequence[str], guesses: Mapping[str, float]
) -> dict[str, int]:
    """Return the protected columns that some columns give back, with the people concerned.

    Parameters
    ----------
    guesses
        By protected column: the share of people whom guessing its commonest value gets right.
    """
    told = {name: telling.told(columns, name) for name in possible}
    return {
        name: round(share * telling.people)
        for name, share in told.items()
        if share >= GIVEN_BACK
        and share - guesses[name] >= BEYOND_GUESSING * (1 - guesses[name])
        and guesses[name] < 1
    }
