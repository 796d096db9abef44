"""The promise of a privacy loss, and the checks of the private promises from the package alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from veladura.core.promise import Check, Evidence, Promise
from veladura.errors import DataError, PlanError
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import Event, epsilon_of

if TYPE_CHECKING:
    from veladura.methods.private.private import PrivateRecipe


def loss_promise(recipe: PrivateRecipe, event: Event) -> Promise:
    """Promise that the privacy loss of the stated noise is at most epsilon and delta."""
    epsilon, delta = map(exact.text, recipe.loss())
    claim = (
        f"Differential privacy with epsilon = {epsilon}"
        + (f" and delta = {delta}" if delta != "0" else "")
        + f": with the noise that the manifest states, replacing {recipe.replaced}"
        f" changes the probability of a release by a factor of at most exp({epsilon})"
        + (f", plus {delta}." if delta != "0" else ".")
    )
    settings = {"columns": list(recipe.columns), "epsilon": epsilon, "delta": delta}
    return Promise("dp-events", claim, "package", {**settings, "events": [event.to_json()]})


def ratio_too_large(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return 0 when alpha and the number of rows keep epsilon, decided on exact fractions."""
    given = settings["alpha"]
    alpha = min(map(Fraction, given)) if isinstance(given, list) else Fraction(given)
    size = int(evidence.released.arrow.num_rows)
    of_a_row = Fraction(settings["epsilon"]) / int(settings.get("rows_per_person", 1))
    kept = exact.keeps(of_a_row, alpha, size, int(settings["m"]))
    return int(not kept) + int(size != settings["size"])


def outside_domain(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many columns are not declared, plus 1 when a row is in an undeclared cell."""
    domain = Domain.from_json(settings)
    beyond = len(set(evidence.released.names) ^ set(domain.names))
    try:
        domain.count(evidence.released) if domain.zeros else domain.tuples(evidence.released)
    except (DataError, PlanError):
        return beyond + 1
    return beyond


def costs_more(evidence: Evidence, settings: Mapping[str, Any]) -> int:  # noqa: ARG001
    """Return 0 when the stated events cost together at most the stated epsilon and delta."""
    total = epsilon_of(map(Event.from_json, settings["events"]), Fraction(settings["delta"]))
    return int(not settings["events"]) + int(total is None or total > Fraction(settings["epsilon"]))


CHECKS = {
    "dp-ratio": Check(ratio_too_large),
    "dp-domain": Check(outside_domain),
    "dp-events": Check(costs_more),
}
