"""Linear models of one column on others, coded alike in the original and every released table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import NotApplicable
from veladura.measures.utility.design import independent, shared_labels
from veladura.numeric.sampling import MANY_ROWS, read, some_rows
from veladura.table.schema import WEIGHTS

if TYPE_CHECKING:
    from veladura.measures.pairing import Pairing
    from veladura.table.codes import Column
    from veladura.table.table import Table

MOST_PREDICTORS, MOST_LEVELS, FEWEST_ROWS = 6, 8, 10


@dataclass(frozen=True)
class Proposal:
    """A response and its predictors, as a model that a table suggests.

    Examples
    --------
    >>> str(Proposal("income", ("age", "sex")))
    'income ~ age + sex'
    """

    response: str
    predictors: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.response} ~ {' + '.join(self.predictors)}"


@dataclass(frozen=True)
class Fits:
    """Coefficients of one model and their variances: the original first, then each dataset."""

    terms: tuple[str, ...]
    estimates: Floats = field(repr=False)
    variances: Floats = field(repr=False)


def propose(pairing: Pairing, changed: Sequence[str] = ()) -> Proposal:
    """Return the model that a table suggests.

    The response is a column that was replaced, a sensitive one and a number first; the predictors
    are up to six others, replaced ones first. Columns of free text, weights and categories with
    hundreds of levels are left out.
    """
    fitting = suitable(pairing, changed)
    if len(fitting) < 2:  # noqa: PLR2004
        msg = "fewer than two columns can be compared with the original ones."
        raise NotApplicable(msg)
    return Proposal(fitting[0], tuple(fitting[1 : MOST_PREDICTORS + 1]))


def suitable(pairing: Pairing, changed: Sequence[str] = ()) -> list[str]:
    """Return the columns that a model may have: replaced, then sensitive ones, numbers first."""
    schema = pairing.original.schema
    fitting = [
        name
        for name in pairing.forms
        if schema[name].kind != "text" and schema[name].role not in WEIGHTS and _few(pairing, name)
    ]
    fitting.sort(
        key=lambda name: (
            name not in changed,
            schema[name].role != "sensitive",
            pairing.forms[name] != "numbers",
        )
    )
    return fitting


def _few(pairing: Pairing, name: str) -> bool:
    """Whether a column is of numbers, or of categories of which there are not hundreds."""
    rows = some_rows(pairing.original.rows)
    return (
        pairing.forms[name] != "labels"
        or len(read(pairing.original, name, rows).labels or ()) <= 100  # noqa: PLR2004
    )


def fit_all(pairing: Pairing, model: Proposal) -> Fits:
    """Return least-squares fits of one model in all tables.

    Numbers are in units of the original's standard deviation. A response of categories is whether
    it is the most frequent one. Categories of a predictor beyond the eight most frequent are one.
    Rows with a missing value are left out. With a declared sampling weight in all tables the fit is
    weighted, with a linearised variance.
    """
    tables = (pairing.original, *pairing.released)
    rows = [some_rows(table.rows, MANY_ROWS) for table in tables]
    coded = {name: _code(tables, name, rows) for name in (model.response, *model.predictors)}
    complete = [
        ~np.any([column.missing[t] for column in coded.values()], axis=0)
        for t in range(len(tables))
    ]
    if min(int(keep.sum()) for keep in complete) < FEWEST_ROWS:
        msg = "too few rows have no missing value in the columns of the model."
        raise NotApplicable(msg)
    response = [
        part[keep] for part, keep in zip(coded[model.response].response, complete, strict=True)
    ]
    terms = [term for name in model.predictors for term in coded[name].terms]
    matrices = [
        np.column_stack(
            [np.ones(int(keep.sum())), *(coded[name].values[t][keep] for name in model.predictors)]
        )
        for t, keep in enumerate(complete)
    ]
    enough = [
        j == 0 or all(_varies(matrix[:, j]) for matrix in matrices) for j in range(len(terms) + 1)
    ]
    matrices = [matrix[:, enough] for matrix in matrices]
    basis = np.sort(independent(matrices[0].T @ matrices[0]))
    kept = np.array(["", *terms])[enough][basis][1:]
    if not kept.size or any(response[t].std() == 0 for t in range(len(tables))):
        msg = "columns vary too little for a model."
        raise NotApplicable(msg)
    weights = pairing.weights()
    each = (
        [None] * len(tables)
        if weights is None
        else [part[taken][keep] for part, taken, keep in zip(weights, rows, complete, strict=True)]
    )
    fits = [
        _fit(matrix[:, basis], y) if w is None else _weighted_fit(matrix[:, basis], y, w)
        for matrix, y, w in zip(matrices, response, each, strict=True)
    ]
    return Fits(
        tuple(kept.tolist()), np.array([q[1:] for q, _ in fits]), np.array([v[1:] for _, v in fits])
    )


def _varies(column: Floats) -> bool:
    _, size = np.unique(column, return_counts=True)
    return bool(column.size - size.max() >= FEWEST_ROWS)


@dataclass(frozen=True)
class Coded:
    """One column in every table: as terms of a predictor, and as a response."""

    terms: list[str]
    values: list[Floats]
    response: list[Floats]
    missing: list[Mask]


def _code(tables: Sequence[Table], name: str, rows: Sequence[Ints]) -> Coded:
    parts: list[Column] = [
        read(table, name, taken) for table, taken in zip(tables, rows, strict=True)
    ]
    missing = [part.missing for part in parts]
    if parts[0].labels is None:
        numbers = [part.values.astype(np.float64) for part in parts]
        missing = [lost | ~np.isfinite(value) for value, lost in zip(numbers, missing, strict=True)]
        given = numbers[0][~missing[0]]
        centre, spread = (float(given.mean()), float(given.std())) if given.size else (0.0, 0.0)
        scaled = [
            np.where(lost, 0.0, (value - centre) / (spread or 1.0))
            for value, lost in zip(numbers, missing, strict=True)
        ]
        return Coded([name], [value[:, None] for value in scaled], scaled, missing)
    codes, labels = shared_labels(parts)
    lumped = [np.minimum(code, MOST_LEVELS) for code in codes]
    levels = range(1, min(len(labels), MOST_LEVELS + 1))
    terms = [f"{name}: {'others' if level == MOST_LEVELS else labels[level]}" for level in levels]
    values = [
        np.reshape([code == level for level in levels], (len(levels), code.size)).T.astype(
            np.float64
        )
        for code in lumped
    ]
    return Coded(terms, values, [(code == 0).astype(np.float64) for code in lumped], missing)


def _fit(matrix: Floats, response: Floats) -> tuple[Floats, Floats]:
    """Return least-squares coefficients and their variances."""
    inverse = np.linalg.pinv(matrix.T @ matrix, hermitian=True)
    coefficients = inverse @ (matrix.T @ response)
    residual = response - matrix @ coefficients
    freedom = max(matrix.shape[0] - matrix.shape[1], 1)
    return coefficients, np.maximum(np.diag(inverse), 0.0) * float(residual @ residual) / freedom


def _weighted_fit(matrix: Floats, response: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted least-squares coefficients and their linearised variances.

    V = A^-1 sum w_i^2 e_i^2 x_i x_i' A^-1 with A = X' W X, times n / (n - p) (Binder 1983).
    """
    inverse = np.linalg.pinv(matrix.T @ (weights[:, None] * matrix), hermitian=True)
    coefficients = inverse @ (matrix.T @ (weights * response))
    scores = matrix * (weights * (response - matrix @ coefficients))[:, None]
    rows, terms = matrix.shape
    variance = inverse @ (scores.T @ scores) @ inverse * rows / max(rows - terms, 1)
    return coefficients, np.maximum(np.diag(variance), 0.0)
