"""Rows of two releases of the same people, linked by columns that hold the same values in both.

These are columns that both release exactly, and masked ones where both have the same draws. Whoever
finds a person in a file of rows, by what is known of people and released as it is, reads off the
person's other columns. A k-anonymous release that has some of these too then holds fewer than k
rows that can be the person's: those of the class that have the same values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veladura.release.entry import Entry

HALF = 0.5  # of the people in both: a column that agrees for fewer links nobody reliably


def linking(first: Entry, second: Entry) -> tuple[str, ...]:
    """Return the columns that hold the same value in both releases for most people in both."""
    return tuple(
        name
        for name in first.shown
        if name in second.shown and _agreement(first, second, name) > HALF
    )


def _agreement(first: Entry, second: Entry, name: str) -> float:
    """Return the share of people in both who hold a value of a column in both."""
    one, other = _values(first, name), _values(second, name)
    both = one.keys() & other.keys()
    return sum(bool(one[person] & other[person]) for person in both) / max(len(both), 1)


def found_by(classes: Entry, rows: Entry) -> set[int]:
    """Return the people of whom fewer than k rows of their class are left by another release.

    Parameters
    ----------
    classes
        A k-anonymous release.
    rows
        A release whose rows are people: its known columns that are exact tell who may be who.
    """
    by, known = linking(classes, rows), [n for n in rows.columns if n in rows.exact]
    if not by or not known:
        return set()
    held: defaultdict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    places: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
    of_rows = zip(rows.person.tolist(), cells(rows, known), cells(rows, by), strict=True)
    for person, cell, values in of_rows:
        held[cell].add(values)
        places[person].append(cell)
    people: defaultdict[int, defaultdict[tuple[int, ...], set[int]]]
    people = defaultdict(lambda: defaultdict(set))
    of_class = list(zip(classes.group.tolist(), classes.person.tolist(), strict=True))
    for (group, person), values in zip(of_class, cells(classes, by), strict=True):
        people[group][values].add(person)
    left: dict[tuple[int, tuple[int, ...]], set[int]] = {}
    found: set[int] = set()
    for group, person in of_class:
        for cell in places.get(person, ()):
            if (group, cell) not in left:
                left[group, cell] = _among(people[group], held[cell])
            candidates = left[group, cell]
            if person in candidates and len(candidates) < classes.k:
                found.add(person)
    return found


def drawn_twice(first: Entry, second: Entry) -> tuple[tuple[str, ...], set[int]]:
    """Return the columns that two releases drew for the same people, and people with two draws."""
    columns, twice = [], set()
    for name in (name for name in first.drawn if name in second.drawn):
        one, other = _values(first, name), _values(second, name)
        people = {p for p in one.keys() & other.keys() if not one[p] & other[p]}
        columns += [name] if people else []
        twice |= people
    return tuple(columns), twice


def linked_people(first: Entry, second: Entry) -> set[int]:
    """Return the people with a row in either file that is alone, and the same, by what links."""
    by = linking(first, second)
    one, other = _alone(first, by), _alone(second, by)
    return {person for values, person in one.items() if other.get(values) == person}


def cells(entry: Entry, columns: Sequence[str]) -> Iterable[tuple[int, ...]]:
    """Return what each row holds in some columns, as hashes."""
    return zip(*(entry.shown[name].tolist() for name in columns), strict=True)


def _values(entry: Entry, name: str) -> dict[int, set[int]]:
    """Return what each person holds in a column, as hashes."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for person, value in zip(entry.person.tolist(), entry.shown[name].tolist(), strict=True):
        found[person].add(value)
    return found


def _alone(entry: Entry, by: Sequence[str]) -> dict[tuple[int, ...], int]:
    """Return the person of rows that are alone by some columns."""
    rows = list(zip(cells(entry, by), entry.person.tolist(), strict=True)) if by else []
    times = Counter(values for values, _ in rows)
    return {values: person for values, person in rows if times[values] == 1}


def _among(people: dict[tuple[int, ...], set[int]], held: set[tuple[int, ...]]) -> set[int]:
    """Return the people of a class who hold one of some values."""
    fewer = held if len(held) < len(people) else people
    return set().union(*(people[v] for v in fewer if v in people and v in held))
