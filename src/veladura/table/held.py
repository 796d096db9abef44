"""Which files are held in memory: all measures need their rows; only large files stay lazy."""

from __future__ import annotations

import os
from pathlib import Path

from veladura.base.memory import cells_within
from veladura.errors import PlanError

SETTING = "VELADURA_HELD_CELLS"
# Rows times columns. Protecting and assessing takes about 70 bytes a cell, so that this is 2 GB
# and a minute or two. Not a share of the free memory, because the same file must give the same
# release on every machine.
HELD_CELLS = 25_000_000
_SAMPLE = 1 << 20


def held_cells() -> int:
    """Return how many cells a file may have to be held: the environment's word, or the default.

    A limit on memory that a plan sets lowers it: the plan says so to every machine.
    """
    given = os.environ.get(SETTING, "")
    if not given:
        within = cells_within()
        return HELD_CELLS if within is None else min(HELD_CELLS, within)
    if not given.isdigit():
        msg = f"{SETTING} must be a whole number of cells (rows times columns), got {given!r}."
        raise PlanError(msg)
    return int(given)


def holds(rows: float, columns: int) -> bool:
    """Whether a file of so many rows and columns is held in memory."""
    return rows * columns <= held_cells()


def holds_text(path: Path, columns: int) -> bool:
    """Whether a text file is held; its rows are estimated from the lines of its first megabyte."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    lines = max(head.count(b"\n"), head.count(b"\r"), 1)
    return holds(lines * path.stat().st_size / max(len(head), 1), columns)
