"""Every column is accounted for: named in the plan, and protected or released exactly by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from veladura.core.standing import ExactColumn, LoosenedLimit, Standing
from veladura.errors import PlanError
from veladura.measures.exact import ExactFacts, exact_facts
from veladura.plan.coarsening import holders
from veladura.table.schema import NOT_RELEASED, UNITS, WEIGHTS, Declared
from veladura.table.telling import Telling

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.plan.plan import Plan
    from veladura.table.schema import Schema
    from veladura.table.table import Table

NO_REASON = "{}: released exactly, and the plan gives no reason"


def refuse_unnamed(plan: Plan, table: Table) -> None:
    """Refuse a source with a column that the plan does not name, or treats and leaves out."""
    setting = "the plan's step"
    table.schema.check(setting, plan.recipe.changes(()))
    treated = plan.recipe.changes(())
    roles = {name: column.role for name, column in plan.columns.items()}
    if left_out := [name for name in treated if roles.get(name) in NOT_RELEASED]:
        msg = (
            f"steps of the plan treat columns that it leaves out: {left_out}.\n\nHint: take them"
            " out of the [[step]] that names them, or give them another role."
        )
        raise PlanError(msg)
    named = {*plan.columns, *treated}
    if unnamed := [name for name in table.names if name not in named]:
        example = toml_key(unnamed[0])
        again = "" if plan.confirmed is None else ", then run veladura confirm again"
        msg = (
            f"the source has columns that the plan does not name: {unnamed}. Nothing leaves that"
            f' nobody decided on.\n\nHint: add [columns.{example}] role = "..." and, where needed,'
            f' a step that protects it; or drop it: [columns.{example}] role = "dropped"{again}.'
        )
        raise PlanError(msg)


def exact_columns(plan: Plan, table: Table) -> list[str]:
    """Return the columns that the plan releases exactly."""
    schema, recipe = table.schema, plan.recipe
    if any(step.private for step in plan.steps):
        return []  # such a step releases its own columns only, none of them as it was
    accounted = {*schema.of_role(*NOT_RELEASED, *UNITS), *recipe.changes(schema.names)}
    return [name for name in schema.names if name not in accounted]


def mostly_exact_columns(plan: Plan, table: Table) -> list[str]:
    """Return the columns that steps change, but in a few rows only: top codes, critical cells."""
    if any(step.private for step in plan.steps):
        return []
    names = table.schema.names
    changed = [set(step.changes(names)) for step in plan.steps if not step.keeps_most]
    kept = [set(step.changes(names)) for step in plan.steps if step.keeps_most]
    mostly = set().union(*kept) - set().union(*changed)
    return [name for name in names if name in mostly]


def exact_in(plan: Plan, table: Table, names: Sequence[str] | None = None) -> dict[str, ExactFacts]:
    """Return what the exact columns of a plan tell: each of them, and coordinates in pairs.

    Of columns that are mostly exact, only those count that identify people, as the steps leave
    them, or give back others.
    """
    exact = exact_columns(plan, table) if names is None else list(names)
    mostly = mostly_exact_columns(plan, table) if names is None else []
    if not exact and not mostly:
        return {}
    free = {*exact, *mostly}
    protected = [
        name
        for name in table.names
        if name not in free and table.schema[name].role not in ("person", "episode", "lookup")
    ]
    facts = exact_facts(table, [*exact, *mostly], protected)
    facts |= {name: replace(facts[name], unique=_left_alone(plan, table, name)) for name in mostly}
    facts = {name: _without_weights(fact, table.schema) for name, fact in facts.items()}
    return {
        name: fact
        for name, fact in facts.items()
        if fact.dangerous or not set(fact.columns) & set(mostly)
    }


def _without_weights(fact: ExactFacts, schema: Schema) -> ExactFacts:
    """Return what a column tells; of weights, codes of the design tell nothing but the design."""
    if not set(fact.columns) <= {*schema.of_role("strata", "cluster")}:
        return fact
    told = {n: count for n, count in fact.gives_back.items() if schema[n].role not in WEIGHTS}
    return replace(fact, gives_back=told)


def _left_alone(plan: Plan, table: Table, name: str) -> int:
    """Return how many people are alone by a column as the steps that mostly keep it leave it."""
    held = holders(table, name, next(iter(table.schema.of_role("person")), None))
    column = held.column
    for step in plan.steps:
        if step.keeps_most and name in step.changes(table.schema.names):
            column = step.shown(column)
    return replace(held, column=column).alone(column.values)


def refuse_dangerous(facts: Mapping[str, ExactFacts], columns: Mapping[str, Declared]) -> None:
    """Refuse exact columns that identify people or give back protected ones, without a reason."""
    dangerous = [
        fact for fact in facts.values() if fact.dangerous and not reason_of(fact.columns, columns)
    ]
    if not dangerous:
        return
    example = toml_key(dangerous[0].columns[0])
    listed = "\n".join(f"  - {fact.name}: {in_words(fact)}" for fact in dangerous)
    msg = (
        "columns would be released exactly although they identify people, or give back columns that"
        f" are protected:\n{listed}\n\nHint: coarsen the column in a [[step]], for example with"
        " k-anonymity, recode or microaggregation; drop it:"
        f' [columns.{example}] role = "dropped"; or accept it with a reason:'
        f' [columns.{example}] exact = "why this may be known".'
    )
    raise PlanError(msg)


def in_words(fact: ExactFacts) -> str:
    """Return what a column tells, in numbers of people."""
    alone = f"{fact.unique:,} of {fact.people:,} people are unique by it alone"
    given = [
        f"it gives back {name} for {count:,} of {fact.people:,} people"
        for name, count in fact.gives_back.items()
    ]
    return "; ".join([*([alone] if fact.unique or not given else []), *given])


def reason_of(names: tuple[str, ...], columns: Mapping[str, Declared]) -> str:
    """Return the holder's reason for a column, or for both of a pair; empty where one lacks."""
    reasons = [columns.get(name, Declared()).exact.strip() for name in names]
    return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""


