"""veladura init: look at a table and write a commented plan that runs as it stands."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from veladura.core import registry
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.measures.risk.uniqueness import uniqueness
from veladura.plan.plan import steps_to_toml
from veladura.plan.proposals import gate_text
from veladura.table.inspect import Facts, guess_role, inspect_table
from veladura.table.schema import Declared, Schema
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
    """Return a plan for a source nobody has described yet, as commented TOML.

    Parameters
    ----------
    source
        The path of a file or the URL of a database.
    method
        The method to fill in; by default the first simple one that fits.
    home
        The folder the plan will be in: paths are written from there.
    release, custodian
        Folders of the release and the record, from there too; by default named after the source.
    seed
        Only for a run that must be repeated.
    settings
        Settings of the method that are known already, instead of what is suggested; paths from
        ``home``.
    """
    opened, facts = look(source, table)
    recipe = replace(_recipe(method, opened, facts), **(settings or {}))
    parts = [
        _heading(opened, recipe, settings or {}),
        _source_text(source, opened, home),
        _columns_text(opened, facts),
        _steps_text(recipe),
        _ending(
            recipe,
            release or f"release/{opened.source.name}",
            custodian or f"custodian/{opened.source.name}",
            seed,
        ),
    ]
    return "\n".join(parts)


def look(source: str, table: str | None) -> tuple[Table, dict[str, Facts]]:
    """Return a source with guessed roles and kinds, and the facts they were guessed from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)  # the guessed roles say it
        opened = open_table(source, table=table)
    facts = inspect_table(opened)
    roles = {name: guess_role(fact) for name, fact in facts.items()}
    fields = tuple(replace(field, role=roles[field.name]) for field in opened.schema)
    return replace(opened, schema=Schema(fields)), facts


def _recipe(method: str | None, table: Table, facts: Mapping[str, Facts]) -> Recipe:
    """Return the asked method's suggestion, or that of the first default that has something to do."""
    kept = table.without_identifiers()
    if method is not None:
        return registry.find(method).suggest_for(kept, facts)
    for name in DEFAULTS:
        try:
            return registry.find(name).suggest_for(kept, facts)
        except PlanError:
            continue
    msg = f"none of the methods {', '.join(DEFAULTS)} has anything to do on this table."
    raise PlanError(msg)


def _heading(table: Table, recipe: Recipe, known: Mapping[str, Any]) -> str:
    declared = [setting for setting in recipe.declared_by_holder if setting not in known]
    open_settings = [
        *(f"{recipe.method}: {setting} must come from public knowledge" for setting in declared),
        *(
            f"{recipe.method}: {setting} was proposed by looking at the table"
            for setting in recipe.proposed
        ),
    ]
    lines = [
        "# A plan for veladura: what is released, how, and where it goes.",
        (
            f"# Written by looking at {table.rows} rows and {len(table.names)} columns. Roles and"
            " kinds below are guesses:"
        ),
        (
            "# read them, correct them, then delete their line from `unconfirmed`. Check with:"
            " veladura run --dry-run"
        ),
        "#",
        (
            "# This file is the holder's: it may hold values of the data. It is never part of a"
            " release."
        ),
        *_uniques(table),
        "",
        "# What nobody has confirmed yet; `veladura run` names it until the list is empty.",
        tomli_w.dumps(
            {"unconfirmed": ["roles and kinds of the columns were guessed", *open_settings]}
        ).strip(),
        "",
    ]
    return "\n".join(lines)


def _uniques(table: Table) -> list[str]:
    """Say how many rows the guessed quasi-identifiers single out."""
    if not (keys := table.schema.of_role("quasi-identifier")):
        return [
            (
                "# No column looks like a quasi-identifier (something an outsider may know of a"
                " person)."
            )
        ]
    found = uniqueness(table, keys)
    return [
        (
            f"# By {len(keys)} columns that an outsider may know"
            f" ({', '.join(_shown(key) for key in keys)}),"
        ),
        f"# {int(found.sample_uniques)} of {table.rows} rows are the only ones of their kind.",
    ]


def _shown(name: str) -> str:
    """Return a column's name as a comment can hold it."""
    return " ".join(name.split()) or '""'


def _source_text(source: str, table: Table, home: Path) -> str:
    known: dict[str, Any]
    if "://" in source:
        known = {"url": source, "table": table.source.table, "name": table.source.name}
    else:
        known = {"path": Path(os.path.relpath(source, home)).as_posix(), "name": table.source.name}
    if dialect := table.source.dialect:
        known |= {
            "separator": dialect.separator,
            "encoding": dialect.encoding,
            "decimal": dialect.decimal,
            "missing": list(dialect.missing),
        }
    return tomli_w.dumps({"source": known})


def _columns_text(table: Table, facts: Mapping[str, Facts]) -> str:
    """Return one short table a column, with what was seen of it as a comment."""
    lines = [
        (
            "# role: identifier (dropped), quasi-identifier (an outsider may know it), sensitive,"
            " geographic, weight, other"
        ),
        (
            "# kind: category, ordered (give order = [lowest, ..., highest]), integer, number, date"
            ' (format = "%d.%m.%Y"), text'
        ),
    ]
    for field in table.schema:
        fact = facts[field.name]
        declared = Declared(
            role=field.role,
            kind=field.kind,
            format=fact.format,
            missing=fact.missing,
            order=field.order,
            labels=field.labels,
        )
        settings = {"role": declared.role, "kind": declared.kind}
        settings |= {
            key: _listed(value)
            for key in ("order", "format", "labels", "missing")
            if (value := getattr(declared, key))
        }
        note = f"{fact.distinct} distinct, {table.rows - fact.present} missing" + (
            f"; {fact.note}" if fact.note else ""
        )
        lines += ["", f"# {note}", tomli_w.dumps({"columns": {field.name: settings}}).strip()]
    return "\n".join([*lines, ""])


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _steps_text(recipe: Recipe) -> str:
    summary = (type(recipe).__doc__ or "").strip().split("\n")[0]
    return f"# {summary} All settings: docs/methods.\n{steps_to_toml(recipe)}"


def _ending(recipe: Recipe, release: str, custodian: str, seed: int | None) -> str:
    return "\n".join(
        [
            tomli_w.dumps({"release": {"folder": release, "format": "parquet"}}),
            (
                "# Seed, source and row order stay here, and must never leave. Not inside, around"
                " or beside the release folder."
            ),
            tomli_w.dumps({"custodian": {"folder": custodian}}),
            gate_text(recipe),
            "[run]",
            (
                "# seed: only to repeat a run; by default it is drawn and kept in the custodian's"
                " record"
            ),
            f"seed = {seed}" if seed is not None else "# seed = 1",
            "# threads = 2     # results never depend on it",
            "",
        ]
    )


def write_draft(text: str, path: Path, *, force: bool) -> None:
    """Write a drafted plan; never over one that someone may have edited."""
    if path.exists() and not force:
        msg = f"{path} exists already.\n\nHint: --out names another file, --force replaces it."
        raise PlanError(msg)
    path.write_text(text, encoding="utf-8")
