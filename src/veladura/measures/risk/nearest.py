"""Nearest number: whether released numbers are nearer to people's own than chance explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.number_columns import NumberColumn, number_columns
from veladura.numeric.chance import ALIKE, listed, points_of, step_of
from veladura.numeric.lattice import HoleAttack
from veladura.numeric.numbers_attacks import nearest_attack, place_beside

CHANCE = 0.5
FEWEST = 50  # people: with fewer a share says little


@dataclass(frozen=True)
class Nearest:
    """The nearest-number attack, of the column where it gains most.

    Attributes
    ----------
    nearer
        Share of people whose number is nearer to a released one than a place beside it: 1/2 by
        chance, and if no column has 50 people with a number of their own.
    ratio
        That share over its base rate of 1/2, as if 50 more had been found by chance: 1 if nothing
        is gained.
    where
        The column; empty if none could be attacked.
    attacks
        By column, the attack on it.
    """

    nearer: Estimate
    ratio: Estimate
    where: str
    attacks: dict[str, HoleAttack] = field(repr=False, default_factory=dict)


def nearest(original: Any, release: Any, *, columns: Sequence[str] | None = None) -> Nearest:
    """Return how often a person's own number is nearer to a released one than a place beside it.

    The place is halfway to the next number of the original, where people are as dense, and on the
    grid of the column as round as the number itself: who guesses that a released number is
    somebody's, give or take, is right half of the time by chance. Numbers that at least five
    people share are left out.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    columns
        Number columns: by default those that the release replaced, or all of a table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> numbers = np.random.default_rng(0).choice(90_000, 900, replace=False)
    >>> people = pd.DataFrame({"income": numbers})
    >>> float(nearest(people, people).nearer)
    1.0
    """
    attacks = {
        column.name: attack
        for column in number_columns(original, release, columns)
        if (attack := _attack(column)).named >= FEWEST
    }
    where = max(attacks, key=lambda name: attacks[name].ratio, default="")
    best = attacks.get(where, HoleAttack())
    share = best.found / best.named if best.named else CHANCE
    return Nearest(Estimate.exact(share), Estimate.exact(best.ratio), where, attacks)


def _attack(column: NumberColumn) -> HoleAttack:
    steps = step_of([column.before, *column.after])
    if steps is None:
        numbers = [one.values[~one.missing].astype(np.float64) for one in column.after]
        values, holders = np.unique(
            column.before.values[~column.before.missing].astype(np.float64), return_counts=True
        )
        alone = holders[:-1] == 1
        beside = (values[:-1] + values[1:]) / 2
        return nearest_attack(values[:-1][alone], beside[alone], np.concatenate(numbers))
    points, holders = np.unique(points_of(column.before, *steps), return_counts=True)
    released = np.concatenate([points_of(one, *steps) for one in column.after])
    released = released[~listed(released, points[holders >= ALIKE])]
    place, there = place_beside(points[:-1], points[1:])
    alone = there & (holders[:-1] == 1)
    own, beside = (some[alone].astype(np.float64) for some in (points[:-1], place))
    return nearest_attack(own, beside, released.astype(np.float64))


def measure(subject: Subject) -> Measured:
    """Attack the replaced numbers."""
    risk = nearest(subject.original, subject.release)
    note = (
        f"In {risk.where}."
        if risk.where
        else f"Nothing to attack: no replaced column has numbers that {FEWEST} people hold alone."
    )
    rows = tuple(
        (name, str(a.named), str(a.found), f"{a.by_chance:.1f}", f"{a.ratio:.2f}")
        for name, a in risk.attacks.items()
    )
    headers = ("column", "people", "nearer to their own number", "by chance", "ratio")
    detail = Detail("Nearest number by column", headers, rows)
    figures = {"nearer": risk.nearer, "ratio": risk.ratio}
    return Measured(figures, {"nearer": note}, detail if rows else None)


MEASURE = Measure(
    "risk.nearest",
    figures={
        "nearer": Meaning(
            "Nearest number: share of people whose own number is nearer to a released one than a"
            " place beside it, in the worst column; half of them by chance.",
            unit="share",
        ),
        "ratio": Meaning(
            "Nearest number: that share over its base rate of one half; 1 means that released"
            " numbers are no nearer to people's own than to others."
        ),
    },
    function=measure,
)
