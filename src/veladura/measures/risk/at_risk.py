"""People at risk for one intruder: counted in the original, looked for in the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.knowledge import Scenario
from veladura.measures.measure import LAZY, Subject, over_datasets
from veladura.measures.risk.picking import alone, among, distinct, recognised, search_of
from veladura.numeric.coding import common_cells, common_codes
from veladura.numeric.proportions import mean_share
from veladura.table.class_sizes import class_sizes
from veladura.table.table import from_arrow
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

MOSTLY = 0.5  # a column with more unchanged values than this is as good as exact


@dataclass(frozen=True)
class AtRisk:
    """The people at risk for one intruder.

    Attributes
    ----------
    name, knows, within
        The intruder, and the released columns that he knows.
    before, after
        Numbers of people whom he finds in the original and in the release.
    people
        How many people the original holds.
    by_chance
        For synthetic rows: how many of those found would also be found in data of other people of
        the same population; None where rows belong to people.
    found
        The numbers of the people found in the release (`veladura.table.units.person_numbers`);
        None where released rows are not linked to people.
    """

    name: str
    knows: tuple[str, ...]
    before: Estimate
    after: Estimate
    people: int
    within: Mapping[str, float | str] = field(default_factory=dict)
    by_chance: int | None = None
    found: frozenset[int] | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return it as the manifest holds it: whole numbers of people."""
        plain = {
            "intruder": self.name,
            "knows": list(self.knows),
            "within": dict(self.within),
            "people": self.people,
            "before": round(self.before.value),
            "after": round(self.after.value),
            "counted": self.after.is_exact,  # else estimated from a sample
        }
        return plain if self.by_chance is None else plain | {"by_chance": self.by_chance}


@dataclass(frozen=True)
class Columns:
    """What became of each released column.

    Attributes
    ----------
    all
        The released columns that the original has.
    disturbed
        Those whose values were replaced by others that do not cover them.
    exact
        Those whose values are mostly the true ones.
    """

    all: tuple[str, ...]
    disturbed: frozenset[str]
    exact: tuple[str, ...]

    @classmethod
    def of(cls, subject: Subject) -> Columns:
        """Return the columns of a release, by the methods that changed them."""
        names = [name for name in subject.tables[0].names if name in subject.original.names]
        disturbed = disturbed_columns(subject.release)
        exact = [
            name for name in names if name not in subject.changed or _mostly_kept(subject, name)
        ]
        return cls(tuple(names), disturbed, tuple(exact))

    def released(self, names: Sequence[str]) -> list[str]:
        """Return those of some columns that are released."""
        return [name for name in names if name in self.all]


def disturbed_columns(release: Release) -> frozenset[str]:
    """Return the columns whose values were replaced by others that do not cover them."""
    return frozenset(
        name
        for step in release.steps
        if step.recipe is None or not step.recipe.coarsens
        for name in step.changed
    )


def _mostly_kept(subject: Subject, name: str) -> bool:
    """Whether more than half of the released values are the true ones, such as below a limit."""
    tables = subject.tables
    if subject.release.rows is None or not all(table.in_memory for table in tables):
        return False
    part = subject.aligned()[0]
    assert part.original is not None  # noqa: S101  # aligned rows have one
    assert part.rows is not None  # noqa: S101
    before, after = part.original.column(name), part.released.column(name)
    if not part.rows.size or (before.labels is None) != (after.labels is None):
        return False
    codes, _ = common_codes([before.take(part.rows), after])
    true, shown = np.split(codes, 2)
    return float(np.mean(true == shown)) > MOSTLY


def at_risk(subject: Subject, columns: Columns, who: Scenario, names: Sequence[str]) -> AtRisk:
    """Return the people at risk for an intruder who knows some released columns."""
    plain = [name for name in names if name not in columns.disturbed]
    disturbed = [name for name in names if name in columns.disturbed]
    chance, found = None, None
    if not all(table.in_memory for table in subject.tables):
        people, before, after = _counted(subject, names, plain, disturbed)
    else:
        original, people_of = _original(subject)
        people = int(distinct(people_of).size)
        before = _estimate(*alone(original, who, names, people_of), people)
        if subject.release.rows is not None:
            after, found = _linked(subject, who, plain, disturbed)
        else:
            after = _unlinked(subject, who, plain)
            if disturbed:
                exactly = [name for name in names if name not in who.within]
                replicated, chance = max(
                    (_replicated(subject, part) for part in (names, exactly) if part),
                    key=lambda pair: float(pair[0]),
                )
                after = max(after, replicated, key=float)
    within = {name: reach for name, reach in who.within.items() if name in names}
    return AtRisk(who.name, tuple(names), before, after, people, within, chance, found)


