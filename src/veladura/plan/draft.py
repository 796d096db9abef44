"""veladura init: inspect a table and write a commented plan that runs without a change."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from veladura.base.private_files import write_private
from veladura.core import registry
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.measures.risk.uniqueness import uniqueness
from veladura.plan.commented import comment, steps_text
from veladura.plan.confirm import ROLES_GUESSED
from veladura.plan.proposals import gate_text
from veladura.table.database.passwords import has_password
from veladura.table.inspect import Facts, inspect_table
from veladura.table.roles import Guess, guess_roles
from veladura.table.schema import Declared, Field
from veladura.table.source import IdentifierWarning
from veladura.table.source import open as open_table
from veladura.table.table import Table

# Tried in this order when no method is asked for; the first that fits the table is taken.
DEFAULTS = ("k-anonymity", "microaggregation", "pram", "recode", "noise")


def draft(
    source: str,
    *,
    table: str | None = None,
    method: str | None = None,
    home: Path = Path(),
    release: str | None = None,
    custodian: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Return a plan for a source that nobody has described yet, as commented TOML.

    The parameters are those of `drafted`.
    """
    return drafted(
        source,
        table=table,
        method=method,
        home=home,
        release=release,
        custodian=custodian,
        seed=seed,
        settings=settings,
    ).text


@dataclass(frozen=True)
class Drafted:
    """A drafted plan, and the guesses on the columns it declares."""

    text: str
    guesses: Mapping[str, Guess]
    rows: int


