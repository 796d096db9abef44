"""Attribute inference: a person's value guessed from the nearest released row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.deprecation import renamed
from veladura.errors import PlanError
from veladura.measures.risk.evaluation import ATTEMPTS, Attack, enter, judge
from veladura.numeric.coding import common_codes
from veladura.numeric.proportions import LEVEL
from veladura.table.codes import Column

TOLERANCE = 0.05


@renamed(released="release")
def attribute_inference(
    original: Any,
    release: Any,
    control: Any,
    *,
    attribute: str,
    known: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
    attempts: int = ATTEMPTS,
    level: float = LEVEL,
    seed: int = 0,
) -> Attack:
    """Return how often a person's value is guessed right from the nearest released row.

    Parameters
    ----------
    original, release, control, attempts, level, seed
        As for `singling_out`.
    attribute
        The column that is guessed.
    known
        The columns an intruder knows; by default all others.
    tolerance
        How far off a number may be, as a share of it; categories must be right.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. Proceedings on Privacy Enhancing Technologies
    2023(2), 312-328.
    """
    if tolerance < 0 or (known is not None and attribute in known):
        msg = (
            "tolerance must be at least 0, and the attribute must not be one of the known columns."
        )
        raise PlanError(msg)
    columns = None if known is None else [*known, attribute]
    arena = enter(original, release, control, columns, attempts, seed, fewest=2)
    places = arena.columns([name for name in arena.names if name != attribute])
    if places.size == len(arena.names):
        msg = f"the attribute {attribute!r} is not a column that original and release share."
        raise PlanError(msg)
    worked = []
    for side, rows, table in zip(arena.sides(), arena.targets, arena.tables[:2], strict=True):
        values = [part.column(attribute) for part in (table, *arena.tables[2])]
        # the released rows follow those of the table
        guessed = arena.picked(side, places, "known") + values[0].size
        worked.append(int(np.count_nonzero(_right(values, rows, guessed, tolerance))))
    sizes = [rows.size for rows in arena.targets]
    return judge(worked[0], sizes[0], worked[1], sizes[1], level)


def _right(columns: Sequence[Column], rows: Ints, guessed: Ints, tolerance: float) -> Mask:
    """Return which guesses are right: the same category, or a number near enough."""
    if any(column.labels is not None for column in columns):
        codes, _ = common_codes(columns)
        return np.asarray(codes[rows] == codes[guessed])
    values = np.concatenate([column.numbers() for column in columns])
    truth, guess = values[rows], values[guessed]
    near = np.abs(truth - guess) <= tolerance * np.abs(truth) + 1e-12
    return np.asarray(near | (np.isnan(truth) & np.isnan(guess)))
