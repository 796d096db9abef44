"""Rows of two releases of the same people, linked by the columns that both release exactly.

Whoever finds a person in a file of rows, by what is known of people and released as it is, reads
off the person's other columns. A k-anonymous release that has some of these too then holds fewer
than k rows that can be the person's: those of the class that have the same values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veladura.release.entry import Entry


def shared_exact(first: Entry, second: Entry) -> tuple[str, ...]:
    """Return the columns that both releases hold exactly, in rows of people."""
    return tuple(name for name in first.exact if name in second.exact)


def found_by(classes: Entry, rows: Entry) -> set[int]:
    """Return the people of whom fewer than k rows of their class are left by another release.

    Parameters
    ----------
    classes
        A k-anonymous release.
    rows
        A release whose rows are people: its known columns that are exact tell who may be who.
    """
    by, known = shared_exact(classes, rows), [n for n in rows.columns if n in rows.exact]
    if not by or not known:
        return set()
    seen = [tuple(cell) for cell in zip(*(rows.exact[n].tolist() for n in known), strict=True)]
    held: defaultdict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    places: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
    for person, cell, values in zip(rows.person.tolist(), seen, cells(rows, by), strict=True):
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


def drawn_twice(first: Entry, second: Entry) -> tuple[tuple[str, ...], set[int], set[int]]:
    """Return the columns that two releases drew for the same people, and people with two draws.

    The last are those of them whose rows are the same, and alone in either file, by the columns
    that both release exactly.
    """
    columns = tuple(name for name in first.drawn if name in second.drawn)
    if not columns:
        return columns, set(), set()
    draws = _draws(first), _draws(second)
    same_columns = set(first.drawn) == set(second.drawn)
    twice = {
        person
        for person in draws[0].keys() & draws[1].keys()
        if not (same_columns and draws[0][person] & draws[1][person])
    }
    by = shared_exact(first, second)
    one, other = _alone(first, by), _alone(second, by)
    return columns, twice, {p for v, p in one.items() if other.get(v) == p and p in twice}


def cells(entry: Entry, columns: Sequence[str]) -> Iterable[tuple[int, ...]]:
    """Return what each row holds in some exact columns, as hashes."""
    return zip(*(entry.exact[name].tolist() for name in columns), strict=True)


def _draws(entry: Entry) -> dict[int, set[int]]:
    """Return what was drawn for each person, as hashes."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for person, draw in zip(entry.person.tolist(), entry.draws.tolist(), strict=True):
        found[person].add(draw)
    return found


def _alone(entry: Entry, by: Sequence[str]) -> dict[tuple[int, ...], int]:
    """Return the person of rows that are alone by some exact columns."""
    rows = list(zip(cells(entry, by), entry.person.tolist(), strict=True)) if by else []
    times = Counter(values for values, _ in rows)
    return {values: person for values, person in rows if times[values] == 1}


def _among(people: dict[tuple[int, ...], set[int]], held: set[tuple[int, ...]]) -> set[int]:
    """Return the people of a class who hold one of some values."""
    fewer = held if len(held) < len(people) else people
    return set().union(*(people[v] for v in fewer if v in people and v in held))