def drafted(
    source: str,
    *,
    table: str | None = None,
    method: str | None = None,
    home: Path = Path(),
    release: str | None = None,
    custodian: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Drafted:
    """Return a plan for a source that nobody has described yet, with the guesses on its columns.

    Parameters
    ----------
    source
        The path of a file or the URL of a database.
    method
        The method of the plan; by default the first simple one that suits the table.
    home
        The folder the plan will be in: paths are written from there.
    release, custodian
        Folders of the release and the record, from there too; by default named after the source.
    seed
        Only for a run that must be repeatable.
    settings
        Settings of the method that replace the suggested ones; paths from ``home``.
    """
    opened, facts, guesses = look(source, table)
    recipe = replace(_recipe(method, opened, facts), **(settings or {}))
    parts = [
        _heading(opened, recipe, settings or {}),
        _source_text(source, opened, home),
        _columns_text(opened, facts, guesses),
        steps_text(recipe),
        _ending(
            recipe,
            release or f"release/{opened.source.name}",
            custodian or f"custodian/{opened.source.name}",
            seed,
        ),
    ]
    return Drafted("\n".join(parts), guesses, opened.rows)


def look(source: str, table: str | None) -> tuple[Table, dict[str, Facts], dict[str, Guess]]:
    """Return a source with guessed roles and kinds, facts on its columns, and the guesses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)  # the guessed roles say it
        opened = open_table(source, table=table)
    guesses = guess_roles(opened)
    columns = {
        field.name: _declared(field, guesses[field.name], opened.guessed.get(field.name))
        for field in opened.schema
    }
    # again, as the plan will open it: a guessed kind may change how values are stored
    again = open_table(source, columns, table=table, dialect=opened.source.dialect)
    facts = inspect_table(replace(again, guessed=opened.guessed))
    return again, facts, guesses


def _declared(field: Field, guess: Guess, facts: Facts | None) -> Declared:
    """Return what the plan declares of a column."""
    return Declared(
        role=guess.role,
        kind=guess.kind,
        format=facts.format if facts else None,
        missing=facts.missing if facts else (),
        order=guess.order,
        labels=field.labels,
    )


def _recipe(method: str | None, table: Table, facts: Mapping[str, Facts]) -> Recipe:
    """Return the suggestion of a method, by default of the first that suits the table."""
    kept = table.without_identifiers()
    if method is not None:
        return registry.find(method).suggest_for(kept, facts)
    for name in DEFAULTS:
        try:
            return registry.find(name).suggest_for(kept, facts)
        except PlanError:
            continue
    msg = (
        f"none of the methods {', '.join(DEFAULTS)} suits this table: no column has a kind that"
        " they treat.\n\nHint: name a method with --method, or declare the columns in a plan."
    )
    raise PlanError(msg)


def _heading(table: Table, recipe: Recipe, given: Mapping[str, Any]) -> str:
    declared = [setting for setting in recipe.declared_by_holder if setting not in given]
    open_settings = [
        *(f"{recipe.method}: {setting} must come from public knowledge" for setting in declared),
        *(f"{recipe.method}: {setting} was proposed from the data" for setting in recipe.proposed),
    ]
    lines = [
        "# A plan for veladura: what is released, how it is protected, and where it goes.",
        *comment(
            f"veladura init wrote it after inspecting {table.rows:,} rows and"
            f" {len(table.names)} columns. The roles and kinds of the columns are guesses: check"
            " and correct them, then delete their line from `unconfirmed`. To check the plan"
            " without a release: veladura run --dry-run."
        ),
        "#",
        *comment(
            "Keep this file private: it may contain values of the data. It is never part of a"
            " release."
        ),
        *_uniques(table),
        "",
        "# To be confirmed by the holder; `veladura run` lists these points until you delete them.",
        tomli_w.dumps({"unconfirmed": [ROLES_GUESSED, *open_settings]}).strip(),
        "",
    ]
    return "\n".join(lines)


def _uniques(table: Table) -> list[str]:
    """Return comments on how many people are unique on the guessed quasi-identifiers."""
    if not (keys := table.schema.of_role("quasi-identifier")):
        return comment(
            "No column looks like a quasi-identifier (a column that an intruder may know about a"
            " person)."
        )
    uniques = int(uniqueness(table, keys).sample_uniques)
    return comment(
        f"Uniqueness: {uniques:,} of {table.rows:,} people are unique on the quasi-identifiers"
        f" ({', '.join(_shown(key) for key in keys)}), the columns that an intruder may know."
    )


def _shown(name: str) -> str:
    """Return the name of a column on one line."""
    return " ".join(name.split()) or '""'


def _source_text(source: str, table: Table, home: Path) -> str:
    settings: dict[str, Any]
    if "://" in source:
        settings = {"url": table.source.url}  # without its password
    else:
        settings = {"path": Path(os.path.relpath(source, home)).as_posix()}
    if table.source.table is not None:
        settings["table"] = table.source.table
    settings["name"] = table.source.name
    if dialect := table.source.dialect:
        settings |= {
            "separator": dialect.separator,
            "encoding": dialect.encoding,
            "decimal": dialect.decimal,
            "missing": list(dialect.missing),
        }
    note = (
        []
        if not has_password(source)
        else comment(
            "The password is not written down: set VELADURA_PASSWORD (or PGPASSWORD) before a run."
        )
    )
    return "\n".join([*note, tomli_w.dumps({"source": settings})])


def _columns_text(table: Table, facts: Mapping[str, Facts], guesses: Mapping[str, Guess]) -> str:
    """Return one short table a column; comments say why it has its role, and count its values."""
    lines = [
        *comment(
            "role: identifier or dropped (not released), person or household (the number of a"
            " unit with several rows: never released as it is), quasi-identifier (an intruder may"
            " know it), undecided (nobody has said: counts as known), sensitive, geographic (one"
            " of two coordinates), weight, strata, cluster, harmless (you say that no intruder"
            " knows it)"
        ),
        *comment(
            "kind: category, ordered (with order = [lowest, ..., highest]), integer, number, date"
            ' (with format = "%d.%m.%Y"), text'
        ),
    ]
    for field in table.schema:
        fact, guess = facts[field.name], guesses[field.name]
        declared = _declared(field, guess, fact)
        settings = {"role": declared.role, "kind": declared.kind}
        settings |= {
            key: _listed(value)
            for key in ("order", "format", "labels", "missing")
            if (value := getattr(declared, key))
        }
        lines += [
            "",
            *comment(f"{guess.why[0].upper()}{guess.why[1:]}."),
            *comment(_counted(table, fact, guess)),
            tomli_w.dumps({"columns": {field.name: settings}}).strip(),
        ]
    return "\n".join([*lines, ""])


def _counted(table: Table, fact: Facts, guess: Guess) -> str:
    values = "1 distinct value" if fact.distinct == 1 else f"{fact.distinct:,} distinct values"
    people = "1 person is" if guess.unique == 1 else f"{guess.unique:,} people are"
    note = f"; {fact.note}" if fact.note else ""
    return f"{values}, {table.rows - fact.present:,} missing; {people} unique by it alone{note}"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _ending(recipe: Recipe, release: str, custodian: str, seed: int | None) -> str:
    return "\n".join(
        [
            tomli_w.dumps({"release": {"folder": release, "format": "parquet"}}),
            *comment(
                "Private: seed, source and row order. Never publish this folder. It must not be"
                " inside, around or beside the release folder."
            ),
            tomli_w.dumps({"custodian": {"folder": custodian}}),
            gate_text(recipe),
            "[run]",
            *comment(
                "Set a seed only to repeat a run: by default it is random and kept in the"
                " custodian's record."
            ),
            f"seed = {seed}" if seed is not None else "# seed = 1",
            "# Number of threads; results never depend on it.",
            "# threads = 2",
            "",
        ]
    )


def write_draft(text: str, path: Path, *, force: bool) -> None:
    """Write a drafted plan, readable by its owner only; replace one only by ``force``."""
    if path.exists() and not force:
        msg = (
            f"{path} exists already.\n\nHint: name another file with --out, or replace it with"
            " --force."
        )
        raise PlanError(msg)
    write_private(path, text)
