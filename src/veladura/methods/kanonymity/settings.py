"""Settings of k-anonymity, and what each is refused for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.errors import DataError, PlanError
from veladura.methods.kanonymity.lattice import POLICIES
from veladura.methods.kanonymity.privacy_models import TCloseness, column_of, population_of
from veladura.methods.kanonymity.quality import BY_COLUMN, QUALITIES

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity


def check_settings(recipe: KAnonymity) -> None:
    """Refuse settings that cannot be meant, whatever the table."""
    _check_columns(recipe)
    _check_k(recipe)
    share = recipe.max_suppression
    if (
        isinstance(share, bool)
        or share != share  # noqa: PLR0124
        or share < 0
        or (isinstance(share, float) and share >= 1)
    ):  # not a number
        msg = (
            f"max_suppression ({share}) must be a number of rows of at least 0, or a share in"
            " [0, 1)."
        )
        raise PlanError(msg)
    _check_preferences(recipe)
    _check_models(recipe)
    _check_recoding(recipe)


def _check_columns(recipe: KAnonymity) -> None:
    if isinstance(recipe.quasi_identifiers, str):
        msg = (
            "quasi_identifiers must be a list of columns.\n\nHint: put the one column into"
            " brackets."
        )
        raise PlanError(msg)
    if not recipe.quasi_identifiers or not all(recipe.sets):
        msg = "quasi_identifiers is empty: name the columns an outsider may know."
        raise PlanError(msg)
    if any(len(set(names)) < len(names) for names in recipe.sets):
        msg = "quasi_identifiers names a column twice."
        raise PlanError(msg)
    for setting in ("hierarchies", "weights"):
        if strange := [name for name in getattr(recipe, setting) if name not in recipe.names]:
            msg = f"{setting} names columns that are not quasi-identifiers: {strange}."
            raise PlanError(msg)


def _check_k(recipe: KAnonymity) -> None:
    if isinstance(recipe.k, bool) or not isinstance(recipe.k, int):
        msg = f"k ({recipe.k}) must be a whole number."
        raise PlanError(msg)
    if recipe.k < 2 and not (recipe.k == 1 and recipe.models):  # noqa: PLR2004
        msg = (
            f"k ({recipe.k}) must be at least 2: with 1 every table is anonymous already.\n\nHint:"
            " 1 is possible where models are given."
        )
        raise PlanError(msg)


def _check_preferences(recipe: KAnonymity) -> None:
    for policy in recipe.prefer:
        if policy not in (*POLICIES, *QUALITIES):
            raise PlanError.unknown("prefer", str(policy), (*POLICIES, *QUALITIES))
    if late := [policy for policy in recipe.prefer[1:] if policy in QUALITIES]:
        msg = (
            f"{late[0]!r} must stand first in prefer: a quality model chooses among all"
            " generalisations, not only the minimal ones."
        )
        raise PlanError(msg)
    if any(not weight >= 0 for weight in recipe.weights.values()):
        msg = "weights must be at least 0."
        raise PlanError(msg)
    if recipe.weights and not any(recipe.weights.get(name, 1.0) > 0 for name in recipe.names):
        msg = "weights are all 0: some column must matter."
        raise PlanError(msg)
    if (
        recipe.weights
        and recipe.prefer
        and recipe.prefer[0] in QUALITIES
        and recipe.prefer[0] not in BY_COLUMN
    ):
        msg = (
            f"{recipe.prefer[0]!r} looks at groups, not at columns: it takes no weights.\n\nHint:"
            f" {', '.join(map(repr, BY_COLUMN))} do."
        )
        raise PlanError(msg)


def _check_models(recipe: KAnonymity) -> None:
    sensitive = [column for model in recipe.models if (column := column_of(model)) is not None]
    if both := sorted({column for column in sensitive if column in recipe.names}):
        msg = (
            f"{both} cannot be quasi-identifier and sensitive at once: what an outsider knows needs"
            " no hiding, what needs hiding is not generalised."
        )
        raise PlanError(msg)
    population_of(recipe.models)
    trees = [
        model.column
        for model in recipe.models
        if isinstance(model, TCloseness) and model.hierarchy is not None
    ]
    if len(set(trees)) < len(trees):
        msg = "two hierarchical distances on one column: give it one hierarchy."
        raise PlanError(msg)


def _check_recoding(recipe: KAnonymity) -> None:
    choices = {
        "suppressed": ("drop", "star", "cells"),
        "recoding": ("global", "local", "mondrian"),
        "missing": ("category", "wildcard", "both"),
    }
    for setting, possible in choices.items():
        if getattr(recipe, setting) not in possible:
            raise PlanError.unknown(setting, str(getattr(recipe, setting)), possible)
    special = [
        word
        for word in (recipe.recoding, recipe.suppressed, recipe.missing)
        if word in ("local", "mondrian", "cells", "wildcard")
    ]
    if special and (recipe.models or len(recipe.sets) > 1):
        msg = (
            f"{special[0]!r} is for k and one quasi-identifier only: models and several"
            " quasi-identifiers are judged at one level for all rows, and a row that is recoded by"
            ' itself may join a group and break what held of it.\n\nHint: recoding = "global" with'
            ' suppressed = "drop" or "star" and missing = "category" or "both" goes with all of'
            " them."
        )
        raise PlanError(msg)
    if recipe.recoding != "global" and recipe.suppressed == "cells":
        msg = (
            f"cells are suppressed at one level for all rows: recoding = {recipe.recoding!r}"
            " settles rare rows in its own way."
        )
        raise PlanError(msg)
    if recipe.recoding != "global" and recipe.preserve_type:
        msg = (
            f"preserve_type does not go with recoding = {recipe.recoding!r}: a first of January"
            " could be a day or a year."
        )
        raise PlanError(msg)


def check_rows(recipe: KAnonymity, rows: int) -> None:
    """Refuse a table that is too small for what is asked of it."""
    if rows < recipe.k:
        msg = (
            f"no solution exists: the table has {rows} rows, fewer than k = {recipe.k}, so no"
            f" combination can be shared by {recipe.k} of them, and a release without rows is none."
        )
        raise DataError(msg)
    if isinstance(recipe.max_suppression, int) and recipe.max_suppression >= rows > 0:
        msg = (
            f"max_suppression ({recipe.max_suppression}) must be below the number of rows ({rows}):"
            " a release without rows is none."
        )
        raise DataError(msg)


def no_solution(recipe: KAnonymity) -> DataError:
    """Return the error for models that no generalisation meets."""
    asked = ", ".join(model.name for model in recipe.models)
    return DataError(
        f"no solution exists: even with every quasi-identifier at its top level, {asked} and k ="
        f" {recipe.k} would suppress more rows than max_suppression allows.\n\nHint: weaken the"
        " model or allow more suppression."
    )
