"""Conditions on columns: a small language for rules, strata and critical cells, read here and never by ``eval``.

    smoke == "NO" implies nociga == -8
    age >= 18 and not (marital in ["widowed", "divorced"]) or income is missing
    `years of school` <= age

Comparisons (== != < <= > >=), ``in``, ``is missing``, ``and``, ``or``, ``not``, ``implies`` and
brackets. A comparison with a missing value is false. Names that are not plain words stand between
backquotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from veladura.errors import ColumnError, PlanError

if TYPE_CHECKING:
    from veladura.table.codes import Column

Mask = NDArray[np.bool_]
Literal = str | float | bool
_TOKENS = re.compile(
    r"""\s*(?:(?P<number>-?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])|(?P<text>"[^"]*"|'[^']*')|`(?P<quoted>[^`]+)`"""
    r"""|(?P<name>[^\W\d]\w*)|(?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,))"""
)
_COMPARE: Mapping[str, Callable[..., Mask]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
WORDS = ("and", "or", "not", "in", "is", "missing", "implies", "true", "false")


@dataclass(frozen=True)
class Name:
    """A column."""

    column: str


@dataclass(frozen=True)
class Compare:
    """A column beside a literal or another column."""

    left: Name
    sign: str
    right: Name | Literal


@dataclass(frozen=True)
class Among:
    """A column in a list of literals."""

    column: Name
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Missing:
    """A column without a value."""

    column: Name


@dataclass(frozen=True)
class Not:
    """The opposite."""

    part: Node


@dataclass(frozen=True)
class Both:
    """Two conditions, joined by ``and``, ``or`` or ``implies``."""

    word: str
    left: Node
    right: Node


Node = Compare | Among | Missing | Not | Both


@dataclass(frozen=True)
class Expression:
    """A condition that was read.

    Examples
    --------
    >>> parse('smoke == "NO" implies nociga == -8').columns
    ('smoke', 'nociga')
    """

    text: str
    node: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it names, in order."""
        return tuple(dict.fromkeys(_names(self.node)))

    def holds(self, columns: Mapping[str, Column]) -> Mask:
        """Return in which rows it is true."""
        if absent := [name for name in self.columns if name not in columns]:
            setting = f"the condition {self.text!r}"
            raise ColumnError.missing(setting, absent, list(columns))
        return _holds(self.node, columns)

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Expression:
    """Return a condition read from text, or an error that points to the place it cannot be read at."""
    return Expression(text, _Reader(text).whole())


class _Reader:
    """Reads one condition, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0

    def whole(self) -> Node:
        node = self.implication()
        if self.at < len(self.tokens):
            self.fail("here a word such as 'and', 'or' or 'implies' must stand")
        return node

    def implication(self) -> Node:
        left = self.alternatives()
        return Both("implies", left, self.implication()) if self.take("implies") else left

    def alternatives(self) -> Node:
        node = self.conjunction()
        while self.take("or"):
            node = Both("or", node, self.conjunction())
        return node

    def conjunction(self) -> Node:
        node = self.single()
        while self.take("and"):
            node = Both("and", node, self.single())
        return node

    def single(self) -> Node:
        if self.take("not"):
            return Not(self.single())
        if self.take("("):
            node = self.implication()
            self.need(")")
            return node
        if self.take("missing"):
            self.need("(")
            found = self.operand()
            self.need(")")
            return Missing(self.column(found))
        return self.comparison(self.operand())

    def comparison(self, left: Name | Literal) -> Node:
        if self.take("is"):
            negated = self.take("not")
            self.need("missing")
            node: Node = Missing(self.column(left))
            return Not(node) if negated else node
        if self.peek() == "not" or self.peek() == "in":
            negated = self.take("not")
            self.need("in")
            among = Among(self.column(left), self.listed())
            return Not(among) if negated else among
        node = self.pair(left)
        while self.peek() in _COMPARE:  # 0 <= x < 5
            last = self.last
            node = Both("and", node, self.pair(last))
        return node

    def pair(self, left: Name | Literal) -> Node:
        sign = self.peek()
        if sign not in _COMPARE:
            self.fail("here a comparison (== != < <= > >=), 'in' or 'is missing' must stand")
        self.at += 1
        right = self.last = self.operand()
        if isinstance(left, Name):
            return Compare(left, sign, right)
        return Compare(self.column(right), _MIRRORED[sign], left)

    def listed(self) -> tuple[Literal, ...]:
        self.need("[")
        values: list[Literal] = []
        while not self.take("]"):
            value = self.operand()
            if isinstance(value, Name):
                self.at -= 1
                self.fail("a list holds numbers and quoted texts")
            values.append(value)
            if self.peek() != "]":
                self.need(",")
        return tuple(values)

    def operand(self) -> Name | Literal:
        if self.at >= len(self.tokens):
            self.fail("the condition ends too early")
        kind, word, _ = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return float(word.replace("_", ""))
        if kind == "text":
            return word[1:-1]
        if kind == "quoted":
            return Name(word)
        if kind == "name" and word in ("true", "false"):
            return word == "true"
        if kind == "name" and word not in WORDS:
            return Name(word)
        self.at -= 1
        return self.fail("here a column, a number or a quoted text must stand")

    def column(self, found: Name | Literal) -> Name:
        if not isinstance(found, Name):
            self.at -= 1
            self.fail("here a column must stand")
        return found

    def peek(self) -> str:
        kind, word, _ = self.tokens[self.at] if self.at < len(self.tokens) else ("", "", 0)
        return word if kind in ("name", "sign") else ""

    def take(self, word: str) -> bool:
        if self.peek() != word:
            return False
        self.at += 1
        return True

    def need(self, word: str) -> None:
        if not self.take(word):
            self.fail(f"here {word!r} must stand")

    def fail(self, why: str) -> NoReturn:
        place = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
        raise _unreadable(self.text, place, why)


def _unreadable(text: str, place: int, why: str) -> PlanError:
    return PlanError(f"a condition cannot be read: {why}.\n\n    {text}\n    {' ' * place}^")


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    while text[at:].strip():
        found = _TOKENS.match(text, at)
        if found is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            sign = text[place]
            hint = (
                "write == to compare"
                if sign == "="
                else "a quote is not closed"
                if sign in "\"'`"
                else "this sign has no meaning"
            )
            raise _unreadable(text, place, hint)
        kind = str(found.lastgroup)
        yield kind, found[kind], found.start(kind) - (kind == "quoted")
        at = found.end()


def _names(node: Node) -> Iterator[str]:
    match node:
        case Compare(left, _, right):
            yield left.column
            if isinstance(right, Name):
                yield right.column
        case Among(column, _) | Missing(column):
            yield column.column
        case Not(part):
            yield from _names(part)
        case Both(_, left_part, right_part):
            yield from _names(left_part)
            yield from _names(right_part)


def _holds(node: Node, columns: Mapping[str, Column]) -> Mask:  # noqa: PLR0911  # one a kind of condition
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
    texts = _texts(column)
    word = as_text(value)
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
            f"a condition compares column {column.name!r} with a category that its order does not"
            " name."
        )
        raise PlanError(msg)
    return np.asarray(_COMPARE[sign](column.values, order.index(word)) & ~column.missing)


