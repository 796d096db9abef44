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
from functools import cached_property

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.base.scratch import scratch
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.calibration_kernels import MOST_MOVED, correct_one, correct_several
from veladura.numeric.trees.cells import Kinds, Places, cells_of, halve, hold
from veladura.numeric.trees.leaf import by_node
from veladura.numeric.trees.regression import Terms
from veladura.numeric.trees.tree import END, START, Tree


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Regressions of some responses on the columns before. Never released.

    Attributes
    ----------
    slopes
        A column for each response.
    root
        The root of the inverse of the products of the terms that have slopes.
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
    root: Floats
    spread: Floats
    rows: Ints
    code: Ints
    score: Floats | None = None

    @property
    def number(self) -> int:
        """How many terms have slopes."""
        return int(np.count_nonzero(np.diag(self.root)))

    def of_tree(self, tree: Tree) -> Calibration:
        """Return the calibration of draws from a tree."""
        leaves = tree.leaves()
        leaves = leaves[np.argsort(tree.nodes[leaves, START], kind="stable")]
        index = np.zeros(len(tree.nodes), dtype=np.int64)
        index[leaves] = np.arange(leaves.size)
        start, end = (np.ascontiguousarray(tree.nodes[leaves, at]) for at in (START, END))
        mean = gap = np.empty(0)
        if self.score is None:
            kinds, kind = self.slopes.shape[1], self.code.astype(np.uint8)[tree.order]
        else:
            kinds, kind = 2, np.empty(tree.order.size, dtype=np.uint8)
            mean, gap = halve(self.score, tree.order, start, end, kind)
        return Calibration(
            self.terms,
            np.ascontiguousarray(self.slopes),
            self.root,
            self.score is not None,
            index,
            kind,
            mean,
            gap,
            *cells_of(kind, start, end, kinds),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The leaves of a tree by the kinds of their donors: by response, or by side of the mean.

    Attributes
    ----------
    terms, slopes, root
        Of the regression: see `Fit`.
    single
        Whether there is one response.
    leaf
        The number of the leaf of each node.
    kind
        The kind of each donor, in the order of the tree.
    mean, gap
        By leaf, where there is one response: its mean, and what the upper kind has more than the
        lower one.
    first
        Where the cells of each leaf begin: one for each kind that it has.
    own, share
        The kind of each cell, and its share of the leaf.
    order, start
        Donors by cell, and where each cell begins.
    """

    terms: Terms
    slopes: Floats
    root: Floats
    single: bool
    leaf: Ints
    kind: Kinds
    mean: Floats
    gap: Floats
    first: Ints
    own: Kinds
    share: Floats
    order: Places
    start: Places

    def corrected(
        self, rng: Generator, predictors: Predictors, rows: Ints, nodes: Ints, donors: Ints
    ) -> Ints:
        """Return the donors of some rows, some of them changed for others of the same leaf."""
        leaf, uniforms, none = self.leaf.take(nodes), rng.random(rows.size), np.empty((0, 1))
        if self.single:
            return self._correct(predictors, rows, leaf, uniforms, donors.copy(), none)
        by_leaf = by_node(leaf, self.first.size)  # leaves have several cells: these are read once
        changed = np.empty_like(donors)
        changed[by_leaf] = self._correct(
            predictors, rows.take(by_leaf), leaf.take(by_leaf), uniforms, donors.take(by_leaf), none
        )
        return changed

    def shifts(self, predictors: Predictors, rows: Ints, nodes: Ints) -> Floats:
        """Return by row how far the means of its leaf are moved."""
        shift, leaf = np.zeros((rows.size, self.slopes.shape[1])), self.leaf[nodes]
        donors = self.order[self.start[self.first[leaf]]].astype(np.int64)
        self._correct(predictors, rows, leaf, np.ones(rows.size), donors, shift)
        return shift

    @cached_property
    def most(self) -> Floats:
        """By leaf, how far the mean of one response can be moved."""
        share = np.append(self.share, 1.0)[self.first[:-1]]
        most: Floats = MOST_MOVED * np.minimum(share, 1 - share) * self.gap
        return most

    def _correct(
        self,
        predictors: Predictors,
        rows: Ints,
        leaf: Ints,
        uniforms: Floats,
        donors: Ints,
        shift: Floats,
    ) -> Ints:
        """Change donors, and return them."""
        terms = self.terms
        bins = predictors.bins
        if not np.array_equal(rows, np.arange(len(bins))):
            bins = scratch("bins", (rows.size, bins.shape[1]), np.uint16)
            np.take(predictors.bins, rows, axis=0, out=bins, mode="clip")
        held = scratch("held", (rows.size, terms.features.size), np.int32)
        hold(bins, terms.features, terms.start, held)
        if not self.single:
            correct_several(
                held,
                terms.place,
                terms.value,
                self.slopes,
                self.root,
                self.share,
                self.first,
                leaf,
                uniforms,
                self.order,
                self.start,
                self.kind,
                self.own,
                donors,
                shift,
            )
        else:
            correct_one(
                held,
                terms.place,
                terms.value,
                self.slopes,
                self.root,
                self.mean,
                self.gap,
                self.share,
                self.first,
                leaf,
                uniforms,
                self.order,
                self.start,
                self.kind,
                self.most,
                donors,
                shift,
            )
        return donors