def _original(subject: Subject) -> tuple[Table, Ints]:
    """Return the original with the rows that links point to, and the person of each."""
    source = subject.release.original
    linked = subject.release.rows is not None and source is not None
    table = source if linked and source is not None else subject.original
    table = table.fetched()
    return table, person_numbers(table)


def _estimate(found: Ints, looked_for: Ints, people: int, certain: int = 0) -> Estimate:
    """Return how many of some people are found, from those looked for; others are certain."""
    if looked_for.size == people:
        return Estimate.exact(certain + found.size)
    share = mean_share(among(looked_for, found).astype(np.float64), people)
    ends = [certain + people * end for end in (share.value, share.lower, share.upper)]
    return Estimate(ends[0], ends[1], ends[2], share.level)


def _counted(
    subject: Subject, names: Sequence[str], plain: Sequence[str], disturbed: Sequence[str]
) -> tuple[int, Estimate, Estimate]:
    """Count where the rows live: distances are not applied, so that the count is never too low.

    All people are counted with those who are found: a database may have changed since it was read.
    """
    if disturbed:
        raise NotApplicable(LAZY)
    original = class_sizes(subject.original, list(names))
    before = Estimate.exact(original.holders(original.size == 1))
    released = [class_sizes(table, list(plain)) for table in subject.tables]
    after = over_datasets([float(counts.holders(counts.size == 1)) for counts in released])
    return original.holders(original.size > 0), before, after


def _unlinked(subject: Subject, who: Scenario, plain: Sequence[str]) -> Estimate:
    """Return who is found by the columns that can be looked up, without a link to the original."""
    if not plain:
        return Estimate.exact(0)
    found = []
    for table in subject.tables:
        people = person_numbers(table)
        number = int(distinct(people).size)
        found.append(_estimate(*alone(table, who, plain, people), number))
    return found[0] if len(found) == 1 else over_datasets([float(each) for each in found])


def _linked(
    subject: Subject, who: Scenario, plain: Sequence[str], disturbed: Sequence[str]
) -> tuple[Estimate, frozenset[int]]:
    """Return how many people are found in rows that are linked to people, and who.

    First those whom the columns that can be looked up give away, then of the others those whose
    nearest row is theirs.
    """
    original, people = _original(subject)
    parts = [
        (part.released, part.rows, _rows(original, part.rows))
        for part in subject.aligned()
        if part.rows is not None
    ]
    released = distinct(*(people[link] for _, link, _ in parts))
    sure, chosen = np.zeros(0, dtype=np.int64), released
    for i, (table, link, truth) in enumerate(parts if plain else []):
        wanted = chosen if i else None
        found, looked_for = alone(table, who, plain, people[link], truth, wanted)
        sure, chosen = distinct(sure, found), looked_for if i == 0 else chosen
    doubtful = chosen[~among(chosen, sure)]
    if not disturbed or not doubtful.size:
        return _estimate(sure, chosen, released.size), frozenset(sure.tolist())
    searches = [
        (search_of(table, who, plain, truth, disturbed), link) for table, link, truth in parts
    ]
    if chosen.size < released.size:  # a sample already
        both = distinct(sure, recognised(searches, people, doubtful))
        return _estimate(both, chosen, released.size), frozenset(both.tolist())
    search, link = searches[0]
    wanted = search.affordable(people[link], doubtful)
    right = recognised(searches, people, wanted)
    everybody = frozenset([*sure.tolist(), *right.tolist()])
    return _estimate(right, wanted, doubtful.size, sure.size), everybody


def _rows(table: Table, link: Ints) -> Table:
    """Return some rows of a table in memory; all of them without a copy."""
    if link.size == table.rows and np.array_equal(link, np.arange(table.rows)):
        return table
    return from_arrow(table.arrow.take(link), table.schema, table.source)


def _replicated(subject: Subject, names: Sequence[str]) -> tuple[Estimate, int]:
    """Return the replicated uniques of synthetic rows, and how many chance alone replicates.

    Were the release a sample of other people: let two halves of the original stand for it. A
    combination is unique in both only if two people have it and they fall into different halves,
    which happens to half of such pairs: of n/2 people of a half, f2/2. So f2 of n people.
    """
    cells, number = common_cells([subject.original.fetched(), *subject.tables], names)
    before, *after = [np.bincount(part, minlength=number) for part in cells]
    found = [float(np.count_nonzero((before == 1) & (sizes == 1))) for sizes in after]
    return over_datasets(found), int(np.count_nonzero(before == 2))  # noqa: PLR2004
