"""A whole protection for a table: every column left out, made coarser, protected as a key, or kept.

The order of the steps: heavy tails are top-coded, numbers rounded, dates and rare categories made
coarser, the quasi-identifiers made k-anonymous, what no rounding saves averaged in small groups,
and weights brought back to their total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.core import registry
from veladura.core.steps import Steps
from veladura.errors import PlanError
from veladura.measures.exact import exact_facts
from veladura.methods.kanonymity.kanonymity import KAnonymity
from veladura.methods.kanonymity.privacy_models import LDiversity
from veladura.methods.masks.microaggregation import Microaggregation
from veladura.methods.masks.recode import Recode
from veladura.methods.masks.recode_rules import Coarser
from veladura.methods.masks.reweight import Reweight
from veladura.methods.masks.topcode import TopCode
from veladura.methods.masks.topcode_limits import Limits
from veladura.numeric.hierarchies.grid import composed
from veladura.numeric.hierarchies.suggest import suggest_from, suggest_grid
from veladura.numeric.hierarchies.thin import thin
from veladura.plan.coarsening import (
    ENOUGH_TOLD,
    MOST_MERGED,
    Holders,
    coarser_number,
    coarser_weight,
    date_period,
    holders,
    merged_share,
    rare_levels,
    told_by_ranks,
)
from veladura.table.schema import NOT_RELEASED, NUMERIC, UNITS, WEIGHTS, Role, Schema

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.plan.audience import Audience
    from veladura.table.inspect import Facts
    from veladura.table.schema import Field
    from veladura.table.table import Table

MOST_LEVELS = 200  # an undecided column with more values is no key: nobody would share them
MOST_RAISED = 0.5  # share of rows that may get coarser values than the others
MOST_SUPPRESSED = 0.05  # and of rows left out, where people's rows differ: nothing can be raised
MOST_GROUPED = 20_000  # people whose numbers are averaged in groups: time grows with the square
MOST_NODES = 1_000_000  # generalisations that are searched whole in seconds
MOST_BY_NODE = 20_000  # and where each must be looked at: privacy models, people with several rows
COMMON = 0.8  # a sensitive category that so many people share needs no diversity
UNDECIDED = ("undecided", "other")
# Tried in this order for a table in which nothing asks for protection.
FALLBACKS = ("k-anonymity", "microaggregation", "pram", "recode", "noise")


@dataclass
class Protection:
    """A protection while it is drafted.

    Attributes
    ----------
    table
        The table with its roles; a column that is left out gets the role "dropped".
    treatment
        What happens to each column, in words.
    exact
        The reason why a column that may single people out stays exact, for the holder to confirm.
    """

    table: Table
    audience: Audience
    treatment: dict[str, str] = field(default_factory=dict)
    exact: dict[str, str] = field(default_factory=dict)
    limits: dict[str, Limits] = field(default_factory=dict)
    rules: dict[str, Coarser] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    models: list[LDiversity] = field(default_factory=list)
    grouped: list[str] = field(default_factory=list)
    weights: Reweight | None = None

    @property
    def by_home(self) -> bool:
        """Whether households are counted: keys of linked tables, which the release must have."""
        return bool(self.table.source.links) and self.table.schema.household is not None

    @property
    def unit(self) -> str | None:
        """The column of those who are counted; None where every row is a person."""
        return self.table.schema.household if self.by_home else self.table.schema.person

    def drop(self, name: str, why: str) -> None:
        """Leave a column out."""
        self.treatment[name] = f"left out: {why}"
        self._give_role(name, "dropped")

    def add_key(self, name: str, why: str) -> None:
        """Protect a column as a quasi-identifier."""
        self.keys.append(name)
        self.treatment[name] = why
        if self.table.schema[name].role != "geographic":
            self._give_role(name, "quasi-identifier")

    def _give_role(self, name: str, role: Role) -> None:
        fields = tuple(
            replace(column, role=role) if column.name == name else column
            for column in self.table.schema
        )
        table = replace(self.table, schema=Schema(fields))
        table.cache.share_counts(self.table.cache)  # a role changes no count
        self.table = table

    def steps(self) -> tuple[Recipe, ...]:
        """Return the steps of the plan, in order."""
        steps: list[Recipe] = []
        if self.limits:
            steps.append(TopCode(columns=self.limits))
        if self.rules:
            steps.append(Recode(columns=self.rules))
        if self.keys:
            steps.append(self._k_anonymity())
        steps += [  # after rows were left out: a group keeps its k people
            Microaggregation(columns=[name], k=self.audience.k) for name in self.grouped
        ]
        if self.weights is not None:
            steps.append(self.weights)
        return tuple(steps)

    def _k_anonymity(self) -> KAnonymity:
        hierarchies = {}
        for pair in self.pairs:
            place = composed(*self.table.counts(pair).columns)
            hierarchies[place.name] = suggest_grid(place)
        paired = {name for pair in self.pairs for name in pair}
        for name in [name for name in self.keys if name not in paired]:
            hierarchies[name] = suggest_from(self.table.people_counts([name]), self.audience.k)
        by_row = not self.by_home and self.table.people_counts(self.keys).one_tuple_each
        return KAnonymity(
            quasi_identifiers=tuple(self.keys),
            k=self.audience.k,
            max_suppression=MOST_RAISED if by_row else MOST_SUPPRESSED,
            models=tuple(self.models),
            pairs=tuple(self.pairs),
            hierarchies=thin(hierarchies, MOST_NODES if by_row else MOST_BY_NODE),
            recoding="local" if by_row else "global",
            counted="households" if self.by_home else "people",
        )


def draft_protection(
    table: Table,
    facts: Mapping[str, Facts],
    partners: Mapping[str, str],
    audience: Audience,
) -> tuple[Protection, Recipe]:
    """Return a protection of the whole table, and its steps as one recipe.

    Parameters
    ----------
    table
        The table, with the roles that were guessed or declared.
    facts
        Counts about its columns.
    partners
        The other coordinate of each coordinate.
    """
    drafted = Protection(table, audience)
    _leave_out(drafted)
    _choose_keys(drafted, facts, partners)
    for column in drafted.table.schema:
        if column.name not in drafted.treatment:
            _treat(drafted, column, facts[column.name].distinct)
    _hide_tellers(drafted, facts)
    _diversify(drafted)
    steps = drafted.steps() or (_fallback(drafted.table, facts),)
    return drafted, steps[0] if len(steps) == 1 else Steps(steps)


def _leave_out(drafted: Protection) -> None:
    """Say what becomes of identifiers and units, and leave out text and codes of the design."""
    weights = drafted.table.schema.of_role("weight")
    for column in drafted.table.schema:
        if column.role == "identifier":
            drafted.treatment[column.name] = "left out: it tells who a row is"
        elif column.role == "dropped":
            drafted.treatment[column.name] = "left out"
        elif column.role in UNITS:
            drafted.treatment[column.name] = f"{column.role} numbers are drawn anew or left out"
        elif column.kind == "text":
            drafted.drop(column.name, "free text may name people")
        elif column.role in ("strata", "cluster") and not drafted.audience.exact_numbers:
            drafted.drop(column.name, "codes of the survey design tell the area")
        elif column.role == "replicate weight" and not drafted.audience.exact_numbers:
            drafted.drop(column.name, "replicate weights tell who was sampled together")
        elif column.name in weights[1:]:
            drafted.drop(column.name, "one column of weights is released")


def _choose_keys(
    drafted: Protection, facts: Mapping[str, Facts], partners: Mapping[str, str]
) -> None:
    """Take the quasi-identifiers, places, and as many undecided columns as can be protected."""
    released = [c for c in drafted.table.schema if c.name not in drafted.treatment]
    for column in [c for c in released if c.role in ("quasi-identifier", "geographic")]:
        drafted.add_key(column.name, "a key: made k-anonymous with the other keys")
    for name in drafted.keys:
        partner = partners.get(name, "")
        if partner in drafted.keys and not any(name in pair for pair in drafted.pairs):
            drafted.pairs.append((name, partner))
            drafted.treatment[name] = f"a key, with {partner}: released as the middle of a cell"
            drafted.treatment[partner] = f"a key, with {name}: released as the middle of a cell"
    _leave_out_bands(drafted, facts)
    undecided = [
        c.name
        for c in released
        if c.role in UNDECIDED and 1 < facts[c.name].distinct <= MOST_LEVELS
    ]
    undecided.sort(key=lambda name: facts[name].distinct)
    free = drafted.audience.undecided_keys - len(drafted.keys) + len(drafted.pairs)
    for name in undecided[: max(free, 0)]:
        drafted.add_key(name, "a key, because nobody has decided: an intruder may know it")


def _leave_out_bands(drafted: Protection, facts: Mapping[str, Facts]) -> None:
    """Leave out keys that follow from a number among them, as age groups follow from the age.

    The number is released in bands itself. Two bands of one thing would make people rare twice.
    """
    schema = drafted.table.schema
    numbers = [
        name
        for name in drafted.keys
        if schema[name].kind in NUMERIC
        and schema[name].role != "geographic"
        and facts[name].distinct <= MOST_LEVELS
    ]
    for number in numbers:
        coarser = [
            name
            for name in drafted.keys
            if name not in numbers and facts[name].distinct < facts[number].distinct
        ]
        told = exact_facts(drafted.table, [number], coarser)[number] if coarser else None
        if told is None or told.nearly_unique:
            continue
        for name in told.gives_back:
            drafted.keys.remove(name)
            drafted.drop(name, f"it follows from {number}, which is released in bands")


def _treat(drafted: Protection, column: Field, distinct: int) -> None:
    """Decide what happens to a column that is no key."""
    name, audience = column.name, drafted.audience
    if column.role == "weight":
        _keep_weights(drafted, name)
    elif column.kind not in (*NUMERIC, "date"):
        if column.role in UNDECIDED and distinct > MOST_LEVELS and not audience.exact_numbers:
            drafted.drop(name, "nobody has decided what it is, and few people share a value")
        else:
            _merge_rare(drafted, name)
    elif audience.exact_numbers:
        _keep_exact(drafted, name)
    else:
        _make_coarser(drafted, column)


def _keep_exact(drafted: Protection, name: str) -> None:
    """Keep a number or a date as it is, with a reason for the holder to confirm."""
    held = holders(drafted.table, name, drafted.unit)
    drafted.treatment[name] = "released exactly: nearly everybody shares it with others"
    if (alone := held.alone(held.column.values)) > drafted.audience.most_alone * held.people:
        drafted.exact[name] = "no intruder knows it"
        drafted.treatment[name] = f"released exactly: {alone:,} people are alone by it"


def _make_coarser(drafted: Protection, column: Field) -> None:
    """Round a number or a date until few people are alone by it."""
    name, most_alone = column.name, drafted.audience.most_alone
    held = holders(drafted.table, name, drafted.unit)
    limits = None
    if column.kind == "date":
        rule = date_period(held, most_alone)
    else:
        limits, rule = coarser_number(held, most_alone)
        if _groups_tell_more(drafted, held, limits, rule):
            drafted.grouped.append(name)
            rule = None
    if limits is not None:
        drafted.limits[name] = limits
    if rule is not None:
        drafted.rules[name] = rule
    drafted.treatment[name] = _said(limits, rule, grouped=name in drafted.grouped)


def _groups_tell_more(
    drafted: Protection, held: Holders, limits: Limits | None, rule: Coarser | None
) -> bool:
    """Whether to average a number in small groups: no rounding leaves enough of it.

    So it is with amounts of few people and very different size. Groups are of rows, and a large
    table needs none.
    """
    one_row_each = drafted.table.schema.person is None and not drafted.by_home
    if (
        rule is None
        or not one_row_each
        or not 2 * drafted.audience.k <= held.people <= MOST_GROUPED
    ):
        return False
    return told_by_ranks(held, limits, rule) < ENOUGH_TOLD


def _said(limits: Limits | None, rule: Coarser | None, *, grouped: bool) -> str:
    """Return in words how a number or a date was made coarser."""
    parts = []
    if limits is not None:
        parts.append("its tails are coded together")
    if rule is not None and rule.date is not None:
        parts.append(f"dates become the first day of their {rule.date}")
    elif rule is not None:
        rounded = _digits(rule.digits) if rule.digits else "multiples of a base"
        parts.append(f"rounded to {rounded}")
    if grouped:
        parts.append("averaged in small groups of people")
    return " and ".join(parts) or "released exactly: nearly everybody shares it with others"


def _digits(digits: int) -> str:
    return f"{digits} significant digit{'' if digits == 1 else 's'}"


def _merge_rare(drafted: Protection, name: str) -> None:
    """Merge categories of few people; leave the column out where that would take most of them."""
    held = holders(drafted.table, name, drafted.unit)
    rule = rare_levels(held, drafted.audience.k)
    if rule is None:
        drafted.treatment[name] = "released exactly: every category is shared"
    elif merged_share(held, rule) > MOST_MERGED:
        drafted.drop(name, "most of its categories are held by very few people")
    else:
        drafted.rules[name] = rule
        drafted.treatment[name] = "categories of very few people are merged"


def _keep_weights(drafted: Protection, name: str) -> None:
    """Round and trim weights until few people are alone by them, and keep their total."""
    total = float(np.nansum(holders(drafted.table, name, None).column.numbers()))
    if total <= 0:
        drafted.drop(name, "the weights do not add up to more than 0")
        return
    held = holders(drafted.table, name, drafted.unit)
    lower, upper, digits = coarser_weight(held, drafted.audience.most_alone)
    drafted.weights = Reweight(
        column=name, rows=drafted.table.rows, digits=digits, lower=lower, upper=upper
    )
    trimmed = "" if lower is None and upper is None else "its ends trimmed, "
    drafted.treatment[name] = f"{trimmed}rounded to {_digits(digits)}, total about kept"


def _hide_tellers(drafted: Protection, facts: Mapping[str, Facts]) -> None:
    """Protect columns that would give back a protected one, or single people out."""
    schema = drafted.table.schema
    replaced = {*drafted.keys, *drafted.rules, *drafted.limits, *drafted.grouped}
    protected = [c.name for c in schema if c.role in (*NOT_RELEASED, *UNITS)] + drafted.keys
    exact = [
        c.name
        for c in schema
        if c.name not in (*protected, *replaced) and c.role not in (*WEIGHTS, "geographic")
    ]
    for name, told in exact_facts(drafted.table, exact, protected).items():
        if not told.dangerous or name in drafted.exact:
            continue
        back = ", ".join(told.gives_back)
        if drafted.audience.exact_numbers:
            drafted.exact[name] = f"it gives back {back}" if back else "no intruder knows it"
        elif facts[name].distinct <= MOST_LEVELS and schema[name].role in (*UNDECIDED, "harmless"):
            drafted.add_key(name, f"a key, because it would give back {back}")
        else:
            drafted.drop(name, f"it would give back {back}" if back else "it singles people out")


def _diversify(drafted: Protection) -> None:
    """Ask for two values of every sensitive category among people who share the keys."""
    for column in drafted.table.schema:
        if column.role != "sensitive" or column.kind in (*NUMERIC, "date") or not drafted.keys:
            continue
        sizes = drafted.table.counts([column.name]).size
        if sizes.size > 1 and sizes.max() <= COMMON * sizes.sum():
            drafted.models.append(LDiversity(column=column.name, l=2))


def _fallback(table: Table, facts: Mapping[str, Facts]) -> Recipe:
    """Return the first simple method that suits a table in which nothing asks for protection."""
    kept = table.without_identifiers()
    if all(facts[name].distinct < 2 for name in kept.names):  # noqa: PLR2004
        msg = (
            "every column that could be released has the same value in all rows: there is nothing"
            " to protect, and nothing to learn from a release.\n\nHint: check that the source is"
            " the one you meant."
        )
        raise PlanError(msg)
    for name in FALLBACKS:
        try:
            return registry.find(name).suggest_for(kept, facts)
        except PlanError:
            continue
    msg = (
        f"none of the methods {', '.join(FALLBACKS)} suits this table: no column has a kind that"
        " they treat.\n\nHint: name a method with --method, or declare the columns in a plan."
    )
    raise PlanError(msg)
