"""Settings of the trees by column: criterion, transformation, least variance of a leaf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from veladura.base.checks import check_choice, is_number
from veladura.errors import PlanError
from veladura.numeric.transforms import TRANSFORMS
from veladura.numeric.trees.criteria import CLASS_CRITERIA, NUMBER_CRITERIA
from veladura.numeric.trees.tree import ClassCriterion, Growth, NumberCriterion
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.methods.cart.cart import Cart
    from veladura.numeric.trees.variable import Variable
    from veladura.table.schema import Schema

CriterionName = Literal["ranks", "values", "gini", "deviance", "misclassification"]
FEW = 4  # columns that small nodes are split by: a linear score holds the sum of all effects
MANY_ROWS = 20_000  # with fewer, small nodes are most of the tree: every column counts there
SAMPLE = 2048  # rows are enough to choose a split that many more rows are divided by
CRITERIA = (*NUMBER_CRITERIA, *CLASS_CRITERIA)


def check_criterion(given: Any) -> None:
    """Refuse criteria that do not exist, and two for one kind."""
    if isinstance(given, Mapping):
        for name, criterion in given.items():
            check_choice(f"criterion.{name}", criterion, CRITERIA)
        return
    named = [given] if isinstance(given, str) else list(given)
    for criterion in named:
        check_choice("criterion", criterion, CRITERIA)
    for kind, possible in (("numbers", NUMBER_CRITERIA), ("classes", CLASS_CRITERIA)):
        if len(several := [criterion for criterion in named if criterion in possible]) > 1:
            msg = (
                f"criterion names {len(several)} criteria for {kind}: {several}.\n\nHint: name one"
                ' for numbers and one for classes, or one for each column: criterion={"income":'
                ' "values"}.'
            )
            raise PlanError(msg)


def check_transform(given: Mapping[str, Any]) -> None:
    """Refuse transformations that do not exist."""
    for name, transform in given.items():
        check_choice(f"transform.{name}", transform, TRANSFORMS)


def check_variance(given: Any) -> None:
    """Refuse variances that are no numbers, or below 0."""
    for name, least in given.items() if isinstance(given, Mapping) else [("", given)]:
        if not is_number(least) or least < 0:
            setting = f"min_variance.{name}" if name else "min_variance"
            msg = f"{setting} ({least}) must be at least 0."
            raise PlanError(msg)


def check_kinds_of_settings(recipe: Cart, schema: Schema) -> None:
    """Refuse a transformation of what is no number, and criteria that do not fit a column."""
    check_transformed(recipe.transform, schema)
    least = recipe.min_variance
    _check_numbers("min_variance", least if isinstance(least, Mapping) else (), schema)
    if not isinstance(recipe.criterion, Mapping):
        return
    for name, criterion in recipe.criterion.items():
        if schema[name].kind == "category" and criterion in NUMBER_CRITERIA:
            msg = (
                f"criterion.{name}: {criterion!r} is for numbers, and the column holds"
                f" categories.\n\nHint: use one of {list(CLASS_CRITERIA)}."
            )
            raise PlanError(msg)
        if schema[name].kind in (*NUMERIC, "date") and criterion in CLASS_CRITERIA:
            msg = (
                f"criterion.{name}: {criterion!r} is for categories, and the column holds"
                f" numbers.\n\nHint: use one of {list(NUMBER_CRITERIA)}."
            )
            raise PlanError(msg)


def check_transformed(names: Iterable[str], schema: Schema) -> None:
    """Refuse a transformation of what is no number."""
    _check_numbers("transform", names, schema)


def _check_numbers(setting: str, names: Iterable[str], schema: Schema) -> None:
    if wrong := [name for name in names if schema[name].kind not in NUMERIC]:
        msg = (
            f"{setting}: columns that hold no numbers: {wrong}.\n\nHint: name columns of kind"
            " integer or number."
        )
        raise PlanError(msg)


def growth_of(recipe: Cart, variable: Variable) -> Growth:
    """Return how the trees of a column grow."""
    growth = Growth(
        min_leaf=recipe.people_in_leaf,
        min_distinct=recipe.min_distinct,
        complexity=recipe.complexity,
        unbiased=recipe.unbiased_splits,
        few=FEW if recipe.linear_scores and variable.state.size >= MANY_ROWS else 0,
        sample=SAMPLE,
    )
    least = recipe.min_variance
    if isinstance(least, Mapping):
        least = least.get(variable.name, 0.0)
    given = _criteria(recipe.criterion, variable.name)
    numbers = next((c for c in given if c in NUMBER_CRITERIA), "ranks")
    classes = next((c for c in given if c in CLASS_CRITERIA), "gini")
    return replace(
        growth,
        numbers=cast("NumberCriterion", numbers),
        classes=cast("ClassCriterion", classes),
        min_variance=float(least),
    )


def _criteria(given: Any, column: str) -> Sequence[str]:
    """Return the criteria that are named for a column."""
    if isinstance(given, Mapping):
        return [given[column]] if column in given else []
    return [given] if isinstance(given, str) else list(given)
