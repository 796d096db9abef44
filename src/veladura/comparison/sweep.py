"""Sweeps: one recipe with several values of its settings, every combination a candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any

from veladura.core.recipe import Recipe
from veladura.core.steps import Steps
from veladura.errors import PlanError

MOST_CANDIDATES = 60
Value = int | float | str
Grid = Mapping[str, Sequence[Value]]


def parse_sweeps(texts: Sequence[str]) -> dict[str, tuple[Value, ...]]:
    """Return settings with their values from texts such as ``k=2,5,10``.

    Examples
    --------
    >>> parse_sweeps(["k=2,5", "max_suppression=0,0.02"])
    {'k': (2, 5), 'max_suppression': (0, 0.02)}
    """
    grid: dict[str, tuple[Value, ...]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        listed = tuple(_value(part.strip()) for part in values.split(",") if part.strip())
        if not sign or not name.strip() or not listed or name.strip() in grid:
            msg = (
                "a sweep must name a setting and its values, each setting once.\n\nHint: write"
                " --sweep k=2,5,10."
            )
            raise PlanError(msg)
        grid[name.strip()] = listed
    return grid


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def swept(recipe: Recipe, grid: Grid) -> list[tuple[dict[str, Value], Recipe]]:
    """Return the recipe with every combination of values, and the values of each.

    In a chain a setting is that of the first step that has it.
    """
    if not grid or not all(grid.values()):
        msg = "sweep is empty: name a setting with at least one value."
        raise PlanError(msg)
    combinations = [
        dict(zip(grid, values, strict=True))
        for values in product(*(tuple(v) for v in grid.values()))
    ]
    if len(combinations) > MOST_CANDIDATES:
        msg = (
            f"the sweep has {len(combinations)} combinations, more than {MOST_CANDIDATES}.\n\nHint:"
            " give fewer values."
        )
        raise PlanError(msg)
    return [(values, _with(recipe, values)) for values in combinations]


def _with(recipe: Recipe, values: Mapping[str, Value]) -> Recipe:
    steps = list(recipe.recipes) if isinstance(recipe, Steps) else [recipe]
    for name, value in values.items():
        place = next((i for i, step in enumerate(steps) if _has(step, name)), None)
        if place is None:
            possible = [f.name for step in steps for f in fields(step)]
            what = "setting to sweep"
            raise PlanError.unknown(what, name, possible)
        changed: dict[str, Any] = {name: value}
        steps[place] = replace(steps[place], **changed)
    return Steps(steps) if isinstance(recipe, Steps) else steps[0]


def _has(step: Recipe, name: str) -> bool:
    return name in {f.name for f in fields(step)}


def label_of(values: Mapping[str, Value]) -> str:
    """Return the name of a combination on the map.

    Examples
    --------
    >>> label_of({"k": 5, "max_suppression": 0.02})
    'k=5, max_suppression=0.02'
    """
    return ", ".join(f"{name}={value}" for name, value in values.items())
