"""Parametric synthesis: regressions of normal scores, and multinomial regressions of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from scipy import optimize, sparse, special

from veladura.base.arrays import Floats, Ints
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.leaf import Draws
from veladura.numeric.trees.model import TRIES, Recipients, Values
from veladura.numeric.trees.tree import TrainingRows
from veladura.numeric.trees.variable import Variable

MOST_LEVELS = 30
RIDGE = 1e-4
STEPS = 60  # of the search without weights; a weighted one starts close to its end
MORE_STEPS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """A regression of one variable on others, fitted again for each dataset with random weights.

    With exponential weights on the rows the fit is close to a draw from the posterior (weighted
    likelihood bootstrap, Newton and Raftery 1994), so the synthesis is proper like that from
    leaves. Each fit starts where the unweighted one ended. Plain draws have no weights.
    """

    variable: Variable
    training: TrainingRows
    features: tuple[int, ...]
    draws: Draws = "bayesian"

    @cached_property
    def design(self) -> sparse.csr_array:
        """The design of the original rows."""
        return _design(
            self.training.predictors, self.training.rows, self.features, self.training.predictors
        )

    @cached_property
    def centre(self) -> Floats:
        """The slopes of the states without weights: where every weighted fit starts."""
        state = self.variable.state[self.training.rows]
        return _fit_states(self.design, state, np.ones(state.size), None)

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of the variable: a list of one."""
        return self.weighted(rng).draw(rng, recipients)

    def weighted(self, rng: Generator) -> WeightedRegression:
        """Return the regression of one dataset; it serves all draws of that dataset."""
        state = self.variable.state[self.training.rows]
        plain = self.draws == "plain"
        weights = np.ones(state.size) if plain else rng.standard_exponential(state.size)
        present = np.unique(state)
        slopes = _fit_states(self.design, state, weights, self.centre) if present.size > 1 else None
        inside = np.flatnonzero(state == 0)
        scores = None
        if self.variable.places is not None and inside.size:
            rows = self.training.rows[inside]
            scores = _fit_scores(
                self.design[inside], self.variable.places[rows], rows, weights[inside]
            )
        return WeightedRegression(self, present, slopes, scores)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreRegression:
    """The regression of normal scores: slopes, residual deviation, and the rows by their number."""

    slopes: Floats
    spread: float
    ordered: Ints


