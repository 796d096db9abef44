"""Regressions as models of a column: normal ranks for numbers, logistic and multinomial for states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import optimize, special

from veladura.synth.column import Subject
from veladura.synth.leaf import TRIES
from veladura.synth.model import Ground, Where
from veladura.synth.tree import Predictors

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_LEVELS = 30
RIDGE = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class Parametric:
    """A regression of one column on others, fitted anew for each dataset with Dirichlet weights.

    Weighting the rows at random makes the fit a draw close to the posterior (Newton and Raftery 1994),
    so that the synthesis is proper like that from leaves.
    """

    subject: Subject
    ground: Ground
    features: tuple[int, ...]

    def draw_all(self, rng: Generator, where: Where) -> list[tuple[Ints, Floats | None]]:
        """Return states and numbers of the column."""
        subject, rows = self.subject, self.ground.rows
        weights = rng.standard_exponential(rows.size)
        known = _design(self.ground.predictors, rows, self.features, self.ground.predictors)
        asked = _design(where.predictors, where.rows, self.features, self.ground.predictors)
        state = _draw_states(rng, known, subject.state[rows], weights, asked)
        if subject.places is None:
            return [(state, None)]
        places = np.zeros(state.size)
        numbers, inside = np.flatnonzero(state == 0), np.flatnonzero(subject.state[rows] == 0)
        if numbers.size and inside.size:
            places[numbers] = self._numbers(rng, known[inside], rows[inside], weights[inside], asked[numbers])
        return [(state, places)]

    def _numbers(self, rng: Generator, known: Floats, rows: Ints, weights: Floats, asked: Floats) -> Floats:
        """Draw numbers by a regression of their normal scores; ranks between two rows give numbers between them."""
        subject = self.subject
        assert subject.places is not None and subject.grid is not None  # noqa: S101, PT018
        values = subject.places[rows]
        order = np.argsort(values, kind="stable")
        score = np.empty(values.size)
        score[order] = special.ndtri((np.arange(values.size) + 0.5) / values.size)
        root = np.sqrt(weights)[:, None]
        cross = (known * root).T @ (known * root) + RIDGE * np.eye(known.shape[1])
        slopes = np.linalg.solve(cross, known.T @ (weights * score))
        spread = float(np.sqrt(np.average((score - known @ slopes) ** 2, weights=weights)))
        centre, result = asked @ slopes, np.empty(len(asked))
        waiting, ordered = np.arange(len(asked)), values[order]
        for _ in range(TRIES):
            share = special.ndtr(centre[waiting] + spread * rng.standard_normal(waiting.size))
            drawn = np.interp(share * values.size - 0.5, np.arange(values.size), ordered)
            result[waiting] = (
                subject.grid.written(drawn) if subject.smooth else ordered[np.minimum((share * values.size).astype(int), values.size - 1)]
            )
            waiting = waiting[~subject.accepted(result[waiting])]
            if not waiting.size:
                return result
        result[waiting] = subject.settle(result[waiting])
        return result


def fit_parametric(subject: Subject, ground: Ground, features: Sequence[int]) -> Parametric:
    """Return the regression of a column; it is fitted when it is drawn from."""
    return Parametric(subject, ground, tuple(features))


def _design(predictors: Predictors, rows: Ints, features: Sequence[int], reference: Predictors) -> Floats:
    """Return intercept, numbers as centred ranks of their bins, and indicators of the most frequent categories."""
    parts = [np.ones(rows.size)]
    for f in features:
        codes, levels = predictors.bins[rows, f].astype(np.int64), int(predictors.levels[f])
        missing = codes >= levels - 1
        if predictors.categorical[f]:
            frequent = np.argsort(-np.bincount(reference.bins[:, f], minlength=levels), kind="stable")[1:MOST_LEVELS]
            parts += [(codes == level).astype(np.float64) for level in np.sort(frequent)]
        else:
            middle = (levels - 2) / 2
            parts += [np.where(missing, 0.0, (codes - middle) / max(middle, 1.0)), missing.astype(np.float64)]
    return np.column_stack(parts)


def _draw_states(rng: Generator, known: Floats, state: Ints, weights: Floats, asked: Floats) -> Ints:
    """Draw states by a multinomial logistic regression (a logistic one for two states)."""
    present, code = np.unique(state, return_inverse=True)
    code = code.reshape(-1)
    if present.size == 1:
        return np.full(len(asked), present[0])
    truth = np.eye(present.size)[code]
    shape = (known.shape[1], present.size)

    def loss(flat: Floats) -> tuple[float, Floats]:
        slopes = flat.reshape(shape)
        linear = known @ slopes
        log_share = linear - special.logsumexp(linear, axis=1, keepdims=True)
        residual = (np.exp(log_share) - truth) * weights[:, None]
        value = -float(np.sum(weights * log_share[np.arange(code.size), code])) + RIDGE * float(flat @ flat) / 2
        return value / code.size, (known.T @ residual + RIDGE * slopes).reshape(-1) / code.size

    found = optimize.minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    share = special.softmax(asked @ found.x.reshape(shape), axis=1)
    heights = np.cumsum(share, axis=1)
    picked = np.minimum((rng.random(len(asked))[:, None] > heights).sum(axis=1), present.size - 1)
    return np.asarray(present[picked])
