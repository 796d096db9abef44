"""plan.toml: what the holder decides, readable by a disclosure committee."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from veladura.base.limits import Limit
from veladura.base.memory import limit_memory, size_of
from veladura.base.settings import from_plain, from_table, paths_from, to_plain
from veladura.core import registry
from veladura.core.gates import default_limits
from veladura.core.steps import Steps
from veladura.errors import PlanError, VeladuraWarning
from veladura.inference.formula import check_models
from veladura.measures.knowledge import Scenario, check_intruders
from veladura.plan.quasi import completed, refuse_contradictions
from veladura.release.files import Format
from veladura.table.database.passwords import has_password, without_passwords
from veladura.table.database.scratch import custodian_home, scratch_below
from veladura.table.files.dialect import Dialect
from veladura.table.schema import Declared
from veladura.table.source import open as open_table

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.methods.private.kept import KeptLedger
    from veladura.table.table import Table

_OPENLY = (
    "the plan holds the password of its database, where everyone who reads the plan sees it. It is"
    " not kept in the record.\n\nHint: delete the password from url and set VELADURA_PASSWORD (or"
    " PGPASSWORD) in the environment."
)


MOST_PARTS = 100  # of a key of a plan, as in a.b.c


class PasswordWarning(VeladuraWarning):
    """A plan holds the password of a database."""


@dataclass(frozen=True, kw_only=True)
class SourcePlan:
    """Where the table is, and how a CSV file is written.

    ``data_id`` is the holder's own number of the data: sources with the same one share a privacy
    budget, whatever their files are called. ``counts`` names the column of a table of counts that
    says how many people a row stands for.
    """

    path: str | None = None
    url: str | None = None
    table: str | None = None
    name: str | None = None
    data_id: str | None = None
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    quote: str | None = None
    missing: tuple[str, ...] | None = None
    counts: str | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.url is None):
            msg = "give either path (a file) or url (a database on a server)."
            raise PlanError(msg)

    def dialect(self) -> Dialect | None:
        """Return how the file is written, where the plan says so."""
        names = ("separator", "encoding", "decimal", "quote", "missing")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return Dialect(**given) if given else None


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """Where the release goes, and in which format.

    ``table`` writes it into the database of the source as well. Purpose, recipient and the two
    people who prepared and approved the release are for the manifest and the certificate.
    """

    folder: str = "release"
    format: Format = "parquet"
    table: str | None = None
    purpose: str = ""
    recipient: str = ""
    prepared_by: str = ""
    approved_by: str = ""

    def __post_init__(self) -> None:
        _check_path(self.folder)
        names = [" ".join(name.split()).casefold() for name in (self.prepared_by, self.approved_by)]
        if names[0] and names[0] == names[1]:
            msg = (
                "prepared_by and approved_by name the same person.\n\nHint: a second person"
                " approves the release, or approved_by stays empty."
            )
            raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class CustodianPlan:
    """Where the private record is kept, and the series of releases that this one continues."""

    folder: str | None = None
    series: str | None = None

    def __post_init__(self) -> None:
        _check_path(self.folder or "custodian")


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """Seed, number of threads, and memory, as in ``"4 GiB"``. Results never depend on threads."""

    seed: int | None = None
    threads: int | None = None
    memory: str | None = None

    def __post_init__(self) -> None:
        if self.memory is not None:
            size_of(self.memory)


@dataclass(frozen=True, kw_only=True)
class UtilityPlan:
    """What the holder's analysts do: formulas whose slopes are compared, original and release."""

    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_models(self.models)


@dataclass(frozen=True, kw_only=True)
class BudgetPlan:
    """The privacy budget of this source over all runs; by default what this plan costs once.

    ``accept_noise`` lets a private step run that is expected to tell nothing about the data.
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    accept_noise: bool = False


@dataclass(frozen=True, kw_only=True)
class ConfirmedPlan:
    """What the holder confirmed: when, and the shape that the source had then.

    ``columns`` holds the kind of each column, ``shape`` the hash of names, kinds and levels,
    ``levels`` a hash of each category of the columns that are released exactly.
    """

    date: str
    shape: str
    columns: Mapping[str, str]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole plan. Paths in it are taken from the folder of its file."""

    source: SourcePlan
    columns: Mapping[str, Declared] = field(default_factory=dict)
    steps: tuple[Recipe, ...] = ()
    release: ReleasePlan = field(default_factory=ReleasePlan)
    custodian: CustodianPlan = field(default_factory=CustodianPlan)
    gate: Mapping[str, Limit] = field(default_factory=dict)
    intruders: tuple[Scenario, ...] = ()
    utility: UtilityPlan = field(default_factory=UtilityPlan)
    budget: BudgetPlan = field(default_factory=BudgetPlan)
    run: RunPlan = field(default_factory=RunPlan)
    unconfirmed: tuple[str, ...] = ()
    confirmed: ConfirmedPlan | None = None
    home: Path = Path()
    text: str = field(default="", repr=False)

    @property
    def recipe(self) -> Recipe:
        """The one recipe, or the chain of them."""
        return self.steps[0] if len(self.steps) == 1 else Steps(self.steps)

    @property
    def default_limits(self) -> dict[str, Limit]:
        """The limits that hold though the plan does not name them."""
        return default_limits(self.steps)

    @property
    def folder(self) -> Path:
        """The release folder."""
        return _tidy(self.home / self.release.folder)

    @property
    def custodian_folder(self) -> Path | None:
        """The custodian folder, if the plan names one."""
        return None if self.custodian.folder is None else _tidy(self.home / self.custodian.folder)

    def open(self) -> Table:
        """Open the source as the plan declares it."""
        source = self.source
        if source.url is not None and has_password(source.url):
            warnings.warn(_OPENLY, PasswordWarning, stacklevel=2)
        where = source.url if source.url is not None else self.home / str(source.path)
        scratch_below(self.custodian_folder)
        limit_memory(self.run.memory)
        return open_table(
            where,
            self.columns,
            table=source.table,
            name=source.name,
            dialect=source.dialect(),
            custodian=self.custodian_folder,
            counts=source.counts,
            writable=self.release.table is not None,
        )


