"""A source as init sees it: roles and kinds guessed, with what the holder declared already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from veladura.errors import DataError
from veladura.plan.linked import judged_alone, opened_with
from veladura.table.inspect import Facts, inspect_table
from veladura.table.linked import LinkedTable
from veladura.table.roles.guess import Guess, guess_roles
from veladura.table.schema import UNITS, Declared, Field
from veladura.table.source import open as open_table
from veladura.table.source import open_unwarned
from veladura.table.table import Table


def look(
    source: str, table: str | None, declared: Mapping[str, Declared] | None = None
) -> tuple[Table, dict[str, Facts], dict[str, Guess]]:
    """Return a source with guessed roles and kinds, facts on its columns, and the guesses."""
    opened = open_unwarned(source, table=table)  # the guessed roles name identifiers
    _refuse_infinite(opened)
    guesses = {
        column.name: _as_declared(_as_written(column, guess), (declared or {}).get(column.name))
        for column, guess in zip(opened.schema, guess_roles(opened).values(), strict=True)
    }
    columns = {
        column.name: declared_of(column, guesses[column.name], opened.guessed.get(column.name))
        for column in opened.schema
    }
    # again, as the plan will open it: a guessed kind may change how values are stored
    try:
        again = open_table(source, columns, table=table, dialect=opened.source.dialect)
    except DataError:  # the file writes codes of a scale in more than one way, as 1 and 1.0
        guesses = {name: _without_order(guess) for name, guess in guesses.items()}
        columns = {
            name: replace(c, order=(), kind="category" if c.order else c.kind)
            for name, c in columns.items()
        }
        again = open_table(source, columns, table=table, dialect=opened.source.dialect)
    seen = replace(again, guessed=opened.guessed)
    seen.cache.share_counts(again.cache)
    return again, inspect_table(seen), guesses


def _refuse_infinite(table: Table) -> None:
    """Refuse infinite numbers, for which there is neither a band nor a mean."""
    rows = {}
    for name in (column.name for column in table.schema if column.kind == "number"):
        values = table.profile(name)
        infinite = np.isinf(values.columns[0].values) & ~values.columns[0].missing
        rows[name] = int(values.size[infinite].sum())
    if found := {name: count for name, count in rows.items() if count}:
        msg = (
            f"rows with infinite numbers, by column: {found}.\n\nHint: write missing values in"
            " their place, or the largest number that makes sense."
        )
        raise DataError(msg)


def look_at_linked(
    linked: Sequence[LinkedTable], declared: Mapping[str, Declared] | None = None
) -> tuple[Table, dict[str, Facts], dict[str, Guess]]:
    """Return linked tables as one with guessed roles and kinds; keys have theirs already."""
    plain = opened_with(linked, {})
    keys = {field.name: field.role for field in plain.schema if field.role in UNITS}
    by_content = judged_alone(plain, guess_roles(plain))
    guesses = {
        column.name: _as_declared(_as_written(column, guess), (declared or {}).get(column.name))
        for column, guess in zip(plain.schema, by_content.values(), strict=True)
    }
    for key, role in keys.items():
        guesses[key] = replace(guesses[key], role=role, why="the key of a linked table")
    columns = {
        column.name: declared_of(column, guesses[column.name], plain.guessed.get(column.name))
        for column in plain.schema
    }
    again = opened_with(linked, columns)
    return again, inspect_table(replace(again, guessed=plain.guessed)), guesses


def _as_written(column: Field, guess: Guess) -> Guess:
    """Return a guess whose order is written as a file with decimals writes it: 1.0, 2.0, ..."""
    if column.kind != "number" or not guess.order:
        return guess
    return replace(guess, order=tuple(f"{float(level):.1f}" for level in guess.order))


def _as_declared(guess: Guess, declared: Declared | None) -> Guess:
    """Return a guess with the role, the kind and the order that the holder declared."""
    if declared is None:
        return guess
    kind = declared.kind or guess.kind
    order = declared.order or (guess.order if kind == "ordered" else ())
    same = (declared.role, kind) == (guess.role, guess.kind)
    why = guess.why if same else "the holder says so"
    made = declared.replication or guess.replication
    return replace(guess, role=declared.role, kind=kind, order=order, why=why, replication=made)


def _without_order(guess: Guess) -> Guess:
    return replace(guess, order=(), kind="category") if guess.order else guess


def declared_of(column: Field, guess: Guess, facts: Facts | None) -> Declared:
    """Return what the plan declares of a column."""
    return Declared(
        role=guess.role,
        kind=guess.kind,
        format=facts.format if facts else None,
        missing=facts.missing if facts else (),
        order=guess.order,
        labels=column.labels,
        replication=guess.replication if guess.role == "replicate weight" else "",
    )
