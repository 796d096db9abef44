"""Nearest number: whether released numbers are nearer to people's own than chance explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.measures.measure import Meaning, Measure, Measured, Subject
from veladura.measures.number_columns import number_columns
from veladura.numeric.numbers_attacks import nearer_share

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
    where
        The column; empty if none could be attacked.
    shares
        By column.
    """

    nearer: Estimate
    where: str
    shares: dict[str, float] = field(repr=False, default_factory=dict)


def nearest(original: Any, release: Any, *, columns: Sequence[str] | None = None) -> Nearest:
    """Return how often a person's own number is nearer to a released one than a place beside it.

    The place is halfway to the next number of the original, where people are as dense: who guesses
    that a released number is somebody's, give or take, is right half of the time by chance.

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
    >>> people = pd.DataFrame({"income": np.arange(0, 9000, 7)})
    >>> float(nearest(people, people).nearer)
    1.0
    """
    shares: dict[str, float] = {}
    for column in number_columns(original, release, columns):
        before = column.before
        distinct, holders = np.unique(
            before.values[~before.missing].astype(np.float64), return_counts=True
        )
        released = [one.values[~one.missing].astype(np.float64) for one in column.after]
        share, people = nearer_share(distinct, holders, np.concatenate(released))
        if people >= FEWEST:
            shares[column.name] = share
    where = max(shares, key=lambda name: shares[name], default="")
    return Nearest(Estimate.exact(shares.get(where, CHANCE)), where, shares)


def measure(subject: Subject) -> Measured:
    """Attack the replaced numbers."""
    risk = nearest(subject.original, subject.release)
    note = (
        f"In {risk.where}."
        if risk.where
        else f"Nothing to attack: no replaced column has numbers that {FEWEST} people hold alone."
    )
    return Measured({"nearer": risk.nearer}, {"nearer": note})


MEASURE = Measure(
    "risk.nearest",
    figures={
        "nearer": Meaning(
            "Nearest number: share of people whose own number is nearer to a released one than a"
            " place beside it, in the worst column; half of them by chance.",
            unit="share",
        ),
    },
    function=measure,
)
