"""The text of a drafted plan, part by part: heading, source, columns, intruders, the end."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from veladura.base.limits import Limit
from veladura.core.recipe import Recipe
from veladura.measures.knowledge import draft_intruders
from veladura.measures.risk.uniqueness import uniqueness
from veladura.plan.audience import Audience
from veladura.plan.commented import comment
from veladura.plan.confirm import ROLES_GUESSED
from veladura.plan.guessed import declared_of
from veladura.plan.proposals import gate_text
from veladura.plan.protection import Protection
from veladura.table.database.passwords import has_password
from veladura.table.database.spark import is_spark_url
from veladura.table.expand import count_column
from veladura.table.inspect import Facts
from veladura.table.roles.evidence import MOST_ROWS
from veladura.table.roles.guess import Guess
from veladura.table.schema import UNITS, Schema
from veladura.table.table import Table


def heading_text(
    table: Table, recipe: Recipe, given: Mapping[str, Any], audience: Audience | None
) -> str:
    """Return what the plan is, what it protects, and what is to be confirmed."""
    declared = [setting for setting in recipe.declared_by_holder if setting not in given]
    proposed = [
        setting
        for setting in recipe.proposed
        # an empty list beside public knowledge says something: that no value is missing
        if recipe.private or getattr(recipe, setting) not in ((), {})
    ]
    open_settings = [
        *(f"{recipe.method}: {setting} must come from public knowledge" for setting in declared),
        *(f"{recipe.method}: {setting} was proposed from the data" for setting in proposed),
    ]
    scope = (
        f"It protects the whole table, for {audience.words}."
        if audience is not None
        else f"It protects the columns of one method, {recipe.method}; the others"
        f" {'are not released' if recipe.private else 'stay exact'}."
    )
    until = "a run is refused" if recipe.private else "a run makes a draft"
    lines = [
        "# A plan for veladura: what is released, how it is protected, and where it goes.",
        *comment(
            f"veladura init wrote it after inspecting {table.rows:,} rows and"
            f" {len(table.names)} columns. {scope} Roles and kinds of the columns are guesses:"
            f" veladura confirm goes through them with you. Until then {until}. To"
            " check the plan without a release: veladura run --dry-run."
        ),
        "#",
        *comment(
            "Keep this file private: it may contain values of the data. It is never part of a"
            " release."
        ),
        *_uniques(table),
        "",
        "# To be confirmed by the holder: veladura confirm asks about each and deletes it.",
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
        f"Uniqueness: {uniques:,} of {table.people:,} people are unique on the quasi-identifiers"
        f" ({', '.join(_shown(key) for key in keys)}), the columns that an intruder may know."
    )


def _shown(name: str) -> str:
    """Return the name of a column on one line."""
    return " ".join(name.split()) or '""'


def source_text(source: str, table: Table, home: Path) -> str:
    """Return where the table is read from, without a password."""
    settings: dict[str, Any]
    if "://" in source or is_spark_url(source):
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
    return "\n".join([*note, tomli_w.dumps({"source": settings}), *_counts_note(table)])


def _counts_note(table: Table) -> list[str]:
    """Return comments on a column that looks like counts of identical rows."""
    if (name := count_column(table)) is None:
        return []
    said = comment(
        f"{_shown(name)} looks like a count: every combination of the other columns is there once."
        " Where a row stands for as many people, remove the # of the next line, take the column out"
        " of [columns] and the steps, or write the plan anew."
    )
    return [*said, f"# {tomli_w.dumps({'counts': name}).strip()}", ""]


def columns_text(
    whole: Protection, facts: Mapping[str, Facts], guesses: Mapping[str, Guess]
) -> str:
    """Return one short table a column; comments say why it has its role, and what happens to it."""
    lines = [
        *comment(
            "role: identifier or dropped (not released), person, household, episode or lookup"
            " (the number of what has several rows: never released as it is), quasi-identifier (an"
            " intruder may know it), undecided (nobody has said: counts as known), sensitive,"
            " geographic (one of two coordinates), weight, replicate weight, strata, cluster,"
            " harmless (you say that no intruder knows it)"
        ),
        *comment(
            "kind: category, ordered (with order = [lowest, ..., highest]), integer, number, date"
            ' (with format = "%d.%m.%Y"), text'
        ),
    ]
    for column in whole.table.schema:
        fact, guess = facts[column.name], guesses[column.name]
        declared = declared_of(column, replace(guess, role=column.role), fact)
        declared = replace(declared, exact=whole.exact.get(column.name, ""))
        settings = {"role": declared.role, "kind": declared.kind}
        settings |= {
            key: _listed(value)
            for key in ("order", "format", "labels", "missing", "replication", "exact")
            if (value := getattr(declared, key))
        }
        treatment = whole.treatment.get(column.name)
        lines += [
            "",
            *comment(f"{guess.why[0].upper()}{guess.why[1:]}."),
            *comment(_counted(whole.table, fact, guess)),
            *(comment(f"In this plan: {treatment}.") if treatment else ()),
            tomli_w.dumps({"columns": {column.name: settings}}).strip(),
            *_no_answer_note(guess, declared.missing),
        ]
    return "\n".join([*lines, ""])


def _no_answer_note(guess: Guess, missing: Sequence[str]) -> list[str]:
    """Return comments on numbers that look like codes for no answer: means would count them."""
    if not guess.no_answer or guess.role in ("identifier", "dropped", "geographic", *UNITS):
        return []
    what = f"{', '.join(guess.no_answer)} may mean no answer. Where that is so,"
    if missing:
        return comment(f"{what} add it to missing.")
    line = f"# missing = [{', '.join(map(json.dumps, guess.no_answer))}]"
    return [*comment(f"{what} remove the # of the next line."), line]


def _counted(table: Table, fact: Facts, guess: Guess) -> str:
    values = "1 distinct value" if fact.distinct == 1 else f"{fact.distinct:,} distinct values"
    people = "1 person is" if guess.unique == 1 else f"{guess.unique:,} people are"
    note = f"; {fact.note}" if fact.note else ""
    among = f" among the first {MOST_ROWS:,} rows" if table.rows > MOST_ROWS else ""
    missing = f"{table.rows - fact.present:,} missing"
    return f"{values}, {missing}; {people} unique by it alone{among}{note}"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def intruders_text(schema: Schema) -> str:
    """Return the usual intruders of a table as tables of the plan."""
    lines = comment(
        "Intruders: who might look for a person in the release, and what they know. People at risk"
        " are counted for each, before and after, and for someone who knows every column that is"
        " released exactly. Add your own, or correct these."
    )
    for intruder in draft_intruders(schema):
        plain = intruder.to_plain()
        flat = {key: value for key, value in plain.items() if not isinstance(value, dict)}
        within = {"within": plain["within"]} if "within" in plain else {}
        lines += ["[[intruder]]", tomli_w.dumps(flat).rstrip()]
        lines += [tomli_w.dumps({"intruder": within}).rstrip()] if within else []
        lines += [""]
    return "\n".join(lines)


def ending_text(
    recipe: Recipe,
    release: str,
    custodian: str,
    seed: int | None,
    *,
    recipient: str,
    limits: Mapping[str, Limit],
    held: bool,
) -> str:
    """Return the folders, the gate and the run."""
    about = {"folder": release, "format": "parquet"}
    told = {"recipient": recipient} if recipient else {}
    return "\n".join(
        [
            tomli_w.dumps({"release": about | told}).rstrip(),
            "# Why the data are released: for the page and the certificate.",
            '# purpose = "research into ..."',
            "",
            *comment(
                "Private: seed, source and row order. Never publish this folder. It must not be"
                " inside, around or beside the release folder."
            ),
            tomli_w.dumps({"custodian": {"folder": custodian}}),
            gate_text(recipe, limits, held=held),
            "[run]",
            *comment(
                "Set a seed only to repeat a run: by default it is random and kept in the"
                " custodian's record."
            ),
            f"seed = {seed}" if seed is not None else "# seed = 1",
            "# Number of threads; results never depend on it.",
            "# threads = 2",
            "# Memory that the run may take; a table that does not fit passes in chunks.",
            '# memory = "4 GiB"',
            "",
        ]
    )
