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
from veladura.numeric.trees.regression import MOST_LEVELS, Terms, sums
from veladura.numeric.trees.tree import TrainingRows, ranks
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
        bins = np.ascontiguousarray(predictors.bins[rows])
        return self.beside(
            predictors._replace(bins=bins), sums(bins, self.features, self.start, self.tables)
        )

    def beside(self, predictors: Predictors, scores: Floats) -> Predictors:
        """Return predictors with scores beside them, as codes."""
        none = np.zeros(len(scores), dtype=bool)
        codes = [
            binning.codes(np.ascontiguousarray(score), none)
            for binning, score in zip(self.binnings, scores.T, strict=True)
        ]
        return Predictors(
            np.ascontiguousarray(np.column_stack([predictors.bins, *codes])),
            np.append(predictors.categorical, np.zeros(len(codes), dtype=bool)),
            np.append(predictors.levels, [binning.levels for binning in self.binnings]),
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


def score_rows(
    variable: Variable, training: TrainingRows, features: Sequence[int]
) -> tuple[LinearScores, TrainingRows, tuple[int, ...]] | None:
    """Return the linear scores of a variable, the rows with them, and the predictors of its tree.

    Numbers are regressed as normal scores of their ranks. States are regressed as indicators; of
    the fitted values the leading directions between states are kept, which is linear discriminant
    analysis by optimal scoring (Hastie, Tibshirani and Buja 1994, sec. 3): for two states, the
    least-squares predictor. Fit and tree share their rows on purpose: the release is to show the
    slopes of this table, not those of its population.

    None where fewer than two columns predict, rows are few, or the regressions explain no more
    than twice what chance does.
    """
    if len(features) < 2 or training.rows.size < FEWEST_ROWS:  # noqa: PLR2004
        return None
    predictors, rows = training.predictors, training.rows
    if rows.size > MOST_ROWS:
        rows = rows[np.linspace(0, rows.size - 1, MOST_ROWS).astype(np.int64)]
    terms = Terms.of(predictors, rows, np.asarray(features, dtype=np.int64))
    found = (
        _of_states(variable, predictors, terms, rows),
        _of_numbers(variable, predictors, terms, rows),
    )
    slopes = [part for part in found if part is not None]
    if not slopes:
        return None
    tables = _rounded(terms.tables(np.column_stack(slopes)))
    scores = sums(np.ascontiguousarray(predictors.bins), terms.features, terms.start, tables)
    edges = [cuts(np.ascontiguousarray(score)) for score in scores[rows].T]
    binnings = tuple(Binning(each.size + 2, each) for each in edges)
    linear = LinearScores(terms.features, terms.start, tables, binnings)
    first = predictors.levels.size
    extended = replace(training, predictors=linear.beside(predictors, scores))
    return linear, extended, (*features, *range(first, first + len(binnings)))


def _rounded(tables: Floats) -> Floats:
    """Return tables of one sign, in steps of a millionth of their largest number.

    Another processor may give other last digits, or directions the other way round.
    """
    largest = tables[np.abs(tables).argmax(axis=0), np.arange(tables.shape[1])]
    largest = np.where(largest == 0, 1.0, largest)
    return np.ascontiguousarray(np.round(tables / largest * STEPS) / STEPS)


def _of_states(
    variable: Variable, predictors: Predictors, terms: Terms, rows: Ints
) -> Floats | None:
    """Return the slopes of the directions between states that explain more than chance does."""
    state = variable.state[rows]
    count = np.bincount(state)
    present = np.flatnonzero(count)
    if present.size < 2:  # noqa: PLR2004
        return None
    frequent = present[np.argsort(-count[present], kind="stable")[:MOST_LEVELS]]
    place = np.full(count.size, frequent.size)  # rarer states are one
    place[frequent] = np.arange(frequent.size)
    code = place[state]
    slopes, spread = terms.fit(predictors, rows, code, np.ones(rows.size))
    root = np.sqrt(np.bincount(code) / rows.size)
    values, vectors = np.linalg.eigh(spread / np.outer(root, root))
    best = np.argsort(-values, kind="stable")[:DIRECTIONS]
    best = best[values[best] > CHANCE * terms.number / rows.size]
    return slopes @ (vectors[:, best] / root[:, None]) if best.size else None


def _of_numbers(
    variable: Variable, predictors: Predictors, terms: Terms, rows: Ints
) -> Floats | None:
    """Return the slopes of the normal scores of numbers, if they explain more than chance does."""
    if variable.places is None:
        return None
    inside = rows[variable.state[rows] == 0]
    if inside.size < FEWEST_ROWS:
        return None
    share = ranks(variable.places[inside]) / (2 * inside.size) + 0.5
    score = normal_quantile(np.clip(share, 0.5 / inside.size, 1 - 0.5 / inside.size))
    slopes, spread = terms.fit(predictors, inside, np.zeros(inside.size, dtype=np.int64), score)
    explained = spread[0, 0] / max(float(score.var()), 1e-12)
    return slopes if explained > CHANCE * terms.number / inside.size else None
