"""The public names: sorted, documented, and all there."""

from __future__ import annotations

import inspect

import veladura as vd
from veladura.core.recipe import Recipe
from veladura.core.registry import METHODS

PROMISED = {
    "Noise",
    "Swap",
    "Microaggregation",
    "TopCode",
    "Recode",
    "Pram",
    "Steps",
    "Estimate",
    "Release",
    "assess",
    "load",
    "open",
    "risk",
    "utility",
    "testing",
}


def test_every_export_is_there_and_documented():
    for name in vd.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(vd, name)), name


def test_the_list_is_sorted_and_holds_what_the_design_names():
    assert list(vd.__all__) == sorted(vd.__all__)
    assert set(vd.__all__) >= PROMISED
    assert dir(vd) == sorted(vd.__all__)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(vd, "no_such_name")


def test_every_method_is_a_recipe_under_its_own_name():
    for method, (module, name) in METHODS.items():
        recipe = getattr(vd, name)
        assert issubclass(recipe, Recipe)
        assert recipe.method == method
        assert recipe.__module__ == module
