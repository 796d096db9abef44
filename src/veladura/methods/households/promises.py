"""What a synthesis by household promises: whole households, rules across members, rare sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Floats, Ints
from veladura.base.bounds import bounds_of
from veladura.base.sorting import ranked
from veladura.core.moved_numbers import is_apart
from veladura.core.promise import Check, Evidence, Promise, listed
from veladura.core.violations import source_column
from veladura.methods.cart.promises import CHECKS as CART_CHECKS
from veladura.methods.cart.promises import promises_of, rare_values, rare_values_out
from veladura.methods.households.extends import EXTENDS, extends_promise
from veladura.methods.households.rules import MemberRules
from veladura.numeric.chance import own_numbers
from veladura.table.codes import label_texts
from veladura.table.units import people_per_cell

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table


def implied_by(settings: Mapping[str, Any]) -> tuple[Promise, ...]:
    """Return the promises that the settings of a manifest imply; they are those of the release."""
    limits = {name: bounds_of(ends, "limits") for name, ends in settings.get("limits", {}).items()}
    people, units = settings["min_people"], settings.get("units", {})
    fixed = [name for unit in units.values() for name in unit["columns"]]
    moved = settings.get("moved_numbers_in", ())
    promises = promises_of(
        [name for name in moved if name not in fixed],
        settings.get("rare_levels_merged_in", ()),
        people,
        settings.get("row_rules", ()),
        limits,
    )
    return (*promises, *_of_units(settings, units, moved, people), *extends_promise(settings))


def _of_units(
    settings: Mapping[str, Any], units: Mapping[str, Any], moved: Sequence[str], people: int
) -> list[Promise]:
    made: list[Promise] = []
    for unit, about in units.items():
        columns = list(about["columns"])
        # of what is below with several rows each counts once
        counted_by = {} if about["of"] is None else {"of": about["of"]}
        if columns:
            made.append(Promise("unit-columns", "package", {"columns": columns, "unit": unit}))
        if own := [name for name in columns if name in moved]:
            told = {"columns": own, "unit": unit, "people": people}
            made.append(Promise("moved-unit-numbers", "source", told))
        if counted := list(about["counted"]):
            made.append(
                Promise("unit-sizes", "package", {"columns": counted, "unit": unit} | counted_by)
            )
        if distinct := list(about["distinct"]):
            made.append(
                Promise("distinct", "package", {"columns": distinct, "unit": unit} | counted_by)
            )
        if some := list(about["members"][:1]):
            told = {"columns": some, "unit": unit, "people": people, **counted_by}
            made.append(Promise("rare-sizes", "source", told))
    relatives = settings.get("relatives") or {}
    if units and relatives:
        exactly = list(settings.get("exactly_one") or ())
        stated = settings.get("rules") or ()
        rules = [rule for rule in stated if rule not in settings.get("row_rules", ())]
        across = MemberRules.of(relatives, exactly, rules)
        said = {"relatives": dict(relatives), "exactly_one": exactly, "rules": rules}
        columns, unit = list(across.columns), next(iter(units))
        # who has several rows is one member
        of = {} if (person := units[unit]["of"]) is None else {"of": person}
        told = {"columns": columns, "unit": unit, **said, **of}
        made.append(Promise("member-rules", "package", told))
    return made


def _numbers(table: Table, unit: str) -> Ints:
    """Return the unit of every row, from 0; rows without a number are units alone."""
    column = table.units.column(unit)
    number = ranked(column.values)[1]
    if not column.missing.any():
        return number
    number[column.missing] = table.rows + np.flatnonzero(column.missing)
    return ranked(number)[1]


def _has(table: Table, unit: str) -> bool:
    return unit in table.units.names


def _has_units(table: Table, settings: Mapping[str, Any]) -> bool:
    return all(_has(table, settings[name]) for name in ("unit", "of") if name in settings)


def varying_units(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many units hold two values of a column that is theirs."""
    if not _has(evidence.released, settings["unit"]):
        return evidence.released.rows
    number = _numbers(evidence.released, settings["unit"])
    row = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.int64)
    row[number] = np.arange(number.size)
    differs = np.zeros(number.size, dtype=bool)
    for name in settings["columns"]:
        column = evidence.column(name)
        key = np.where(column.missing, 0, column.values)
        differs |= (key != key[row[number]]) | (column.missing != column.missing[row[number]])
    return int(np.unique(number[differs]).size)


