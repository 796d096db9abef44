"""Read settings: plain values of a plan become a dataclass by its fields and types, and back."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from veladura.errors import PlanError

_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}

_HOME: ContextVar[Path] = ContextVar("home", default=Path())


@contextmanager
def paths_from(home: Path) -> Iterator[None]:
    """Resolve relative paths in settings against a folder: that of the plan."""
    token = _HOME.set(home)
    try:
        yield
    finally:
        _HOME.reset(token)


def from_plain(type_: Any, value: Any, where: str) -> Any:  # noqa: PLR0911  # one return per kind of type
    """Return a plain value as the given type.

    An error names the key, what it got and what it expected.

    Examples
    --------
    >>> from_plain(tuple[str, ...], ["age", "income"], "columns")
    ('age', 'income')
    """
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ is Any:
        return value
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise PlanError.unknown(f"{where}: value", str(value), map(str, arguments))
        return value
    if isinstance(type_, type) and is_dataclass(type_):
        return from_table(type_, value, where)
    if origin in (tuple, Sequence):
        return _sequence(arguments, value, where)
    if origin in (Mapping, dict):
        _expect(dict, value, where)
        return {
            key: from_plain(arguments[1], item, f"{where}.{key}") for key, item in value.items()
        }
    return _scalar(type_, value, where)


def from_table(cls: type, table: Any, where: str) -> Any:
    """Return a dataclass from a table of its fields; errors name unknown and missing keys."""
    _expect(dict, table, where)
    hints = get_type_hints(cls)
    settings = {f.name: f for f in fields(cls) if f.init}
    for key in table:
        if key not in settings:
            raise PlanError.unknown(f"{where}: key", key, settings)
    needed = [
        name
        for name, f in settings.items()
        if f.default is MISSING and f.default_factory is MISSING
    ]
    if lacking := [name for name in needed if name not in table]:
        msg = f"{where}: {', '.join(lacking)} must be given."
        raise PlanError(msg)
    values = {key: from_plain(hints[key], value, f"{where}.{key}") for key, value in table.items()}
    try:
        return cls(**values)
    except PlanError as error:
        raise type(error)(f"{where}: {error}") from None


def to_plain(value: Any) -> Any:
    """Return a setting as TOML and JSON hold it; fields at their default are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: to_plain(getattr(value, f.name))
            for f in fields(value)
            if f.init and not _is_default(f, getattr(value, f.name))
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value.as_posix() if isinstance(value, Path) else value


def _is_default(field: Any, value: Any) -> bool:
    if value is None:
        return True
    if field.default is not MISSING:
        return bool(value == field.default)
    return field.default_factory is not MISSING and bool(value == field.default_factory())


def _one_of(options: Sequence[Any], value: Any, where: str) -> Any:
    """Return the value as the first type it fits; an error names all types that are possible."""
    possible = [option for option in options if option is not type(None)]
    if value is None and len(possible) < len(options):
        return None
    tables = [option for option in possible if isinstance(option, type) and is_dataclass(option)]
    if isinstance(value, dict) and len(tables) > 1:
        return _one_table(tables, value, where)
    errors = []
    for option in possible:
        try:
            return from_plain(option, value, where)
        except PlanError as error:
            errors.append(error)
    # of the right kind, and wrong within: where it is wrong says more than what else could be
    within = [error for error in errors if str(error).startswith((f"{where}.", f"{where}["))]
    if within or len(errors) == 1 or isinstance(value, dict):
        raise (within or errors)[-1]
    msg = (
        f"{where}: expected {' or '.join(dict.fromkeys(map(_word, possible)))}, got"
        f" {_word(type(value))}."
    )
    raise PlanError(msg)


def _one_table(tables: Sequence[type], value: Mapping[str, Any], where: str) -> Any:
    """Return a table as one of several classes: by the name in ``model``, else by its keys."""
    named = {table_name(table): table for table in tables}
    if "model" in value:
        wanted = table_name_of(str(value["model"]))
        if wanted not in named:
            raise PlanError.unknown(f"{where}.model: value", str(value["model"]), named)
        rest = {key: item for key, item in value.items() if key != "model"}
        return from_table(named[wanted], rest, where)
    fitting = [table for table in tables if set(value) <= {f.name for f in fields(table)}]
    errors = []
    for table in fitting:
        try:
            return from_table(table, value, where)
        except PlanError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    keys = "; ".join(
        f"{name} ({', '.join(f.name for f in fields(table) if f.init)})"
        for name, table in named.items()
    )
    msg = (
        f"{where}: its keys ({', '.join(value)}) do not say which model it is.\n\nHint: name it, as"
        f' in model = "{table_name(tables[0])}". Models and their keys: {keys}.'
    )
    raise PlanError(msg)


def table_name(cls: type) -> str:
    """Return how a plan names a class: its words in lower case, with hyphens between them."""
    return table_name_of(cls.__name__)


def table_name_of(text: str) -> str:
    """Return the name of a class, or what a plan calls it, in one spelling.

    Examples
    --------
    >>> table_name_of("BetaLikeness"), table_name_of("k_map"), table_name_of("LDiversity")
    ('beta-likeness', 'k-map', 'l-diversity')
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s_]+", "-", text.strip())
    return apart.lower()


def _sequence(arguments: Sequence[Any], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        msg = f"{where}: expected a list, got {_word(type(value))}."
        raise PlanError(msg)
    if len(arguments) == 1 or arguments[1:] == (Ellipsis,):  # Sequence[X] or tuple[X, ...]
        return tuple(
            from_plain(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value)
        )
    if len(value) != len(arguments):
        msg = f"{where}: expected {len(arguments)} entries, got {len(value)}."
        raise PlanError(msg)
    return tuple(
        from_plain(t, item, f"{where}[{i}]")
        for i, (t, item) in enumerate(zip(arguments, value, strict=True))
    )


def _scalar(type_: Any, value: Any, where: str) -> Any:
    if type_ is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_ is Path and isinstance(value, str):
        return _HOME.get() / value
    if type_ is str and isinstance(value, date):  # TOML has dates of its own
        return value.isoformat()
    if (isinstance(type_, type) and not isinstance(value, type_)) or (
        isinstance(value, bool) and type_ is not bool
    ):
        msg = f"{where}: expected {_word(type_)}, got {_word(type(value))}."
        raise PlanError(msg)
    return value


def _expect(type_: type, value: Any, where: str) -> None:
    if not isinstance(value, type_):
        msg = f"{where}: expected {_word(type_)}, got {_word(type(value))}."
        raise PlanError(msg)


def _word(type_: Any) -> str:
    if get_origin(type_) in (tuple, list, Sequence):
        return "a list"
    if get_origin(type_) in (Mapping, dict) or (isinstance(type_, type) and is_dataclass(type_)):
        return "a table"
    return _WORDS.get(type_, getattr(type_, "__name__", str(type_)))
