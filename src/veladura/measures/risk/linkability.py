"""Linkability: whether two halves of a person's columns lead to the same released row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veladura.base.deprecation import renamed
from veladura.errors import PlanError
from veladura.measures.risk.evaluation import ATTEMPTS, Attack, enter, judge
from veladura.numeric.proportions import LEVEL


@renamed(released="release")
def linkability(
    original: Any,
    release: Any,
    control: Any,
    *,
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    attempts: int = ATTEMPTS,
    level: float = LEVEL,
    seed: int = 0,
) -> Attack:
    """Return how often two sources about a person can be joined through the release.

    Both halves of a person's columns are looked up in the release; the attack succeeds when they
    lead to the same released row.

    Parameters
    ----------
    original, release, control, attempts, level, seed
        As for `singling_out`.
    parts
        The columns of two sources that an intruder wants to join; by default every other column.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. Proceedings on Privacy Enhancing Technologies
    2023(2), 312-328.
    """
    if parts is not None and (not all(parts) or set(parts[0]) & set(parts[1])):
        msg = "parts must be two lists of columns that share none."
        raise PlanError(msg)
    columns = None if parts is None else [*parts[0], *parts[1]]
    arena = enter(original, release, control, columns, attempts, seed, fewest=2)
    halves = (arena.names[::2], arena.names[1::2]) if parts is None else parts
    worked = []
    for side in arena.sides():
        first, second = (
            arena.picked(side, arena.columns(half), f"half {i}") for i, half in enumerate(halves)
        )
        worked.append(int(np.count_nonzero(first == second)))
    sizes = [rows.size for rows in arena.targets]
    return judge(worked[0], sizes[0], worked[1], sizes[1], level)
