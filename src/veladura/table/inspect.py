"""Look at a table: what each column seems to hold. Facts are counts, never values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis

from veladura.table.dialect import MISSING_WORDS, Dialect
from veladura.table.faults import told_without_values
from veladura.table.prepare import INTEGER, NUMBER, try_strptime
from veladura.table.schema import LABELLED, Declared, Kind, Role
from veladura.table.table import Table

DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
LONG_TEXT = 40
UNIQUE_SHARE = 0.95

_IDENTIFIER_NAMES = r"(^|_)(id|name|surname|lastname|firstname|email|e_?mail|phone|telephone|mobile|ssn|passport|account|iban|uuid|guid|address|street|(social|patient|person|record|policy|insurance)_?(number|no|id))($|_)"
_QUASI_NAMES = r"(^|_)(zip|zipcode|postcode|postal|birth|birthday|dob|age|agegr|agep|sex|gender|race|ethnicity|ethnic|marital|marstat|msp|nationality|country|region|county|city|town|district|puma|place|placesize|education|edu|eduspec|occupation|profession|workclass|job|language|religion|height|weight|socprof|rac1p|hisp)($|_|code)"
_SENSITIVE_NAMES = r"(^|_)(income|salary|wage|wealth|pincp|diagnosis|disease|illness|icd|hiv|crime|debt|tax|drug|alcabuse|stay|treatment|therapy)($|_|code)"
_GEOGRAPHIC_NAMES = r"(^|_)(lon|lng|longitude|lat|latitude|easting|northing|x_?coord|y_?coord)($|_)"
_WEIGHT_NAMES = r"(^|_)(weight|weights|wgt|pwgtp|sampling_?weight)($|_)"


@dataclass(frozen=True)
class Facts:
    """Counts about one column, enough to guess its kind and role."""

    name: str
    kind: Kind
    present: int
    distinct: int
    longest: int
    format: str | None = None
    missing: tuple[str, ...] = ()
    note: str = ""


def inspect_table(table: Table) -> dict[str, Facts]:
    """Return facts on every column of an opened table, from one scan of it."""
    expression = table.expression
    figures: dict[str, Any] = {}
    for i, field in enumerate(table.schema):
        column = expression[f"c{i}"]
        figures[f"present{i}"] = column.count()
        figures[f"distinct{i}"] = column.nunique()
        if field.kind in LABELLED:
            figures[f"longest{i}"] = column.cast("string").length().max()
    with told_without_values(table.source.name):
        found = expression.aggregate(**figures).to_pyarrow().to_pylist()[0]
    return {
        field.name: Facts(field.name, field.kind, int(found[f"present{i}"]), int(found[f"distinct{i}"]), int(found.get(f"longest{i}") or 0))
        for i, field in enumerate(table.schema)
    }


def guess_kinds(expression: ibis.Table, names: Sequence[str], declared: Mapping[str, Declared], dialect: Dialect) -> dict[str, Declared]:
    """Return declarations with a kind for every text column of a CSV file, found in one scan."""
    open_names = [name for name in names if name not in declared or declared[name].kind is None]
    facts = inspect_text(expression.select([f"c{names.index(name)}" for name in open_names]), open_names, dialect) if open_names else {}
    full = dict(declared)
    for name, found in facts.items():
        given = declared.get(name, Declared())
        kind: Kind = "ordered" if given.order else found.kind
        full[name] = replace(given, kind=kind, format=given.format or found.format, missing=given.missing or found.missing)
    return full


def inspect_text(expression: ibis.Table, names: Sequence[str], dialect: Dialect) -> dict[str, Facts]:
    """Return facts on text columns: which of them are whole numbers, numbers or dates throughout."""
    figures: dict[str, Any] = {}
    for i, raw in enumerate(expression[place] for place in expression.columns):
        column = raw.isin(dialect.missing).ifelse(ibis.null("string"), raw)
        number = column.replace(dialect.decimal, ".").re_search(NUMBER) if dialect.decimal != "." else column.re_search(NUMBER)
        integer = column.re_search(INTEGER)
        strange = number.ifelse(ibis.null("string"), column)
        figures |= {
            f"present{i}": column.count(),
            f"distinct{i}": column.nunique(),
            f"longest{i}": column.length().max(),
            f"number{i}": number.sum(),
            f"integer{i}": integer.sum(),
            f"zeros{i}": column.re_search(r"^\s*[+-]?0[0-9]").sum(),
            f"digits{i}": integer.ifelse(column.length(), 0).max(),
            f"strange{i}": strange.nunique(),
            f"word{i}": strange.max(),
        }
        for j, form in enumerate(DATE_FORMATS):
            figures[f"date{i}_{j}"] = try_strptime(column, form).count()
    found = expression.aggregate(**figures).to_pyarrow().to_pylist()[0]
    return {name: _text_facts(name, {key.removesuffix(str(i)): found[key] or 0 for key in found if re.fullmatch(rf"[a-z]+{i}", key)},
                              [int(found[f"date{i}_{j}"]) for j in range(len(DATE_FORMATS))]) for i, name in enumerate(names)}  # fmt: skip


def _text_facts(name: str, found: Mapping[str, Any], dates: Sequence[int]) -> Facts:
    """Return what a column of text seems to be: the narrowest kind that every value fits."""
    present, distinct, longest = int(found["present"]), int(found["distinct"]), int(found["longest"])
    facts = Facts(name, "category", present, distinct, longest)
    if present == 0:
        return replace(facts, note="no value at all")
    if found["zeros"] and found["integer"] == present:
        return replace(facts, note="leading zeros: text, not a number")
    if found["integer"] == present and found["digits"] <= 18:
        return replace(facts, kind="integer")
    if found["integer"] == present:
        return replace(facts, note="digits too long for a number: text")
    if found["number"] == present:
        return replace(facts, kind="number")
    if max(dates) == present:
        return replace(facts, kind="date", format=DATE_FORMATS[dates.index(present)])
    if max(dates) > present / 2 and sum(dates) >= present:
        return replace(facts, note="dates in more than one format: make them one to use them as dates")
    if found["strange"] == 1 and found["number"] >= 2 and not found["zeros"] and not re.search(r"[0-9]", str(found["word"])) and distinct > 2:
        whole = found["integer"] == found["number"]
        return replace(facts, kind="integer" if whole else "number", missing=(str(found["word"]),), note="numbers, but for one word taken as missing")
    if found["number"] > present / 2 and found["strange"] > 1:
        return replace(facts, note="numbers and other text mixed")
    if longest > LONG_TEXT and distinct > UNIQUE_SHARE * present:
        return replace(facts, kind="text")
    return facts


def looks_like_identifier(facts: Facts) -> bool:
    """Whether a column's name, or its long unique codes, look like those of an identifier."""
    unique = facts.present > 1 and facts.distinct >= UNIQUE_SHARE * facts.present
    if facts.kind in ("number", "date"):
        return False
    named = re.search(_IDENTIFIER_NAMES, _snake(facts.name)) is not None
    if facts.kind == "integer":
        return unique and facts.present >= 50 and (named or facts.distinct == facts.present and facts.present >= 1000 and "id" in _snake(facts.name))
    return (named and facts.distinct > 0.3 * facts.present and facts.present > 1) or (unique and facts.present >= 50 and facts.longest >= 6)


def guess_role(facts: Facts) -> Role:
    """Return the likely role of a column, by what it holds and what it is called."""
    name = _snake(facts.name)
    if looks_like_identifier(facts):
        return "identifier"
    if facts.kind in ("number", "integer") and re.search(_WEIGHT_NAMES, name) and facts.distinct > 100:
        return "weight"
    if facts.kind == "number" and re.search(_GEOGRAPHIC_NAMES, name):
        return "geographic"
    if re.search(_SENSITIVE_NAMES, name):
        return "sensitive"
    if re.search(_QUASI_NAMES, name):
        return "quasi-identifier"
    return "other"


def _snake(name: str) -> str:
    """Return a name in small letters with underscores, so that patterns see its words."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def missing_words(expression: ibis.Table) -> tuple[str, ...]:
    """Return which of the usual words for missing stand in a CSV file, the empty one always among them."""
    figures = {f"w{j}": sum((expression[c] == word).sum().fill_null(0) for c in expression.columns) for j, word in enumerate(MISSING_WORDS)}
    found = expression.aggregate(**figures).to_pyarrow().to_pylist()[0]
    return ("", *(word for j, word in enumerate(MISSING_WORDS) if found[f"w{j}"]))
