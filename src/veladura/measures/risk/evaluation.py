"""Evaluation of attacks against a control group.

An attack is tried on people of the original and on people of a control group, who are not in it.
An attack that works equally well on both has learnt about the population, not about a person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import DataError, PlanError
from veladura.measures.pairing import pair
from veladura.numeric.points import nearest_rows, positions
from veladura.numeric.proportions import LEVEL, share
from veladura.table.source import open_quietly
from veladura.table.table import Table

ATTEMPTS = 1_000
FEWEST = 10


@dataclass(frozen=True)
class Attack:
    """How well an attack works.

    Attributes
    ----------
    success
        Share of attempts that succeed on people of the original.
    control
        The same on people of the control group.
    risk
        Advantage over the control group: (success - control) / (1 - control), at least 0. The share
        of attempts that succeed because the person is in the data (Giomi et al. 2023, eq. 4).
    p_value
        Probability of so large a difference if the release discloses no more about the original
        than about the control group.
    attempts
        Attempts on the original; on the control group as many or, where it is small, fewer.
    """

    success: Estimate
    control: Estimate
    risk: Estimate
    p_value: Estimate
    attempts: int

    @property
    def caught(self) -> bool:
        """Whether the attack succeeds significantly more often on people of the original."""
        return float(self.p_value) < 1 - self.risk.level


def judge(
    worked: int, attempts: int, worked_control: int, attempts_control: int, level: float = LEVEL
) -> Attack:
    """Return the evaluation of an attack from how often it worked.

    The p-value is that of Fisher's exact test, one-sided. The interval of the difference comes
    from the two Wilson intervals (Newcombe 1998, method 10).

    Examples
    --------
    >>> attack = judge(150, 1000, 50, 1000)
    >>> round(float(attack.risk), 4), attack.caught
    (0.1053, True)
    """
    from scipy.stats import hypergeom

    main, control = share(worked, attempts, level), share(worked_control, attempts_control, level)
    difference = main.value - control.value
    lower = difference - math.hypot(main.value - main.lower, control.upper - control.value)
    upper = difference + math.hypot(main.upper - main.value, control.value - control.lower)
    left = 1 - control.value
    value, low, high = (
        min(max(end / left, 0.0), 1.0) if left > 0 else 0.0 for end in (difference, lower, upper)
    )
    total = worked + worked_control
    p = float(hypergeom.sf(worked - 1, attempts + attempts_control, total, attempts))
    return Attack(
        main,
        control,
        Estimate(value, low, max(high, value), level),
        Estimate.exact(min(p, 1.0)),
        attempts,
    )


@dataclass(frozen=True, eq=False)
class Arena:
    """Rows of the release, the original and the control group, as points of the same columns.

    Attributes
    ----------
    released
        One array a dataset.
    targets
        Rows of the original and of the control group that are attacked: as many of each as there
        are attempts.
    """

    names: tuple[str, ...]
    original: Floats = field(repr=False)
    control: Floats = field(repr=False)
    released: tuple[Floats, ...] = field(repr=False)
    targets: tuple[Ints, Ints] = field(repr=False)
    tables: tuple[Table, Table, tuple[Table, ...]] = field(repr=False)
    streams: Streams = field(repr=False)

    @property
    def stacked(self) -> Floats:
        """All released rows together: an intruder has all datasets."""
        return np.vstack(self.released)

    def sides(self) -> tuple[Floats, Floats]:
        """Return the points that are attacked, those of the original first."""
        return self.original[self.targets[0]], self.control[self.targets[1]]

    def columns(self, names: Sequence[str]) -> Ints:
        """Return the positions of some columns among the points."""
        return np.array([self.names.index(name) for name in names], dtype=np.int64)

    def picked(self, side: Floats, places: Ints, stream: str) -> Ints:
        """Return the released row nearest to each point in some columns; a random one of ties."""
        stacked = self.stacked[:, places]
        mixed = self.streams("mixed", stream).permutation(len(stacked))
        return mixed[nearest_rows(side[:, places], stacked[mixed]).index]


def enter(
    original: Any,
    release: Any,
    control: Any,
    columns: Sequence[str] | None,
    attempts: int,
    seed: int,
    *,
    fewest: int = 1,
) -> Arena:
    """Return the points of an attack after checking its settings.

    Positions of numbers come from the released rows alone, as an intruder has nothing else: only
    the release can make a difference between the original and the control group.
    """
    both = pair(original, release)
    held = open_quietly(control)
    names = list(both.forms if columns is None else dict.fromkeys(columns))
    tables = [both.original, held, *both.released]
    for table in tables:
        table.schema.check("known", names)
    if len(names) < fewest or attempts < 1:
        msg = (
            f"this attack needs at least {fewest} columns and 1 attempt, got {len(names)} and"
            f" {attempts}."
        )
        raise PlanError(msg)
    if small := [table.rows for table in tables if table.rows < FEWEST]:
        msg = (
            f"an attack needs at least {FEWEST} rows in the original, the control group and the"
            f" release, got {small[0]}."
        )
        raise DataError(msg)
    streams = Streams.of(seed).within("risk", "attack")
    points = positions(tables, names, range(2, len(tables)))
    targets = (
        drawn(streams("targets"), both.original.rows, attempts),
        drawn(streams("control"), held.rows, attempts),
    )
    return Arena(
        tuple(names),
        points[0],
        points[1],
        tuple(points[2:]),
        targets,
        (both.original, held, both.released),
        streams,
    )


def drawn(rng: Generator, rows: int, most: int) -> Ints:
    """Return row numbers drawn without replacement, all of them if there are not more."""
    return np.sort(rng.permutation(rows)[:most])
