"""Regressions as models of a column: normal ranks for numbers, logistic and multinomial for states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from veladura.numeric.trees.leaf import TRIES
from veladura.numeric.trees.model import Ground, Where
from veladura.numeric.trees.tree import Predictors
from veladura.numeric.trees.variable import Subject

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_LEVELS = 30
RIDGE = 1e-4
STEPS = 60  # of the search without weights; a weighted one starts close to its end
MORE_STEPS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Parametric:
    """A regression of one column on others, fitted anew for each dataset with Dirichlet weights.

    Weighting the rows at random makes the fit a draw close to the posterior (Newton and Raftery
    1994), so that the synthesis is proper like that from leaves. Each fit starts where the
    unweighted one ended.
    """

    subject: Subject
    ground: Ground
    features: tuple[int, ...]

    @cached_property
    def known(self) -> sparse.csr_array:
        """The design of the original rows."""
        return _design(
            self.ground.predictors, self.ground.rows, self.features, self.ground.predictors
        )

    @cached_property
    def centre(self) -> Floats:
        """The slopes of the states without weights: where every weighted fit starts."""
        state = self.subject.state[self.ground.rows]
        return _fit_states(self.known, state, np.ones(state.size), None)

    def draw_all(self, rng: Generator, where: Where) -> list[tuple[Ints, Floats | None]]:
        """Return states and numbers of the column."""
        return self.weighted(rng).draw_all(rng, where)

    def weighted(self, rng: Generator) -> Weighted:
        """Return the regression of one dataset, which serves however often its rows are drawn."""
        state = self.subject.state[self.ground.rows]
        weights = rng.standard_exponential(state.size)
        present = np.unique(state)
        slopes = _fit_states(self.known, state, weights, self.centre) if present.size > 1 else None
        inside = np.flatnonzero(state == 0)
        line = None
        if self.subject.places is not None and inside.size:
            values = self.subject.places[self.ground.rows[inside]]
            line = _fit_scores(self.known[inside], values, weights[inside])
        return Weighted(self, present, slopes, line)


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """The regression of normal scores: slopes, residual deviation, and the numbers in order."""

    slopes: Floats
    spread: float
    ordered: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Weighted:
    """The regression of one dataset."""

    model: Parametric
    present: Ints
    slopes: Floats | None
    line: Line | None

    def draw_all(self, rng: Generator, where: Where) -> list[tuple[Ints, Floats | None]]:
        """Return states and numbers of the column."""
        model = self.model
        asked = _design(where.predictors, where.rows, model.features, model.ground.predictors)
        state = self._states(rng, asked)
        if model.subject.places is None:
            return [(state, None)]
        places = np.zeros(state.size)
        numbers = np.flatnonzero(state == 0)
        if numbers.size and self.line is not None:
            places[numbers] = self._numbers(rng, self.line, asked[numbers])
        return [(state, places)]

    def _states(self, rng: Generator, asked: sparse.csr_array) -> Ints:
        """Draw states by a multinomial logistic regression (a logistic one for two states)."""
        if self.slopes is None:
            return np.full(asked.shape[0], self.present[0])
        heights = np.cumsum(special.softmax(asked @ self.slopes, axis=1), axis=1)
        picked = np.minimum(
            (rng.random(asked.shape[0])[:, None] > heights).sum(axis=1), self.present.size - 1
        )
        return np.asarray(self.present[picked])

    def _numbers(self, rng: Generator, line: Line, asked: sparse.csr_array) -> Floats:
        """Draw numbers by the regression of their normal scores; ranks between two rows give numbers between them."""
        subject = self.model.subject
        assert subject.grid is not None  # noqa: S101  # a column of numbers has one
        size, ordered = line.ordered.size, line.ordered
        centre, result = asked @ line.slopes, np.empty(asked.shape[0])
        waiting = np.arange(asked.shape[0])
        for _ in range(TRIES):
            share = special.ndtr(centre[waiting] + line.spread * rng.standard_normal(waiting.size))
            drawn = np.interp(share * size - 0.5, np.arange(size), ordered)
            result[waiting] = (
                subject.grid.written(drawn)
                if subject.smoothing != "none"
                else ordered[np.minimum((share * size).astype(int), size - 1)]
            )
            waiting = waiting[~subject.accepted(result[waiting])]
            if not waiting.size:
                return result
        result[waiting] = subject.settle(result[waiting])
        return result


def fit_parametric(subject: Subject, ground: Ground, features: Sequence[int]) -> Parametric:
    """Return the regression of a column; it is fitted when it is drawn from."""
    return Parametric(subject, ground, tuple(features))


def _design(
    predictors: Predictors, rows: Ints, features: Sequence[int], reference: Predictors
) -> sparse.csr_array:
    """Return intercept, numbers as centred ranks of their bins, and indicators of the most frequent categories.

    A row has an entry or two for each predictor, however many categories there are.
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


def _fit_scores(known: sparse.csr_array, values: Floats, weights: Floats) -> Line:
    """Return the weighted regression of the normal scores of some numbers."""
    order = np.argsort(values, kind="stable")
    score = np.empty(values.size)
    score[order] = special.ndtri((np.arange(values.size) + 0.5) / values.size)
    weighted = known.multiply(weights[:, None]).tocsr()
    slopes = np.linalg.solve(
        (known.T @ weighted).toarray() + RIDGE * np.eye(known.shape[1]), weighted.T @ score
    )
    spread = float(np.sqrt(np.average((score - known @ slopes) ** 2, weights=weights)))
    return Line(slopes, spread, values[order])


def _fit_states(
    known: sparse.csr_array, state: Ints, weights: Floats, start: Floats | None
) -> Floats:
    """Return the slopes of a multinomial logistic regression with a small ridge, a column for each state present.

    Predictors are scaled to the same mean square, so that rare categories do not slow the search.
    """
    present, code = np.unique(state, return_inverse=True)
    code, shape = code.reshape(-1), (known.shape[1], present.size)
    scale = 1 / np.sqrt(np.maximum(known.multiply(known).mean(axis=0), 1 / code.size))
    scaled = known.multiply(scale[None, :]).tocsr()
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
    found = optimize.minimize(
        loss,
        first.reshape(-1),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS if start is None else MORE_STEPS},
    )
    return np.asarray(found.x.reshape(shape) * scale[:, None])
