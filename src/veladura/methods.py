"""The methods by name: one line each, loaded when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.recipe import Recipe

METHODS = {
    "noise": ("veladura.masks.noise", "Noise"),
    "swap": ("veladura.masks.swap", "Swap"),
    "microaggregation": ("veladura.masks.microaggregation", "Microaggregation"),
    "top-code": ("veladura.masks.topcode", "TopCode"),
    "recode": ("veladura.masks.recode", "Recode"),
    "pram": ("veladura.masks.pram", "Pram"),
    "steps": ("veladura.steps", "Steps"),
}


def find(method: str) -> type[Recipe]:
    """Return the recipe class of a method."""
    if method not in METHODS:
        raise PlanError.unknown("method", method, METHODS)
    module, name = METHODS[method]
    found: type[Recipe] = getattr(import_module(module), name)
    return found
