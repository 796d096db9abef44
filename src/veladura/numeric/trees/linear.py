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
from veladura.numeric.normal import normal_quantile
from veladura.numeric.trees.bins import Binning, Predictors, cuts
from veladura.numeric.trees.model import Recipients, TreeModel, Values
from veladura.numeric.trees.regression import MOST_LEVELS, Moments, sums
from veladura.numeric.trees.tree import TrainingRows
from veladura.numeric.trees.variable import Variable

MOST_ROWS = 50_000  # a sample is enough for slopes; the tree sees every row
FEWEST_ROWS = 50
CHANCE = 2.0  # a regression on k terms of nothing explains k / n by chance: more is wanted
STEPS = 2.0**20
DIRECTIONS = 3  # of a variable with many states


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

    def extended(self, predictors: Predictors, rows: Ints) -> Predictors:
        """Return predictors at some rows, with the scores beside them."""
        scores = sums(predictors.bins, rows, self.features, self.start, self.tables)
        return self.beside(predictors, rows, scores)

    def beside(self, predictors: Predictors, rows: Ints, scores: Floats) -> Predictors:
        """Return predictors at some rows with scores beside them, as codes."""
        columns, none = predictors.levels.size, np.zeros(rows.size, dtype=bool)
        bins = np.empty((rows.size, columns + len(scores)), dtype=np.uint16)
        bins[:, :columns] = predictors.bins.take(rows, axis=0)
        for i, (binning, score) in enumerate(zip(self.binnings, scores, strict=True)):
            bins[:, columns + i] = binning.codes(score, none)
        return Predictors(
            bins,
            np.append(predictors.categorical, np.zeros(len(scores), dtype=bool)),
            np.append(predictors.levels, [binning.levels for binning in self.binnings]),
            len(scores),
        )


@dataclass(frozen=True, eq=False, repr=False)
class ScoredModel:
    """A model whose predictors are a row's columns and its linear scores."""

    scores: LinearScores
    model: TreeModel

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of the variable: a list of one."""
        predictors = self.scores.extended(recipients.predictors, recipients.rows)
        return self.model.draw(
            rng, replace(recipients, predictors=predictors, rows=np.arange(recipients.rows.size))
        )


def moments_of(training: TrainingRows, features: Sequence[int]) -> Moments:
    """Return what the regressions of all variables on some columns share, of a sample of rows."""
    rows = training.rows
    if rows.size > MOST_ROWS:
        rows = rows[np.linspace(0, rows.size - 1, MOST_ROWS).astype(np.int64)]
    return Moments.of(training.predictors, rows, features)


def score_rows(
    variable: Variable,
    training: TrainingRows,
    features: Sequence[int],
    shared: Moments | None = None,
) -> tuple[LinearScores, TrainingRows, tuple[int, ...]] | None:
    """Return the linear scores of a variable, the rows with them, and the predictors of its tree.

    Numbers are regressed as normal scores of their ranks. States are regressed as indicators; of
    the fitted values the leading directions between states are kept, which is linear discriminant
    analysis by optimal scoring (Hastie, Tibshirani and Buja 1994, sec. 3): for two states, the
    least-squares predictor. Fit and tree share their rows on purpose: the release is to show the
    slopes of this table, not those of its population.

    None where fewer than two columns predict, rows are few, or the regressions explain no more
    than twice what chance does.

    Parameters
    ----------
    shared
        Moments of these rows that other variables use too; their own by default.
    """
    if len(features) < 2 or training.rows.size < FEWEST_ROWS:  # noqa: PLR2004
        return None
    predictors = training.predictors
    moments = moments_of(training, features) if shared is None else shared.among(features)
    found = (_of_states(variable, moments), _of_numbers(variable, moments))
    slopes = [part for part in found if part is not None]
    if not slopes:
        return None
    terms, everyone = moments.terms, np.arange(len(predictors.bins))
    tables = _rounded(terms.tables(np.column_stack(slopes)))
    scores = sums(moments.predictors.bins, everyone, terms.features, terms.start, tables)
    edges = [cuts(score[moments.rows]) for score in scores]
    binnings = tuple(Binning(each.size + 2, each) for each in edges)
    linear = LinearScores(terms.features, terms.start, tables, binnings)
    first = predictors.levels.size
    extended = replace(training, predictors=linear.beside(predictors, everyone, scores))
    return linear, extended, (*features, *range(first, first + len(binnings)))


def _rounded(tables: Floats) -> Floats:
    """Return tables of one sign, in steps of a millionth of their largest number.

    Another processor may give other last digits, or directions the other way round.
    """
    largest = tables[np.abs(tables).argmax(axis=0), np.arange(tables.shape[1])]
    largest = np.where(largest == 0, 1.0, largest)
    return np.ascontiguousarray(np.round(tables / largest * STEPS) / STEPS)


def _of_states(variable: Variable, moments: Moments) -> Floats | None:
    """Return the slopes of the directions between states that explain more than chance does."""
    rows = moments.rows
    state = variable.state[rows]
    count = np.bincount(state)
    present = np.flatnonzero(count)
    if present.size < 2:  # noqa: PLR2004
        return None
    frequent = present[np.argsort(-count[present], kind="stable")[:MOST_LEVELS]]
    place = np.full(count.size, frequent.size)  # rarer states are one
    place[frequent] = np.arange(frequent.size)
    code = place[state]
    slopes, spread = moments.fit(code, np.ones(rows.size))
    root = np.sqrt(np.bincount(code) / rows.size)
    values, vectors = np.linalg.eigh(spread / np.outer(root, root))
    best = np.argsort(-values, kind="stable")[:DIRECTIONS]
    best = best[values[best] > CHANCE * moments.terms.number / rows.size]
    return slopes @ (vectors[:, best] / root[:, None]) if best.size else None


def _of_numbers(variable: Variable, moments: Moments) -> Floats | None:
    """Return the slopes of the normal scores of numbers, if they explain more than chance does."""
    if variable.places is None:
        return None
    numbers = variable.state[moments.rows] == 0
    inside = moments.rows[numbers]
    if inside.size < FEWEST_ROWS:
        return None
    share = variable.ranks(inside) / (2 * inside.size) + 0.5
    score = normal_quantile(np.clip(share, 0.5 / inside.size, 1 - 0.5 / inside.size))
    slopes, spread = moments.at(numbers).fit(np.zeros(inside.size, dtype=np.int64), score)
    explained = spread[0, 0] / max(float(score.var()), 1e-12)
    return slopes if explained > CHANCE * moments.terms.number / inside.size else None
