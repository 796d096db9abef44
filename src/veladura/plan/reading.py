"""How a plan.toml is read, and what is refused in it before the source is opened."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura import __version__
from veladura.base.limits import Limit
from veladura.base.settings import from_plain, from_table, paths_from
from veladura.core.gates import default_limits
from veladura.errors import PlanError
from veladura.measures.knowledge import Scenario, check_intruders
from veladura.plan.plan import Plan
from veladura.plan.quasi import completed, refuse_contradictions
from veladura.plan.requests import Request, check_requests
from veladura.plan.sections import (
    BudgetPlan,
    ConfirmedPlan,
    CustodianPlan,
    ReleasePlan,
    RunPlan,
    SourcePlan,
    UtilityPlan,
)
from veladura.plan.steps import recipe_at, recipe_from
from veladura.table.database.passwords import without_passwords
from veladura.table.linked import LinkedTable, chain_of
from veladura.table.schema import Declared

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe

MOST_PARTS = 100  # of a key of a plan, as in a.b.c


def read_plan(path: str | Path) -> Plan:
    """Return the plan in a file, checked as far as possible without its source."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = (
            f"{file} cannot be read as a plan:"
            f" {getattr(error, 'strerror', None) or 'not UTF-8 text'}.\n\nHint: veladura init TABLE"
            " writes one."
        )
        raise PlanError(msg) from None
    try:
        return plan_in(text, file.parent)
    except PlanError as error:
        if not error.unknown_name:
            raise
        msg = (
            f"{error} If the plan was written with a newer version of veladura than this one"
            f" ({__version__}), install that version."
        )
        raise type(error)(msg) from None


def plan_in(text: str, home: Path) -> Plan:
    """Return the plan in a TOML text whose paths are taken from a folder."""
    with paths_from(home):
        plan = parse_plan(text)
    return replace(plan, home=home, steps=tuple(recipe_at(step, home) for step in plan.steps))


def parse_plan(text: str) -> Plan:
    """Return the plan in a TOML text."""
    try:
        _refuse_long_keys(text)
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"the plan is not valid TOML: {error}."
        if "\\" in text:  # "\U" begins a character by its number
            msg += (
                "\n\nHint: a backslash within double quotes has a meaning of its own. Write paths"
                " with / or within single quotes: folder = 'C:\\data'."
            )
        raise PlanError(msg) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or lists in lists
        msg = "the plan is not valid TOML: a number or a key is too long, or tables nest too deep."
        raise PlanError(msg) from None
    sections = {
        "source": SourcePlan,
        "release": ReleasePlan,
        "custodian": CustodianPlan,
        "utility": UtilityPlan,
        "budget": BudgetPlan,
        "run": RunPlan,
        "confirmed": ConfirmedPlan,
    }
    possible = (*sections, "columns", "step", "gate", "intruder", "request", "unconfirmed", "table")
    for key in tables:
        if key not in possible:
            raise PlanError.unknown("the plan's key", key, possible)
    linked = _linked(tables)
    if "source" not in tables:
        msg = 'the plan has no [source].\n\nHint: [source] path = "people.csv".'
        raise PlanError(msg)
    parts = {
        key: from_table(cls, tables[key], f"[{key}]")
        for key, cls in sections.items()
        if key in tables
    }
    steps = tables.get("step", [])
    if not isinstance(steps, list) or not steps:
        msg = (
            "the plan has no [[step]]: it needs at least one method.\n\nHint: [[step]] method ="
            ' "microaggregation".'
        )
        raise PlanError(msg)
    columns = _columns(tables.get("columns", {}))
    recipes = tuple(
        recipe_from(completed(step, columns), f"[[step]] {i}")
        for i, step in enumerate(steps, start=1)
    )
    refuse_contradictions(recipes, columns)
    gate: Mapping[str, Limit] = from_plain(Mapping[str, Limit], tables.get("gate", {}), "gate")
    _refuse_loosened(gate, recipes)
    return Plan(
        **parts,
        tables=linked,
        columns=columns,
        steps=recipes,
        gate=gate,
        intruders=intruders_from(tables.get("intruder", [])),
        requests=_requests(tables.get("request", [])),
        unconfirmed=from_plain(tuple[str, ...], tables.get("unconfirmed", []), "unconfirmed"),
        text=without_passwords(text),  # it goes into the record
    )


def _linked(tables: dict[str, Any]) -> tuple[LinkedTable, ...]:
    """Return the linked tables of a plan; its source is then the first of them."""
    given = tables.get("table", [])
    if not isinstance(given, list):
        msg = "linked tables are written as [[table]], once for each."
        raise PlanError(msg)
    linked = tuple(
        from_table(LinkedTable, one, f"[[table]] {i}") for i, one in enumerate(given, start=1)
    )
    if linked:
        first = chain_of(linked)[0]
        source = tables.get("source", {})
        if isinstance(source, dict) and {"path", "url"} & set(source):
            msg = "[source] has a path or url beside [[table]].\n\nHint: leave one of them out."
            raise PlanError(msg)
        tables["source"] = {"name": first.name, **source, "path": str(first.path)}
    return linked


def _refuse_loosened(gate: Mapping[str, Limit], recipes: Sequence[Recipe]) -> None:
    """Refuse a limit that is looser than the one that holds by default, without a reason."""
    for figure, default in default_limits(recipes).items():
        limit = gate.get(figure)
        if limit is not None and limit.looser_than(default) and not limit.reason.strip():
            msg = (
                f'[gate] "{figure}": {limit} is looser than what holds by default, {default}.\n\n'
                "Hint: leave it out, or say why the release may be so: add reason ="
                ' "...". The reason is published with the release.'
            )
            raise PlanError(msg)


def _refuse_long_keys(text: str) -> None:
    """Refuse a key of hundreds of parts, which the reader of TOML takes minutes for."""
    keys = (line.partition("=")[0] for line in text.splitlines())
    if any(key.count(".") > MOST_PARTS and "," not in key for key in keys):
        raise ValueError


def intruders_from(tables: Any) -> tuple[Scenario, ...]:
    """Return the intruders that ``[[intruder]]`` tables of a plan describe."""
    if not isinstance(tables, list):
        msg = (
            "intruders are a list of tables.\n\nHint: write [[intruder]] with two brackets, then"
            ' name = "register" and knows = ["age", "sex"].'
        )
        raise PlanError(msg)
    return check_intruders(
        from_table(Scenario, table, f"[[intruder]] {i}") for i, table in enumerate(tables, start=1)
    )


def _requests(tables: Any) -> tuple[Request, ...]:
    """Return the recipients that ``[[request]]`` tables of a plan describe."""
    if not isinstance(tables, list):
        msg = (
            "requests are a list of tables.\n\nHint: write [[request]] with two brackets, then"
            ' name = "university" and columns = ["age", "sex"].'
        )
        raise PlanError(msg)
    return check_requests(
        [from_table(Request, each, f"[[request]] {i}") for i, each in enumerate(tables, start=1)]
    )


def _columns(tables: Any) -> Mapping[str, Declared]:
    """Return the declared columns; a reason that says nothing is refused."""
    columns: Mapping[str, Declared] = from_plain(Mapping[str, Declared], tables, "columns")
    if empty := [name for name in columns if not tables[name].get("exact", "-").strip()]:
        msg = (
            f"the reason in exact is empty for {empty}.\n\nHint: say why the column may be released"
            " as it is, or leave exact out and protect the column."
        )
        raise PlanError(msg)
    return columns
