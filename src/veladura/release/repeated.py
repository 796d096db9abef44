"""The same people in two releases without classes: what both tell together.

Synthetic rows are nobody's, so there are no classes to intersect. What can be counted: people who
are unique on the known columns and whose combination a single row holds in both releases
(replicated uniques of both), and how far an intruder may trust a combination that stands alone in
both. Private releases add up: epsilon of both is the sum (Dwork and Roth 2014, theorem 3.16).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints

if TYPE_CHECKING:
    from veladura.release.entry import Entry


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
    epsilon
        What the private releases of both spend together.
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
    why: str = ""

    @property
    def broken(self) -> int:
        """None: nothing of groups was promised."""
        return 0

    def __str__(self) -> str:
        told = f"with {self.name!r} of {self.made[:10]}: "
        if self.epsilon:
            told += f"epsilon = {self.epsilon:g} together"
        if self.why:
            return told + ("; " if self.epsilon else "") + self.why
        if self.epsilon:
            return told
        return told + (
            f"{self.both:,} of {self.shared:,} people in both are replicated uniques of both"
            f" releases ({self.replicated:,} of this one); of {self.claims:,} combinations that"
            f" stand alone in both {_percent(self.right, self.claims)} are those of one person"
            f" ({_percent(self.right_alone, self.claims_alone)} in this one alone)"
        )


def repeated(old: Entry, new: Entry) -> Repeated:
    """Return what two releases tell together, of which one at least has no classes."""
    spent = old.epsilon + new.epsilon
    if "private" in (old.kind, new.kind):
        why = "" if old.kind == new.kind else "the rest is covered by differential privacy"
        return Repeated(old.name, old.made, epsilon=spent, why=why)
    if old.kind != new.kind:
        why = "classes and synthetic rows have no groups in common; nothing is counted"
        return Repeated(old.name, old.made, why=why)
    if not (old.columns and new.columns):
        why = "no released column is one that an intruder is said to know; nothing is counted"
        return Repeated(old.name, old.made, why=why)
    if set(old.columns) != set(new.columns):
        why = "other columns were known then; nothing is counted"
        return Repeated(old.name, old.made, why=why)
    before, now = _found(old), _found(new)
    shared = np.intersect1d(old.person, new.person)
    claims = np.intersect1d(old.alone, new.alone)
    unique = _unique(new)
    return Repeated(
        old.name,
        old.made,
        shared.size,
        int(np.isin(now, shared).sum()),
        int(np.isin(now, before).sum()),
        claims.size,
        int(np.isin(claims, unique).sum()),
        new.alone.size,
        int(np.isin(new.alone, unique).sum()),
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
