"""The promise of a privacy loss, and the checks of the private promises from the package alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from veladura.base import shapes
from veladura.core.promise import Check, Evidence, Promise, listed
from veladura.errors import DataError, PlanError, PromiseError
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import Event, epsilon_of

LOSS = ("columns", "epsilon", "delta", "events")
RATIO = ("columns", "epsilon", "delta", "alpha", "size", "m")
DOMAIN = ("columns", "domain", "missing", "structural_zeros")


def stated(name: str, keys: Sequence[str], settings: Mapping[str, Any]) -> Promise:
    """Return a promise whose settings are some of those of the step."""
    clipped = ("rows_per_person",) if keys is not DOMAIN and "rows_per_person" in settings else ()
    if lacking := [key for key in keys if key not in settings]:
        msg = f"the manifest lacks {lacking}, which the promise {name!r} needs."
        raise PromiseError(msg)
    return Promise(name, "package", {key: settings[key] for key in (*keys, *clipped)})


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


def _replaced(settings: Mapping[str, Any]) -> str:
    """Return what differs between neighbouring tables, in words."""
    if "rows_per_person" not in settings:
        return "any one row of the original"
    return (
        f"the rows of any one person (at most {settings['rows_per_person']}, drawn at random; how"
        " many rows are counted is public)"
    )


def _loss(settings: Mapping[str, Any]) -> str:
    epsilon, delta = settings["epsilon"], settings["delta"]
    little = delta != "0"
    return (
        f"Differential privacy with epsilon = {epsilon}"
        + (f" and delta = {delta}" if little else "")
        + f": with the noise that the manifest states, replacing {_replaced(settings)}"
        f" changes the probability of a release by a factor of at most exp({epsilon})"
        + (f", plus {delta}." if little else ".")
    )


def _ratio(settings: Mapping[str, Any]) -> str:
    epsilon = settings["epsilon"]
    return (
        f"Differential privacy with epsilon = {epsilon}: replacing {_replaced(settings)} changes"
        f" the probability of this release by a factor of at most exp({epsilon})."
    )


def _domain(settings: Mapping[str, Any]) -> str:
    return f"Every combination of {listed(settings)} is in the domain that the holder declared."


def fraction(value: object) -> str:
    """Accept a number as the manifest writes it: text, so that it is exact."""
    if not isinstance(value, str) or not _FRACTION.fullmatch(value):
        return "expected a fraction, as text"
    return ""


_FRACTION = re.compile(r"[0-9]{1,400}(\.[0-9]{1,400})?(/[1-9][0-9]{0,400})?")
_ONCE = {"rows_per_person": shapes.whole(1)}
_VALUE = shapes.either(shapes.text, shapes.whole(-(2**53)), shapes.flag)
_VALUES = shapes.mapped(shapes.listed(_VALUE, 1), 1, keys=shapes.name)
_EVENT = shapes.table(
    {
        **dict.fromkeys(("mechanism", "about", "neighbours"), shapes.text),
        **dict.fromkeys(("epsilon", "delta", "rho"), fraction),
    }
)
_COST = {"columns": shapes.names, "epsilon": fraction, "delta": fraction}
# No row shows how it was drawn: the files can contradict a privacy loss, never prove it.
CHECKS = {
    "dp-ratio": Check(
        ratio_too_large,
        _ratio,
        shapes.table(
            {
                **_COST,
                "alpha": shapes.either(fraction, shapes.listed(fraction, 1)),
                "size": shapes.whole(1),
                "m": shapes.whole(1),
            },
            _ONCE,
        ),
        shown=False,
    ),
    "dp-domain": Check(
        outside_domain,
        _domain,
        shapes.table(
            {
                "columns": shapes.names,
                "domain": _VALUES,
                "missing": shapes.listed(shapes.name),
                "structural_zeros": shapes.listed(_VALUES),
            }
        ),
    ),
    "dp-events": Check(
        costs_more,
        _loss,
        shapes.table({**_COST, "events": shapes.listed(_EVENT, 1, 1000)}, _ONCE),
        shown=False,
    ),
}
