"""What one person contributes to a private count, and what of the number of rows is public."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.context import Context
from veladura.errors import PlanError
from veladura.methods.private import exact, urn
from veladura.methods.private.events import (
    ADD_REMOVE,
    ADD_REMOVE_PERSON,
    REPLACE_ONE,
    REPLACE_PERSON,
)
from veladura.methods.private.geometric import discrete_laplace
from veladura.table.table import from_arrow
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.base.arrays import Ints
    from veladura.table.table import Table

FOR_TOTAL = Fraction(1, 20)  # share of epsilon for the number of rows, where it is not public


@dataclass(frozen=True)
class Contribution:
    """Whose data a release may depend on, and by how many rows.

    Attributes
    ----------
    neighbours
        What the holder chose: one replaced, or one added or removed.
    rows_per_person
        The most rows of a person that are counted; None where a row is a person.
    fraction
        The share of the people that a secret random sample keeps; None for all of them.
    """

    neighbours: str
    rows_per_person: int | None
    fraction: Fraction | None

    @property
    def rows_each(self) -> int:
        """The most rows that one person contributes."""
        return self.rows_per_person or 1

    @property
    def relation(self) -> str:
        """Which tables count as neighbouring, as manifest and ledger say it."""
        person = self.rows_per_person is not None
        if self.neighbours == ADD_REMOVE:
            return ADD_REMOVE_PERSON if person else ADD_REMOVE
        return REPLACE_PERSON if person else REPLACE_ONE

    @property
    def total_sensitivity(self) -> int:
        """By how much one person changes the number of counted rows; 0 where it is public.

        A replaced person has at least one row before and after.
        """
        return self.rows_each if self.neighbours == ADD_REMOVE else self.rows_each - 1

    def loss(self, epsilon: Fraction) -> Fraction:
        """Return the epsilon of a person, from that of a row.

        Group privacy: r rows cost r times as much as one (Dwork and Roth 2014, theorem 2.2), also
        where rows are added or removed on the way. A sample then lessens it.
        """
        whole = epsilon * self.rows_each
        return whole if self.fraction is None else exact.amplified(whole, self.fraction)

    def of_a_row(self, epsilon: Fraction) -> Fraction:
        """Return the epsilon of a row, from that of a person: the other way round."""
        whole = epsilon if self.fraction is None else exact.unamplified(epsilon, self.fraction)
        return whole / self.rows_each

    def for_counts(self, epsilon: Fraction) -> Fraction:
        """Return what is left of the epsilon of a row when the number of rows had its share."""
        return epsilon * (1 - FOR_TOTAL) if self.total_sensitivity else epsilon

    def total_scale(self, epsilon: Fraction) -> Fraction:
        """Return the scale of the noise on the number of rows, from the epsilon of a row."""
        return self.total_sensitivity / (epsilon * self.rows_each * FOR_TOTAL)

    def noisy_total(self, n: int, epsilon: Fraction, bits: urn.Bits) -> int:
        """Return the number of rows as the release may state it: exact only where it is public."""
        if not self.total_sensitivity:
            return n
        return max(1, n + discrete_laplace(bits, self.total_scale(epsilon)))

    def settings(self) -> dict[str, Any]:
        """Return what the manifest says besides the relation; nothing where rows are people."""
        clipped = {} if self.rows_per_person is None else {"rows_per_person": self.rows_per_person}
        sampled = {} if self.fraction is None else {"fraction": exact.text(self.fraction)}
        return clipped | sampled

    def counted(self, table: Table, context: Context) -> Table:
        """Return the rows that are counted: so many of each person, of a sample of the people.

        Which rows of a person stay depends on no other person, so that replacing a person changes
        at most so many rows. They are drawn from the system's entropy, as the noise is.
        """
        _refuse_unbounded(table, self.rows_per_person)
        if self.rows_per_person is None and self.fraction is None:
            return table
        names = table.names if table.person is None else [*table.names, table.person]
        whole = (table if table.person is None else table.units).select(names).fetched()
        rng = generator(context)
        rows = np.arange(whole.rows)
        persons = person_numbers(whole)
        if self.rows_per_person is not None:
            rows = drawn_rows(persons, self.rows_per_person, rng)
        if self.fraction is not None:
            rows = rows[self._sampled(persons, rng)[persons[rows]]]
        kept = whole.select(table.names)
        return from_arrow(kept.arrow.take(pa.array(rows)), kept.schema, table.source)

    def _sampled(self, persons: Ints, rng: np.random.Generator) -> Any:
        """Return which people the sample keeps, by their number."""
        people, share = int(persons.max(initial=-1)) + 1, self.fraction or Fraction(1)
        if self.neighbours == ADD_REMOVE:  # everyone by an own coin: one more changes no other
            return rng.integers(share.denominator, size=people) < share.numerator
        kept = np.zeros(people, dtype=bool)
        kept[rng.permutation(people)[: self.sampled_people(people)]] = True
        return kept

    def sampled_people(self, people: int) -> int:
        """Return how many people a sample of a public number of people has.

        Never more than the share: one person more, and the loss would exceed what is charged.
        """
        share = self.fraction or Fraction(1)
        if not (number := int(people * share)):
            msg = (
                f"fraction ({exact.text(share)}) of {people} people is nobody: nothing was"
                " drawn.\n\nHint: give a larger fraction, or leave it out."
            )
            raise PlanError(msg)
        return number

    def expected_people(self, people: int) -> int:
        """Return how many people are about counted: for what a design gives, of invented people."""
        return max(1, int(people * (self.fraction or Fraction(1))))


def generator(context: Context) -> np.random.Generator:
    """Return a generator from the system's entropy; from the streams in a repeatable test."""
    if context.seeded:
        return context.streams("private", "rows of a person")
    return np.random.default_rng(secrets.randbits(128))


def random_bits(context: Context, *name: str | int) -> urn.Bits:
    """Return random whole numbers from the system's entropy, or from a stream in a test."""
    return urn.Bits(context.streams(*name).bytes) if context.seeded else urn.Bits()


def drawn_rows(persons: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Return at most so many rows of each person, each of them equally likely to stay."""
    order = np.lexsort((rng.random(persons.size), persons))
    starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
    rank = np.arange(persons.size) - np.repeat(starts, np.diff(starts, append=persons.size))
    return np.sort(order[rank < most])


def _refuse_unbounded(table: Table, rows_per_person: int | None) -> None:
    """Refuse a bound without people, and people with several rows without a bound."""
    if table.person is None:
        if rows_per_person is not None:
            msg = (
                'rows_per_person was given, and no column has the role "person".\n\nHint: declare'
                " the column that says whose row it is, or leave rows_per_person out."
            )
            raise PlanError(msg)
        return
    people, rows = table.people, table.rows
    if rows_per_person is None and people < rows:
        msg = (
            f"{people} people have {rows} rows: differential privacy of one row would not protect a"
            " person.\n\nHint: give rows_per_person, the most rows of a person that are counted;"
            " the privacy loss of a person is that many times the one of a row."
        )
        raise PlanError(msg)
