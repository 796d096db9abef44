"""Classes of several k-anonymous releases of the same people, intersected.

People who share a class in one release and another class in the next are fewer than in either
(intersection attack). Any two releases may pass where three single people out, so that all of a
series are intersected too. What an earlier release promised is what counts: its own k, in people or
households, and its l-diversity, t-closeness and other privacy models. A later release with a
smaller k of the same people breaks the promise of the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from veladura.release.earlier import Groups, Judged, judged
from veladura.release.joined import same_generalisation

if TYPE_CHECKING:
    from veladura.release.entry import Entry

SPELLING = (
    "\n\nHint: where the same people are in both, write identifiers in the same way: 007 and 7 are"
    " two people."
)
Classes = Mapping[int, frozenset[int]]  # of each person; several for a person with several rows


@dataclass(frozen=True)
class Added:
    """What a new release adds to an older one of its series, or to several.

    Attributes
    ----------
    name, made
        The older release.
    k
        What the older release promised; of several the largest.
    shared
        People who are in both.
    below, alone
        Of them those whose two classes together are shared by fewer than k people (or households)
        of both releases, and by nobody else.
    newcomers
        People of the new release only, fewer than its k of whom joined a class that the older
        release has too, or a union of classes: who subtracts the older counts finds them.
    leavers
        People of the older release only, fewer than its k of whom left a class that the new release
        has too, or a union of classes: who subtracts the new counts finds them.
    levels
        The levels of the older release, for a new one that is consistent with it.
    releases
        How many older releases it is about.
    counted
        What k counts: "people" or "households".
    alike
        People in groups with fewer different sensitive values than the l-diversity of the older
        release promised.
    unjudged
        Promises of the older release that its remembered hashes cannot judge.
    unlike
        People in groups that break another privacy model which the older release promised, by its
        name.
    consistent
        Whether the new release has the generalisation of the older one.
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
    counted: str = "people"
    alike: int = 0
    unjudged: tuple[str, ...] = ()
    unlike: dict[str, int] = field(default_factory=dict)
    consistent: bool = False

    @property
    def broken(self) -> int:
        """People for whom a promise of an older release is broken."""
        return max(self.below, self.alike, *self.unlike.values())

    def __str__(self) -> str:
        older, within = (f"{self.name!r} of", "both")
        if self.releases > 1:
            older, within = (f"all {self.releases} earlier releases, the last", "three or more")
        said = (
            f"with {older} {self.made[:10]}: {self.below:,} of {self.shared:,} people in"
            f" {within} are in groups of fewer than k = {self.k}{self._unit}, {self.alone:,} of"
            " them alone"
        )
        if self.alike:
            said += (
                f"; {self.alike:,} are in groups with fewer different sensitive values than its"
                " l-diversity promised"
            )
        for name, people in self.unlike.items():
            said += f"; {people:,} are in groups that break its {name}"
        if not self.shared and self.releases == 1:
            said += " (nobody is in both)"
        gone = {"newcomers": self.newcomers, "people who left": self.leavers}
        if any(gone.values()):
            words = " and ".join(f"{number:,} {who}" for who, number in gone.items() if number)
            said += f"; {words} stand out when counts are subtracted"
        if self.unjudged:
            said += f"; its {', '.join(self.unjudged)} cannot be judged from what was remembered"
        return said

    @property
    def worth_saying(self) -> bool:
        """Whether the holder should hear of it though nothing is broken."""
        nobody = not self.shared and self.releases == 1
        return bool(self.newcomers or self.leavers or self.unjudged or nobody)

    @property
    def hint(self) -> str:
        """What to look at where people cannot be recognised, or are told by subtraction."""
        if not self.shared and self.releases == 1:
            return SPELLING
        if self.newcomers or self.leavers:
            return (
                "\n\nHint: where nothing else of a class has changed, its rows of then less those"
                " of now are theirs. Release all of the same people, or coarser classes, in which"
                " k or more come and go."
            )
        return ""

    @property
    def remedy(self) -> str:
        """What the holder can do where a promise is broken."""
        if self.consistent:
            return (
                "the generalisation is that of then, and these people are in other classes than"
                " then: they moved, aged or changed in another way, and fewer than k did the same."
                " Release what stays (a year of birth instead of an age, the place of then), or"
                " coarser values of what changes, from the first release on"
            )
        levels = ", ".join(f"{name} = {level}" for name, level in self.levels.items())
        same = "the same generalisation as before"
        same += f" (levels = {{{levels}}} in the k-anonymity step)" if levels else ""
        return (
            f"release {same}, the k that was promised then (k = {self.k}) or a larger one, or"
            " columns that were released before only"
        )

    @property
    def _unit(self) -> str:
        """What k counts, where it is not people, and whose k it is, where there are several."""
        unit = "" if self.counted == "people" else f" {self.counted}"
        return unit if self.releases == 1 else f"{unit} (or the k of the releases that they are in)"


