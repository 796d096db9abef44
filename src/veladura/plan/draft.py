"""veladura init: inspect a table and write a commented plan that runs without a change."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from veladura.base.limits import Limit
from veladura.base.private_files import write_private
from veladura.core import registry
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.measures.knowledge import REGISTER, draft_intruders
from veladura.measures.risk.uniqueness import uniqueness
from veladura.plan.audience import Audience, audience_of
from veladura.plan.bands import bands_text
from veladura.plan.commented import comment, steps_text
from veladura.plan.confirm import ROLES_GUESSED
from veladura.plan.guessed import declared_of, look, look_at_linked
from veladura.plan.linked import find_linked, linked_text, suggested_for
from veladura.plan.proposals import gate_text
from veladura.plan.protection import Protection, draft_protection
from veladura.plan.totals import totals_text
from veladura.table.database.passwords import has_password
from veladura.table.database.spark import is_spark_url
from veladura.table.expand import count_column
from veladura.table.inspect import Facts
from veladura.table.roles.evidence import MOST_ROWS
from veladura.table.roles.guess import Guess
from veladura.table.schema import Declared, Schema
from veladura.table.table import Table

_NOT_IN_FOLDERS = re.compile(r'[/\\:;,`"*?<>|{}\[\]\x00-\x1f]+')
# What a drafted plan holds its release to: nobody is found by someone who has a register.
REGISTER_SAFE = {f"risk.intruders.{REGISTER}": Limit(max=0.0)}


def draft(source: str, **options: Any) -> str:
    """Return a plan for a source that nobody has described yet, as commented TOML.

    Parameters
    ----------
    source
        The path of a file or the URL of a database.
    options
        Those of `drafted`.
    """
    return drafted(source, **options).text


@dataclass(frozen=True)
class Drafted:
    """A drafted plan, and the guesses on the columns it declares.

    Attributes
    ----------
    treatment
        What happens to each column, in words; empty for a plan of one method.
    """

    text: str
    guesses: Mapping[str, Guess]
    rows: int
    treatment: Mapping[str, str] = field(default_factory=dict)


def drafted(
    source: str,
    *,
    table: str | None = None,
    method: str | None = None,
    audience: str | None = None,
    home: Path = Path(),
    release: str | None = None,
    custodian: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    declared: Mapping[str, Declared] | None = None,
    others: Sequence[str] = (),
) -> Drafted:
    """Return a plan for a source that nobody has described yet, with the guesses on its columns.

    Parameters
    ----------
    source
        The path of a file or the URL of a database.
    method
        One method, whose plan protects its columns only. By default the whole table is protected.
    audience
        For whom the release is: "open-data" (taken where nothing is said), "researchers" or
        "one-partner". Where it is said, a synthesis has the purpose that belongs to it.
    home
        The folder the plan will be in: paths are written from there.
    release, custodian
        Folders of the release and the record, from there too; by default named after the source.
    seed
        Only for a run that must be repeatable.
    settings
        Settings of the method that replace the suggested ones; paths from ``home``.
    declared
        What the holder has said of columns already: it stands in place of the guesses.
    others
        Files of further tables whose rows belong to those of the source, or the other way round.
    """
    strict = audience_of(audience or "open-data")
    linked = find_linked([source, *others]) if others else None
    if linked is None:
        opened, facts, guesses = look(source, table, declared)
    else:
        opened, facts, guesses = look_at_linked(linked, declared)
    whole = Protection(opened, strict)
    recipe: Recipe
    if method is None:
        partners = {name: guess.partner for name, guess in guesses.items() if guess.partner}
        whole, recipe = draft_protection(opened, facts, partners, strict)
    else:
        suggested = suggested_for(registry.find(method), opened.without_identifiers(), facts)
        recipe = replace(suggested, **(_purpose(suggested, audience) | dict(settings or {})))
    schema = whole.table.schema
    keys = {*schema.of_role("quasi-identifier"), *(name for pair in whole.pairs for name in pair)}
    parts = [
        _heading(whole.table, recipe, settings or {}, strict if method is None else None),
        (
            _source_text(source, opened, home)
            if linked is None
            else linked_text(linked, home, recipe)
        ),
        _columns_text(whole, facts, guesses),
        bands_text(whole.table, facts),
        steps_text(recipe, keys),
        totals_text(whole.table, facts, recipe),
        "" if recipe.private else _intruders_text(schema),
        _ending(
            recipe,
            release or f"release/{_as_folder(opened.source.name)}",
            custodian or f"custodian/{_as_folder(opened.source.name)}",
            seed,
            recipient=strict.words if method is None else "",
            limits=REGISTER_SAFE if method is None and keys & {*schema.names} else {},
            held=opened.in_memory,
        ),
    ]
    return Drafted("\n".join(parts), guesses, opened.rows, whole.treatment)


def _purpose(suggested: Recipe, audience: str | None) -> dict[str, Any]:
    """Return the purpose of a synthesis for those who receive it, where that was said."""
    if audience is None or "purpose" not in {one.name for one in fields(suggested)}:
        return {}
    return {"purpose": audience_of(audience).purpose}


def _as_folder(name: str) -> str:
    """Return the name of a source as that of a folder: a table may be called anything.

    Examples
    --------
    >>> _as_folder("health.people"), _as_folder("a/b:`c`"), _as_folder("..")
    ('health.people', 'a-b-c', 'table')
    """
    return _NOT_IN_FOLDERS.sub("-", name).strip(" .-") or "table"


def _heading(
    table: Table, recipe: Recipe, given: Mapping[str, Any], audience: Audience | None
) -> str:
    declared = [setting for setting in recipe.declared_by_holder if setting not in given]
    open_settings = [
        *(f"{recipe.method}: {setting} must come from public knowledge" for setting in declared),
        *(f"{recipe.method}: {setting} was proposed from the data" for setting in recipe.proposed),
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


def _source_text(source: str, table: Table, home: Path) -> str:
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


def _columns_text(
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
        ]
    return "\n".join([*lines, ""])


def _counted(table: Table, fact: Facts, guess: Guess) -> str:
    values = "1 distinct value" if fact.distinct == 1 else f"{fact.distinct:,} distinct values"
    people = "1 person is" if guess.unique == 1 else f"{guess.unique:,} people are"
    note = f"; {fact.note}" if fact.note else ""
    among = f" among the first {MOST_ROWS:,} rows" if table.rows > MOST_ROWS else ""
    missing = f"{table.rows - fact.present:,} missing"
    return f"{values}, {missing}; {people} unique by it alone{among}{note}"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _intruders_text(schema: Schema) -> str:
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


def _ending(
    recipe: Recipe,
    release: str,
    custodian: str,
    seed: int | None,
    *,
    recipient: str,
    limits: Mapping[str, Limit],
    held: bool,
) -> str:
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


def write_draft(text: str, path: Path, *, force: bool) -> None:
    """Write a drafted plan, readable by its owner only; replace one only by ``force``."""
    if path.exists() and not force:
        msg = (
            f"{path} exists already.\n\nHint: name another file with --out, or replace it with"
            " --force."
        )
        raise PlanError(msg)
    write_private(path, text)
