"""Ridge regressions on binned columns, in one pass over the rows.

Predictors are codes already: a linear predictor is a sum over columns of one number a code. The fit
needs the products of the terms, counted row by row, and one system of equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled
from veladura.numeric.normal import normal_quantile
from veladura.numeric.trees.bins import Predictors

MOST_LEVELS = 30  # categories with a term of their own; rarer ones share none
ENTRIES = 2  # terms of a code, at most: those of a number
RIDGE = 1.0  # as if one more row spoke against each slope


@dataclass(frozen=True, eq=False, repr=False)
class Terms:
    """The terms of a regression: for each code of each column one or two, with their values.

    A category has an indicator, if it is among the most frequent. A number has the normal score of
    its bin and the square of it; missing has an indicator.

    Attributes
    ----------
    features
        The columns.
    start
        Where the codes of each column begin in ``place`` and ``value``.
    place, value
        By code, the terms that it has (-1 for none) and their values.
    number
        How many terms there are; the first is the intercept.
    """

    features: Ints
    start: Ints
    place: Ints
    value: Floats
    number: int

    @classmethod
    def of(cls, predictors: Predictors, rows: Ints, features: Ints) -> Terms:
        """Return the terms of some columns, from the codes of some rows."""
        levels = predictors.levels[features] + 1  # a category that is new to the tree is the last
        start = np.append(0, np.cumsum(levels))
        place = np.full((int(start[-1]), ENTRIES), -1, dtype=np.int64)
        value = np.zeros((int(start[-1]), ENTRIES))
        number = 1
        for f, column in enumerate(features):
            count = np.bincount(predictors.bins[rows, column], minlength=levels[f])[: levels[f]]
            at = slice(int(start[f]), int(start[f + 1]))
            write = _categories if predictors.categorical[column] else _numbers
            number += write(count, place[at], value[at], number)
        return cls(features, start, place, value, number)

    def fit(
        self, predictors: Predictors, rows: Ints, code: Ints, weight: Floats
    ) -> tuple[Floats, Floats]:
        """Return ridge regressions of some responses (Hoerl and Kennard 1970), and their spread.

        Response c is the weight of the rows with code c, and 0 elsewhere. The slopes have a column
        for each response; the spread is the covariance of the fitted values.
        """
        products, right = moments(
            np.ascontiguousarray(predictors.bins[rows]),
            self.features,
            self.start,
            self.place,
            self.value,
            code,
            weight,
            np.zeros((self.number, self.number)),
            np.zeros((self.number, int(code.max()) + 1)),
        )
        ridge = np.full(self.number, RIDGE)
        ridge[0] = 1e-9
        products += np.tril(products, -1).T
        slopes: Floats = np.asarray(np.linalg.solve(products + np.diag(ridge), right), np.float64)
        mean = slopes.T @ products[:, 0] / rows.size
        return slopes, slopes.T @ products @ slopes / rows.size - np.outer(mean, mean)

    def tables(self, slopes: Floats) -> Floats:
        """Return what each code adds to the linear predictors."""
        padded = np.vstack([slopes, np.zeros(slopes.shape[1])])  # place -1 adds nothing
        added = padded[self.place] * self.value[:, :, None]
        return np.ascontiguousarray(added.sum(axis=1))


def _categories(count: Ints, place: Ints, value: Floats, first: int) -> int:
    frequent = np.argsort(-count, kind="stable")[:MOST_LEVELS]
    frequent = np.sort(frequent[count[frequent] > 0])
    place[frequent, 0] = first + np.arange(frequent.size)
    value[frequent, 0] = 1.0
    return int(frequent.size)


def _numbers(count: Ints, place: Ints, value: Floats, first: int) -> int:
    given, missing = count[:-2], count.size - 2
    weight = given / max(int(given.sum()), 1)
    share = np.cumsum(weight) - weight / 2
    score = _standardised(normal_quantile(np.clip(share, 1e-4, 1 - 1e-4)), weight)
    value[:missing] = np.column_stack([score, _standardised(score**2, weight)])
    place[:missing] = (first, first + 1)
    place[missing, 0], value[missing, 0] = first + 2, 1.0
    return 3


def _standardised(values: Floats, weight: Floats) -> Floats:
    centred = values - weight @ values
    return np.asarray(centred / (np.sqrt(weight @ centred**2) or 1.0))


@compiled(
    "Tuple((float64[:, ::1], float64[:, ::1]))(uint16[:, ::1], int64[::1], int64[::1],"
    " int64[:, ::1], float64[:, ::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1])"
)
def moments(
    bins: NDArray[np.uint16],
    features: Ints,
    start: Ints,
    place: Ints,
    value: Floats,
    code: Ints,
    weight: Floats,
    products: Floats,
    right: Floats,
) -> tuple[Floats, Floats]:
    """Return the products of the terms (on the diagonal and below), and those with responses."""
    at = np.empty(ENTRIES * features.size + 1, dtype=np.int64)
    much = np.empty(ENTRIES * features.size + 1)
    at[0], much[0] = 0, 1.0
    for i in range(len(bins)):
        size = 1
        for f in range(features.size):
            one = min(start[f] + bins[i, features[f]], start[f + 1] - 1)
            for e in range(ENTRIES):
                if place[one, e] >= 0:
                    at[size], much[size] = place[one, e], value[one, e]
                    size += 1
        for a in range(size):
            right[at[a], code[i]] += much[a] * weight[i]
            for b in range(a + 1):
                products[at[a], at[b]] += much[a] * much[b]
    return products, right


def sums(bins: NDArray[np.uint16], features: Ints, start: Ints, tables: Floats) -> Floats:
    """Return the linear predictors of some rows."""
    scores = np.zeros((len(bins), tables.shape[1]))
    for f, column in enumerate(features):
        last = start[f + 1] - 1  # a category that is new to the tree
        scores += tables[np.minimum(start[f] + bins[:, column].astype(np.int64), last)]
    return scores