def added(old: Entry, new: Entry) -> Added:
    """Return what a release adds to an older one: classes intersected, people who come and go."""
    before, now = _promised(old), _classes(new)
    both: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for person in before.keys() & now.keys():
        for was in before[person]:
            for group in now[person]:
                both[was, group].add(person)
    judge = judged([old], new)
    small, alone, alike, unlike = _people(both, judge)
    return Added(
        old.name,
        old.made,
        old.k,
        len(before.keys() & now.keys()),
        len(small),
        len(alone),
        len(_only(now, before, new.k)),
        len(_only(before, now, old.k)),
        old.levels,
        counted=judge.counted,
        alike=len(alike),
        unjudged=judge.unjudged,
        unlike={name: len(people) for name, people in unlike.items()},
        consistent=same_generalisation(old, new),
    )


def either(first: Entry, second: Entry) -> Added:
    """Return what two releases of one day tell together: the promise of each counts."""
    results = added(first, second), added(second, first)
    worst = max(results, key=lambda result: (result.broken, result.k))
    return replace(worst, name=first.name, made=first.made)


def _people(
    groups: Groups, judge: Judged
) -> tuple[set[int], set[int], set[int], dict[str, set[int]]]:
    """Return the people in groups that are too small, of one, too much alike, or break a model."""
    each = groups.values()
    small: set[int] = set().union(*(g for g in each if judge.size(g) < judge.k))
    alone: set[int] = set().union(*(g for g in each if len(g) == 1))
    alike: set[int] = set().union(*(g for g in each if judge.is_alike(g)))
    return small, alone, alike, judge.breaking(groups)


def added_to_all(old: Sequence[Entry], new: Entry) -> Added | None:
    """Return what a release adds to two or more older ones that have people in common with it.

    Of a person who is in some of them the classes in all of these are intersected: those count who
    are in these releases too, and in the same classes. None where nobody is in three.
    """
    if new.kind != "classes" or len(old) < 2:  # noqa: PLR2004
        return None
    held = [*(_promised(entry) for entry in old), _classes(new)]
    seen: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
    for person in held[-1]:
        places = tuple(at for at, classes in enumerate(held) if person in classes)
        if len(places) > 2:  # noqa: PLR2004  # two are judged as a pair
            seen[places].add(person)
    if not seen:
        return None
    below, alone, alike, counted = 0, 0, 0, "people"
    unlike: defaultdict[str, int] = defaultdict(int)
    for places, people in seen.items():
        groups: defaultdict[tuple[frozenset[int], ...], set[int]] = defaultdict(set)
        for person in set.intersection(*(set(held[at]) for at in places)):
            groups[tuple(held[at][person] for at in places)].add(person)
        judge = judged([old[at] for at in places if at < len(old)], new)
        *found, models = _people(groups, judge)
        below, alone, alike = (
            number + len(own & people)
            for number, own in zip((below, alone, alike), found, strict=True)
        )
        for name, own in models.items():
            unlike[name] += len(own & people)
        counted = judge.counted if judge.counted != "people" else counted
    shared, last = sum(map(len, seen.values())), old[-1]
    return Added(
        last.name,
        last.made,
        max(entry.k for entry in old),
        shared,
        below,
        alone,
        0,
        0,
        last.levels,
        len(old),
        counted,
        alike,
        unlike={name: number for name, number in unlike.items() if number},
        consistent=all(same_generalisation(entry, new) for entry in old),
    )


def _classes(entry: Entry) -> Classes:
    """Return the classes of each person of a release."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for person, group in zip(entry.person.tolist(), entry.group.tolist(), strict=True):
        found[person].add(group)
    return {person: frozenset(groups) for person, groups in found.items()}


def _promised(entry: Entry) -> Classes:
    """Return the classes of each person who is in one: starred rows were promised nothing."""
    held = {who: groups.difference(entry.outside) for who, groups in _classes(entry).items()}
    return {who: groups for who, groups in held.items() if groups}


def _only(here: Classes, there: Classes, k: int) -> set[int]:
    """Return the people of one release only, fewer than k of whom are told by subtraction.

    Counts can be subtracted for a class that both have, and for the least union of classes that
    holds the same people in both: of a coarser release the class with all that fell into it.
    """
    kept = {group for groups in there.values() for group in groups}
    union = _unions(here, there)
    apart: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for person in here.keys() - there.keys():
        for group in here[person]:
            if group in kept:
                apart["class", group].add(person)
            if group in union:
                apart["union", union[group]].add(person)
    return set().union(*(people for people in apart.values() if len(people) < k))


def _unions(here: Classes, there: Classes) -> dict[int, int]:
    """Return for each class the least union of classes of both that people in both connect."""
    leads: dict[tuple[str, int], tuple[str, int]] = {}

    def root(node: tuple[str, int]) -> tuple[str, int]:
        while (above := leads.setdefault(node, node)) != node:
            leads[node] = leads[above]  # halves the way
            node = above
        return node

    for person in here.keys() & there.keys():
        places = [("here", group) for group in here[person]]
        places += [("there", group) for group in there[person]]
        for place in places[1:]:
            leads[root(place)] = root(places[0])
    ends = {place: root(place) for place in list(leads)}
    numbers = {end: at for at, end in enumerate(dict.fromkeys(ends.values()))}
    return {group: numbers[end] for (side, group), end in ends.items() if side == "here"}
