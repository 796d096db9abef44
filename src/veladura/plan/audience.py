"""For whom a release is made: how strict the plan is that `veladura init` drafts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from veladura.errors import PlanError
from veladura.methods.cart.purpose import Purpose


@dataclass(frozen=True, kw_only=True)
class Audience:
    """How strict a drafted plan is.

    Attributes
    ----------
    k
        Fewest people who share a combination of the quasi-identifiers.
    most_alone
        Share of people who may be alone by one column.
    exact_numbers
        Whether numbers and dates that nobody outside is said to know stay as they are.
    undecided_keys
        Up to how many columns, with the quasi-identifiers, undecided ones are protected like them.
    purpose
        What a synthesis is for, as `Cart` has it.
    words
        Who receives the release.
    """

    name: str
    k: int
    most_alone: float
    exact_numbers: bool
    undecided_keys: int
    purpose: Purpose
    words: str


AUDIENCES: Mapping[str, Audience] = {
    audience.name: audience
    for audience in (
        Audience(
            name="open-data",
            k=5,
            most_alone=0.005,
            exact_numbers=False,
            undecided_keys=6,
            purpose="open-data",
            words="anybody (open data)",
        ),
        Audience(
            name="researchers",
            k=5,
            most_alone=0.005,
            exact_numbers=True,
            undecided_keys=5,
            purpose="analysis",
            words="researchers under a contract",
        ),
        Audience(
            name="one-partner",
            k=3,
            most_alone=0.005,
            exact_numbers=True,
            undecided_keys=0,
            purpose="analysis",
            words="one partner, who is known and bound by a contract",
        ),
    )
}


def audience_of(name: str) -> Audience:
    """Return an audience by its name."""
    if name not in AUDIENCES:
        what = "audience"
        raise PlanError.unknown(what, name, AUDIENCES)
    return AUDIENCES[name]