@dataclass(frozen=True, eq=False, repr=False)
class WeightedRegression:
    """The regression of one dataset."""

    model: Regression
    present: Ints
    slopes: Floats | None
    scores: ScoreRegression | None

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of the variable: a list of one."""
        model = self.model
        wanted = _design(
            recipients.predictors, recipients.rows, model.features, model.training.predictors
        )
        state = self._states(rng, wanted)
        if model.variable.places is None:
            return [(state, None)]
        places = np.zeros(state.size)
        numbers = np.flatnonzero(state == 0)
        if numbers.size and self.scores is not None:
            places[numbers] = self._numbers(rng, self.scores, wanted[numbers])
        return [(state, places)]

    def _states(self, rng: Generator, wanted: sparse.csr_array) -> Ints:
        """Draw states by a multinomial logistic regression (a logistic one for two states)."""
        if self.slopes is None:
            return np.full(wanted.shape[0], self.present[0])
        heights = np.cumsum(special.softmax(wanted @ self.slopes, axis=1), axis=1)
        picked = np.minimum(
            (rng.random(wanted.shape[0])[:, None] > heights).sum(axis=1), self.present.size - 1
        )
        return np.asarray(self.present[picked])

    def _numbers(self, rng: Generator, scores: ScoreRegression, wanted: sparse.csr_array) -> Floats:
        """Draw numbers by the regression of their normal scores.

        A share of the people leads to the one at that rank, whose number comes out by the law of
        the column: as it is where enough people share it, else moved by its isolation.
        """
        variable = self.model.variable
        assert variable.law is not None  # noqa: S101  # a column of numbers has one
        law, size = variable.law.alone(scores.ordered), scores.ordered.size
        centre, result = wanted @ scores.slopes, np.empty(wanted.shape[0])
        waiting = np.arange(wanted.shape[0])
        for _ in range(TRIES):  # the limits are the holder's
            share = special.ndtr(
                centre[waiting] + scores.spread * rng.standard_normal(waiting.size)
            )
            donors = np.minimum((share * size).astype(np.int64), size - 1)
            result[waiting] = law.drawn(rng, donors)
            waiting = waiting[~variable.inside(result[waiting])]
            if not waiting.size:
                return result
        return np.clip(result, *variable.limits)


def _design(
    predictors: Predictors, rows: Ints, features: Sequence[int], reference: Predictors
) -> sparse.csr_array:
    """Return the design matrix: intercept, centred bins of numbers, indicators of categories.

    Only the most frequent categories have an indicator. A row has an entry or two for each
    predictor, however many categories there are.
    """
    parts = [sparse.csr_array(np.ones((rows.size, 1)))]
    for f in features:
        codes, levels = predictors.bins[rows, f].astype(np.int64), int(predictors.levels[f])
        if predictors.categorical[f]:
            frequent = np.argsort(
                -np.bincount(reference.bins[:, f], minlength=levels), kind="stable"
            )[1:MOST_LEVELS]
            place = np.full(max(levels, int(codes.max(initial=0))) + 1, -1)
            place[np.sort(frequent)] = np.arange(frequent.size)
            here = np.flatnonzero(place[codes] >= 0)
            parts.append(
                sparse.csr_array(
                    (np.ones(here.size), (here, place[codes[here]])),
                    shape=(rows.size, frequent.size),
                )
            )
        else:
            missing, middle = codes >= levels - 1, (levels - 2) / 2
            number = np.where(missing, 0.0, (codes - middle) / max(middle, 1.0))
            parts.append(sparse.csr_array(np.column_stack([number, missing])))
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def _fit_scores(
    design: sparse.csr_array, values: Floats, rows: Ints, weights: Floats
) -> ScoreRegression:
    """Return the weighted regression of the normal scores of some numbers."""
    order = np.argsort(values, kind="stable")
    score = np.empty(values.size)
    score[order] = special.ndtri((np.arange(values.size) + 0.5) / values.size)
    weighted = design.multiply(weights[:, None]).tocsr()
    slopes = np.linalg.solve(
        (design.T @ weighted).toarray() + RIDGE * np.eye(design.shape[1]), weighted.T @ score
    )
    spread = float(np.sqrt(np.average((score - design @ slopes) ** 2, weights=weights)))
    return ScoreRegression(slopes, spread, rows[order])


def _fit_states(
    design: sparse.csr_array, state: Ints, weights: Floats, start: Floats | None
) -> Floats:
    """Return the slopes of a multinomial logistic regression with a small ridge penalty.

    They have a column for each state that occurs. Predictors are scaled to the same mean square,
    so that rare categories do not slow the search.
    """
    present, code = np.unique(state, return_inverse=True)
    code, shape = code.reshape(-1), (design.shape[1], present.size)
    scale = 1 / np.sqrt(np.maximum(design.multiply(design).mean(axis=0), 1 / code.size))
    scaled = design.multiply(scale[None, :]).tocsr()
    turned = scaled.T.tocsr()
    rows = np.arange(code.size)

    def loss(flat: Floats) -> tuple[float, Floats]:
        slopes = flat.reshape(shape)
        linear = scaled @ slopes
        linear -= linear.max(axis=1, keepdims=True)
        share = np.exp(linear)
        total = share.sum(axis=1)
        value = (
            -float(weights @ (linear[rows, code] - np.log(total))) + RIDGE * float(flat @ flat) / 2
        )
        share *= (weights / total)[:, None]
        share[rows, code] -= weights
        return value / code.size, (turned @ share + RIDGE * slopes).reshape(-1) / code.size

    first = np.zeros(shape) if start is None else start / scale[:, None]
    fitted = optimize.minimize(
        loss,
        first.reshape(-1),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS if start is None else MORE_STEPS},
    )
    return np.asarray(fitted.x.reshape(shape) * scale[:, None])
