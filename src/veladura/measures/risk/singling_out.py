"""Singling out: descriptions of one released row that also describe exactly one person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Mask
from veladura.base.deprecation import renamed
from veladura.errors import PlanError
from veladura.measures.risk.evaluation import ATTEMPTS, Arena, Attack, drawn, enter, judge
from veladura.numeric.proportions import LEVEL

WIDTH, ROUNDING = 0.01, 1e-12
MOST_COLUMNS, ROUNDS = 10, 5


@renamed(released="release", columns="known")
def singling_out(
    original: Any,
    release: Any,
    control: Any,
    *,
    known: Sequence[str] | None = None,
    width: float = WIDTH,
    attempts: int = ATTEMPTS,
    level: float = LEVEL,
    seed: int = 0,
) -> Attack:
    """Return how often a description of one released row singles out a person of the original.

    A description names some columns, drawn anew each time: categories exactly, numbers to within a
    share of the released rows. It fits one released row alone, and succeeds when it fits exactly
    one row of the original. On the control group it succeeds by chance; both tables are cut to the
    same size.

    Parameters
    ----------
    original
        The table the release was made from: anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    control
        The control group: people of the same population who are not in the original.
    known
        The columns of descriptions; by default every released column that the original has.
    width
        How precise a number in a description is: the share of released rows that may lie between.
    attempts, level, seed
        Number of attempts, level of the intervals, and what the random choices start from.

    References
    ----------
    Cohen, A. and Nissim, K. (2020). Towards formalizing the GDPR's notion of singling out.
    Proceedings of the National Academy of Sciences 117(15), 8344-8352.
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. Proceedings on Privacy Enhancing Technologies
    2023(2), 312-328.
    """
    from veladura.numeric.nearest_kernels import fitting

    if not 0 <= width < 1:
        msg = f"width ({width}) must be a share of rows: at least 0 and below 1."
        raise PlanError(msg)
    arena = enter(original, release, control, known, attempts, seed)
    points, used = _descriptions(arena, width, attempts)
    if len(points) == 0:
        return judge(0, 0, 0, 0, level)
    size = min(len(arena.original), len(arena.control))
    sides = [
        part[drawn(arena.streams("size", name), len(part), size)]
        for name, part in (("original", arena.original), ("control", arena.control))
    ]
    fits = [fitting(points, np.ascontiguousarray(side), used, width + ROUNDING) for side in sides]
    worked = [int(np.count_nonzero(rows == 1)) for rows in fits]
    return judge(worked[0], len(points), worked[1], len(points), level)


def _descriptions(arena: Arena, width: float, attempts: int) -> tuple[Floats, Mask]:
    """Return released rows and the columns that tell each from all others of its dataset."""
    from veladura.numeric.nearest_kernels import fitting

    rng = arena.streams("descriptions")
    each = -(-attempts // len(arena.released))
    points, used = [], []
    for table in arena.released:
        wanted = each
        for _ in range(ROUNDS):
            rows = table[drawn(rng, len(table), each)]
            chosen = _choose(rng, len(rows), rows.shape[1])
            alone = np.flatnonzero(fitting(rows, table, chosen, width + ROUNDING) == 1)[:wanted]
            points.append(rows[alone])
            used.append(chosen[alone])
            wanted -= alone.size
            if wanted == 0:
                break
    return np.ascontiguousarray(np.vstack(points)[:attempts]), np.ascontiguousarray(
        np.vstack(used)[:attempts]
    )


def _choose(rng: Generator, rows: int, columns: int) -> Mask:
    """Return some columns for each row: from one to ten, or all there are."""
    size = rng.integers(1, min(columns, MOST_COLUMNS), rows, endpoint=True)
    return np.asarray(rng.permuted(np.tile(np.arange(columns), (rows, 1)), axis=1) < size[:, None])
