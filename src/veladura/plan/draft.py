"""veladura init: inspect a table and write a commented plan that runs without a change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from veladura.base.limits import Limit
from veladura.base.private_files import write_private
from veladura.core import registry
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.measures.knowledge import REGISTER
from veladura.plan.audience import audience_of
from veladura.plan.bands import bands_text
from veladura.plan.commented import steps_text
from veladura.plan.draft_text import (
    columns_text,
    ending_text,
    heading_text,
    intruders_text,
    source_text,
)
from veladura.plan.guessed import look, look_at_linked
from veladura.plan.linked import find_linked, linked_text, suggested_for
from veladura.plan.protection import Protection, draft_protection
from veladura.plan.totals import totals_text
from veladura.table.roles.guess import Guess
from veladura.table.schema import Declared

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
        heading_text(whole.table, recipe, settings or {}, strict if method is None else None),
        (
            source_text(source, opened, home)
            if linked is None
            else linked_text(linked, home, recipe)
        ),
        columns_text(whole, facts, guesses),
        bands_text(whole.table, facts),
        steps_text(recipe, keys),
        totals_text(whole.table, facts, recipe),
        "" if recipe.private else intruders_text(schema),
        ending_text(
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


def write_draft(text: str, path: Path, *, force: bool) -> None:
    """Write a drafted plan, readable by its owner only; replace one only by ``force``."""
    if path.exists() and not force:
        msg = (
            f"{path} exists already.\n\nHint: name another file with --out, or replace it with"
            " --force."
        )
        raise PlanError(msg)
    write_private(path, text)
