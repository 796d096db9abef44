"""Rows of two releases of the same people, linked by columns that hold the same values in both.

These are columns that both release exactly, and masked ones where both have the same draws. Whoever
finds a person in a file of rows, by what is known of people and released as it is, reads off the
person's other columns. A k-anonymous release that has some of these too then holds fewer than k
rows that can be the person's: those of the class that have the same values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from veladura.release.entry import Entry

Cell = tuple[int, ...]
Place = TypeVar("Place", bound=Hashable)
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
        A k-anonymous release. Of people whom its own exact columns leave among fewer than k nobody
        is counted: the other release is not what finds them.
    rows
        A release whose rows are people: its known columns that are exact tell who may be who, and
        its classes if it has any.
    """
    by = linking(classes, rows) if tells_more(classes, rows) else ()
    if not by:
        return set()
    held: defaultdict[Cell, set[Cell]] = defaultdict(set)
    for cell, values in zip(known_cells(rows), cells(rows, by), strict=True):
        held[cell].add(values)
    people: defaultdict[int, defaultdict[Cell, set[int]]]
    people = defaultdict(lambda: defaultdict(set))
    of_class = zip(classes.group.tolist(), classes.person.tolist(), strict=True)
    for (group, person), values in zip(of_class, cells(classes, by), strict=True):
        people[group][values].add(person)

    def left(group: int, cell: Cell) -> set[int]:
        return _among(people[group], held[cell])

    return _too_few(classes, _cells_of(rows), left)


def found_through(classes: Entry, rows: Entry, middle: Entry) -> set[int]:
    """Return the people whom `found_by` finds in two releases that are joined before.

    The known columns of one lead to rows of the other by what both have, and these to rows of the
    class: the natural join of all three, as sets of values.
    """
    link = linking(rows, middle) if tells_more(classes, rows) else ()
    ends = linking(classes, middle) if link else ()
    if not ends:
        return set()
    first = _Reach.of(rows, linking(classes, rows), link)
    second = _Reach.of(middle, ends, link)
    people: defaultdict[int, defaultdict[tuple[Cell, Cell], set[int]]]
    people = defaultdict(lambda: defaultdict(set))
    values = zip(cells(classes, first.by), cells(classes, second.by), strict=True)
    of_class = zip(classes.group.tolist(), classes.person.tolist(), strict=True)
    for (group, person), both in zip(of_class, values, strict=True):
        people[group][both].add(person)

    def left(group: int, cell: tuple[Cell, Cell]) -> set[int]:
        found: set[int] = set()
        for both, own in people[group].items():
            if first.meets(second, cell, both):
                found |= own
            if len(found) >= classes.k:
                break
        return found

    one, other = _cells_of(rows), _cells_of(middle)
    pairs = {who: set(product(one[who], other[who])) for who in one.keys() & other.keys()}
    return _too_few(classes, pairs, left)


def tells_more(classes: Entry, rows: Entry) -> bool:
    """Whether a release says of known columns what a k-anonymous one does not say by itself."""
    own = set(rows.known_exact)
    if classes.kind == rows.kind and same_generalisation(classes, rows):
        own -= set(classes.known_exact)
    return bool(own)


def same_generalisation(old: Entry, new: Entry) -> bool:
    """Whether two k-anonymous releases have the same levels of the same columns."""
    return bool(old.levels) and set(old.columns) == set(new.columns) and old.levels == new.levels


def known_cells(entry: Entry) -> list[Cell]:
    """Return what is known of each row: exact known columns, and the class if there is one."""
    known = cells(entry, entry.known_exact)
    if entry.kind != "classes":
        return known
    return [(group, *cell) for group, cell in zip(entry.group.tolist(), known, strict=True)]


def _cells_of(entry: Entry) -> dict[int, set[Cell]]:
    """Return what is known of the rows of each person."""
    places: defaultdict[int, set[Cell]] = defaultdict(set)
    for person, cell in zip(entry.person.tolist(), known_cells(entry), strict=True):
        places[person].add(cell)
    return places


def _too_few(
    classes: Entry,
    places: Mapping[int, Iterable[Place]],
    left: Callable[[int, Place], set[int]],
) -> set[int]:
    """Return the people among fewer than k candidates, whom the classes alone do not find."""
    own: defaultdict[Cell, set[int]] = defaultdict(set)
    rows = list(zip(known_cells(classes), classes.group.tolist(), strict=True))
    people = classes.person.tolist()
    for (cell, _), person in zip(rows, people, strict=True):
        own[cell].add(person)
    kept: dict[tuple[int, Place], set[int]] = {}
    found: set[int] = set()
    for (cell, group), person in zip(rows, people, strict=True):
        for place in places.get(person, ()) if len(own[cell]) >= classes.k else ():
            if (group, place) not in kept:
                kept[group, place] = left(group, place)
            candidates = kept[group, place]
            if person in candidates and len(candidates) < classes.k:
                found.add(person)
    return found


@dataclass(frozen=True)
class _Reach:
    """What a release holds of known people: by what it shares with two others.

    Attributes
    ----------
    by
        The columns that it shares with the classes.
    links
        For each known cell and each value of these, the values that it shares with the other.
    """

    by: tuple[str, ...]
    links: Mapping[tuple[Cell, Cell], set[Cell]]

    @classmethod
    def of(cls, entry: Entry, by: tuple[str, ...], link: tuple[str, ...]) -> _Reach:
        links: defaultdict[tuple[Cell, Cell], set[Cell]] = defaultdict(set)
        rows = zip(known_cells(entry), cells(entry, by), cells(entry, link), strict=True)
        for cell, value, shared in rows:
            links[cell, value].add(shared)
        return cls(by, dict(links))

    def meets(self, other: _Reach, cell: tuple[Cell, Cell], values: tuple[Cell, Cell]) -> bool:
        """Whether rows of both that are in known cells, and hold some values, are linked."""
        one = self.links.get((cell[0], values[0]))
        two = other.links.get((cell[1], values[1]))
        return bool(one and two and not one.isdisjoint(two))


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


def cells(entry: Entry, columns: Sequence[str]) -> list[Cell]:
    """Return what each row holds in some columns, as hashes."""
    if not columns:
        return [()] * len(entry.person)
    return list(zip(*(entry.shown[name].tolist() for name in columns), strict=True))


def _values(entry: Entry, name: str) -> dict[int, set[int]]:
    """Return what each person holds in a column, as hashes."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for person, value in zip(entry.person.tolist(), entry.shown[name].tolist(), strict=True):
        found[person].add(value)
    return found


def _alone(entry: Entry, by: Sequence[str]) -> dict[Cell, int]:
    """Return the person of rows that are alone by some columns."""
    rows = list(zip(cells(entry, by), entry.person.tolist(), strict=True)) if by else []
    times = Counter(values for values, _ in rows)
    return {values: person for values, person in rows if times[values] == 1}


def _among(people: dict[Cell, set[int]], held: set[Cell]) -> set[int]:
    """Return the people of a class who hold one of some values."""
    fewer = held if len(held) < len(people) else people
    return set().union(*(people[v] for v in fewer if v in people and v in held))
