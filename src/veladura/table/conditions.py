"""In which rows a condition holds: parsed expressions evaluated on columns of codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base.expression import (
    Among,
    Both,
    Compare,
    Expression,
    Literal,
    Missing,
    Name,
    Node,
    Not,
    as_text,
)
from veladura.errors import ColumnError, PlanError
from veladura.table.codes import Column, label_texts

Mask = NDArray[np.bool_]
_COMPARE: Mapping[str, Callable[..., Mask]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def holds(condition: Expression, columns: Mapping[str, Column]) -> Mask:
    """Return in which rows a condition is true."""
    if absent := [name for name in condition.columns if name not in columns]:
        setting = f"the condition {condition.text!r}"
        raise ColumnError.missing(setting, absent, list(columns))
    return _holds(condition.node, columns)


def _holds(node: Node, columns: Mapping[str, Column]) -> Mask:  # noqa: PLR0911  # one per kind
    match node:
        case Missing(name):
            return columns[name.column].missing
        case Not(part):
            return ~_holds(part, columns)
        case Among(name, values):
            column = columns[name.column]
            hits = [_compare(column, "==", value) for value in values]
            return np.logical_or.reduce(hits) if hits else np.zeros(column.size, dtype=bool)
        case Both("and", left, right):
            return _holds(left, columns) & _holds(right, columns)
        case Both("or", left, right):
            return _holds(left, columns) | _holds(right, columns)
        case Both(_, left, right):
            return ~_holds(left, columns) | _holds(right, columns)
        case Compare(name, sign, Name(other)):
            return _compare_columns(columns[name.column], sign, columns[other])
        case Compare(name, sign, value):
            return _compare(columns[name.column], sign, value)  # type: ignore[arg-type]


def _compare(column: Column, sign: str, value: Literal) -> Mask:
    """Compare a column with a literal; categories as text, ordered ones by their order."""
    if column.labels is None:
        return np.asarray(_COMPARE[sign](column.values, as_number(column, value)) & ~column.missing)
    texts, word = label_texts(column), as_text(value)
    if sign in ("==", "!="):
        hits = np.array([text == word for text in texts], dtype=bool)
        equal = hits[column.values] if hits.size else np.zeros(column.size, dtype=bool)
        return np.asarray((equal if sign == "==" else ~equal) & ~column.missing)
    if column.field.kind != "ordered":
        msg = (
            f"column {column.name!r} holds categories without an order: they can be compared with"
            " == and != only.\n\nHint: declare kind 'ordered'."
        )
        raise PlanError(msg)
    order = column.field.order or tuple(texts)
    if word not in order:
        msg = (
            f"a condition compares column {column.name!r} with a category that is not in its"
            " declared order.\n\nHint: use a category of the order, or add this one to it."
        )
        raise PlanError(msg)
    return np.asarray(_COMPARE[sign](column.values, order.index(word)) & ~column.missing)


def _compare_columns(left: Column, sign: str, right: Column) -> Mask:
    both = ~left.missing & ~right.missing
    if (left.labels is None) != (right.labels is None):
        msg = (
            f"columns {left.name!r} ({left.field.kind}) and {right.name!r} ({right.field.kind})"
            " cannot be compared.\n\nHint: compare numbers with numbers, and categories with"
            " categories."
        )
        raise PlanError(msg)
    if left.labels is None:
        return np.asarray(_COMPARE[sign](left.values, right.values) & both)
    if sign not in ("==", "!="):
        msg = (
            f"categories of {left.name!r} and {right.name!r} can be compared with == and != only,"
            f" got {sign}."
        )
        raise PlanError(msg)
    a, b = (np.array(label_texts(column), dtype=object) for column in (left, right))
    if not (a.size and b.size):
        return np.zeros(left.size, dtype=bool)
    return np.asarray(_COMPARE[sign](a[left.values], b[right.values]).astype(bool) & both)


def as_number(column: Column, value: Literal) -> float | int:
    """Return a literal in the unit of a column of numbers or dates."""
    if column.field.kind != "date":
        if isinstance(value, (str, bool)):
            msg = (
                f"column {column.name!r} holds numbers, but a condition compares it with"
                " text.\n\nHint: write the number without quotes."
            )
            raise PlanError(msg)
        return value
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        msg = (
            f"column {column.name!r} holds dates, but a condition compares it with something"
            " else.\n\nHint: write a date in quotes, as in '2020-12-31'."
        )
        raise PlanError(msg)
    return _date_as_number(column, moment)


def _date_as_number(column: Column, moment: datetime) -> int:
    """Return days since 1970, or the column's own unit of time."""
    type_ = column.field.type
    if pa.types.is_date32(type_):
        return moment.date().toordinal() - date(1970, 1, 1).toordinal()
    unit = pa.timestamp(getattr(type_, "unit", "ms"))
    return int(pa.scalar(moment.replace(tzinfo=None), unit).value)
