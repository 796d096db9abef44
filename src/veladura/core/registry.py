"""The methods by name: one line each, loaded when asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.recipe import Recipe

METHODS = {
    "k-anonymity": ("veladura.anonymize.kanonymity", "KAnonymity"),
    "noise": ("veladura.masks.noise", "Noise"),
    "swap": ("veladura.masks.swap", "Swap"),
    "microaggregation": ("veladura.masks.microaggregation", "Microaggregation"),
    "top-code": ("veladura.masks.topcode", "TopCode"),
    "recode": ("veladura.masks.recode", "Recode"),
    "pram": ("veladura.masks.pram", "Pram"),
    "dirichlet-multinomial": ("veladura.dp.dirichlet", "DirichletMultinomial"),
    "beta-binomial": ("veladura.dp.dirichlet", "BetaBinomial"),
    "cart": ("veladura.synth.cart", "Cart"),
    "critical-cart": ("veladura.synth.critical", "CriticalCart"),
    "geography": ("veladura.spatial.geography", "Geography"),
    "naive-geography": ("veladura.spatial.baselines", "NaiveGeography"),
    "donut": ("veladura.spatial.baselines", "Donut"),
    "noisy-counts": ("veladura.dp.noisy", "NoisyCounts"),
    "marginals": ("veladura.dp.marginals", "Marginals"),
    "steps": ("veladura.steps", "Steps"),
}


def find(method: str) -> type[Recipe]:
    """Return the recipe class of a method."""
    if method not in METHODS:
        raise PlanError.unknown("method", method, METHODS)
    module, name = METHODS[method]
    found: type[Recipe] = getattr(import_module(module), name)
    return found


def available(method: str) -> bool:
    """Whether the extra that a method needs is installed."""
    return all(find_spec(module) is not None for module in find(method).needs)