def ledger_of(plan: Plan, table: Table) -> KeptLedger | None:
    """Return the ledger that private draws are charged to: in one home, by what the source is."""
    if not (private := [step for step in plan.steps if step.private]):
        return None
    from veladura.methods.private.identity import identity_of
    from veladura.methods.private.kept import KeptLedger, ledger_home
    from veladura.methods.private.ledger import Ledger, allowance

    given = plan.budget
    budget = Ledger(epsilon=given.epsilon, delta=given.delta, rho=given.rho).budget
    older = (plan.custodian_folder or custodian_home()) / "ledger" / f"{table.source.name}.json"
    return KeptLedger(
        ledger_home(),
        identity_of(table, plan.source.data_id),
        budget if budget.limit is not None else None,
        allowance(private),
        older,
    )


def _check_path(path: str) -> None:
    if not path.strip() or "\0" in path:
        msg = "the path of a folder is empty, or has a character that no path can have."
        raise PlanError(msg)


def _tidy(path: Path) -> Path:
    """Return a path without ``..`` in its middle, as people would write it."""
    return Path(os.path.normpath(path))


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
    return plan_in(text, file.parent)


def plan_in(text: str, home: Path) -> Plan:
    """Return the plan in a TOML text whose paths are taken from a folder."""
    with paths_from(home):
        plan = parse_plan(text)
    return replace(plan, home=home, steps=tuple(_from_home(step, home) for step in plan.steps))


def _from_home(recipe: Recipe, home: Path) -> Recipe:
    """Return a recipe whose paths are taken from the folder of the plan."""
    paths = {
        f.name: value
        for f in fields(recipe)
        if f.metadata.get("path") and isinstance(value := getattr(recipe, f.name), str)
    }
    return (
        replace(recipe, **{name: str(home / value) for name, value in paths.items()})
        if paths
        else recipe
    )


def parse_plan(text: str) -> Plan:
    """Return the plan in a TOML text."""
    try:
        _refuse_long_keys(text)
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"the plan is not valid TOML: {error}."
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
    possible = (*sections, "columns", "step", "gate", "intruder", "unconfirmed")
    for key in tables:
        if key not in possible:
            raise PlanError.unknown("the plan's key", key, possible)
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
        columns=columns,
        steps=recipes,
        gate=gate,
        intruders=intruders_from(tables.get("intruder", [])),
        unconfirmed=from_plain(tuple[str, ...], tables.get("unconfirmed", []), "unconfirmed"),
        text=without_passwords(text),  # it goes into the record
    )


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


def recipe_from(table: Any, where: str = "[[step]]") -> Recipe:
    """Return the recipe that a step of a plan describes."""
    if not isinstance(table, dict) or not isinstance(table.get("method"), str):
        msg = (
            f"{where}: method must be given, as text.\n\nHint: the methods are"
            f" {', '.join(map(repr, registry.METHODS))}."
        )
        raise PlanError(msg)
    cls = registry.find(table["method"])
    recipe: Recipe = from_table(
        cls,
        {key: value for key, value in table.items() if key != "method"},
        f"{where} {table['method']}",
    )
    return recipe


def recipe_to(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as the step of a plan."""
    return {"method": recipe.method, **to_plain(recipe)}


def steps_to_toml(recipe: Recipe) -> str:
    """Return a recipe as the ``[[step]]`` tables of a plan."""
    return "\n".join(_step_to_toml(recipe_to(step)) for step in recipes_of(recipe))


def recipes_of(recipe: Recipe) -> tuple[Recipe, ...]:
    """Return the recipes of a chain, or the one recipe itself."""
    return tuple(recipe.recipes) if isinstance(recipe, Steps) else (recipe,)


def _step_to_toml(step: Mapping[str, Any]) -> str:
    flat, below = step_parts(step)
    return "[[step]]\n" + tomli_w.dumps(flat) + below


def step_parts(step: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the plain settings of a step, and its tables as the TOML text below them."""
    nested = {key: value for key, value in step.items() if isinstance(value, dict)}
    listed = {
        key: value
        for key, value in step.items()
        if isinstance(value, list) and _holds_tables(value)
    }
    flat = {key: value for key, value in step.items() if key not in nested and key not in listed}
    below = "".join(_item_to_toml(key, item) for key, items in listed.items() for item in items)
    return flat, (tomli_w.dumps({"step": nested}) if nested else "") + below


def _item_to_toml(key: str, item: Mapping[str, Any]) -> str:
    """Return one table of a list of them in a step."""
    nested = {name: value for name, value in item.items() if isinstance(value, dict)}
    flat = {name: value for name, value in item.items() if name not in nested}
    return (
        f"\n[[step.{key}]]\n"
        + tomli_w.dumps(flat)
        + (tomli_w.dumps({"step": {key: nested}}) if nested else "")
    )


def _holds_tables(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(item, dict) for item in value)
