"""Disclosure scenarios of a plan: who looks for people in a release, and what he knows of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veladura.errors import ColumnError, PlanError
from veladura.table.schema import LABELLED, NOT_RELEASED, UNITS

if TYPE_CHECKING:
    from veladura.measures.risk.intruder import Intruder
    from veladura.table.schema import Declared, Schema

STRONGEST, EVERYTHING = "strongest", "everything"  # figures and scenario that are always there
REGISTER, ACQUAINTANCE = "register", "acquaintance"
ASKED = "asked"  # the one whose knowledge an option of the command line gives
WITHIN, DAYS = "10 %", "30 days"
ROUGHLY = ("undecided", "other", "sensitive")  # what an acquaintance knows beside a register
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.4375, "year": 365.25}
_REACH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(%|day|week|month|year)?s?\s*")
_NAME = re.compile(r"[\w][\w -]*")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An intruder who looks for a person in a release, as ``[[intruder]]`` in a plan.

    Parameters
    ----------
    name
        Its name: the figure ``risk.intruders.<name>`` counts the people at risk.
    knows
        The columns that the intruder knows of a person.
    within
        How precisely, for those known roughly: a number in the column's unit, a share such as
        "10 %", or a time such as "30 days" for dates. Other columns are known exactly.

    Examples
    --------
    >>> Scenario(name="neighbour", knows=["sex", "age"], within={"age": 2}).knows
    ('sex', 'age')
    """

    name: str
    knows: tuple[str, ...]
    within: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.knows, str) or not self.knows:
            msg = (
                f"intruder {self.name!r} knows nothing: an intruder needs a list of columns in"
                ' knows.\n\nHint: knows = ["age", "sex"], or remove the intruder.'
            )
            raise PlanError(msg)
        object.__setattr__(self, "knows", tuple(dict.fromkeys(self.knows)))
        if not _NAME.fullmatch(self.name):
            msg = (
                f"an intruder needs a name of letters, digits, spaces, - and _, got {self.name!r}."
            )
            raise PlanError(msg)
        if extra := [name for name in self.within if name not in self.knows]:
            msg = (
                f"intruder {self.name!r}: within names columns that knows does not:"
                f" {extra}.\n\nHint: add them to knows."
            )
            raise PlanError(msg)
        for name in self.within:
            self.reach(name)

    def reach(self, name: str) -> tuple[float, str]:
        """Return how far off the knowledge of a column may be: a number and "", "%" or "days"."""
        given = self.within[name]
        if isinstance(given, str) and (match := _REACH.fullmatch(given)):
            number, unit = float(match[1]), match[2] or ""
        elif isinstance(given, (int, float)) and not isinstance(given, bool):
            number, unit = float(given), ""
        else:
            number, unit = -1.0, ""
        if not 0 <= number < float("inf") or (unit == "%" and number > 100):  # noqa: PLR2004
            msg = (
                f"intruder {self.name!r}: within.{name} must be a number of at least 0, a share"
                ' such as "10 %" (at most 100 %), or a time such as "30 days".'
            )
            raise PlanError(msg)
        if unit in _DAYS:
            return number * _DAYS[unit], "days"
        return (number / 100, "%") if unit == "%" else (number, "")

    def check(self, schema: Schema, declared: Mapping[str, Declared] | None = None) -> None:
        """Refuse knowledge of columns that the source lacks or that are in no release.

        Parameters
        ----------
        declared
            What was declared of columns that the schema does not have any more.
        """
        roles = {name: column.role for name, column in (declared or {}).items()}
        roles |= {column.name: column.role for column in schema}
        if absent := [name for name in self.knows if name not in roles]:
            raise ColumnError.missing(f"intruder {self.name!r}: knows", absent, schema.names)
        if hidden := [name for name in self.knows if roles[name] in (*NOT_RELEASED, *UNITS)]:
            msg = (
                f"intruder {self.name!r} knows columns that are not released: {hidden}. Knowing"
                " them finds nobody in the release.\n\nHint: remove them from knows."
            )
            raise PlanError(msg)
        for name in self.within:
            if name in schema.names:
                self._check_kind(name, schema[name].kind)

    def _check_kind(self, name: str, kind: str) -> None:
        """Refuse a distance that a column of this kind does not have."""
        unit = self.reach(name)[1]
        fits = kind not in LABELLED and (unit != "days" if kind != "date" else unit != "%")
        if not fits:
            fit = {"date": 'a time such as "30 days"'}.get(kind, 'a number or a share ("10 %")')
            hint = (
                "leave it out: categories are known exactly" if kind in LABELLED else f"use {fit}"
            )
            msg = (
                f"intruder {self.name!r}: within.{name} does not fit a column of kind"
                f" {kind!r}.\n\nHint: {hint}."
            )
            raise PlanError(msg)

    def intruder(self, exactly: Sequence[str], roughly: Sequence[str]) -> Intruder:
        """Return the intruder of match risk who knows some columns exactly, others roughly."""
        from veladura.measures.risk.intruder import Intruder  # a gate loads no measure

        reaches = {name: self.reach(name) for name in roughly}
        return Intruder(
            known=tuple(exactly),
            sensitive=tuple(roughly),
            radius={name: number for name, (number, _) in reaches.items()},
            relative=tuple(name for name, (_, unit) in reaches.items() if unit == "%"),
        )

    def to_plain(self) -> dict[str, object]:
        """Return the scenario as ``[[intruder]]`` holds it."""
        plain: dict[str, object] = {"name": self.name, "knows": list(self.knows)}
        return plain | ({"within": dict(self.within)} if self.within else {})


