"""Columns of which a generalisation leaves nearly nothing, told to the holder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from veladura.errors import VeladuraWarning
from veladura.methods.kanonymity.choice import Node
from veladura.methods.kanonymity.lattice import Lattice

NEARLY_ALL = 0.95  # of the rows in one value
HINT = (
    "\n\nHint: `veladura ways plan.toml` (in Python: fit(...).minimal) lists the other ways; a"
    " hierarchy with finer levels, a smaller k or more suppression may keep it."
)


class CoarseColumnWarning(VeladuraWarning):
    """A released column says nearly nothing: nearly all rows have the same value in it."""


def warn_of_coarse_columns(lattice: Lattice, chosen: Node) -> None:
    """Warn of every column that was given up, or in which nearly all rows are in one band."""
    if notes := list(_notes(lattice, chosen)):
        warnings.warn("\n".join(notes) + HINT, CoarseColumnWarning, stacklevel=2)


def _notes(lattice: Lattice, chosen: Node) -> Iterator[str]:
    for c, (name, height) in enumerate(chosen.levels.items()):
        before, after = (_most(lattice, c, level) for level in (0, height))
        rows = lattice.rows
        if not height or before >= NEARLY_ALL * rows:
            continue  # it says as little in the original
        if after == rows:
            yield f"{name!r} is given up: all {rows:,} rows get the same value."
        elif after >= NEARLY_ALL * rows:
            yield f"{name!r} says little: {after:,} of {rows:,} rows are in one band."


def _most(lattice: Lattice, column: int, level: int) -> int:
    """Return how many rows have the most frequent value of a column at a level."""
    codes = lattice.levels[column].codes[level][lattice.unpacked(lattice.keys, column)]
    return int(np.bincount(codes, weights=lattice.sizes).max())
