"""What values of a file from strangers must look like: a small schema of our own.

A shape takes a value and returns what is wrong with it, in words, or an empty text. It names places
and kinds, never the value itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Shape = Callable[[object], str]

LONGEST_NAME = 1_000  # characters of a column's name
LONGEST_TEXT = 100_000
MOST_ENTRIES = 1_000_000
DEEPEST = 20


def text(value: object) -> str:
    """Accept text."""
    return "" if isinstance(value, str) and len(value) <= LONGEST_TEXT else _not("text", value)


def name(value: object) -> str:
    """Accept the name of a column."""
    if not isinstance(value, str) or not value:
        return _not("a name", value)
    return "" if len(value) <= LONGEST_NAME else "the name is too long"


def flag(value: object) -> str:
    """Accept true and false."""
    return "" if isinstance(value, bool) else _not("true or false", value)


def nothing(value: object) -> str:
    """Accept null."""
    return "" if value is None else _not("null", value)


def whole(least: int = 0, most: int = 2**53) -> Shape:
    """Accept whole numbers of a range.

    Examples
    --------
    >>> whole(2)(5), whole(2)(1)
    ('', 'expected a whole number from 2 to 9007199254740992')
    """

    def fault(value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            return _not("a whole number", value)
        if least <= value <= most:
            return ""
        return f"expected a whole number from {least} to {most}"

    return fault


def number(least: float = -math.inf, most: float = math.inf, *, above: bool = False) -> Shape:
    """Accept finite numbers of a range; with ``above``, its lower end does not belong to it."""

    def fault(value: object) -> str:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return _not("a number", value)
        if isinstance(value, int) and abs(value) > 2**1000:
            return "the number is too large"
        if not math.isfinite(value):
            return "expected a finite number"
        fits = least < value <= most if above else least <= value <= most
        return "" if fits else f"expected a number from {least:g} to {most:g}"

    return fault


def one_of(*possible: str) -> Shape:
    """Accept some words."""

    def fault(value: object) -> str:
        return "" if value in possible else f"expected one of {', '.join(possible)}"

    return fault


def either(*shapes: Shape) -> Shape:
    """Accept what one of several shapes accepts."""

    def fault(value: object) -> str:
        faults = [shape(value) for shape in shapes]
        return "" if "" in faults else faults[0]

    return fault


def listed(shape: Shape, least: int = 0, most: int = MOST_ENTRIES) -> Shape:
    """Accept lists whose entries have a shape."""

    def fault(value: object) -> str:
        if not isinstance(value, (list, tuple)):
            return _not("a list", value)
        if not least <= len(value) <= most:
            return f"expected {_number(least, most)} entries, got {len(value)}"
        return _first(enumerate(value), shape)

    return fault


def mapped(shape: Shape, least: int = 0, most: int = MOST_ENTRIES, *, keys: Shape = text) -> Shape:
    """Accept objects whose keys and values have a shape."""

    def fault(value: object) -> str:
        if not isinstance(value, Mapping):
            return _not("an object", value)
        if not least <= len(value) <= most:
            return f"expected {_number(least, most)} keys, got {len(value)}"
        return _first(((key, key) for key in value), keys) or _first(value.items(), shape)

    return fault


def table(
    needed: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None, *, more: bool = False
) -> Shape:
    """Accept objects with these keys; others only with ``more``.

    Examples
    --------
    >>> table({"k": whole(2)})({"k": 1})
    'k: expected a whole number from 2 to 9007199254740992'
    """
    may = optional or {}

    def fault(value: object) -> str:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            return _not("an object", value)
        if lacking := [key for key in needed if key not in value]:
            return f"{', '.join(lacking)} missing"
        if not more and any(key not in needed and key not in may for key in value):
            return "a key that does not belong there"
        for key, shape in {**needed, **may}.items():
            if key in value and (wrong := shape(value[key])):
                return _at(key, wrong)
        return ""

    return fault


def plain(value: object, deepest: int = DEEPEST) -> str:
    """Accept what JSON can hold, up to a depth: settings whose meaning a method knows."""
    if deepest < 0:
        return "nested too deeply"
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            return "a key that is not text"
        return _first(value.items(), lambda inner: plain(inner, deepest - 1))
    if isinstance(value, (list, tuple)):
        return _first(enumerate(value), lambda inner: plain(inner, deepest - 1))
    if value is None or isinstance(value, (bool, str)):
        return ""
    return number()(value)


names = listed(name, least=1, most=100_000)
columns = table({"columns": names}, more=True)  # the settings of a promise about some columns


def _first(entries: object, shape: Shape) -> str:
    """Return the first fault among entries with the place where it is."""
    for place, value in entries:  # type: ignore[attr-defined]
        if wrong := shape(value):
            return _at(str(place) if isinstance(place, int) else "an entry", wrong)
    return ""


def _at(place: str, wrong: str) -> str:
    return f"{place}: {wrong}"


def _not(wanted: str, value: object) -> str:
    kinds: Sequence[tuple[type, str]] = (
        (bool, "true or false"),
        (str, "text"),
        (int, "a whole number"),
        (float, "a number"),
        (Mapping, "an object"),
        (list, "a list"),
    )
    got = next((word for kind, word in kinds if isinstance(value, kind)), "null")
    return f"expected {wanted}, got {got}"


def _number(least: int, most: int) -> str:
    return f"{least} to {most}"
