"""Settings of a synthesis, checked and tidied when they are given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from veladura.base.bounds import bounds_of
from veladura.base.checks import (
    MOST_DATASETS,
    MOST_DISTINCT,
    check_choice,
    check_fit_rows,
    check_whole,
)
from veladura.base.deprecation import warn_of_rename
from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.methods.cart.cart import Cart
    from veladura.table.schema import Schema

ModelName = Literal["cart", "bagging", "forest", "parametric", "sample"]
OrderName = Literal["late", "given", "dependence"]
SmoothingName = Literal["local", "none", "kernel"]  # "kernel" is deprecated


def check_synthesisable(schema: Schema, names: Sequence[str]) -> None:
    """Refuse columns of free text."""
    if text := sorted(name for name in names if schema[name].kind == "text"):
        msg = (
            f"columns of free text cannot be synthesised: {text}.\n\nHint: declare role"
            " 'identifier' to drop them, or another kind."
        )
        raise PlanError(msg)


def check_smoothing(given: Any) -> None:
    """Refuse settings of smoothing that do not exist, and warn of the one that is gone."""
    named = {"smoothing": given} if not isinstance(given, Mapping) else given
    for name, value in named.items():
        if value is not None:
            label = name if name == "smoothing" else f"smoothing.{name}"
            check_choice(label, value, get_args(SmoothingName))
    if "kernel" in named.values():
        warn_of_rename('smoothing "kernel"', '"local"', stacklevel=5)


def freeze(recipe: Cart) -> None:
    """Turn lists inside settings into tuples, and pairs of limits into bounds."""
    given: dict[str, Any] = {f.name: getattr(recipe, f.name) for f in fields(recipe)}
    if isinstance(given["republish"], bool):
        msg = (
            "republish is a list: it names the columns in which numbers that occur once may be"
            " released."
        )
        raise PlanError(msg)
    if given["republish"]:
        warnings.warn(
            "republish has no effect any more and will be removed in the next version: numbers that"
            " few people share are moved, and may come out by chance.\n\nHint: to hand out"
            ' donors\' own numbers, set smoothing = {"column": "none"}.',
            DeprecationWarning,
            stacklevel=4,
        )
    tidy = {
        "groups": tuple(tuple(group) for group in given["groups"]),
        "predictors": (
            {name: tuple(names) for name, names in given["predictors"].items()}
            if isinstance(given["predictors"], Mapping)
            else given["predictors"]
        ),
        "spikes": {
            name: tuple(float(x) for x in values) for name, values in given["spikes"].items()
        },
        "limits": {name: bounds_of(pair, "limits") for name, pair in given["limits"].items()},
        "models": dict(given["models"]),
    }
    for name, value in tidy.items():
        object.__setattr__(recipe, name, value)


def check_counts(recipe: Cart) -> None:
    """Refuse settings that must be whole numbers and are not, or are too small."""
    check_whole("m", recipe.m, 1, MOST_DATASETS)
    check_whole("trees", recipe.trees, 1, MOST_DATASETS)
    check_whole("min_distinct", recipe.min_distinct, 1, MOST_DISTINCT)
    check_whole("prune", recipe.prune, 0, MOST_DATASETS)
    if recipe.min_leaf is not None:
        check_whole("min_leaf", recipe.min_leaf, 2, why=": a leaf of one person copies it")
    if recipe.min_people is not None:
        check_whole("min_people", recipe.min_people, 2)
    if recipe.rows is not None:
        check_whole("rows", recipe.rows, 1)
    if recipe.fit_rows is not None:
        check_fit_rows(recipe.fit_rows, recipe.people_in_leaf, ": a leaf needs them")
    if recipe.prune == 1:
        msg = "prune (1) must be 0, or a number of folds of at least 2."
        raise PlanError(msg)
