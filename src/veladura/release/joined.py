"""Rows of two releases of the same people, linked by the columns that both release exactly.

Whoever finds a person in a file of rows, by what is known of people and released as it is, reads
off the person's other columns. A k-anonymous release that has some of these too then holds fewer
than k rows that can be the person's: those of the class that have the same values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints

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


def drawn_twice(first: Entry, second: Entry) -> tuple[tuple[str, ...], set[int]]:
    """Return the columns that two releases drew for the same people, and people with two draws.

    Their rows are alone in either file by the columns that both release exactly, and hold different
    values in what was drawn.
    """
    columns = tuple(name for name in first.drawn if name in second.drawn)
    by = shared_exact(first, second)
    if not columns or not by:
        return columns, set()
    one, other = _alone(first, by), _alone(second, by)
    same_columns = set(first.drawn) == set(second.drawn)
    return columns, {
        first_person
        for values, (first_person, draw) in one.items()
        if values in other
        and other[values][0] == first_person
        and not (same_columns and other[values][1] == draw)
    }


def cells(entry: Entry, columns: Sequence[str]) -> Iterable[tuple[int, ...]]:
    """Return what each row holds in some exact columns, as hashes."""
    return zip(*(entry.exact[name].tolist() for name in columns), strict=True)


def _alone(entry: Entry, by: Sequence[str]) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return the person and the draw of rows that are alone by some exact columns."""
    draws: Ints = entry.draws if entry.draws.size else np.zeros_like(entry.person)
    rows = list(zip(cells(entry, by), entry.person.tolist(), draws.tolist(), strict=True))
    times: defaultdict[tuple[int, ...], int] = defaultdict(int)
    for values, _, _ in rows:
        times[values] += 1
    return {values: (person, draw) for values, person, draw in rows if times[values] == 1}


def _among(people: dict[tuple[int, ...], set[int]], held: set[tuple[int, ...]]) -> set[int]:
    """Return the people of a class who hold one of some values."""
    fewer = held if len(held) < len(people) else people
    return set().union(*(people[v] for v in fewer if v in people and v in held))
