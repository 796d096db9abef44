"""What a split lowers: squares of ranks or of values, or the impurity of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.numeric.trees.tree import (
    END,
    FEATURE,
    LEFT,
    START,
    ClassCriterion,
    NumberCriterion,
    Tree,
    ranks,
)

NUMBER_CRITERIA: tuple[str, ...] = get_args(NumberCriterion)
CLASS_CRITERIA: tuple[str, ...] = get_args(ClassCriterion)
STEPS = 2.0**40  # of the farthest value from the median


def number_target(values: Floats, criterion: NumberCriterion) -> Ints:
    """Return numbers as the whole numbers whose squares a regression tree lowers.

    Ranks are what no heavy tail can stretch. Values give the least squares of Breiman et al.
    (1984), equation 8.11, in steps of 2^-40 of the farthest value from the median: fewer than ten
    digits are left only where one value is a thousand million times farther than the others.

    Examples
    --------
    >>> number_target(np.array([1.0, 2.0, 101.0]), "ranks").tolist()
    [-2, 0, 2]
    >>> target = number_target(np.array([1.0, 2.0, 101.0]), "values")
    >>> (target / target[2] * 99).round(6).tolist()
    [-1.0, 0.0, 99.0]
    """
    if criterion == "ranks":
        return ranks(values)
    centred = values - np.median(values)
    largest = float(np.abs(centred).max(initial=0.0))
    if largest == 0:
        return np.zeros(values.size, dtype=np.int64)
    return np.rint(centred / largest * STEPS).astype(np.int64)


def with_variance(tree: Tree, values: Floats, least: float) -> Tree:
    """Return the tree, cut where a split would leave a leaf with a smaller variance.

    The mean of the variances of two parts, weighted by their rows, is at most that of the whole:
    a node whose variance is below the least is never split.

    Parameters
    ----------
    values
        The number of each row of the original.
    """
    if least <= 0:
        return tree
    ordered = values[tree.order]
    centred = ordered - (ordered.mean() if ordered.size else 0.0)
    sums = np.append(0.0, np.cumsum(centred))
    squares = np.append(0.0, np.cumsum(centred**2))
    start, end = tree.nodes[:, START], tree.nodes[:, END]
    rows = np.maximum(end - start, 1)
    variance = (squares[end] - squares[start]) / rows - ((sums[end] - sums[start]) / rows) ** 2
    inner = np.flatnonzero(tree.nodes[:, FEATURE] >= 0)
    left = tree.nodes[inner, LEFT]
    stop = tree.stop.copy()
    stop[inner[np.minimum(variance[left], variance[left + 1]) < least]] = 1
    return replace(tree, stop=stop)