def check_intruders(
    intruders: Iterable[Scenario],
    schema: Schema | None = None,
    declared: Mapping[str, Declared] | None = None,
) -> tuple[Scenario, ...]:
    """Return scenarios, after refusing two of one name and knowledge that no table gives."""
    listed = tuple(intruders)
    names = [intruder.name for intruder in listed]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"two intruders have the same name: {twice}.\n\nHint: give each a name of its own."
        raise PlanError(msg)
    if taken := [name for name in names if name in (STRONGEST, EVERYTHING)]:
        msg = (
            f"no intruder can be named {taken[0]!r}: someone who knows every unperturbed column"
            f" ({EVERYTHING}) and the strongest of all are always measured.\n\nHint: choose"
            " another name, or remove the intruder."
        )
        raise PlanError(msg)
    if schema is not None:
        for intruder in listed:
            intruder.check(schema, declared)
    return listed


def draft_intruders(schema: Schema, quasi_identifiers: Sequence[str] = ()) -> tuple[Scenario, ...]:
    """Return the usual intruders of a table: a register and an acquaintance.

    A register knows the quasi-identifiers and places. An acquaintance also knows what nobody has
    decided on and what is sensitive, numbers within 10 % and dates within 30 days. The strongest,
    who knows every column that is released exactly, is measured in any case.

    Parameters
    ----------
    schema
        The columns of the table, with their roles.
    quasi_identifiers
        Further columns that a register knows, such as those of a method.
    """
    register = [
        column.name
        for column in schema
        if column.role in ("quasi-identifier", "geographic") or column.name in quasi_identifiers
    ]
    others = [column for column in schema if column.role in ROUGHLY and column.name not in register]
    within = {
        column.name: DAYS if column.kind == "date" else WITHIN
        for column in others
        if column.kind not in LABELLED
    }
    drafted = {
        REGISTER: (register, {}),
        ACQUAINTANCE: ([*register, *(column.name for column in others)], within),
    }
    return tuple(
        Scenario(name=name, knows=tuple(knows), within=rough)
        for name, (knows, rough) in drafted.items()
        if knows and (name == REGISTER or others)
    )


def asked_intruders(
    within: Mapping[str, float | str], intruders: Sequence[Scenario], schema: Schema
) -> tuple[Scenario, ...]:
    """Return intruders with one more in front, who knows some columns as precisely as asked.

    For the rest it is the acquaintance of `draft_intruders`. Without intruders of a plan the usual
    ones follow.

    Parameters
    ----------
    within
        How precisely, by column, as in ``within`` of a scenario.
    """
    usual = draft_intruders(schema)
    base = next((who for who in usual if who.name == ACQUAINTANCE), None) or next(iter(usual), None)
    knows = dict.fromkeys([*(() if base is None else base.knows), *within])
    old = {} if base is None else {name: base.within[name] for name in base.within}
    asked = Scenario(name=ASKED, knows=tuple(knows), within={**old, **within})
    rest = [who for who in (intruders or usual) if who.name != ASKED]
    return check_intruders((asked, *rest), schema)
