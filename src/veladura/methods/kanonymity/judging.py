"""The costs of the best nodes by a quality model, where k for one quasi-identifier is asked.

All else is judged node by node, by `quality.best_nodes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.methods.kanonymity.lattice import Vector, together

if TYPE_CHECKING:
    from veladura.methods.kanonymity.quality import Quality
    from veladura.methods.kanonymity.search_kernels import Model

BEFORE = "-before-suppression"


def judged(quality: Quality, k: int, bounds: Floats, best: float) -> list[tuple[float, Vector]]:
    """Return costs and nodes, among them all nodes that no other is better than.

    Parameters
    ----------
    bounds
        The least cost of each node by its levels alone, infinite for those that are not good.
    best
        A cost that the best node does not exceed.
    """
    from veladura.methods.kanonymity.search_kernels import judge

    lattice = quality.lattice
    order = lattice.walking_order()
    shape = lattice.ordered(order)
    model = _model(quality, order, bounds)
    least = 1 if quality.name.endswith(BEFORE) else k
    nodes, costs = judge(lattice.keys, lattice.sizes, shape, least, model, best)
    vectors = (nodes[:, None] // shape.strides % (shape.heights + 1))[:, np.argsort(order)]
    return list(zip(costs.tolist(), map(tuple, vectors.tolist()), strict=True))


def _model(quality: Quality, order: Ints, bounds: Floats) -> Model:
    """Return a quality model for the compiled walk."""
    from veladura.methods.kanonymity.search_kernels import (
        CLASS_SIZE,
        DISCERNIBILITY,
        ENTROPY,
        LOSS,
        Model,
    )

    kinds = {
        "loss": LOSS,
        "non-uniform-entropy": ENTROPY,
        "discernibility": DISCERNIBILITY,
        "average-class-size": CLASS_SIZE,
    }
    kind = kinds[quality.name.removesuffix(BEFORE)]
    floors, starts = _floors(bounds.transpose(order))
    shares, places, codes = _shares(quality, order)
    weights = quality.weights / (quality.weights.sum() if kind == LOSS else 1.0)
    least, spread = quality.scale() if quality.shares else (weights, weights)
    costs = np.zeros((order.size, max((cost.size for cost in quality.costs), default=0)))
    for c, column in enumerate(order if quality.costs else ()):
        costs[c, : quality.costs[column].size] = quality.costs[column]
    by_column = (values[order] for values in (weights, least, spread))
    return Model(kind, floors, starts, costs, shares, places, codes, *by_column)


def _floors(bounds: Floats) -> tuple[Floats, Ints]:
    """Return the least bound with the first columns at their levels, for each number of columns."""
    floors = [np.ascontiguousarray(bounds)]
    for axis in reversed(range(bounds.ndim)):
        floors.append(floors[-1].min(axis=axis))
    parts = [floor.ravel() for floor in reversed(floors)]
    starts = np.cumsum([0, *(part.size for part in parts[:-1])]).astype(np.int64)
    return np.concatenate(parts), starts


def _shares(quality: Quality, order: Ints) -> tuple[Floats, Ints, Ints]:
    """Return what a suppressed row adds to a loss, by column, level and code of the walk.

    Where those of a column and level start, and how many codes it has.
    """
    lattice = quality.lattice
    parts, start = [np.zeros(0)], 0
    places = np.zeros((order.size, int(lattice.heights.max()) + 1), dtype=np.int64)
    number = np.zeros_like(places)
    for c, column in enumerate(order if quality.shares else ()):
        codes = lattice.levels[column].codes
        for level, renumbered in enumerate(together(codes)):
            added = np.zeros(int(renumbered.max()) + 1)
            added[renumbered] = 1 - quality.shares[column][level][codes[level]]
            places[c, level], number[c, level] = start, added.size
            start += added.size
            parts.append(added)
    return np.concatenate(parts), places, number