def miscounted_units(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return in how many rows a column is not the number of rows, or people, of the unit."""
    if not _has_units(evidence.released, settings):
        return evidence.released.rows
    number = _numbers(evidence.released, settings["unit"])
    size = _sizes_of(evidence.released, settings)[number]
    columns = [evidence.column(name) for name in settings["columns"]]
    return sum(int(np.count_nonzero(c.missing | (sizes_in(c) != size))) for c in columns)


def sizes_in(column: Column) -> Floats:
    """Return the whole numbers that a column tells, as numbers or as text; -1 for others."""
    if column.labels is None:
        return column.values.astype(np.float64)
    told = [float(text) if text.isdigit() else -1.0 for text in label_texts(column)]
    return np.array([*told, -1.0])[np.where(column.missing, len(told), column.values)]


def broken_member_rules(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many times a rule across members is broken."""
    if not _has_units(evidence.released, settings):
        return evidence.released.rows
    rules = MemberRules.of(settings["relatives"], settings["exactly_one"], settings["rules"])
    columns, number = _members(evidence, settings)
    return int(rules.broken(columns, number, int(number.max(initial=-1)) + 1).sum())


def _members(evidence: Evidence, settings: Mapping[str, Any]) -> tuple[dict[str, Column], Ints]:
    """Return the columns of members and the unit of each; one with several rows is one member."""
    columns = {name: evidence.column(name) for name in settings["columns"]}
    number = _numbers(evidence.released, settings["unit"])
    if "of" not in settings:
        return columns, number
    first = np.unique(_numbers(evidence.released, settings["of"]), return_index=True)[1]
    return {name: column.take(first) for name, column in columns.items()}, number[first]


def repeated_times(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many rows, or visits, of a unit hold a value that another one holds."""
    if not _has_units(evidence.released, settings):
        return evidence.released.rows
    rules = MemberRules({}, (), (), tuple(settings["columns"]))
    columns, number = _members(evidence, settings)
    return int(rules.broken(columns, number, int(number.max(initial=-1)) + 1).sum())


def rare_levels_out(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many released values are held by few people in the original.

    What all members of a household share was merged as often as few households hold it. Where that
    is so of every value, neighbours were merged, and one of theirs stands for the group.
    """
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    home = evidence.original.units.schema.household
    if home is None:
        return rare_values_out(evidence, settings)
    number = _numbers(evidence.original, home)
    held = [
        name
        for name in settings["columns"]
        if not rare_values(source_column(evidence, name), number, settings["people"])[1]
    ]
    return rare_values_out(evidence, {**settings, "columns": held})


def rare_sizes_out(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many units have more rows than enough units of the original have."""
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    if not _has_units(evidence.released, settings):
        return evidence.released.rows
    before = np.sort(_sizes_of(evidence.original, settings))[::-1]
    most = int(before[min(settings["people"], before.size) - 1])
    return int(np.count_nonzero(_sizes_of(evidence.released, settings) > most))


def _sizes_of(table: Table, settings: Mapping[str, Any]) -> Ints:
    """Return how many rows, or people, each unit has."""
    unit = _numbers(table, settings["unit"])
    if "of" not in settings:
        return np.bincount(unit)
    return people_per_cell(unit, _numbers(table, settings["of"]), int(unit.max(initial=-1)) + 1)


def not_by_chance(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the columns in which numbers of one unit come out oftener or less than by chance."""
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    if not _has(evidence.released, settings["unit"]):
        return len(settings["columns"])
    firsts = [
        np.unique(_numbers(table, settings["unit"]), return_index=True)[1]
        for table in (evidence.original, evidence.released)
    ]
    return sum(
        is_apart(
            own_numbers(
                source_column(evidence, name).take(firsts[0]),
                [evidence.column(name).take(firsts[1])],
                None,
                settings["people"],
            )
        )
        for name in settings["columns"]
    )


def _constant(settings: Mapping[str, Any]) -> str:
    return f"All rows of one {settings['unit']} have the same {listed(settings)}."


def _counts(settings: Mapping[str, Any]) -> str:
    counted = f"different {settings['of']}" if "of" in settings else "rows"
    return f"{listed(settings)} is the number of {counted} that its {settings['unit']} has."


def _distinct(settings: Mapping[str, Any]) -> str:
    rows = f"different {settings['of']}" if "of" in settings else "rows"
    return f"No two {rows} of one {settings['unit']} have the same {listed(settings)}."


def _across(settings: Mapping[str, Any]) -> str:
    names = [
        f"{'exactly' if name in settings['exactly_one'] else 'at most'} one {name} ({condition})"
        for name, condition in settings["relatives"].items()
    ]
    rules = "; ".join([*names, *settings["rules"]])
    return f"In every {settings['unit']}: {rules}."


def _sizes(settings: Mapping[str, Any]) -> str:
    counted = f"different {settings['of']}" if "of" in settings else "rows"
    return (
        f"No {settings['unit']} has more {counted} than at least {settings['people']} of the"
        " original have."
    )


def _moved(settings: Mapping[str, Any]) -> str:
    return (
        f"Every number of {listed(settings)} that fewer than {settings['people']} units of"
        f" {settings['unit']} share was moved at random: numbers of one unit come out as often as"
        " the numbers around them."
    )


_UNIT = {"columns": shapes.names, "unit": shapes.name}
_SIZES = shapes.table(_UNIT, {"of": shapes.name})
_PEOPLE = shapes.table({**_UNIT, "people": shapes.whole(2)}, {"of": shapes.name})
_RULES = shapes.table(
    {
        **_UNIT,
        "relatives": shapes.mapped(shapes.text, 1, keys=shapes.name),
        "exactly_one": shapes.listed(shapes.name),
        "rules": shapes.listed(shapes.text),
    },
    {"of": shapes.name},
)
CHECKS = {
    **CART_CHECKS,
    "unit-columns": Check(varying_units, _constant, shapes.table(_UNIT)),
    "unit-sizes": Check(miscounted_units, _counts, _SIZES),
    "distinct": Check(repeated_times, _distinct, _SIZES),
    "member-rules": Check(broken_member_rules, _across, _RULES),
    "rare-levels": replace(CART_CHECKS["rare-levels"], count=rare_levels_out),
    "rare-sizes": Check(rare_sizes_out, _sizes, _PEOPLE, linked=False),
    "moved-unit-numbers": Check(not_by_chance, _moved, _PEOPLE, linked=False),
    "extends": EXTENDS,
}
