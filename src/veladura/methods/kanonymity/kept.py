"""The minimal generalisations kept for later requests, and how one of them was chosen."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.methods.kanonymity.choice import strategies_to
from veladura.methods.kanonymity.claims import model_settings
from veladura.methods.kanonymity.search import SearchResult, at_or_above

if TYPE_CHECKING:
    from veladura.methods.kanonymity.fitted import FittedKAnonymity
    from veladura.methods.kanonymity.kanonymity import KAnonymity
    from veladura.methods.kanonymity.lattice import Lattice

KEPT_FILE = "minimal.json"
VERSION = 1


def kept_text(fitted: FittedKAnonymity) -> str:
    """Return the minimal generalisations as a file for the custodian."""
    held = {
        "version": VERSION,
        "columns": list(fitted.recipe.attributes),
        "k": fitted.recipe.k,
        "max_suppression": fitted.recipe.max_suppression,
        "complete": fitted.complete,
        "search": search_key(fitted.recipe, fitted.lattice),
        "minimal": [list(vector) for vector in fitted.vectors],
    }
    return json.dumps(held) + "\n"


def search_key(recipe: KAnonymity, lattice: Lattice) -> str:
    """Return a hash of all that the result of a search depends on: settings and counted tuples."""
    settings: dict[str, Any] = {
        "sets": recipe.named_sets,
        "k": recipe.k,
        "max_suppression": repr(recipe.max_suppression),
        "models": [model_settings(model) for model in recipe.models],
        "recoding": recipe.recoding,
        "missing": recipe.missing,
        "heights": lattice.heights.tolist(),
        **({"strata": list(recipe.strata)} if recipe.strata else {}),
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for array in (lattice.keys, lattice.sizes, lattice.codes):
        digest.update(array.tobytes())
    return digest.hexdigest()


def read_kept(path: Path, recipe: KAnonymity, lattice: Lattice) -> SearchResult | None:
    """Return the result of an earlier search of the same; None where there is none."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        if held["version"] != VERSION or held["search"] != search_key(recipe, lattice):
            return None
        vectors = tuple(tuple(map(int, vector)) for vector in held["minimal"])
        return SearchResult(vectors, None, bool(held["complete"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def kept_result(fitted: FittedKAnonymity) -> SearchResult:
    """Return the result of the search again, every node at or above a minimal one being good."""
    criteria = fitted.criteria
    if not fitted.complete or not (criteria.only_k or criteria.only_people):
        msg = (
            "a quality model chooses among all generalisations, and only the minimal ones of this"
            " search are kept.\n\nHint: fit the recipe again with this policy, or choose"
            " min-distance, min-relative-distance, max-distinct or min-suppression."
        )
        raise PlanError(msg)
    good = at_or_above(fitted.vectors, fitted.lattice.heights)
    return SearchResult(fitted.vectors, good).at_values(fitted.recipe.strata_places)


def choice_words(fitted: FittedKAnonymity) -> str:
    """Return what the search found, and between which generalisations nothing decided."""
    lattice, chosen, equal = fitted.lattice, fitted.chosen, fitted.equally_preferred
    top = tuple(int(height) for height in lattice.heights)
    size = f"{lattice.nodes:,} nodes and {strategies_to(top):,} strategies"
    lines = [f"The generalisation lattice has {size}: paths from the values to the top."]
    if fitted.recipe.levels:
        return "\n".join([*lines, "The levels were given; nothing was searched."])
    found = "" if fitted.complete else " (not all: the lattice is too large)"
    lines.append(
        f"{len(fitted.vectors):,} generalisations are k-minimal{found}. {chosen.strategies:,}"
        " strategies lead to the one that was chosen:"
        f" {', '.join(f'{name} {level}' for name, level in chosen.levels.items())}."
    )
    if len(equal) > 1:
        others = [node for node in equal if node.levels != chosen.levels]
        lines.append(
            f"{len(equal):,} are equally preferable by {_policies(fitted.recipe)}; of them the one"
            " with the smallest levels from left to right was taken. The others:"
        )
        lines += [
            f"  {', '.join(f'{name} {level}' for name, level in node.levels.items())}"
            for node in others[:20]
        ]
    else:
        lines.append(f"No other one is as preferable by {_policies(fitted.recipe)}.")
    lines.append(f"All minimal ones are in {KEPT_FILE}, for requests with another policy.")
    return "\n".join(lines)


def _policies(recipe: KAnonymity) -> str:
    if recipe.prefer and not isinstance(recipe.prefer[0], str):
        pairs = zip(recipe.named_sets, recipe.prefer, strict=True)
        return "; ".join(f"{', '.join(names)}: {', '.join(policies)}" for names, policies in pairs)
    return ", then ".join(map(str, recipe.prefer))
