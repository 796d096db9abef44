"""Linear scores: the linear predictor of a regression of a variable, as one more predictor.

A tree splits by one column at a time, and spends its rows before it has seen what many columns say
together. A regression sees exactly that. Its linear predictor, cut into bins like any number, joins
the predictors of the tree: the tree then starts from the sum of all effects, and splits further by
what the regression misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.base.scratch import scratch
from veladura.numeric.trees.bins import Binning, Predictors, cuts
from veladura.numeric.trees.calibration import Calibration, Fit
from veladura.numeric.trees.model import Pair, Recipients, TreeModel, Values
from veladura.numeric.trees.regression import MOST_LEVELS, Moments, sums
from veladura.numeric.trees.scored import write_scored
from veladura.numeric.trees.tree import TrainingRows, Tree
from veladura.numeric.trees.variable import Variable

FEWEST_ROWS = 50
CHANCE = 2.0  # a regression on k terms of nothing explains k / n by chance: more is wanted
STEPS = 2.0**20
DIRECTIONS = 3  # of a variable with many states
ENOUGH = 65_536  # rows, evenly spaced, that say where a score is cut into 255 bins


@dataclass(frozen=True, eq=False, repr=False)
class LinearScores:
    """Linear predictors of one variable. Holds what was learnt of the original: never released.

    Attributes
    ----------
    features
        The columns they are computed from.
    start
        Where the numbers of each column begin in ``tables``.
    tables
        For each code of each column, what it adds to each score.
    binnings
        How scores become codes.
    """

    features: Ints
    start: Ints
    tables: Floats
    binnings: tuple[Binning, ...]

    def extended(self, predictors: Predictors, rows: Ints | None = None) -> Predictors:
        """Return predictors at some rows, or at all, with the scores beside them as codes.

        To be given up before the next ones are asked for, while memory is used again.
        """
        held = predictors.bins if rows is None else predictors.bins.take(rows, axis=0)
        edges = [np.empty(0) if each.edges is None else each.edges for each in self.binnings]
        bins = scratch("scored", (len(held), held.shape[1] + len(edges)), np.uint16)
        ends = np.cumsum([each.size for each in edges])
        write_scored(
            held, self.features, self.start, self.tables, np.concatenate(edges), ends, bins
        )
        return Predictors(
            bins,
            np.append(predictors.categorical, np.zeros(len(edges), dtype=bool)),
            np.append(predictors.levels, [binning.levels for binning in self.binnings]),
            len(edges),
        )


@dataclass(frozen=True, eq=False, repr=False)
class ScoredModel:
    """A model whose predictors are a row's columns and its linear scores."""

    scores: LinearScores
    model: TreeModel

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of the variable: a list of one."""
        rows = None if recipients.whole else recipients.rows
        predictors = self.scores.extended(recipients.predictors, rows)
        return self.model.draw(
            rng, replace(recipients, predictors=predictors, rows=np.arange(recipients.rows.size))
        )


def moments_of(training: TrainingRows, features: Sequence[int]) -> Moments:
    """Return what the regressions of all variables on some columns share.

    Of all rows: draws that are calibrated by the slopes of a sample would have its chance.
    """
    return Moments.of(training.predictors, training.rows, features)


def regressions_of(
    variable: Variable,
    training: TrainingRows,
    features: Sequence[int],
    shared: Moments | None = None,
    rows_per_term: float = 0.0,
) -> Regressions | None:
    """Return the regressions of a variable on the columns before it.

    Numbers are regressed as normal scores of their ranks, states as indicators. None where fewer
    than two columns predict, or rows are few.

    Parameters
    ----------
    shared
        Moments of these rows that other variables use too; their own by default.
    rows_per_term
        Fewest rows for each term: a regression on too many terms fits chance, and rows that it was
        not fitted on get other scores than their like. The columns that explain most have terms.
    """
    if len(features) < 2 or training.rows.size < FEWEST_ROWS:  # noqa: PLR2004
        return None
    moments = moments_of(training, features) if shared is None else shared.among(features)
    states = _of_states(variable, moments, rows_per_term)
    return Regressions(moments, states, _of_numbers(variable, moments, rows_per_term))


def score_rows(
    regressions: Regressions, training: TrainingRows, features: Sequence[int]
) -> tuple[LinearScores, TrainingRows, tuple[int, ...]] | None:
    """Return the linear scores of a variable, the rows with them, and the predictors of its tree.

    Of the fitted indicators of states the leading directions between states are kept, which is
    linear discriminant analysis by optimal scoring (Hastie, Tibshirani and Buja 1994, sec. 3): for
    two states, the least-squares predictor. Fit and tree share their rows on purpose: the release
    is to show the slopes of this table, not those of its population.

    None where the regressions explain no more than twice what chance does.
    """
    slopes = regressions.directions()
    if not slopes:
        return None
    predictors, moments = training.predictors, regressions.moments
    terms, rows = moments.terms, moments.rows
    some = np.ascontiguousarray(rows[:: max(1, rows.size // ENOUGH)])
    tables = _rounded(terms.tables(np.column_stack(slopes)))
    scores = sums(moments.predictors.bins, some, terms.features, terms.start, tables)
    edges = [cuts(score) for score in scores]
    binnings = tuple(Binning(each.size + 2, each) for each in edges)
    linear = LinearScores(terms.features, terms.start, tables, binnings)
    first = predictors.levels.size
    extended = replace(training, predictors=linear.extended(predictors))
    return linear, extended, (*features, *range(first, first + len(binnings)))


def _rounded(tables: Floats) -> Floats:
    """Return tables of one sign, in steps of a millionth of their largest number.

    Another processor may give other last digits, or directions the other way round.
    """
    largest = tables[np.abs(tables).argmax(axis=0), np.arange(tables.shape[1])]
    largest = np.where(largest == 0, 1.0, largest)
    return np.ascontiguousarray(np.round(tables / largest * STEPS) / STEPS)


@dataclass(frozen=True, eq=False, repr=False)
class Regressions:
    """The regressions of one variable: of its states and of its numbers. Never released."""

    moments: Moments
    states: Fit | None
    numbers: Fit | None

    def directions(self) -> list[Floats]:
        """Return the slopes of those linear predictors that explain more than chance does."""
        found = []
        if self.states is not None:
            rows = self.moments.rows
            chance = CHANCE * self.states.number / rows.size
            root = np.sqrt(np.bincount(self.states.code[rows]) / rows.size)
            values, vectors = np.linalg.eigh(self.states.spread / np.outer(root, root))
            best = np.argsort(-values, kind="stable")[:DIRECTIONS]
            best = best[values[best] > chance]
            if best.size:
                found.append(self.states.slopes @ (vectors[:, best] / root[:, None]))
        if self.numbers is not None and self.numbers.score is not None:
            score = self.numbers.score[self.numbers.rows]
            explained = self.numbers.spread[0, 0] / max(float(score.var()), 1e-12)
            if explained > CHANCE * self.numbers.number / score.size:
                found.append(self.numbers.slopes)
        return found

    def _one_response(self) -> Fit | None:
        """Return the regressions of states; of two states, that of the second."""
        fit = self.states
        if fit is None or fit.slopes.shape[1] > 2:  # noqa: PLR2004
            return fit
        second = np.ascontiguousarray(fit.slopes[:, 1:])
        return replace(fit, slopes=second, score=fit.code.astype(np.float64))

    def calibrated(self, pair: Pair) -> Pair:
        """Return the trees of the variable with the calibration of their draws."""
        return replace(
            pair,
            state_calibration=_calibration(self._one_response(), pair.states),
            number_calibration=_calibration(self.numbers, pair.numbers),
        )


def _calibration(fit: Fit | None, tree: Tree | None) -> Calibration | None:
    return None if fit is None or tree is None else fit.of_tree(tree)


def _most_terms(moments: Moments, rows_per_term: float) -> int:
    """Return how many terms so many rows allow."""
    return moments.terms.number if rows_per_term == 0 else int(moments.rows.size / rows_per_term)


def _of_states(variable: Variable, moments: Moments, rows_per_term: float) -> Fit | None:
    """Return the regressions of indicators of states; rarer states are one."""
    rows = moments.rows
    count = np.bincount(variable.state[rows], minlength=variable.states)
    present = np.flatnonzero(count)
    if present.size < 2:  # noqa: PLR2004
        return None
    frequent = present[np.argsort(-count[present], kind="stable")[:MOST_LEVELS]]
    place = np.full(count.size, frequent.size)
    place[frequent] = np.arange(frequent.size)
    code, ones = place[variable.state], np.ones(rows.size)
    moments = moments.strongest(code[rows], ones, _most_terms(moments, rows_per_term))
    slopes, spread = moments.fit(code[rows], ones, twice=rows_per_term > 0)
    return Fit(moments.terms, slopes, moments.root, spread, rows, code)


def _of_numbers(variable: Variable, moments: Moments, rows_per_term: float) -> Fit | None:
    """Return the regression of the normal scores of numbers; None for a few."""
    if variable.places is None:
        return None
    numbers = variable.state[moments.rows] == 0
    inside = moments.rows[numbers]
    if inside.size < FEWEST_ROWS:
        return None
    own = variable.normal_scores(inside)
    score = np.zeros(variable.state.size)
    score[inside] = own
    code = np.zeros(variable.state.size, dtype=np.int64)
    part = moments.at(numbers)
    none = code[: inside.size]
    part = part.strongest(none, own, _most_terms(part, rows_per_term))
    slopes, spread = part.fit(none, own, twice=rows_per_term > 0)
    return Fit(moments.terms, slopes, part.root, spread, inside, code, score)
