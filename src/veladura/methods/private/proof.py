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
from veladura.methods.private.contribution import Contribution
from veladura.methods.private.domain import Domain
from veladura.methods.private.events import (
    ADD_REMOVE,
    ADD_REMOVE_PERSON,
    REPLACE_ONE,
    REPLACE_PERSON,
    Event,
    epsilon_of,
)

LOSS = ("columns", "epsilon", "delta", "events")
RATIO = ("columns", "epsilon", "delta", "alpha", "size", "m")
DOMAIN = ("columns", "domain", "missing", "structural_zeros")
NOISE = ("columns", "events", "measured", "choosing")
NUMBERS = {"dp-domain": ("edges",), "dp-noise": ("cutting",)}  # where numbers are in bins
PEOPLE = ("rows_per_person", "fraction", "neighbours")  # told of whoever is protected, if at all


def stated(name: str, keys: Sequence[str], settings: Mapping[str, Any]) -> Promise:
    """Return a promise whose settings are some of those of the step."""
    people = () if keys is DOMAIN else tuple(key for key in PEOPLE if key in settings)
    people += tuple(key for key in NUMBERS.get(name, ()) if key in settings)
    if str(settings.get("neighbours", "")) in (REPLACE_ONE, REPLACE_PERSON):
        people = tuple(key for key in people if key != "neighbours")  # as older manifests have it
    if lacking := [key for key in keys if key not in settings]:
        msg = f"the manifest lacks {lacking}, which the promise {name!r} needs."
        raise PromiseError(msg)
    return Promise(name, "package", {key: settings[key] for key in (*keys, *people)})


def ratio_too_large(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return 0 when alpha and the number of rows keep epsilon, decided on exact fractions."""
    given = settings["alpha"]
    alpha = min(map(Fraction, given)) if isinstance(given, list) else Fraction(given)
    size = int(evidence.released.arrow.num_rows)
    people = contribution_of(settings)
    of_a_row = people.for_counts(people.of_a_row(Fraction(settings["epsilon"])))
    kept = exact.keeps(of_a_row, alpha, size, int(settings["m"]))
    return int(not kept) + int(size != settings["size"])


def outside_domain(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many columns are not declared, plus 1 when a row is in an undeclared cell."""
    try:
        domain = Domain.from_json(settings)
    except (ValueError, KeyError):  # bins that do not fit their words
        return 1
    beyond = len(set(evidence.released.names) ^ set(domain.names))
    try:
        domain.tuples(evidence.released)
    except (DataError, PlanError):
        return beyond + 1
    return beyond


def costs_more(evidence: Evidence, settings: Mapping[str, Any]) -> int:  # noqa: ARG001
    """Return 0 when the stated events cost together at most the stated epsilon and delta."""
    total = epsilon_of(map(Event.from_json, settings["events"]), Fraction(settings["delta"]))
    return int(not settings["events"]) + int(total is None or total > Fraction(settings["epsilon"]))


def noise_too_small(evidence: Evidence, settings: Mapping[str, Any]) -> int:  # noqa: ARG001
    """Return 0 when the stated noise costs at most the rho of the stated events.

    A table with Gaussian noise costs 1/sigma^2 (a replaced row moves it by the square root of 2),
    half of that where a row is added or removed, r^2 times that where a person has r rows; choosing
    tables and private cuts cost what is stated.
    """
    tables = sum((Fraction(table["sigma"]) ** -2 for table in settings["measured"]), Fraction(0))
    if contribution_of(settings).neighbours == ADD_REMOVE:
        tables /= 2
    spent = tables + Fraction(settings["choosing"]) + Fraction(settings.get("cutting", "0"))
    charged = sum((Event.from_json(event).rho for event in settings["events"]), Fraction(0))
    return int(spent * int(settings.get("rows_per_person", 1)) ** 2 > charged * _ROUNDING)


def _noise(settings: Mapping[str, Any]) -> str:
    sigmas = [float(table["sigma"]) for table in settings["measured"]]
    return (
        f"Gaussian noise on {len(sigmas)} tables of counts, with a standard deviation of"
        f" {min(sigmas):.4g} to {max(sigmas):.4g} people, and the private choice of these tables"
        + (" and of the cuts of numbers" if "cutting" in settings else "")
        + " cost together no more than the privacy loss that was charged."
    )


def contribution_of(settings: Mapping[str, Any]) -> Contribution:
    """Return whose data a release may depend on, from the settings of a promise."""
    relation, share = settings.get("neighbours", REPLACE_ONE), settings.get("fraction")
    added = relation in (ADD_REMOVE, ADD_REMOVE_PERSON)
    return Contribution(
        ADD_REMOVE if added else REPLACE_ONE,
        settings.get("rows_per_person"),
        None if share is None else Fraction(share),
    )


def _change(settings: Mapping[str, Any]) -> str:
    """Return what differs between neighbouring tables, in words."""
    people = contribution_of(settings)
    added = people.neighbours == ADD_REMOVE
    what = "adding or removing " if added else "replacing "
    if people.rows_per_person is None:
        who = "any one row of the original"
    else:
        number = "the number of rows is released with noise" if people.total_sensitivity else ""
        number = number or "the number of people is public"
        who = (
            f"the rows of any one person (at most {people.rows_per_person}, drawn at random;"
            f" {number})"
        )
    sample = "" if people.fraction is None else ", of a secret random sample"
    return what + who + sample


def _loss(settings: Mapping[str, Any]) -> str:
    epsilon, delta = settings["epsilon"], settings["delta"]
    little = delta != "0"
    return (
        f"Differential privacy with epsilon = {epsilon}"
        + (f" and delta = {delta}" if little else "")
        + f": with the noise that the manifest states, {_change(settings)}"
        f" changes the probability of a release by a factor of at most exp({epsilon})"
        + (f", plus {delta}." if little else ".")
    )


def _ratio(settings: Mapping[str, Any]) -> str:
    epsilon = settings["epsilon"]
    return (
        f"Differential privacy with epsilon = {epsilon}: {_change(settings)} changes"
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
_ROUNDING = Fraction(10**9 + 1, 10**9)  # of floating-point standard deviations
_ONCE = {
    "rows_per_person": shapes.whole(1),
    "fraction": fraction,
    "neighbours": shapes.one_of(ADD_REMOVE, ADD_REMOVE_PERSON),
}
_VALUE = shapes.either(shapes.text, shapes.whole(-(2**53)), shapes.flag)
_VALUES = shapes.mapped(shapes.listed(_VALUE, 1), 1, keys=shapes.name)
_ZERO = shapes.mapped(shapes.listed(shapes.either(_VALUE, shapes.nothing), 1), 1, keys=shapes.name)
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
                "structural_zeros": shapes.listed(_ZERO),
            },
            {"edges": shapes.mapped(shapes.listed(shapes.number(), 2), 1, keys=shapes.name)},
        ),
    ),
    "dp-events": Check(
        costs_more,
        _loss,
        shapes.table({**_COST, "events": shapes.listed(_EVENT, 1, 1000)}, _ONCE),
        shown=False,
    ),
    "dp-noise": Check(
        noise_too_small,
        _noise,
        shapes.table(
            {
                "columns": shapes.names,
                "events": shapes.listed(_EVENT, 1, 1000),
                "measured": shapes.listed(
                    shapes.table({"columns": shapes.names, "sigma": shapes.number(0, above=True)}),
                    1,
                ),
                "choosing": fraction,
            },
            {**_ONCE, "cutting": fraction},
        ),
        shown=False,
    ),
}
