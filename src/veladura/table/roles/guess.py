"""Guess the role of every column of a table, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veladura.table.replication import WORDS
from veladura.table.roles.answer import Answer
from veladura.table.roles.coordinates import find_pairs
from veladura.table.roles.design import Design, find_design
from veladura.table.roles.evidence import Evidence, gather
from veladura.table.roles.keys import Key
from veladura.table.roles.nesting import unique_people
from veladura.table.roles.replicates import find_multiples
from veladura.table.roles.reserved import no_answer
from veladura.table.roles.shapes import shape_of
from veladura.table.roles.single import judge
from veladura.table.roles.units import Units, find_units
from veladura.table.roles.weights import find_replicates, is_measured
from veladura.table.schema import Kind, Role
from veladura.table.table import Table

_FEW = 50  # codes
_WIDE = ("measure", "amount", "running number")


@dataclass(frozen=True)
class Guess:
    """What a column is thought to be.

    Attributes
    ----------
    role, kind
        As `Declared` has them.
    why
        The reason, one sentence without a value of the data.
    unique
        People who are unique by this column alone.
    partner
        The other coordinate of a pair.
    order
        The categories of an ordered column, lowest first.
    replication
        How a replicate weight was made, where the weights show it.
    no_answer
        Numbers that look like codes for no answer, such as "-9".
    """

    role: Role
    kind: Kind
    why: str
    unique: int
    partner: str = ""
    order: tuple[str, ...] = ()
    replication: str = ""
    no_answer: tuple[str, ...] = ()


def guess_roles(table: Table) -> dict[str, Guess]:
    """Return a guess on every column of a table, by content; names only help.

    A table of more than 200,000 rows is judged by as many from its beginning, and the people that
    are unique by a column are counted among those.
    """
    columns = gather(table)
    shapes = {column.name: shape_of(column) for column in columns}
    multiples = find_multiples(columns)
    weights = () if multiples is None else (multiples.base, *multiples.names)
    replicates = find_replicates([c for c in columns if c.name not in weights])
    others = [c for c in columns if c not in replicates and c.name not in weights]
    partners = find_pairs(others, shapes)
    units = find_units([c for c in columns if c.name not in weights], shapes, partners)
    shapes |= _of_people(shapes, units)
    free = [c for c in columns if c.name not in (*partners, *_of_units(units))]
    design = find_design(free, shapes, units, replicates, multiples)
    made = {} if multiples is None else dict(zip(multiples.names, multiples.made, strict=True))
    person = units.person.column if units.person else None
    answers = {c.name: _answer(c, columns, shapes, partners, units, design) for c in columns}
    return {
        column.name: Guess(
            answers[column.name].role,
            answers[column.name].kind or column.field.kind,
            answers[column.name].why,
            unique_people(column, person),
            partners.get(column.name, ""),
            answers[column.name].order,
            made.get(column.name, ""),
            no_answer(column),
        )
        for column in columns
    }


def person_of(table: Table) -> str | None:
    """Return the column that tells people apart, if they have several rows and all have it."""
    people = [name for name, guess in guess_roles(table).items() if guess.role == "person"]
    whole = [name for name in people if not table.profile(name).columns[0].missing.any()]
    return whole[0] if whole else None


def _of_people(shapes: Mapping[str, str], units: Units) -> dict[str, str]:
    """Return the shapes of what stays the same within people, each counted once."""
    if units.person is None:
        return {}
    first = np.unique(units.person.column.codes, return_index=True)[1]
    people = {column: shape_of(column.at(first)) for column in units.person.constant}
    return {
        column.name: shape
        for column, shape in people.items()
        # a few people are too few to see that codes repeat
        if column.distinct > _FEW or shapes[column.name] != "nominal code" or shape not in _WIDE
    }


def _of_units(units: Units) -> list[str]:
    return [
        *(key.column.name for key in (units.person, units.household) if key),
        *units.aliases,
    ]


def _answer(  # noqa: PLR0911  # one for each role
    column: Evidence,
    columns: Sequence[Evidence],
    shapes: Mapping[str, str],
    partners: Mapping[str, str],
    units: Units,
    design: Design,
) -> Answer:
    """Return the role of a column: by what it is beside others, else by itself."""
    name = column.name
    if name in partners:
        return Answer(
            "geographic", f"with {partners[name]!r} it has the shape of coordinates of a place"
        )
    if name in units.aliases:
        return Answer(
            "identifier", f"tells the same units as {units.aliases[name]!r}, one value each"
        )
    if units.person and units.person.column is column:
        return Answer("person", _repeats(units.person, "person"))
    if units.household and units.household.column is column:
        return Answer("household", _repeats(units.household, "household"))
    if (weight := _weight(name, design)) is not None:
        return weight
    if name == design.strata:
        return Answer("strata", "codes within which weights hardly differ", "category")
    if name == design.cluster:
        return Answer("cluster", "codes of sampled places, each within one stratum", "category")
    answer = judge(column, shapes, columns, units)
    if "weight" in column.hints and is_measured(column, columns, shapes):
        why = f"{answer.why}; no weight of a survey: rounded, or related to other measures"
        return replace(answer, why=why)
    return answer


def _weight(name: str, design: Design) -> Answer | None:
    """Return the answer on a weight of the survey; None for other columns."""
    if design.replicates is not None and name in design.replicates.names:
        how = dict(zip(design.replicates.names, design.replicates.made, strict=True))[name]
        known = f", made by {WORDS[how.partition(' ')[0]]}" if how else ""
        why = f"is {design.replicates.base!r} times a few factors{known}"
        return Answer("replicate weight", why)
    if name == design.weight:
        return Answer("weight", "positive numbers, never missing, shaped like weights of a survey")
    if name in design.others:
        return Answer(
            "dropped",
            "looks like a further or replicate weight: such weights tell who was sampled together",
        )
    return None


def _repeats(key: Key, what: str) -> str:
    """Return why a column is the number of a unit."""
    same = len(key.constant)
    return f"the number of a {what}: it repeats, about {key.rows_each:.1f} rows each, and " + (
        f"{same} other column{'s stay' if same != 1 else ' stays'} the same within it"
        if same
        else "its name says so"
    )
