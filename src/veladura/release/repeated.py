"""The same people in two releases without classes: what both tell together.

Synthetic rows are nobody's, so there are no classes to intersect. What can be counted: people who
are unique on the known columns and whose combination a single row holds in both releases
(replicated uniques of both), and how far an intruder may trust a combination that stands alone in
both. Where rows are people's they are linked by the columns that both release exactly: two draws
for one person are averaged, and a person of a class is found among fewer than k. Private releases
add up: epsilon of both is the sum, and delta (Dwork and Roth 2014, theorem 3.16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints
from veladura.release.intersected import SPELLING
from veladura.release.joined import (
    drawn_twice,
    found_by,
    found_through,
    linked_people,
    linking,
)

if TYPE_CHECKING:
    from veladura.release.entry import Entry

NOBODY = "nobody is in both"


@dataclass(frozen=True)
class Repeated:
    """What a release without classes, and another one, tell together.

    Attributes
    ----------
    name, made
        The older release.
    shared
        People who are in both.
    replicated
        People of both who are replicated uniques of the newer release.
    both
        Of them those who are replicated uniques of both.
    claims, right
        Combinations that stand alone in both releases, and those among them that one person of the
        newer source holds.
    claims_alone, right_alone
        The same of the newer release by itself.
    epsilon, delta
        What the private releases of both spend together.
    found, k
        People of the k-anonymous one of both whom the other one leaves among fewer than its k.
    earlier
        Whether the k-anonymous one is the older one: its promise is broken.
    by
        The columns by which rows of both are linked.
    drawn, twice
        The columns that both drew for the same people, and the people with two draws.
    linked
        People whose rows are the same, and alone in both files, by the columns that link.
    through
        A third release, by whose rows those of both are linked.
    why
        What could not be counted, and why.
    """

    name: str
    made: str
    shared: int = 0
    replicated: int = 0
    both: int = 0
    claims: int = 0
    right: int = 0
    claims_alone: int = 0
    right_alone: int = 0
    epsilon: float = 0.0
    delta: float = 0.0
    found: int = 0
    k: int = 0
    earlier: bool = False
    by: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    twice: int = 0
    linked: int = 0
    through: str = ""
    why: str = ""

    @property
    def broken(self) -> int:
        """People for whom the k of an older release is broken; rows alone promise no groups."""
        return self.found if self.earlier else 0

    @property
    def worth_saying(self) -> bool:
        """What rows tell twice is always said: no promise covers it."""
        return True

    @property
    def hint(self) -> str:
        """How people keep one draw, or are recognised."""
        if self.why == NOBODY:
            return SPELLING
        if not self.twice:
            return ""
        return "\n\nHint: consistent = true in [custodian] gives people the values of then again."

    @property
    def remedy(self) -> str:
        """What the holder can do where a promise is broken."""
        return (
            f"leave out columns that are the same in both ({', '.join(self.by)}), or protect the"
            " quasi-identifiers of this release as those of the earlier one"
        )

    def __str__(self) -> str:
        told = f"with {self.name!r} of {self.made[:10]}: "
        if self.epsilon:
            told += f"epsilon = {self.epsilon:g} together"
            told += f", delta = {self.delta:g}" if self.delta else ""
        if self.why:
            return told + ("; " if self.epsilon else "") + self.why + self._more
        if self.epsilon:
            return told
        if self.found:
            whose = "its" if self.earlier else "this release's"
            where = f", through the rows of {self.through!r}" if self.through else ""
            return told + (
                f"{self.found:,} of {self.shared:,} people in both are among fewer than {whose}"
                f" k = {self.k}, for who knows what an intruder is said to know: their rows are"
                f" linked by {', '.join(self.by)}, which are the same in both{where}"
            )
        return (
            told
            + (
                f"{self.both:,} of {self.shared:,} people in both are replicated uniques of both"
                f" releases ({self.replicated:,} of this one); of {self.claims:,} combinations that"
                f" stand alone in both {_percent(self.right, self.claims)} are those of one person"
                f" ({_percent(self.right_alone, self.claims_alone)} in this one alone)"
            )
            + self._more
        )

    @property
    def _more(self) -> str:
        """How many people are linked, and have two draws, which tell more than one."""
        said = ""
        if self.linked:
            said += (
                f"; rows of {self.linked:,} people are the same, and alone in both files, by"
                f" {', '.join(self.by)}: who has both files has all columns of either"
            )
        if self.twice:
            said += (
                f"; {self.twice:,} people in both have two draws of {', '.join(self.drawn)}, whose"
                " mean is nearer to the truth than one"
            )
        return said


def repeated(old: Entry, new: Entry) -> Repeated:
    """Return what two releases tell together, of which one at least has no classes."""
    if "private" in (old.kind, new.kind):
        why = "" if old.kind == new.kind else "the rest is covered by differential privacy"
        spent, delta = old.epsilon + new.epsilon, old.delta + new.delta
        return Repeated(old.name, old.made, epsilon=spent, delta=delta, why=why)
    by = linking(old, new)
    if old.kind != new.kind:
        return _of_classes(old, new, by)
    drawn, twice = drawn_twice(old, new)
    linked = linked_people(old, new)
    about = Repeated(old.name, old.made, by=by, drawn=drawn, twice=len(twice), linked=len(linked))
    if not (old.columns and new.columns):
        why = "no released column is one that an intruder is said to know; nothing is counted"
        return replace(about, why=why)
    if set(old.columns) != set(new.columns):
        return replace(about, why="other columns are known in the other one; nothing is counted")
    before, now = _found(old), _found(new)
    shared = np.intersect1d(old.person, new.person)
    if not shared.size:
        return replace(about, why=NOBODY)
    claims = np.intersect1d(old.alone, new.alone)
    unique = _unique(new)
    return replace(
        about,
        shared=shared.size,
        replicated=int(np.isin(now, shared).sum()),
        both=int(np.isin(now, before).sum()),
        claims=claims.size,
        right=int(np.isin(claims, unique).sum()),
        claims_alone=new.alone.size,
        right_alone=int(np.isin(new.alone, unique).sum()),
    )


def joined(old: Entry, new: Entry) -> Repeated | None:
    """Return whom known columns of one of two k-anonymous releases find in the other, if anybody.

    Their classes are intersected elsewhere (`veladura.release.intersected`).
    """
    for classes, rows in ((old, new), (new, old)):
        if old.kind == new.kind == "classes" and (found := found_by(classes, rows)):
            return _found_in(classes, rows, found, linking(classes, rows), old, new)
    return None


def joined_through(entries: Sequence[Entry], new: Entry) -> list[Repeated]:
    """Return whom three releases joined find in the classes of one, where no two of them do."""
    told = []
    for classes, rows, middle in permutations([*(e for e in entries if e.shown), new], 3):
        three = (classes, rows, middle)
        if classes.kind != "classes" or not any(entry is new for entry in three):
            continue
        found = found_through(classes, rows, middle)
        if not found or found_by(classes, rows):
            continue
        by = dict.fromkeys((*linking(rows, middle), *linking(classes, middle)))
        old = classes if classes is not new else rows
        result = _found_in(classes, rows, found, tuple(by), old, new)
        told.append(replace(result, through=middle.name))
    return told


def _found_in(
    classes: Entry, rows: Entry, found: set[int], by: tuple[str, ...], old: Entry, new: Entry
) -> Repeated:
    return Repeated(
        old.name,
        old.made,
        np.intersect1d(classes.person, rows.person).size,
        found=len(found),
        k=classes.k,
        earlier=classes is not new,
        by=by,
    )


def _of_classes(old: Entry, new: Entry, by: tuple[str, ...]) -> Repeated:
    """Return what classes and rows tell together: people found among fewer than k."""
    earlier = old.kind == "classes"
    classes, rows = (old, new) if earlier else (new, old)
    found, shared = found_by(classes, rows), np.intersect1d(old.person, new.person)
    why = "" if found else "no row of one is linked with a row of the other; nothing is counted"
    if not found and by:
        why = f"nobody is among fewer than k = {classes.k} by {', '.join(by)}, which both have"
    if not shared.size:
        why = NOBODY
    return Repeated(
        old.name,
        old.made,
        shared.size,
        found=len(found),
        k=classes.k,
        earlier=earlier,
        by=by,
        why=why,
    )


def _unique(entry: Entry) -> Ints:
    """Return the combinations that one person of the source holds."""
    pairs = np.unique(np.column_stack([entry.group, entry.person]), axis=0)
    values, people = np.unique(pairs[:, 0], return_counts=True)
    unique: Ints = values[people == 1]
    return unique


def _found(entry: Entry) -> Ints:
    """Return the people who are unique in the source and whose combination stands alone."""
    single = np.isin(entry.group, np.intersect1d(_unique(entry), entry.alone))
    people: Ints = np.unique(entry.person[single])
    return people


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"
