"""Attacks on a release, judged against a control: what they are given, and what comes out.

An attack is tried on people the release was made of and on people it was not made of. What works on
both alike is knowledge of the population, not of a person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import DataError, PlanError
from veladura.measures.measure import open_quietly
from veladura.measures.pairing import pair
from veladura.numeric.points import positions
from veladura.numeric.proportions import LEVEL, share
from veladura.table.table import Table

Floats = NDArray[np.float64]
ATTEMPTS = 1_000
FEWEST = 10


@dataclass(frozen=True)
class Attack:
    """What an attack achieved.

    Attributes
    ----------
    success
        Share of attempts that worked on people of the original.
    control
        The same on people the release was not made of.
    risk
        (success - control) / (1 - control), 0 where the control does better: the share of attempts
        that worked because the person was in the data (Giomi et al. 2023, eq. 4).
    p_value
        Probability of so large a difference if the release told no more of the original than of the
        control.
    attempts
        Attempts on the original; on the control there are as many or, where it is small, fewer.
    """

    success: Estimate
    control: Estimate
    risk: Estimate
    p_value: Estimate
    attempts: int

    @property
    def caught(self) -> bool:
        """Whether the release is caught telling of its people, at the level of the interval."""
        return float(self.p_value) < 1 - self.risk.level


def judge(
    worked: int, attempts: int, worked_control: int, attempts_control: int, level: float = LEVEL
) -> Attack:
    """Return the outcome of an attack from how often it worked.

    The p-value is that of Fisher's exact test, one-sided. The interval of the difference is made of
    the two Wilson intervals (Newcombe 1998, method 10).

    Examples
    --------
    >>> found = judge(150, 1000, 50, 1000)
    >>> round(float(found.risk), 4), found.caught
    (0.1053, True)
    """
    from scipy.stats import hypergeom

    main, control = share(worked, attempts, level), share(worked_control, attempts_control, level)
    difference = main.value - control.value
    lower = difference - math.hypot(main.value - main.lower, control.upper - control.value)
    upper = difference + math.hypot(main.upper - main.value, control.value - control.lower)
    left = 1 - control.value
    value, low, high = (
        min(max(one / left, 0.0), 1.0) if left > 0 else 0.0 for one in (difference, lower, upper)
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
    """Released rows, original rows and control rows as points of the same columns.

    Attributes
    ----------
    released
        One array a dataset.
    targets
        Rows of the original and of the control that are attacked: as many of each as there are
        attempts.
    """

    names: tuple[str, ...]
    original: Floats = field(repr=False)
    control: Floats = field(repr=False)
    released: tuple[Floats, ...] = field(repr=False)
    targets: tuple[NDArray[np.int64], NDArray[np.int64]] = field(repr=False)
    tables: tuple[Table, Table, tuple[Table, ...]] = field(repr=False)
    streams: Streams = field(repr=False)

    @property
    def stacked(self) -> Floats:
        """All released rows together: an intruder has all datasets."""
        return np.vstack(self.released)

    def sides(self) -> tuple[Floats, Floats]:
        """Return the points that are attacked, those of the original first."""
        return self.original[self.targets[0]], self.control[self.targets[1]]

    def columns(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return where some columns stand among the points."""
        return np.array([self.names.index(name) for name in names], dtype=np.int64)


def enter(
    original: Any,
    released: Any,
    control: Any,
    columns: Sequence[str] | None,
    attempts: int,
    seed: int,
    *,
    fewest: int = 1,
) -> Arena:
    """Return the points of an attack after checking what it was given.

    Places of numbers come from the released rows alone, which is what an intruder has; so nothing
    but the release itself can tell original and control apart.
    """
    both = pair(original, released)
    held = open_quietly(control)
    names = list(both.forms if columns is None else dict.fromkeys(columns))
    tables = [both.original, held, *both.released]
    for table in tables:
        table.schema.check("columns", names)
    if len(names) < fewest or attempts < 1:
        msg = (
            f"this attack needs at least {fewest} columns and 1 attempt, got {len(names)} and"
            f" {attempts}."
        )
        raise PlanError(msg)
    if small := [table.rows for table in tables if table.rows < FEWEST]:
        msg = (
            f"an attack needs at least {FEWEST} rows of the original, the control and the release,"
            f" got {small[0]}."
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


def drawn(rng: Generator, rows: int, most: int) -> NDArray[np.int64]:
    """Return rows drawn without repetition, all of them if there are not more."""
    return np.sort(rng.permutation(rows)[:most])
