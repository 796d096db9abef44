"""Conditions on columns: a small language for rules, strata and critical cells.

    smoke == "NO" implies nociga == -8
    age >= 18 and not (marital in ["widowed", "divorced"]) or income is missing
    `years of school` <= age
    relation == "child" implies age - head.age <= -15

Comparisons (== != < <= > >=), ``in``, ``is missing``, ``and``, ``or``, ``not``, ``implies`` and
brackets. A comparison with a missing value is false. Names that are not plain words go between
backquotes. ``head.age`` is the age of another member of the household, and ``age - head.age`` a
difference: only rules across members know them. Text is parsed here, never passed to ``eval``;
`veladura.table.conditions` finds the rows in which a condition holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from veladura.errors import PlanError

Literal = str | float | bool
_TOKENS = re.compile(
    r"""\s*(?:(?P<number>-?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"""
    r"""|(?P<text>"[^"]*"|'[^']*')|`(?P<quoted>[^`]+)`"""
    r"""|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)?)|(?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,|-))"""
)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
MINUS = " - "  # between the two columns of a difference
MOST_CHARACTERS = 100_000
MOST_JOINED = 200  # each is a step deeper for whoever walks the tree of a condition
JOINING = ("and", "or", "not", "implies", "(")
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
    """A parsed condition and its text.

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

    def __str__(self) -> str:
        return self.text


def literals(condition: Expression) -> set[float]:
    """Return the numbers that a condition compares with.

    Examples
    --------
    >>> sorted(literals(parse("age < 18 and income in [0, 5]")))
    [0.0, 5.0, 18.0]
    """
    return {
        float(token["number"])
        for token in _TOKENS.finditer(condition.text)
        if token["number"] is not None
    }


def quoted(name: str) -> str:
    """Return a column's name as a condition writes it.

    Examples
    --------
    >>> quoted("age"), quoted("years of school")
    ('age', '`years of school`')
    """
    return name if name.isidentifier() and name not in WORDS else f"`{name}`"


def parse(text: str) -> Expression:
    """Return the condition that a text stands for; an error points to the place of a mistake."""
    return Expression(text, _Reader(text).whole())


class _Reader:
    """Parses one condition, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > MOST_CHARACTERS:
            msg = f"a condition has more than {MOST_CHARACTERS:,} characters."
            raise PlanError(msg)
        self.tokens = list(_tokens(text))
        self.at = 0
        joined = sum(kind in ("name", "sign") and word in JOINING for kind, word, _ in self.tokens)
        if joined > MOST_JOINED:
            msg = (
                f"a condition joins more than {MOST_JOINED} parts.\n\nHint: write in [...] for many"
                " values of one column, or several steps."
            )
            raise PlanError(msg)

    def whole(self) -> Node:
        node = self.implication()
        if self.at < len(self.tokens):
            self.fail("expected a word such as 'and', 'or' or 'implies'")
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
            operand = self.operand()
            self.need(")")
            return Missing(self.column(operand))
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
        while self.peek() in _MIRRORED:  # 0 <= x < 5
            last = self.last
            node = Both("and", node, self.pair(last))
        return node

    def pair(self, left: Name | Literal) -> Node:
        sign = self.peek()
        if sign not in _MIRRORED:
            self.fail("expected a comparison (== != < <= > >=), 'in' or 'is missing'")
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
                self.fail("a list may hold numbers and quoted texts only")
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
        if kind == "name" and word in ("true", "false"):
            return word == "true"
        if kind == "quoted" or (kind == "name" and word not in WORDS):
            return self.difference(word) if self.take("-") else Name(word)
        self.at -= 1
        return self.fail("expected a column, a number or a quoted text")

    def difference(self, left: str) -> Name:
        right = self.operand()
        if not isinstance(right, Name) or MINUS in right.column:
            self.at -= 1
            self.fail("expected one column to subtract")
        return Name(f"{left}{MINUS}{right.column}")

    def column(self, operand: Name | Literal) -> Name:
        if not isinstance(operand, Name):
            self.at -= 1
            self.fail("expected a column")
        return operand

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
            self.fail(f"expected {word!r}")

    def fail(self, why: str) -> NoReturn:
        place = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
        raise _unreadable(self.text, place, why)


def _unreadable(text: str, place: int, why: str) -> PlanError:
    return PlanError(f"a condition is not valid: {why}.\n\n    {text}\n    {' ' * place}^")


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    while text[at:].strip():
        token = _TOKENS.match(text, at)
        if token is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            sign = text[place]
            hint = (
                "write == to compare"
                if sign == "="
                else "a quote is not closed"
                if sign in "\"'`"
                else "this sign is not part of the language"
            )
            raise _unreadable(text, place, hint)
        kind = str(token.lastgroup)
        yield kind, token[kind], token.start(kind) - (kind == "quoted")
        at = token.end()


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


def as_text(value: Literal) -> str:
    """Return a literal as categories are written: 2 and not 2.0, true and not True."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
