"""Spike attack: numbers that a release shows beyond those around, and so discloses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.number_columns import NumberColumn, number_columns
from veladura.numeric.chance import points_of, step_of
from veladura.numeric.lattice import HoleAttack
from veladura.numeric.numbers_attacks import spike_attack

SHARED = 5


@dataclass(frozen=True)
class Spikes:
    """The best spike attack, of the column where it gains most.

    Attributes
    ----------
    precision
        Share of the named numbers that fewer than five people hold; 0 if none is named.
    base
        The same share among the numbers around.
    ratio
        Precision over base rate, as if 50 more had been found by chance: 1 if nothing is gained.
    named
        How many numbers are named.
    where
        The column; empty if none could be attacked.
    """

    precision: Estimate
    base: Estimate
    ratio: Estimate
    named: int
    where: str
    attacks: dict[str, HoleAttack] = field(repr=False, default_factory=dict)


def spikes(original: Any, release: Any, *, columns: Sequence[str] | None = None) -> Spikes:
    """Return how well numbers that stand out in a release tell those that few people hold.

    A method that hands out people's own numbers shows them oftener than the numbers around. The
    intruder has the released rows alone and names the tenth of the numbers that stand out most;
    numbers that at least five people share are left out.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    columns
        Number columns that are attacked one by one: by default those that the release replaced, or
        all of a table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> numbers = np.random.default_rng(0).choice(9000, 900, replace=False)
    >>> people = pd.DataFrame({"income": numbers})
    >>> float(spikes(people, people).ratio) > 1.5
    True
    """
    attacks = {
        column.name: attack
        for column in number_columns(original, release, columns)
        if (attack := _attack(column)) is not None
    }
    where = max(attacks, key=lambda name: attacks[name].ratio, default="")
    best = attacks.get(where, HoleAttack())
    named = max(best.named, 1)
    precision, base, ratio = (
        Estimate.exact(figure)
        for figure in (best.found / named, best.by_chance / named, best.ratio)
    )
    return Spikes(precision, base, ratio, best.named, where, attacks)


def _attack(column: NumberColumn) -> HoleAttack | None:
    steps = step_of([column.before, *column.after])
    if steps is None:
        return None
    values, holders = np.unique(points_of(column.before, *steps), return_counts=True)
    released = np.concatenate([points_of(one, *steps) for one in column.after])
    return spike_attack(released, values[holders < SHARED], values[holders >= SHARED])


def measure(subject: Subject) -> Measured:
    """Attack the replaced numbers."""
    risk = spikes(subject.original, subject.release)
    figures = {"precision": risk.precision, "base": risk.base, "ratio": risk.ratio}
    note = (
        f"The attack names {risk.named:,} values of {risk.where}."
        if risk.named
        else "Nothing is named: no number column with a grid was replaced."
    )
    rows = tuple(
        (name, str(a.named), str(a.found), f"{a.by_chance:.1f}", f"{a.ratio:.2f}")
        for name, a in risk.attacks.items()
    )
    headers = ("column", "values named", "held by fewer than 5", "by chance", "ratio")
    detail = Detail("Spike attack by column", headers, rows)
    return Measured(figures, {"ratio": note}, detail if rows else None)


MEASURE = Measure(
    "risk.spikes",
    figures={
        "precision": Meaning(
            "Spike attack, precision: of the numbers that stand out from those around, the share"
            " that fewer than five people hold.",
            unit="share",
        ),
        "base": Meaning(
            "Spike attack, base rate: the same share among the numbers around.",
            "neither",
            unit="share",
        ),
        "ratio": Meaning(
            "Spike attack: precision over base rate in the worst column; 1 means that numbers that"
            " stand out disclose nothing."
        ),
    },
    function=measure,
)
