"""Calibration: draws from leaves are corrected so that regressions on the release are unbiased.

A leaf mixes people whose columns differ, and columns drawn before have lost some of their ties: the
mean of a drawn variable, regressed on all columns before it, is not what it is in the original. The
difference is known before anything is drawn. With X the terms of the synthetic rows, b the slopes
of the original (`regression.Moments.fit`) and p the means of the responses in the leaves that the
rows fall to, it is g = (X'X)^-1 X'(p - X b). Rows then draw with means p - X g, as near as their
leaves allow: some rows take another donor *of their leaf*, one with another response. For linear
models of any columns on any before them this removes the bias in one step, as generalised
regression estimators do with known totals (Deville and Särndal 1992, sec. 1).

Only means are corrected: the chance of the draws, and that of Bayesian weights, stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Floats, Ints
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.regression import ENTRIES, Terms, compiled
from veladura.numeric.trees.tree import END, START, Tree

within = partial(jit.inner, wraparound=False)  # no index is below zero

MOST_MOVED = 0.75  # of the donors of one kind that a leaf hands out
ROUNDS = 2
RELAX = 1.4  # leaves of one kind do not move: the others move further


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Regressions of some responses on the columns before. Never released.

    Attributes
    ----------
    slopes
        A column for each response.
    inverse
        The inverse of the products of the terms.
    spread
        The covariance of the fitted values.
    rows
        The rows of the original that they are fitted on.
    code
        By row of the original, which of several responses it has.
    score
        By row of the original, the response, where there is one only.
    """

    terms: Terms
    slopes: Floats
    inverse: Floats
    spread: Floats
    rows: Ints
    code: Ints
    score: Floats | None = None

    def of_tree(self, tree: Tree) -> Calibration:
        """Return the calibration of draws from a tree."""
        leaves = tree.leaves()
        leaves = leaves[np.argsort(tree.nodes[leaves, START], kind="stable")]
        index = np.zeros(len(tree.nodes), dtype=np.int64)
        index[leaves] = np.arange(leaves.size)
        size = tree.nodes[leaves, END] - tree.nodes[leaves, START]
        leaf = np.repeat(np.arange(leaves.size), size)
        places = np.arange(leaf.size)
        places += np.repeat(tree.nodes[leaves, START] - np.cumsum(size) + size, size)
        rows = tree.order[places]
        if self.score is None:
            kinds, code = self.slopes.shape[1], self.code[rows]
        else:
            score = self.score[rows]
            mean = np.bincount(leaf, score) / size
            kinds, code = 2, (score > mean[leaf]).astype(np.int64)
        cell = leaf * kinds + code
        count = np.bincount(cell, minlength=leaves.size * kinds)
        share = count.reshape(-1, kinds) / size[:, None]
        least = MOST_MOVED * np.minimum(share, 1 - share)
        means, gap = share, np.ones(leaves.size)
        if self.score is not None:
            total = np.bincount(cell, score, leaves.size * kinds) / np.maximum(count, 1)
            gap = total[1::2] - total[::2]  # without any where one kind is absent: nothing moves
            means, least = mean[:, None], least[:, :1] * gap[:, None]
        codes = np.zeros(tree.order.size, dtype=np.int64)
        codes[places] = code
        return Calibration(
            self,
            index,
            codes,
            share,
            np.ascontiguousarray(means),
            np.ascontiguousarray(least),
            gap,
            places[np.argsort(cell, kind="stable")],
            np.append(0, np.cumsum(count)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The leaves of a tree by the kinds of their donors: by response, or by side of the mean.

    Attributes
    ----------
    leaf
        The number of the leaf of each node.
    code
        The kind of each donor, in the order of the tree.
    share
        By leaf, the share of each kind.
    mean, most
        By leaf, the means of the responses, and how far they can be moved.
    gap
        By leaf, what the upper kind has more than the lower one, where there is one response.
    order, start
        Donors by leaf and kind, and where each kind begins.
    """

    fit: Fit
    leaf: Ints
    code: Ints
    share: Floats
    mean: Floats
    most: Floats
    gap: Floats
    order: Ints
    start: Ints

    def corrected(
        self, rng: Generator, predictors: Predictors, rows: Ints, nodes: Ints, donors: Ints
    ) -> Ints:
        """Return the donors of some rows, some of them changed for others of the same leaf."""
        leaf = self.leaf[nodes]
        shift = self._shift(predictors, rows, leaf)
        code, kinds = self.code[donors], self.share.shape[1]
        if self.fit.score is not None:
            up = shift[:, 0] / np.maximum(self.gap[leaf], 1e-12)
            shift = np.column_stack([-up, up])
        everyone = np.arange(rows.size)
        leaving = -shift[everyone, code] / self.share[leaf, code]
        moved = np.flatnonzero(rng.random(rows.size) < leaving)
        more = np.cumsum(np.maximum(shift[moved], 0.0), axis=1)
        wanted = rng.random(moved.size) * more[:, -1]
        kind = np.minimum((more <= wanted[:, None]).sum(axis=1), kinds - 1)
        cell = leaf[moved] * kinds + kind
        first, last = self.start[cell], self.start[cell + 1]
        picked = (first + rng.random(moved.size) * (last - first)).astype(np.int64)
        donors = donors.copy()
        donors[moved] = self.order[np.minimum(picked, last - 1)]
        return donors

    def _shift(self, predictors: Predictors, rows: Ints, leaf: Ints) -> Floats:
        """Return by row how far the means of its leaf are moved."""
        fit, terms = self.fit, self.fit.terms
        return shifts(
            predictors.bins,
            rows,
            terms.features,
            terms.start,
            terms.place,
            terms.value,
            np.ascontiguousarray(fit.slopes),
            fit.inverse,
            self.mean,
            self.most,
            leaf,
        )


@within("void(float64[::1], float64[::1])")
def _limit(moved: Floats, most: Floats) -> None:
    """Cut what responses are moved by at what a leaf allows; in sum they are moved by nought."""
    up = down = 0.0
    for c in range(moved.size):
        moved[c] = min(max(moved[c], -most[c]), most[c])
        up += max(moved[c], 0.0)
        down += max(-moved[c], 0.0)
    both = min(up, down)
    of_up, of_down = both / max(up, 1e-300), both / max(down, 1e-300)
    for c in range(moved.size):
        moved[c] *= of_up if moved[c] > 0 else of_down


@within("void(int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])")
def _tables(place: Ints, value: Floats, slopes: Floats, step: Floats) -> None:
    """Write what each code adds to the linear predictors."""
    step[:] = 0.0
    for code in range(len(place)):
        for e in range(ENTRIES):
            if place[code, e] >= 0:
                for c in range(slopes.shape[1]):
                    step[code, c] += slopes[place[code, e], c] * value[code, e]


@within(
    "void(int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1])"
)
def _regressed(
    place: Ints, value: Floats, inverse: Floats, total: Floats, sums: Floats, slopes: Floats
) -> None:
    """Write the slopes of residuals, from their sums in all and by code."""
    right = np.zeros(slopes.shape)
    for code in range(len(place)):
        for e in range(ENTRIES):
            if place[code, e] >= 0:
                for c in range(slopes.shape[1]):
                    right[place[code, e], c] += value[code, e] * sums[code, c]
    right[0] += total
    own = np.empty(len(inverse))
    for c in range(slopes.shape[1]):
        own[:] = 0.0
        for u in range(len(inverse)):
            much = right[u, c]
            for t in range(len(inverse)):
                own[t] += inverse[u, t] * much  # it is symmetric: a row, as it lies in memory
        slopes[:, c] = own


@within(
    "void(int32[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], float64[::1])"
)
def _residuals(
    held: NDArray[np.int32],
    step: Floats,
    intercept: Floats,
    mean: Floats,
    leaf: Ints,
    sums: Floats,
    total: Floats,
) -> None:
    """Write the sums of the means less the linear predictors, in all and by code."""
    responses = mean.shape[1]
    own = np.empty(responses)
    for i in range(len(held)):
        here = mean[leaf[i]]
        for c in range(responses):
            own[c] = here[c] - intercept[c]
        for f in range(held.shape[1]):
            added = step[held[i, f]]
            for c in range(responses):
                own[c] -= added[c]
        for c in range(responses):
            total[c] += own[c]
        for f in range(held.shape[1]):
            sum_of_code = sums[held[i, f]]
            for c in range(responses):
                sum_of_code[c] += own[c]


@within(
    "void(int32[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], float64[::1])"
)
def _residuals_of_one(
    held: NDArray[np.int32],
    step: Floats,
    intercept: Floats,
    mean: Floats,
    leaf: Ints,
    sums: Floats,
    total: Floats,
) -> None:
    """Do what `_residuals` does for one response, without its loops over responses."""
    for i in range(len(held)):
        own = mean[leaf[i], 0] - intercept[0]
        for f in range(held.shape[1]):
            own -= step[held[i, f], 0]
        total[0] += own
        for f in range(held.shape[1]):
            sums[held[i, f], 0] += own


@within(
    "void(int32[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], boolean)"
)
def _move_one(
    held: NDArray[np.int32],
    step: Floats,
    intercept: Floats,
    most: Floats,
    leaf: Ints,
    shift: Floats,
    sums: Floats,
    total: Floats,
    last: bool,
) -> None:
    """Do what `_move` does for one response: five times as fast as its loops over responses."""
    for i in range(len(held)):
        much = shift[i, 0] - intercept[0]
        for f in range(held.shape[1]):
            much -= step[held[i, f], 0]
        much = min(max(much, -most[leaf[i], 0]), most[leaf[i], 0])
        more = much - shift[i, 0]
        shift[i, 0] = much
        if not last:
            total[0] += more
            for f in range(held.shape[1]):
                sums[held[i, f], 0] += more


@within("void(float64[:, ::1], int32[:, ::1], int64[::1])")
def _moving(most: Floats, which: NDArray[np.int32], number: Ints) -> None:
    """Write by leaf which responses can be moved, and how many these are."""
    number[:] = 0
    for leaf in range(len(most)):
        for c in range(most.shape[1]):
            if most[leaf, c] > 0:
                which[leaf, number[leaf]] = c
                number[leaf] += 1


@within(
    "void(int32[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], boolean)"
)
def _move(
    held: NDArray[np.int32],
    step: Floats,
    intercept: Floats,
    most: Floats,
    leaf: Ints,
    shift: Floats,
    sums: Floats,
    total: Floats,
    last: bool,
) -> None:
    """Take X g off what the means are moved by, as far as leaves allow, and bring sums up to date.

    A leaf of a few people has few of many responses: only these move.
    """
    responses = shift.shape[1]
    which, number = np.empty((len(most), responses), dtype=np.int32), np.empty(len(most), np.int64)
    _moving(most, which, number)
    moved, limit = np.empty(responses), np.empty(responses)
    for i in range(len(held)):
        here = leaf[i]
        size = number[here]
        for j in range(size):
            c = which[here, j]
            limit[j] = most[here, c]
            moved[j] = shift[i, c] - intercept[c]
        for f in range(held.shape[1]):
            for j in range(size):
                moved[j] -= step[held[i, f], which[here, j]]
        _limit(moved[:size], limit[:size])
        for j in range(size):
            c = which[here, j]
            limit[j] = moved[j] - shift[i, c]  # by how much more
            shift[i, c] = moved[j]
            total[c] += limit[j]
        if not last:
            for f in range(held.shape[1]):
                for j in range(size):
                    sums[held[i, f], which[here, j]] += limit[j]


@compiled(
    "float64[:, ::1](uint16[:, ::1], int64[::1], int64[::1], int64[::1], int64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " int64[::1])"
)
def shifts(
    bins: NDArray[np.uint16],
    rows: Ints,
    features: Ints,
    start: Ints,
    place: Ints,
    value: Floats,
    slopes: Floats,
    inverse: Floats,
    mean: Floats,
    most: Floats,
    leaf: Ints,
) -> Floats:
    """Return by row how far the means of its leaf are moved, in rounds.

    Of several responses as much is taken off as is added.
    """
    responses = mean.shape[1]
    held = np.empty((rows.size, features.size), dtype=np.int32)
    for i in range(rows.size):
        for f in range(features.size):
            held[i, f] = min(start[f] + bins[rows[i], features[f]], start[f + 1] - 1)
    sums, step = np.zeros((len(place), responses)), np.empty((len(place), responses))
    total, shift = np.zeros(responses), np.zeros((rows.size, responses))
    _tables(place, value, slopes, step)
    if responses == 1:
        _residuals_of_one(held, step, slopes[0], mean, leaf, sums, total)
    else:
        _residuals(held, step, slopes[0], mean, leaf, sums, total)
    moved = np.empty(slopes.shape)
    for count in range(ROUNDS):
        _regressed(place, value, inverse, total, sums, moved)
        moved *= RELAX
        _tables(place, value, moved, step)
        last = count == ROUNDS - 1
        if responses == 1:
            _move_one(held, step, moved[0], most, leaf, shift, sums, total, last)
        else:
            _move(held, step, moved[0], most, leaf, shift, sums, total, last)
    return shift
