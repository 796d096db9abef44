"""The methods by name: one line each, loaded when asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe

METHODS = {
    "k-anonymity": ("veladura.methods.kanonymity.kanonymity", "KAnonymity"),
    "noise": ("veladura.methods.masks.noise", "Noise"),
    "swap": ("veladura.methods.masks.swap", "Swap"),
    "microaggregation": ("veladura.methods.masks.microaggregation", "Microaggregation"),
    "top-code": ("veladura.methods.masks.topcode", "TopCode"),
    "recode": ("veladura.methods.masks.recode", "Recode"),
    "pram": ("veladura.methods.masks.pram", "Pram"),
    "reweight": ("veladura.methods.masks.reweight", "Reweight"),
    "calibrate": ("veladura.methods.masks.calibrate", "Calibrate"),
    "filter": ("veladura.methods.preparing.filter", "Filter"),
    "suppress": ("veladura.methods.preparing.suppress", "Suppress"),
    "sample": ("veladura.methods.preparing.sample", "Sample"),
    "dirichlet-multinomial": ("veladura.methods.private.dirichlet", "DirichletMultinomial"),
    "beta-binomial": ("veladura.methods.private.dirichlet", "BetaBinomial"),
    "cart": ("veladura.methods.cart.cart", "Cart"),
    "households": ("veladura.methods.households.household_cart", "HouseholdCart"),
    "critical-cart": ("veladura.methods.critical.critical", "CriticalCart"),
    "geography": ("veladura.methods.geography.geography", "Geography"),
    "naive-geography": ("veladura.methods.geography.naive", "NaiveGeography"),
    "donut": ("veladura.methods.geography.donut", "Donut"),
    "areas": ("veladura.methods.geography.areas", "Areas"),
    "noisy-counts": ("veladura.methods.private.noisy", "NoisyCounts"),
    "private-summary": ("veladura.methods.private.summary", "PrivateSummary"),
    "private-regression": ("veladura.methods.private.regression", "PrivateRegression"),
    "marginals": ("veladura.methods.private.marginals", "Marginals"),
    "steps": ("veladura.core.steps", "Steps"),
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
