"""The document's own procedure: a tree that stops at 1 %, 300 points a leaf, their kernel density.

`Cart` does otherwise on purpose: leaves of five people, numbers moved by a law of their own. This
is for comparison only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask

STOP, LEAST, POINTS, GRID = 0.01, 5, 300, 512


@dataclass(frozen=True)
class Split:
    """The best split of some rows: what it gains, in words, and who goes left."""

    gain: float
    words: str
    left: Mask


@dataclass(frozen=True)
class LeafTree:
    """A tree as lines of text, and its leaves as lists of rows from left to right."""

    lines: tuple[str, ...]
    leaves: tuple[Ints, ...]

    def membership(self, rows: int) -> Ints:
        """Return the leaf of each row, from 0."""
        found = np.zeros(rows, dtype=np.int64)
        for number, leaf in enumerate(self.leaves):
            found[leaf] = number
        return found


def grow(
    y: Floats, categories: Mapping[str, Sequence[object]], numbers: Mapping[str, Floats]
) -> LeafTree:
    """Grow a tree by least squares; a split must lower the deviance by 1 % of the root's.

    That rule gives the leaves that the document prints, for its scenarios and its survey.
    """
    coded = {
        name: np.unique(np.asarray(values), return_inverse=True)
        for name, values in categories.items()
    }
    root = float(((y - y.mean()) ** 2).sum())
    lines: list[str] = []
    leaves: list[Ints] = []

    def split(rows: Ints, depth: int) -> None:
        options = [
            *(
                _of_levels(y[rows], levels, codes[rows], name)
                for name, (levels, codes) in coded.items()
            ),
            *(_of_numbers(y[rows], values[rows], name) for name, values in numbers.items()),
        ]
        best = max(
            (one for one in options if one is not None), key=lambda one: one.gain, default=None
        )
        if best is None or best.gain < STOP * root:
            leaves.append(rows)
            lines.append(
                f"{'  ' * depth}F{len(leaves)}: {rows.size} rows, mean {y[rows].mean():.3f}"
            )
            return
        lines.append(f"{'  ' * depth}{best.words}")
        split(rows[best.left], depth + 1)
        split(rows[~best.left], depth + 1)

    split(np.arange(y.size), 0)
    return LeafTree(tuple(lines), tuple(leaves))


def _of_levels(y: Floats, levels: Floats, codes: Ints, name: str) -> Split | None:
    """Split levels into two sets: the best is a cut of the levels ordered by their means."""
    present = np.unique(codes)
    order = present[np.argsort([y[codes == level].mean() for level in present])]
    rank = np.zeros(levels.size)
    rank[order] = np.arange(order.size)
    best = _of_numbers(y, rank[codes], name)
    if best is None:
        return None
    inside = ", ".join(str(levels[level]) for level in np.unique(codes[best.left]))
    return Split(best.gain, f"{name} in {{{inside}}}", best.left)


def _of_numbers(y: Floats, values: Floats, name: str) -> Split | None:
    best = None
    for low, high in pairwise(np.unique(values)):
        left = values <= low
        n, m = int(left.sum()), int((~left).sum())
        if min(n, m) < LEAST:
            continue
        gain = float((y[left].mean() - y[~left].mean()) ** 2 * n * m / y.size)
        if best is None or gain > best.gain:
            best = Split(gain, f"{name} < {(low + high) / 2:g}", left)
    return best


def synthetic(rng: Generator, y: Floats, leaves: Sequence[Ints], *, points: int = POINTS) -> Floats:
    """Draw every row from the kernel density of its leaf's Bayesian-bootstrap points.

    Parameters
    ----------
    points
        Points of the bootstrap, at least one more than the leaf has rows.
    """
    drawn = np.empty_like(y)
    for rows in leaves:
        drawn[rows] = _kernel_draws(rng, y[rows], rows.size, points)
    return drawn


def _kernel_draws(rng: Generator, values: Floats, number: int, most: int) -> Floats:
    """Draw by inverse CDF from a Gaussian kernel density, cut to the range of its points."""
    weights = rng.dirichlet(np.ones(values.size))
    points = rng.choice(values, max(most, values.size + 1), p=weights)
    low, high = np.percentile(points, [25, 75])
    spread = points.std(ddof=1)
    width = 0.9 * (min(spread, (high - low) / 1.34) or spread) * points.size**-0.2
    if width == 0:
        return np.full(number, points[0])
    at = np.linspace(points.min(), points.max(), GRID)
    heights = np.exp(-0.5 * ((at[:, None] - points) / width) ** 2).sum(axis=1)
    cumulated = np.cumsum(heights)
    return np.asarray(np.interp(rng.random(number), cumulated / cumulated[-1], at))
