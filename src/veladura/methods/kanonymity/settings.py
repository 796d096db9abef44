"""Settings of k-anonymity: what is refused, before and after the table is seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from veladura.errors import DataError, PlanError
from veladura.methods.kanonymity.choice import POLICIES
from veladura.methods.kanonymity.privacy_models import LDiversity, TCloseness, population_of
from veladura.methods.kanonymity.quality import BY_COLUMN, QUALITIES
from veladura.numeric.hierarchies.grid import pair_name

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity
    from veladura.methods.kanonymity.lattice import Lattice, Vector

CHOICES = {
    "suppressed": ("drop", "star", "cells"),
    "recoding": ("global", "local", "mondrian"),
    "missing": ("category", "wildcard", "both"),
    "counted": ("people", "households"),
}


def allowed_rows(max_suppression: float, rows: int) -> int:
    """Return how many rows may be suppressed: a number of rows, or a share of them rounded down.

    The share is taken as it is written (0.29 of 100 is 29), not as binary fractions have it.

    Examples
    --------
    >>> allowed_rows(0.29, 100), allowed_rows(5, 100), allowed_rows(0.02, 30162)
    (29, 5, 603)
    """
    if isinstance(max_suppression, int):
        return min(max_suppression, rows - 1)
    return min(math.floor(Fraction(repr(max_suppression)) * rows), rows - 1)


def check_settings(recipe: KAnonymity) -> None:
    """Refuse settings that no table can make sense of."""
    _check_columns(recipe)
    _check_k(recipe)
    _check_suppression(recipe)
    _check_preferences(recipe)
    _check_models(recipe)
    _check_recoding(recipe)
    _check_levels(recipe)


def _check_columns(recipe: KAnonymity) -> None:
    if isinstance(recipe.quasi_identifiers, str):
        msg = (
            "quasi_identifiers must be a list of columns, got one name.\n\nHint: put it into"
            " brackets."
        )
        raise PlanError(msg)
    if not recipe.quasi_identifiers or not all(recipe.sets):
        msg = "quasi_identifiers is empty: name the columns that an outsider may know."
        raise PlanError(msg)
    if any(len(set(names)) < len(names) for names in recipe.sets):
        msg = "quasi_identifiers names a column twice."
        raise PlanError(msg)
    _check_pairs(recipe)
    for setting in ("hierarchies", "weights", "levels"):
        others = [name for name in getattr(recipe, setting) if name not in recipe.attributes]
        if others:
            msg = f"{setting} names columns that are not quasi-identifiers: {others}."
            if recipe.pairs:
                msg += f"\n\nHint: the name of a pair is {pair_name(recipe.pairs[0])!r}."
            raise PlanError(msg)


def _check_pairs(recipe: KAnonymity) -> None:
    if any(isinstance(pair, str) or len(pair) != 2 for pair in recipe.pairs):  # noqa: PLR2004
        msg = 'pairs must be a list of pairs of columns, such as [["lon", "lat"]].'
        raise PlanError(msg)
    paired = [name for pair in recipe.pairs for name in pair]
    if len(set(paired)) < len(paired):
        msg = "pairs names a column twice: a coordinate belongs to one pair."
        raise PlanError(msg)
    for pair in recipe.pairs:
        if any(len(set(pair) & set(names)) == 1 for names in recipe.sets) or not (
            set(pair) <= set(recipe.names)
        ):
            msg = (
                f"both columns of the pair {pair_name(pair)!r} must be quasi-identifiers, of the"
                " same outsiders: who knows one coordinate of a place knows both."
            )
            raise PlanError(msg)
    if recipe.pairs and recipe.recoding == "mondrian":
        msg = (
            'pairs do not go with recoding = "mondrian", which cuts one column at a time.\n\nHint:'
            " leave pairs out, and both coordinates become ranges; or take another recoding."
        )
        raise PlanError(msg)


def _check_k(recipe: KAnonymity) -> None:
    if isinstance(recipe.k, bool) or not isinstance(recipe.k, int):
        msg = f"k ({recipe.k}) must be a whole number."
        raise PlanError(msg)
    if recipe.k < 2 and not (recipe.k == 1 and recipe.models):  # noqa: PLR2004
        msg = (
            f"k ({recipe.k}) must be at least 2: every table is 1-anonymous already.\n\nHint: k = 1"
            " is possible together with privacy models."
        )
        raise PlanError(msg)


def _check_suppression(recipe: KAnonymity) -> None:
    share = recipe.max_suppression
    wrong = isinstance(share, bool) or math.isnan(share) or share < 0
    if wrong or (isinstance(share, float) and share >= 1):
        msg = (
            f"max_suppression ({share}) must be a whole number of rows of at least 0, or a share"
            " in [0, 1)."
        )
        raise PlanError(msg)


def _check_preferences(recipe: KAnonymity) -> None:
    if recipe.prefer and not isinstance(recipe.prefer[0], str):
        _check_preferences_by_set(recipe)
        return
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
    if recipe.weights and not any(recipe.weights.get(name, 1.0) > 0 for name in recipe.attributes):
        msg = "weights are all 0: at least one must be above 0."
        raise PlanError(msg)
    first = recipe.prefer[0] if recipe.prefer else ""
    if recipe.weights and first in QUALITIES and first not in BY_COLUMN:
        msg = (
            f"weights do not go with {first!r}: it measures equivalence classes, not columns."
            f"\n\nHint: {', '.join(map(repr, BY_COLUMN))} take weights."
        )
        raise PlanError(msg)


def _check_preferences_by_set(recipe: KAnonymity) -> None:
    """Refuse lists of policies that do not fit the quasi-identifiers."""
    if len(recipe.prefer) != len(recipe.sets):
        msg = (
            f"prefer has {len(recipe.prefer)} lists of policies, but there are"
            f" {len(recipe.sets)} quasi-identifiers: give one list each, in the same order."
        )
        raise PlanError(msg)
    for policies in recipe.prefer:
        for policy in policies:
            if policy not in POLICIES:
                raise PlanError.unknown("prefer of a quasi-identifier", str(policy), POLICIES)
    if recipe.weights:
        msg = "weights do not go with policies for each quasi-identifier."
        raise PlanError(msg)


def _check_models(recipe: KAnonymity) -> None:
    if both := sorted(set(recipe.sensitive) & set(recipe.names)):
        msg = (
            f"{both} cannot be quasi-identifier and sensitive at once: an outsider knows a"
            " quasi-identifier, and a sensitive column is released without generalisation."
        )
        raise PlanError(msg)
    population_of(recipe.models)
    hierarchical = [
        model.column
        for model in recipe.models
        if isinstance(model, TCloseness) and model.hierarchy is not None
    ]
    if len(set(hierarchical)) < len(hierarchical):
        msg = "two hierarchical distances on one column: give it one hierarchy."
        raise PlanError(msg)


def _check_recoding(recipe: KAnonymity) -> None:
    for setting, possible in CHOICES.items():
        if getattr(recipe, setting) not in possible:
            raise PlanError.unknown(setting, str(getattr(recipe, setting)), possible)
    by_row = [
        word
        for word in (recipe.recoding, recipe.suppressed, recipe.missing)
        if word in ("local", "mondrian", "cells", "wildcard")
    ]
    distinct = all(isinstance(m, LDiversity) and m.kind == "distinct" for m in recipe.models)
    models = recipe.models and not (by_row == ["local"] and distinct)
    if by_row and (models or len(recipe.sets) > 1):
        msg = (
            f"{by_row[0]!r} works with k and one quasi-identifier only: privacy models and several"
            " quasi-identifiers are decided at one level for all rows, and a row with a recoding"
            ' of its own may join a class and break what held for it.\n\nHint: recoding = "global"'
            ' with suppressed = "drop" or "star" and missing = "category" or "both" goes with all'
            ' of them; recoding = "local" also goes with distinct l-diversity.'
        )
        raise PlanError(msg)
    _check_households(recipe, by_row)
    _check_strata(recipe)
    if recipe.recoding != "global" and recipe.suppressed == "cells":
        msg = (
            'suppressed = "cells" needs one level for all rows; recoding ='
            f" {recipe.recoding!r} treats rare rows in its own way."
        )
        raise PlanError(msg)
    if recipe.recoding != "global" and recipe.preserve_type:
        msg = (
            f"preserve_type does not go with recoding = {recipe.recoding!r}: a first of January"
            " could be a day or a year."
        )
        raise PlanError(msg)


def _check_households(recipe: KAnonymity, by_row: Sequence[str]) -> None:
    """Refuse whole households with settings that decide row by row, or star rows."""
    if not recipe.whole_households:
        return
    others = [model.name for model in recipe.models]
    others += ["several quasi-identifiers"] if len(recipe.sets) > 1 else []
    others += ['suppressed = "star"'] if recipe.suppressed == "star" else []
    if by_row or others:
        msg = (
            f"whole_households does not go with {[*by_row, *others][0]!r}: households are left out"
            ' as a whole with recoding = "global", suppressed = "drop", k and one list of'
            " quasi-identifiers."
        )
        raise PlanError(msg)


def _check_strata(recipe: KAnonymity) -> None:
    """Refuse strata that are no quasi-identifiers, or without cells to suppress within them."""
    if not recipe.strata:
        return
    if others := [name for name in recipe.strata if name not in recipe.attributes]:
        msg = f"strata names columns that are not quasi-identifiers: {others}."
        raise PlanError(msg)
    if recipe.suppressed != "cells" or set(recipe.strata) == set(recipe.attributes):
        msg = (
            'strata needs suppressed = "cells", and quasi-identifiers besides the strata: cells of'
            " the others are suppressed within each stratum."
        )
        raise PlanError(msg)
    if raised := [name for name in recipe.strata if recipe.levels.get(name)]:
        msg = f"levels: strata {raised} are never generalised, their level is 0."
        raise PlanError(msg)


def _check_levels(recipe: KAnonymity) -> None:
    if not recipe.levels:
        return
    if absent := [name for name in recipe.attributes if name not in recipe.levels]:
        msg = (
            f"levels must name every quasi-identifier; not named: {absent}.\n\nHint: level 0 leaves"
            " a column as it is."
        )
        raise PlanError(msg)
    for name, level in recipe.levels.items():
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            msg = f"levels: the level of {name!r} ({level}) must be a whole number of at least 0."
            raise PlanError(msg)
    if recipe.recoding == "mondrian":
        msg = 'levels do not go with recoding = "mondrian", which has no levels.'
        raise PlanError(msg)


def given_vector(recipe: KAnonymity, lattice: Lattice) -> Vector:
    """Return the given levels in the order of the lattice; refuse any outside its hierarchy."""
    for name, height in zip(recipe.attributes, lattice.heights.tolist(), strict=True):
        if recipe.levels[name] > height:
            msg = (
                f"levels: {name!r} has the levels 0 (as it is) to {height} (suppressed); got"
                f" {recipe.levels[name]}."
            )
            raise PlanError(msg)
    return tuple(recipe.levels[name] for name in recipe.attributes)


def check_given(recipe: KAnonymity, suppressed: int, allowed: int) -> None:
    """Refuse given levels at which too many rows would be suppressed."""
    if suppressed <= allowed:
        return
    asked = ", ".join([f"k = {recipe.k}", *(model.name for model in recipe.models)])
    msg = (
        f"the given levels do not keep {asked}: {suppressed:,} people (rows) would have to be"
        f" suppressed, and max_suppression allows {allowed:,}.\n\nHint: raise a level, allow more"
        " suppression, or leave levels out to search for the levels that keep it."
    )
    raise DataError(msg)


def check_rows(recipe: KAnonymity, rows: int, people: int) -> None:
    """Refuse a table that is too small for the settings; people are what k counts."""
    if people < recipe.k:
        units = f"{rows} rows" if people == rows else f"{people} {recipe.counted}"
        msg = (
            f"no solution exists: the table has {units}, fewer than k = {recipe.k}, so no"
            f" combination can be shared by {recipe.k} of them."
        )
        raise DataError(msg)
    if isinstance(recipe.max_suppression, int) and recipe.max_suppression >= rows > 0:
        msg = (
            f"max_suppression ({recipe.max_suppression}) must be smaller than the number of rows"
            f" ({rows})."
        )
        raise DataError(msg)


def no_solution(recipe: KAnonymity) -> DataError:
    """Return the error for models that no generalisation fulfils."""
    asked = " and ".join([*(model.name for model in recipe.models), f"k = {recipe.k}"])
    within = f" within {', '.join(recipe.strata)}" if recipe.strata else ""
    return DataError(
        f"no solution exists: even with every quasi-identifier at its top level, {asked}{within}"
        " would suppress more rows than max_suppression allows.\n\nHint: weaken what is asked, or"
        " allow more suppression."
    )
