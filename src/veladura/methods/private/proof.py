"""The checks of the private promises: what the package itself proves."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from veladura.core.promise import Check, Evidence
from veladura.errors import DataError, PlanError
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import Event, epsilon_of


def ratio_too_large(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return 0 when alpha and the number of rows keep epsilon, decided on exact fractions."""
    given = settings["alpha"]
    alpha = min(map(Fraction, given)) if isinstance(given, list) else Fraction(given)
    size = int(evidence.released.arrow.num_rows)
    kept = exact.keeps(Fraction(settings["epsilon"]), alpha, size, int(settings["m"]))
    return int(not kept) + int(size != settings["size"])


def outside_domain(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of columns beyond the declared ones, or 1 when a row is in a cell that was not declared."""
    domain = Domain.from_json(
        {**settings, "domain": {name: settings["domain"][name] for name in settings["columns"]}}
    )
    beyond = len(set(evidence.released.names) ^ set(domain.names))
    try:
        domain.count(evidence.released) if domain.zeros else domain.tuples(evidence.released)
    except (DataError, PlanError):
        return beyond + 1
    return beyond


def costs_more(evidence: Evidence, settings: Mapping[str, Any]) -> int:  # noqa: ARG001
    """Return 0 when the events told cost together no more than the epsilon and delta told."""
    total = epsilon_of(map(Event.from_json, settings["events"]), Fraction(settings["delta"]))
    return int(not settings["events"]) + int(total is None or total > Fraction(settings["epsilon"]))


CHECKS = {
    "dp-ratio": Check(ratio_too_large),
    "dp-domain": Check(outside_domain),
    "dp-events": Check(costs_more),
}
