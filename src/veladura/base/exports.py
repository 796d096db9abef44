"""Public names that load their module when they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from veladura.base.deprecation import warn_of_rename


def lazy_names(
    module: str, places: Mapping[str, str], renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module whose names live in other modules.

    Parameters
    ----------
    module
        The module that offers the names.
    places
        By name, the module that defines it.
    renamed
        Old names that still work, with a warning, and what they are called now.
    """
    old_names = renamed or {}

    def get(name: str) -> Any:
        if name in old_names:
            new = old_names[name]
            warn_of_rename(f"{module}.{name}", f"{module}.{new}")
            name = new
        if name not in places:
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(import_module(places[name]), name)

    def names() -> list[str]:
        return sorted(places)

    return get, names
