"""The promise that numbers of few people were moved: they come out as often as chance gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veladura.base import shapes
from veladura.base.arrays import Ints
from veladura.core.promise import Check, Evidence, listed
from veladura.core.violations import source_column
from veladura.numeric.chance import OwnNumbers, own_numbers
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.table.table import Table

FALSE_ALARM = 1e-7  # of the test that numbers of one person come out by chance only
TIMES = 1.5  # a difference from chance that matters


def not_by_chance(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the columns in which numbers of one person come out oftener or less than by chance.

    By a factor of 1.5, and with a p-value below 1e-7.
    """
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    people, columns = people_of(evidence.original), 0
    for name in settings["columns"]:
        own = own_numbers(
            source_column(evidence, name), [evidence.column(name)], people, settings["people"]
        )
        columns += int(is_apart(own))
    return columns


def people_of(table: Table) -> Ints | None:
    """Return whose row each is; None if every row is a person."""
    return person_numbers(table) if table.people < table.rows else None


def is_apart(own: OwnNumbers) -> bool:
    """Whether numbers of one person come out by a factor of 1.5 oftener or less than by chance."""
    apart = max(own.hits, own.expected) > TIMES * min(own.hits, own.expected)
    return apart and own.pvalue < FALSE_ALARM


def _moved_numbers(settings: Mapping[str, Any]) -> str:
    return (
        f"Every number of {listed(settings)} that fewer than {settings['people']} people share was"
        " moved at random: numbers of one person come out as often as the numbers around them."
    )


PEOPLE = shapes.table({"columns": shapes.names, "people": shapes.whole(2)})
MOVED_NUMBERS = Check(not_by_chance, _moved_numbers, PEOPLE, linked=False)
