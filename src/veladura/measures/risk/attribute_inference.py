"""Linking two sources, and inferring an attribute: what the released row nearest to a person gives away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.measures.risk.evaluation import ATTEMPTS, Arena, Attack, Floats, enter, judge
from veladura.numeric.coding import Ints, column_of, common_codes
from veladura.numeric.points import nearest_rows
from veladura.numeric.proportions import LEVEL
from veladura.table.codes import Column

TOLERANCE = 0.05


def linkability(
    original: Any,
    released: Any,
    control: Any,
    *,
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    attempts: int = ATTEMPTS,
    level: float = LEVEL,
    seed: int = 0,
) -> Attack:
    """Look up two halves of a person's columns in the release, and see whether both lead to the same row.

    Parameters
    ----------
    original, released, control, attempts, level, seed
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
    arena = enter(
        original,
        released,
        control,
        None if parts is None else [*parts[0], *parts[1]],
        attempts,
        seed,
        fewest=2,
    )
    halves = (arena.names[::2], arena.names[1::2]) if parts is None else parts
    worked = []
    for side in arena.sides():
        found = [
            _picked(arena, side, arena.columns(half), f"half {i}") for i, half in enumerate(halves)
        ]
        worked.append(int(np.count_nonzero(found[0] == found[1])))
    sizes = [rows.size for rows in arena.targets]
    return judge(worked[0], sizes[0], worked[1], sizes[1], level)


def _picked(arena: Arena, side: Floats, places: Ints, name: str) -> Ints:
    """Return the released row nearest to each point in some columns; of rows equally near, any."""
    stacked = arena.stacked[:, places]
    mixed = arena.streams("mixed", name).permutation(len(stacked))
    near = nearest_rows(side[:, places], stacked[mixed])
    return mixed[near.index]


def attribute_inference(
    original: Any,
    released: Any,
    control: Any,
    *,
    attribute: str,
    known: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
    attempts: int = ATTEMPTS,
    level: float = LEVEL,
    seed: int = 0,
) -> Attack:
    """Guess a column of a person from the released row that is nearest in the others.

    Parameters
    ----------
    original, released, control, attempts, level, seed
        As for `singling_out`.
    attribute
        The column that is guessed.
    known
        What the intruder knows; by default all other columns.
    tolerance
        How far off a number may be, as a share of it; categories must be right.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. Proceedings on Privacy Enhancing Technologies
    2023(2), 312-328.
    """
    if tolerance < 0 or (known is not None and attribute in known):
        msg = "tolerance must be at least 0, and the attribute must not be known."
        raise PlanError(msg)
    arena = enter(
        original,
        released,
        control,
        None if known is None else [*known, attribute],
        attempts,
        seed,
        fewest=2,
    )
    places = arena.columns([name for name in arena.names if name != attribute])
    if places.size == len(arena.names):
        msg = f"the attribute {attribute!r} is not a column that original and release share."
        raise PlanError(msg)
    worked = []
    for side, rows, table in zip(arena.sides(), arena.targets, arena.tables[:2], strict=True):
        columns = [column_of(one, attribute) for one in (table, *arena.tables[2])]
        guessed = (
            _picked(arena, side, places, "known") + columns[0].size
        )  # the released rows follow the table's
        worked.append(int(np.count_nonzero(_right(columns, rows, guessed, tolerance))))
    sizes = [rows.size for rows in arena.targets]
    return judge(worked[0], sizes[0], worked[1], sizes[1], level)


def _right(
    columns: Sequence[Column], rows: Ints, guessed: Ints, tolerance: float
) -> NDArray[np.bool_]:
    """Return which guesses are right: the same category, or a number near enough."""
    if any(column.labels is not None for column in columns):
        codes, _ = common_codes(columns)
        return np.asarray(codes[rows] == codes[guessed])
    values = np.concatenate([column.numbers() for column in columns])
    truth, guess = values[rows], values[guessed]
    return np.asarray(
        (np.abs(truth - guess) <= tolerance * np.abs(truth) + 1e-12)
        | (np.isnan(truth) & np.isnan(guess))
    )
