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

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import inner
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.regression import Terms, compiled
from veladura.numeric.trees.tree import END, START, Tree

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
        shift, residual = self.mean[leaf], self.mean[leaf]

        def moved(slopes: Floats, most: Floats) -> Floats:
            return move_means(
                predictors.bins,
                rows,
                terms.features,
                terms.start,
                terms.tables(slopes),
                slopes[0],
                most,
                leaf,
                shift,
                residual,
            )

        sums = moved(fit.slopes, np.full_like(self.most, np.inf))  # residuals of the regression
        shift[:] = 0.0
        for _ in range(ROUNDS):
            right = terms.gathered(sums, residual.sum(axis=0))
            sums = moved(RELAX * (fit.inverse @ right), self.most)
        return shift


@inner("void(float64[::1], float64[::1])")
def _limit(moved: Floats, most: Floats) -> None:
    """Cut what is moved at what a leaf allows; several responses are moved by nought in sum."""
    up = down = 0.0
    for c in range(moved.size):
        moved[c] = min(max(moved[c], -most[c]), most[c])
        up += max(moved[c], 0.0)
        down += max(-moved[c], 0.0)
    if moved.size > 1:
        both = min(up, down)
        for c in range(moved.size):
            moved[c] *= both / up if moved[c] > 0 else both / max(down, 1e-300)


@compiled(
    "float64[:, ::1](uint16[:, ::1], int64[::1], int64[::1], int64[::1], float64[:, ::1],"
    " float64[::1], float64[:, ::1], int64[::1], float64[:, ::1], float64[:, ::1])"
)
def move_means(
    bins: NDArray[np.uint16],
    rows: Ints,
    features: Ints,
    start: Ints,
    step: Floats,
    intercept: Floats,
    most: Floats,
    leaf: Ints,
    shift: Floats,
    residual: Floats,
) -> Floats:
    """Take X g off the means, as far as leaves allow; return the sums of residuals by code.

    Of several responses as much is taken off as is added.
    """
    responses = shift.shape[1]
    sums = np.zeros(step.shape)
    held = np.empty(features.size, dtype=np.int64)
    moved = np.empty(responses)
    for i in range(rows.size):
        for c in range(responses):
            moved[c] = shift[i, c] - intercept[c]
        for f in range(features.size):
            held[f] = min(start[f] + bins[rows[i], features[f]], start[f + 1] - 1)
            for c in range(responses):
                moved[c] -= step[held[f], c]
        _limit(moved, most[leaf[i]])
        for c in range(responses):
            residual[i, c] += moved[c] - shift[i, c]
            shift[i, c] = moved[c]
        for f in range(features.size):
            for c in range(responses):
                sums[held[f], c] += residual[i, c]
    return sums
