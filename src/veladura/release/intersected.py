"""Classes of several k-anonymous releases of the same people, intersected.

People who share a class in one release and another class in the next are fewer than in either
(intersection attack). Any two releases may pass where three single people out, so that all of a
series are intersected too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veladura.release.series import Entry

Classes = Mapping[int, frozenset[int]]  # of each person; several for a person with several rows


@dataclass(frozen=True)
class Added:
    """What a new release adds to an older one of its series, or to several.

    Attributes
    ----------
    name, made, k
        The older release, and the smallest k of all.
    shared
        People who are in both.
    below, alone
        Of them those whose two classes together are shared by fewer than k people of both
        releases, and by nobody else.
    newcomers
        People of the new release only, fewer than k of whom joined a class that the older release
        has too: who subtracts the older counts finds them.
    leavers
        People of the older release only, fewer than k of whom left a class that the new release
        has too: who subtracts the new counts finds them.
    levels
        The levels of the older release, for a new one that is consistent with it.
    releases
        How many older releases it is about.
    """

    name: str
    made: str
    k: int
    shared: int
    below: int
    alone: int
    newcomers: int
    leavers: int
    levels: dict[str, int]
    releases: int = 1

    def __str__(self) -> str:
        older, within = (f"{self.name!r} of", "both")
        if self.releases > 1:
            older, within = (f"all {self.releases} earlier releases, the last", "three or more")
        told = (
            f"with {older} {self.made[:10]}: {self.below:,} of {self.shared:,} people in"
            f" {within} are in groups of fewer than k = {self.k}, {self.alone:,} of them alone"
        )
        if not self.shared and self.releases == 1:
            told += " (nobody is in both: check that identifiers are written in the same way)"
        gone = {"newcomers": self.newcomers, "people who left": self.leavers}
        if any(gone.values()):
            words = " and ".join(f"{number:,} {who}" for who, number in gone.items() if number)
            told += f"; {words} stand out when counts are subtracted"
        return told


def added(old: Entry, new: Entry) -> Added:
    """Return what a release adds to an older one: classes intersected, people who come and go."""
    k = min(old.k, new.k)
    before, now = _classes(old), _classes(new)
    both: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for person in before.keys() & now.keys():
        for was in before[person]:
            for group in now[person]:
                both[was, group].add(person)
    small: set[int] = set().union(*(people for people in both.values() if len(people) < k))
    alone: set[int] = set().union(*(people for people in both.values() if len(people) == 1))
    shared = len(before.keys() & now.keys())
    came, went = _only(now, before, k), _only(before, now, k)
    return Added(old.name, old.made, k, shared, len(small), len(alone), came, went, old.levels)


def added_to_all(old: Sequence[Entry], new: Entry) -> Added | None:
    """Return what a release adds to two or more older ones that have people in common with it.

    Of a person who is in some of them the classes in all of these are intersected: those count who
    are in these releases too, and in the same classes. None where nobody is in three.
    """
    if new.kind != "classes" or len(old) < 2:  # noqa: PLR2004
        return None
    held = [*(_classes(entry) for entry in old), _classes(new)]
    least = [entry.k for entry in (*old, new)]
    seen: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for person in held[-1]:
        places = tuple(at for at, classes in enumerate(held) if person in classes)
        if len(places) > 2:  # noqa: PLR2004  # two are judged as a pair
            seen[places].append(person)
    below = alone = 0
    for places, people in seen.items():
        them = set.intersection(*(set(held[at]) for at in places))
        sizes = Counter(tuple(held[at][person] for at in places) for person in them)
        fewest = min(least[at] for at in places)
        own = [sizes[tuple(held[at][person] for at in places)] for person in people]
        below += sum(size < fewest for size in own)
        alone += sum(size == 1 for size in own)
    if not seen:
        return None
    shared = sum(map(len, seen.values()))
    last = old[-1]
    return Added(
        last.name, last.made, min(least), shared, below, alone, 0, 0, last.levels, len(old)
    )


def _classes(entry: Entry) -> Classes:
    """Return the classes of each person of a release."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for person, group in zip(entry.person.tolist(), entry.group.tolist(), strict=True):
        found[person].add(group)
    return {person: frozenset(groups) for person, groups in found.items()}


def _only(here: Classes, there: Classes, k: int) -> int:
    """Return the people of one release only, fewer than k in a class that both have."""
    kept = {group for groups in there.values() for group in groups}
    apart: defaultdict[int, set[int]] = defaultdict(set)
    for person in here.keys() - there.keys():
        for group in here[person] & kept:
            apart[group].add(person)
    return len(set().union(*(people for people in apart.values() if len(people) < k)))
