"""Ridge regressions on binned columns: products of terms are counted once for all regressions.

Predictors are codes already: a linear predictor is a sum over columns of one number a code. The fit
of one column needs a block of the products, its own responses, which are one short pass over the
rows, and one system of equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.normal import normal_quantile
from veladura.numeric.trees.bins import Predictors

compiled = partial(jit.compiled, wraparound=False)  # no index is below zero

MOST_LEVELS = 30  # categories with a term of their own; rarer ones share none
FEW_NUMBERS = 10  # different numbers with a term each: scales, and codes written as numbers
ENTRIES = 2  # terms of a code, at most: those of a number
RIDGE = 1.0  # as if one more row spoke against each slope


@dataclass(frozen=True, eq=False, repr=False)
class Terms:
    """The terms of a regression: for each code of each column one or two, with their values.

    A category has an indicator, if it is among the most frequent; so has a number of a column with
    at most ten different ones. Any other number has the normal score of its bin and the square of
    it; missing has an indicator.

    Attributes
    ----------
    features
        The columns.
    start
        Where the codes of each column begin in ``place`` and ``value``.
    place, value
        By code, the terms that it has (-1 for none) and their values.
    first
        The first term of each column, and how many terms there are; term 0 is the intercept.
    """

    features: Ints
    start: Ints
    place: Ints
    value: Floats
    first: Ints

    @property
    def number(self) -> int:
        """How many terms there are."""
        return int(self.first[-1])

    @classmethod
    def of(cls, predictors: Predictors, rows: Ints, features: Ints) -> Terms:
        """Return the terms of some columns, from the codes of some rows."""
        levels = predictors.levels[features] + 1  # a category that is new to the tree is the last
        start = np.append(0, np.cumsum(levels))
        place = np.full((int(start[-1]), ENTRIES), -1, dtype=np.int64)
        value = np.zeros((int(start[-1]), ENTRIES))
        first = [1]
        for f, column in enumerate(features):
            count = np.bincount(predictors.bins[rows, column], minlength=levels[f])[: levels[f]]
            at = slice(int(start[f]), int(start[f + 1]))
            write = _categories if predictors.categorical[column] else _numbers
            first.append(first[-1] + write(count, place[at], value[at], first[-1]))
        return cls(features, start, place, value, np.array(first))

    def head(self, columns: int) -> Terms:
        """Return the terms of the first columns: parts of the same memory."""
        codes = int(self.start[columns])
        return Terms(
            self.features[:columns],
            self.start[: columns + 1],
            self.place[:codes],
            self.value[:codes],
            self.first[: columns + 1],
        )

    def among(self, features: Ints) -> tuple[Terms, Ints]:
        """Return the terms of some of the columns, and which of all terms they are."""
        at = [int(np.flatnonzero(self.features == column)[0]) for column in features]
        codes = [np.arange(self.start[f], self.start[f + 1]) for f in at]
        which = np.concatenate([[0], *(np.arange(self.first[f], self.first[f + 1]) for f in at)])
        renumbered = np.full(self.number + 1, -1)  # the last one is of place -1
        renumbered[which] = np.arange(which.size)
        size = np.cumsum([0, *(part.size for part in codes)])
        terms = np.cumsum([1, *(self.first[f + 1] - self.first[f] for f in at)])
        every = np.concatenate(codes)
        return Terms(features, size, renumbered[self.place[every]], self.value[every], terms), which

    def products(self, predictors: Predictors, rows: Ints) -> Floats:
        """Return the products of the terms with each other, summed over some rows."""
        lower = moments(
            predictors.bins,
            rows,
            self.features,
            self.start,
            self.place,
            self.value,
            np.zeros((self.number, self.number)),
        )
        return np.asarray(lower + np.tril(lower, -1).T)

    def tables(self, slopes: Floats) -> Floats:
        """Return what each code adds to the linear predictors."""
        padded = np.vstack([slopes, np.zeros(slopes.shape[1])])  # place -1 adds nothing
        added = padded[self.place] * self.value[:, :, None]
        return np.ascontiguousarray(added.sum(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """The terms of some columns, and their products over some rows: regressions share them.

    Attributes
    ----------
    rows
        The rows that regressions are fitted on.
    used
        The terms that have slopes; all by default. Those of the others are nought.
    """

    predictors: Predictors
    rows: Ints
    terms: Terms
    products: Floats
    used: Ints | None = None

    @classmethod
    def of(cls, predictors: Predictors, rows: Ints, features: Sequence[int]) -> Moments:
        """Return the products of the terms of some columns, in one pass over the rows."""
        predictors = predictors._replace(bins=np.ascontiguousarray(predictors.bins))
        terms = Terms.of(predictors, rows, np.asarray(features, dtype=np.int64))
        return cls(predictors, rows, terms, terms.products(predictors, rows))

    def among(self, features: Sequence[int]) -> Moments:
        """Return the moments of some of the columns; of the first ones the root is shared too."""
        size = len(features)
        if np.array_equal(np.sort(self.terms.features[:size]), np.sort(features)):
            terms = self.terms.head(size)
            first = slice(terms.number)
            part = Moments(self.predictors, self.rows, terms, self.products[first, first])
            part.__dict__["root"] = self.root[first, first]
            return part
        terms, which = self.terms.among(np.asarray(features, dtype=np.int64))
        return Moments(self.predictors, self.rows, terms, self.products[np.ix_(which, which)])

    def at(self, inside: Mask) -> Moments:
        """Return the moments over some of the rows: counted there, or subtracted elsewhere."""
        if inside.all():
            return self
        rows, others = self.rows[inside], self.rows[~inside]
        if rows.size <= others.size:
            products = self.terms.products(self.predictors, rows)
        else:
            products = self.products - self.terms.products(self.predictors, others)
        return Moments(self.predictors, rows, self.terms, products, self.used)

    @cached_property
    def root(self) -> Floats:
        """The root R of the inverse R'R of the products with the ridge, a lower triangle.

        It is the inverse of the Cholesky factor: the root of the first columns is its upper left
        part, so that columns that are synthesised one after the other share one. It is nought for
        terms that have no slopes.
        """
        ridge = np.full(self.terms.number, RIDGE)
        ridge[0] = 1e-9
        products = self.products + np.diag(ridge)
        if self.used is None:
            return _root(products)
        root, used = np.zeros_like(products), np.ix_(self.used, self.used)
        root[used] = _root(products[used])
        return root

    @property
    def size(self) -> int:
        """How many terms have slopes."""
        return self.terms.number if self.used is None else self.used.size

    def strongest(self, code: Ints, weight: Floats, most: int) -> Moments:
        """Return the moments with the slopes of the columns that explain most, each by itself.

        Columns are taken in the order of what they explain beyond chance, a share k / n for k
        terms, as long as there are no more than ``most`` terms.
        """
        if self.size <= most:
            return self
        right, rows = self._responses(code, weight), self.rows.size
        explained = right[0] @ right[0] / rows
        total = np.bincount(code, weight**2).sum() - explained
        gains = []
        for first, last in zip(self.terms.first, self.terms.first[1:], strict=False):
            own = np.append(0, np.arange(first, last))
            block = self.products[np.ix_(own, own)] + np.diag([1e-9] + [RIDGE] * (last - first))
            fitted = np.sum(right[own] * np.linalg.solve(block, right[own])) - explained
            gains.append(fitted / max(total, 1e-300) - (last - first) / rows)
        used = [0]
        for f in np.argsort(-np.array(gains), kind="stable"):
            own = np.arange(self.terms.first[f], self.terms.first[f + 1])
            if gains[f] > 0 and len(used) + own.size <= most:
                used.extend(own.tolist())
        return replace(self, used=np.sort(used))

    def fit(self, code: Ints, weight: Floats, *, twice: bool = False) -> tuple[Floats, Floats]:
        """Return ridge regressions of some responses (Hoerl and Kennard 1970), and their spread.

        Response c is the weight of the rows with code c, and 0 elsewhere. The slopes have a column
        for each response; the spread is the covariance of the fitted values.

        Parameters
        ----------
        twice
            Whether what the ridge holds back is regressed once more (twicing, Tukey 1977, sec.
            16C): the mean of a group of n rows is then too small by a share 1 / (n + 1)^2, and no
            more by 1 / (n + 1). For few terms: with many that nearly agree the ridge is needed.
        """
        right = self._responses(code, weight)
        slopes = self.root.T @ (self.root @ right)
        if twice:
            left = right - self.products @ slopes
            slopes = slopes + self.root.T @ (self.root @ left)
        mean = slopes.T @ self.products[:, 0] / self.rows.size
        spread = slopes.T @ self.products @ slopes / self.rows.size
        return slopes, spread - np.outer(mean, mean)

    def _responses(self, code: Ints, weight: Floats) -> Floats:
        """Return the products of the terms with the responses."""
        terms, kinds = self.terms, int(code.max()) + 1
        return np.asarray(
            responses(
                self.predictors.bins,
                self.rows,
                terms.features,
                terms.start,
                terms.place,
                terms.value,
                code,
                weight,
                np.zeros((len(terms.place), kinds)),
                np.zeros((terms.number, kinds)),
            )
        )


def _root(products: Floats) -> Floats:
    """Return the inverse of the Cholesky factor of a matrix, as it lies in memory."""
    return np.ascontiguousarray(np.tril(np.linalg.inv(np.linalg.cholesky(products))))


def _categories(count: Ints, place: Ints, value: Floats, first: int) -> int:
    frequent = np.argsort(-count, kind="stable")[:MOST_LEVELS]
    frequent = np.sort(frequent[count[frequent] > 0])
    place[frequent, 0] = first + np.arange(frequent.size)
    value[frequent, 0] = 1.0
    return int(frequent.size)


def _numbers(count: Ints, place: Ints, value: Floats, first: int) -> int:
    given, missing = count[:-2], count.size - 2
    if given.size <= FEW_NUMBERS:
        return _categories(count, place, value, first)
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
    "float64[:, ::1](uint16[:, ::1], int64[::1], int64[::1], int64[::1], int64[:, ::1],"
    " float64[:, ::1], float64[:, ::1])"
)
def moments(
    bins: NDArray[np.uint16],
    rows: Ints,
    features: Ints,
    start: Ints,
    place: Ints,
    value: Floats,
    products: Floats,
) -> Floats:
    """Return the products of the terms, on the diagonal and below."""
    at = np.empty(ENTRIES * features.size + 1, dtype=np.int64)
    much = np.empty(ENTRIES * features.size + 1)
    at[0], much[0] = 0, 1.0
    for i in range(rows.size):
        size = 1
        for f in range(features.size):
            code = min(start[f] + bins[rows[i], features[f]], start[f + 1] - 1)
            for e in range(ENTRIES):
                if place[code, e] >= 0:
                    at[size], much[size] = place[code, e], value[code, e]
                    size += 1
        for a in range(size):
            for b in range(a + 1):
                products[at[a], at[b]] += much[a] * much[b]
    return products


@compiled(
    "float64[:, ::1](uint16[:, ::1], int64[::1], int64[::1], int64[::1], int64[:, ::1],"
    " float64[:, ::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1])"
)
def responses(
    bins: NDArray[np.uint16],
    rows: Ints,
    features: Ints,
    start: Ints,
    place: Ints,
    value: Floats,
    code: Ints,
    weight: Floats,
    total: Floats,
    right: Floats,
) -> Floats:
    """Return the products of the terms with the responses, whose totals by code come first."""
    for i in range(rows.size):
        own, much = code[i], weight[i]
        right[0, own] += much
        for f in range(features.size):
            total[min(start[f] + bins[rows[i], features[f]], start[f + 1] - 1), own] += much
    for held in range(len(place)):
        for e in range(ENTRIES):
            if place[held, e] >= 0:
                for c in range(right.shape[1]):
                    right[place[held, e], c] += value[held, e] * total[held, c]
    return right


@compiled("float64[:, ::1](uint16[:, ::1], int64[::1], int64[::1], int64[::1], float64[:, ::1])")
def sums(
    bins: NDArray[np.uint16], rows: Ints, features: Ints, start: Ints, tables: Floats
) -> Floats:
    """Return the linear predictors of some rows, one after the other."""
    scores = np.zeros((tables.shape[1], rows.size))
    held = np.empty(features.size, dtype=np.int64)
    for i in range(rows.size):
        for f in range(features.size):
            # the last code of a column is a category that is new to the tree
            held[f] = min(start[f] + bins[rows[i], features[f]], start[f + 1] - 1)
        for d in range(tables.shape[1]):
            total = 0.0
            for f in range(features.size):
                total += tables[held[f], d]
            scores[d, i] = total
    return scores
