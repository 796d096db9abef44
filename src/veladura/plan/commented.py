"""Comments of a drafted plan: what every setting of a step means, and its default."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import tomli_w

from veladura.base.settings import to_plain
from veladura.plan.edit import OTHERS
from veladura.plan.quasi import SETTING
from veladura.plan.steps import recipe_to, recipes_of, step_parts
from veladura.report.words import setting_meanings

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe

WIDTH = 98
TABLE = re.compile(r"\[+step\.(\w+)")


def comment(text: str, mark: str = "# ") -> list[str]:
    """Return a text as lines of comments.

    Examples
    --------
    >>> comment("Two words.")
    ['# Two words.']
    """
    return [f"{mark}{line}" for line in wrap(text, WIDTH - len(mark), break_on_hyphens=False)]


def steps_text(recipe: Recipe, by_role: Collection[str] = ()) -> str:
    """Return a recipe as commented ``[[step]]`` tables.

    Parameters
    ----------
    by_role
        The quasi-identifiers that the plan declares as roles: a step that has just these need not
        name them again.
    """
    steps = recipes_of(recipe)
    return "\n".join("\n".join(_step_lines(step, by_role)) + "\n" for step in steps)


def _step_lines(recipe: Recipe, by_role: Collection[str]) -> Iterator[str]:
    meanings = setting_meanings(type(recipe))
    summary = (type(recipe).__doc__ or "").strip().split("\n")[0]
    flat, below = step_parts(recipe_to(recipe))
    stated = {name: to_plain(getattr(recipe, name)) for name in recipe.decisive}
    flat |= {name: value for name, value in stated.items() if value is not None}
    yield from comment(summary)
    yield "[[step]]"
    if by_role and set(flat.get(SETTING, ())) == set(by_role):
        flat.pop(SETTING)
        yield from comment(f"{SETTING}: the columns of that role above, and the pairs below.")
    for name, value in flat.items():
        yield from comment(meanings.get(name, ""))
        yield tomli_w.dumps({name: value}).rstrip()
    yield from _others(recipe, {*recipe_to(recipe), *flat}, meanings)
    yield ""
    yield from _explained(below.rstrip(), meanings)


def _explained(below: str, meanings: Mapping[str, str]) -> Iterator[str]:
    """Return the tables of a step, with what a setting means above its first table."""
    told = set()
    for line in below.splitlines():
        table = TABLE.match(line)
        if table is not None and table[1] not in told:
            told.add(table[1])
            yield from comment(meanings.get(table[1], ""))
        yield line


def _others(recipe: Recipe, given: set[str], meanings: Mapping[str, str]) -> Iterator[str]:
    """Return the settings that stay at their default, as comments."""
    others = [field for field in fields(recipe) if field.init and field.name not in given]
    if others:
        yield ""
        yield from comment(OTHERS)
    for field in others:
        meaning, line = meanings.get(field.name, ""), _default(field)
        if line:
            yield from comment(meaning, "# # ")
            yield f"# {line}"
        else:
            yield from comment(f"{field.name} (not set): {meaning}", "# # ")


def _default(field: Any) -> str:
    """Return a setting at its default as a line of TOML; empty where TOML has no such line."""
    if field.default is MISSING or field.default is None:
        return ""
    line = tomli_w.dumps({field.name: to_plain(field.default)}).strip()
    return line if "\n" not in line else ""