def _compare_columns(left: Column, sign: str, right: Column) -> Mask:
    both = ~left.missing & ~right.missing
    if (left.labels is None) != (right.labels is None):
        msg = (
            f"columns {left.name!r} and {right.name!r} are of different kinds and cannot be"
            " compared."
        )
        raise PlanError(msg)
    if left.labels is None:
        return np.asarray(_COMPARE[sign](left.values, right.values) & both)
    if sign not in ("==", "!="):
        msg = f"categories of {left.name!r} and {right.name!r} can be compared with == and != only."
        raise PlanError(msg)
    a, b = np.array(_texts(left), dtype=object), np.array(_texts(right), dtype=object)
    if not (a.size and b.size):
        return np.zeros(left.size, dtype=bool)
    return np.asarray(_COMPARE[sign](a[left.values], b[right.values]).astype(bool) & both)


def _texts(column: Column) -> Sequence[str]:
    from veladura.table.codes import label_text

    return (
        [] if column.labels is None else [label_text(label) for label in column.labels.to_pylist()]
    )


def as_text(value: Literal) -> str:
    """Return a literal as categories are written: 2 and not 2.0, true and not True."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_number(column: Column, value: Literal) -> float | int:
    """Return a literal in the unit of a column of numbers or dates."""
    if column.field.kind != "date":
        if isinstance(value, (str, bool)):
            msg = (
                f"column {column.name!r} holds numbers, and a condition compares it with"
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
            f"column {column.name!r} holds dates: compare it with one in quotes, as in"
            " '2020-12-31'."
        )
        raise PlanError(msg)
    return _dateas_number(column, moment)


def _dateas_number(column: Column, moment: datetime) -> int:
    import pyarrow as pa

    type_ = column.field.type
    if pa.types.is_date32(type_):
        return moment.date().toordinal() - date(1970, 1, 1).toordinal()
    return int(
        pa.scalar(moment.replace(tzinfo=None), pa.timestamp(getattr(type_, "unit", "ms"))).value
    )