def standing_of(
    plan: Plan, table: Table, release: Release, facts: Mapping[str, ExactFacts]
) -> Standing:
    """Return where the release of a plan stands.

    Parameters
    ----------
    facts
        What the exact columns of the plan tell, as `exact_in` counted it before anything was drawn.
    """
    if late := [name for name in release.exact if name not in facts]:
        facts = {**facts, **exact_in(plan, table, release.exact)}
        refuse_dangerous({name: facts[name] for name in late}, plan.columns)
    free = {*release.exact, *mostly_exact_columns(plan, table)}
    kept = [fact for fact in facts.values() if set(fact.columns) <= free]
    exact = tuple(
        ExactColumn(
            fact.name,
            reason_of(fact.columns, plan.columns),
            _unique_in(release, table, fact),
            tuple(fact.gives_back),
        )
        for fact in kept
    )
    lacking = [
        NO_REASON.format(column.name)
        for fact, column in zip(kept, exact, strict=True)
        if not column.reason and len(fact.columns) == 1
    ]
    return Standing(
        (*plan.unconfirmed, *lacking),
        exact,
        plan.release.purpose,
        plan.release.recipient,
        f"{datetime.now(UTC):%Y-%m-%d}",
        _loosened(plan),
        plan.release.prepared_by,
        plan.release.approved_by,
    )


def _loosened(plan: Plan) -> tuple[LoosenedLimit, ...]:
    """Return the limits of a plan that are looser than what holds by default."""
    return tuple(
        LoosenedLimit(figure, str(limit), str(default), limit.reason.strip())
        for figure, default in plan.default_limits.items()
        if (limit := plan.gate.get(figure)) is not None and limit.looser_than(default)
    )


def with_broken(standing: Standing, reason: str) -> Standing:
    """Return the standing of a release that breaks what another one promised, as accepted."""
    accepted = LoosenedLimit(
        "people for whom this release and another one break the other's promise",
        "any number",
        "none",
        reason.strip(),
    )
    return replace(standing, loosened=(*standing.loosened, accepted))


def _unique_in(release: Release, table: Table, fact: ExactFacts) -> int:
    """Return how many people are unique in the release; with several rows a person, before it."""
    if table.schema.of_role("person"):
        return fact.unique
    return Telling(release.tables[0].table).alone(fact.columns)


def toml_key(name: str) -> str:
    """Return the name of a column as a key of a plan.

    Examples
    --------
    >>> toml_key("body mass")
    '"body mass"'
    """
    import tomli_w

    return tomli_w.dumps({name: 0}).rsplit(" = ", 1)[0]
