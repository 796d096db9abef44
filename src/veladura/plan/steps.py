"""The steps of a plan: from TOML to recipes and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from veladura.base.settings import from_table, to_plain
from veladura.core import registry
from veladura.core.steps import Steps
from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe


def recipe_from(table: Any, where: str = "[[step]]") -> Recipe:
    """Return the recipe that a step of a plan describes."""
    if not isinstance(table, dict) or not isinstance(table.get("method"), str):
        msg = (
            f"{where}: method must be given, as text.\n\nHint: the methods are"
            f" {', '.join(map(repr, registry.METHODS))}."
        )
        raise PlanError(msg)
    cls = registry.find(table["method"])
    recipe: Recipe = from_table(
        cls,
        {key: value for key, value in table.items() if key != "method"},
        f"{where} {table['method']}",
    )
    return recipe


def recipe_to(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as the step of a plan."""
    return {"method": recipe.method, **to_plain(recipe)}


def steps_to_toml(recipe: Recipe) -> str:
    """Return a recipe as the ``[[step]]`` tables of a plan."""
    return "\n".join(_step_to_toml(recipe_to(step)) for step in recipes_of(recipe))


def recipes_of(recipe: Recipe) -> tuple[Recipe, ...]:
    """Return the recipes of a chain, or the one recipe itself."""
    return tuple(recipe.recipes) if isinstance(recipe, Steps) else (recipe,)


def _step_to_toml(step: Mapping[str, Any]) -> str:
    flat, below = step_parts(step)
    return "[[step]]\n" + tomli_w.dumps(flat) + below


def step_parts(step: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the plain settings of a step, and its tables as the TOML text below them."""
    nested = {key: value for key, value in step.items() if isinstance(value, dict)}
    listed = {
        key: value
        for key, value in step.items()
        if isinstance(value, list) and _holds_tables(value)
    }
    flat = {key: value for key, value in step.items() if key not in nested and key not in listed}
    below = "".join(_item_to_toml(key, item) for key, items in listed.items() for item in items)
    return flat, (tomli_w.dumps({"step": nested}) if nested else "") + below


def _item_to_toml(key: str, item: Mapping[str, Any]) -> str:
    """Return one table of a list of them in a step."""
    nested = {name: value for name, value in item.items() if isinstance(value, dict)}
    flat = {name: value for name, value in item.items() if name not in nested}
    return (
        f"\n[[step.{key}]]\n"
        + tomli_w.dumps(flat)
        + (tomli_w.dumps({"step": {key: nested}}) if nested else "")
    )


def _holds_tables(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(item, dict) for item in value)


def recipe_at(recipe: Recipe, home: Path) -> Recipe:
    """Return a recipe whose paths are taken from the folder of the plan."""
    paths = {
        f.name: value
        for f in fields(recipe)
        if f.metadata.get("path") and isinstance(value := getattr(recipe, f.name), str)
    }
    return (
        replace(recipe, **{name: str(home / value) for name, value in paths.items()})
        if paths
        else recipe
    )
