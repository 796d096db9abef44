"""The settings of a method as fields of a form: their types and docstrings say everything."""

from __future__ import annotations

import re
import tomllib
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import tomli_w

from veladura.base.settings import to_plain
from veladura.report.words import setting_meanings
from veladura.studio.answers import FieldError, Form

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe

LONG = 60  # characters of a value that has a larger field


@dataclass(frozen=True)
class Setting:
    """One setting of a step.

    Attributes
    ----------
    widget
        "check", "choose", "names", "line" or "table".
    value, default
        As people type them; empty where nothing is set.
    options
        What can be chosen.
    given
        Whether the plan gives it, so that it is not at its default.
    """

    name: str
    meaning: str
    widget: str
    value: str
    default: str
    options: tuple[str, ...] = ()
    given: bool = False


def settings_of(cls: type[Recipe], given: Mapping[str, Any]) -> list[Setting]:
    """Return every setting of a method, with its help text and default; those given first."""
    hints, meanings = get_type_hints(cls), setting_meanings(cls)
    listed = []
    for field in fields(cls):
        if not field.init:
            continue
        default = None if field.default is MISSING else to_plain(field.default)
        if field.default_factory is not MISSING:
            default = to_plain(field.default_factory())
        default = None if default in ({}, [], ()) else default
        widget, options = _widget(hints[field.name])
        value = given.get(field.name)
        shown = value if value is not None else (default if widget == "check" else None)
        listed.append(
            Setting(
                field.name,
                meanings.get(field.name, ""),
                widget,
                _typed(field.name, shown, widget),
                _typed(field.name, default, widget).strip(),
                options,
                value is not None,
            )
        )
    return sorted(listed, key=lambda setting: not setting.given)


def _widget(hint: Any) -> tuple[str, tuple[str, ...]]:
    """Return the kind of field for a type, and what can be chosen."""
    parts = _parts(hint)
    literals = [
        option for part in parts if get_origin(part) is Literal for option in get_args(part)
    ]
    if parts == [bool]:
        return "check", ()
    if literals and len(parts) == 1:
        return "choose", tuple(map(str, literals))
    if all(part in (str, int, float) or get_origin(part) is Literal for part in parts):
        return "line", ()
    if all(_is_names(part) for part in parts):
        return "names", ()
    return "table", ()


def _parts(hint: Any) -> list[Any]:
    """Return the types of a union, without None."""
    union = get_origin(hint) in (Union, types.UnionType)
    return [part for part in (get_args(hint) if union else (hint,)) if part is not type(None)]


def _is_names(part: Any) -> bool:
    """Whether a type is a list of texts."""
    if get_origin(part) not in (tuple, Sequence, list):
        return False
    inner = [argument for argument in get_args(part) if argument is not Ellipsis]
    return all(one is str or get_origin(one) is Literal for one in inner)


def _typed(name: str, value: Any, widget: str) -> str:
    """Return a value as people type it."""
    if value is None:
        return ""
    if widget == "check":
        return "yes" if value else ""
    if widget == "names":
        plain = value and not any("," in item for item in value)
        return ", ".join(value) if plain else _line(value)
    if widget == "table":
        return tomli_w.dumps({name: value}).strip()
    return value if isinstance(value, str) else _line(value)


def _line(value: Any) -> str:
    return " ".join(tomli_w.dumps({"v": value}).partition("=")[2].split())


def step_from(cls: type[Recipe], method: str, form: Form) -> dict[str, Any]:
    """Return a step of a plan from a form; an error names its field."""
    step: dict[str, Any] = {"method": method}
    hints = get_type_hints(cls)
    for field in fields(cls):
        if not field.init:
            continue
        widget, _ = _widget(hints[field.name])
        given = form.get(field.name, "")
        if widget == "check":
            default = False if field.default is MISSING else bool(field.default)
            if bool(given) != default:
                step[field.name] = bool(given)
        elif isinstance(given, str) and given.strip():
            step[field.name] = _parsed(field.name, given.strip(), widget, hints[field.name])
    return step


def _parsed(name: str, given: str, widget: str, hint: Any) -> Any:
    """Return what somebody typed as a plain value."""
    if widget == "choose":
        return given
    if widget == "names" and not given.startswith("["):
        return [part.strip() for part in given.split(",") if part.strip()]
    if widget == "line" and str in _parts(hint) and not _is_number(given):
        return given.strip('"')
    try:
        if widget == "table" and re.match(rf"\s*\[*\s*\"?{re.escape(name)}\b", given):
            return tomllib.loads(given)[name]
        return tomllib.loads(f"value = {given}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        msg = f"{name}: this cannot be read. Write it as a plan does, as in the help text."
        raise FieldError(name, msg) from None


def _is_number(given: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", given) is not None


def field_in(message: str, names: Sequence[str]) -> str:
    """Return the setting that a message is about; empty where it names none.

    Examples
    --------
    >>> field_in("[[step]] 1 k-anonymity.k: expected a whole number, got text.", ["k", "prefer"])
    'k'
    """
    places = {
        name: found.start()
        for name in names
        if (found := re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message))
    }
    return min(places, key=lambda name: places[name]) if places else ""
