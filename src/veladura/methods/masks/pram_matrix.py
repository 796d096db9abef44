"""Matrices of chances between categories: made, drawn from, told, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.core.promise import Evidence
from veladura.table.codes import label_texts

Matrix = NDArray[np.float64]
FEWEST = 10
FALSE_ALARM = 1e-9
TOLD_DECIMALS = 12
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Transition:
    """The chance of each category (row) to come out as each other (column)."""

    labels: Sequence[str] = field(repr=False)
    matrix: Matrix = field(repr=False)

    def among(self, labels: AbstractSet[str]) -> Transition:
        """Return the chances among some categories only, given that none of the others comes out.

        Rows are drawn one by one, so given that some categories did not come out at all, each row
        was drawn with the chances of the others divided by their sum: these are exact, not a
        repair. A row that could only turn into others is left out too.
        """
        kept = [i for i, label in enumerate(self.labels) if label in labels]
        part = self.matrix[np.ix_(kept, kept)]
        sums = part.sum(axis=1, keepdims=True)
        safe = np.where(sums > 0, part / np.where(sums > 0, sums, 1.0), np.eye(len(kept)))
        return Transition([self.labels[i] for i in kept], safe)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Return the chances by category, those of 0 left out."""
        return {
            label: {
                other: round(float(chance), TOLD_DECIMALS)
                for other, chance in zip(self.labels, row, strict=True)
                if chance > 0
            }
            for label, row in zip(self.labels, self.matrix, strict=True)
        }


def from_table(rows: Mapping[str, Mapping[str, float]]) -> Transition:
    """Return declared chances as a matrix.

    Examples
    --------
    >>> from_table({"a": {"b": 1.0}, "b": {"b": 1.0}}).matrix.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    labels = list(rows)
    matrix = np.array(
        [[rows[old].get(new, 0.0) for new in labels] for old in labels], dtype=np.float64
    )
    return Transition(labels, matrix / matrix.sum(axis=1, keepdims=True))


def invariant(counts: NDArray[np.int64], retain: float) -> Matrix:
    """Return a matrix R with t R = t whose rows keep their category with expected share ``retain``.

    R = P Q, where P keeps a category with chance p and spreads the rest evenly, and Q turns P
    round by the rule of Bayes: Q[j, k] = t[k] P[k, j] / sum over l of t[l] P[l, j]. The share
    kept, sum of t[i] R[i, i], grows with p from that of drawing anew for every row, sum of
    t[i]^2, to 1; p is found by bisection. Counts below ten are taken as ten: t is the one
    distribution that R leaves alone, so R tells it.

    Examples
    --------
    >>> invariant(np.array([30, 70]), 0.7).round(4).tolist()
    [[0.5, 0.5], [0.2143, 0.7857]]

    References
    ----------
    Gouweleeuw et al. (1998), two-stage invariant PRAM; see `Pram`.
    """
    raised = np.maximum(counts, FEWEST).astype(np.float64)
    share = raised / raised.sum()
    low, high = 1.0 / share.size, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        kept = float(share @ np.diag(_two_stage(share, middle)))
        low, high = (middle, high) if kept < retain else (low, middle)
    return _two_stage(share, high)


def _two_stage(share: Matrix, keep: float) -> Matrix:
    """Return P Q for a P that keeps a category with chance ``keep``."""
    first = np.full((share.size, share.size), (1 - keep) / max(share.size - 1, 1))
    np.fill_diagonal(first, keep)
    joint = share[:, None] * first
    back = (joint / joint.sum(axis=0)).T
    both: Matrix = first @ back
    both /= both.sum(axis=1, keepdims=True)
    return both


def drawn(uniforms: Matrix, old: NDArray[np.int64], matrix: Matrix) -> NDArray[np.int64]:
    """Return a new category for each old one, by the inverse of its row's distribution function.

    Examples
    --------
    >>> drawn(np.array([0.1, 0.95]), np.array([0, 0]), np.array([[0.9, 0.1], [0.5, 0.5]])).tolist()
    [0, 1]
    """
    new = np.empty(old.size, dtype=np.int64)
    for category in np.unique(old):
        steps = np.cumsum(matrix[category])
        rows = old == category
        # Divided by the last step, so that the end is 1 itself and a chance of 0 is never drawn.
        new[rows] = np.searchsorted(steps / steps[-1], uniforms[rows], side="right")
    return new


def matrix_faults(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of rows of the matrix that are no chances, and of values that it does not name."""
    faults = 0
    for name, rows in settings["columns"].items():
        faults += sum(
            min(row.values()) < 0
            or abs(sum(row.values()) - 1) > ROUNDING
            or not set(row) <= set(rows)
            for row in rows.values()
        )
        column = evidence.column(name)
        strange = np.array([label not in rows for label in label_texts(column)] or [False])
        faults += int(np.count_nonzero(strange[column.values[~column.missing]]))
    return faults


def improbable_changes(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of changes that have no chance, and of columns that changed less than chance allows.

    Rows whose old category is not in the matrix are left out. By Hoeffding's inequality n rows
    keep more than expected by sqrt(n log(1 / a) / 2) with chance a at most.
    """
    faults = 0
    for name, rows in settings["columns"].items():
        told = [
            (rows[old], old, new, count)
            for old, new, count in _changes(evidence, name)
            if old in rows
        ]
        faults += sum(count for row, _, new, count in told if row.get(new, 0.0) <= 0)
        surplus = sum(count * ((old == new) - row.get(old, 0.0)) for row, old, new, count in told)
        size = sum(count for *_, count in told)
        faults += int(surplus > np.sqrt(size * np.log(1 / FALSE_ALARM) / 2))
    return faults


def _changes(evidence: Evidence, name: str) -> list[tuple[str, str, int]]:
    """Return each old category with each new one and the number of rows that changed so."""
    before, after = evidence.source_column(name), evidence.column(name)
    present = ~before.missing & ~after.missing
    old, new = label_texts(before), label_texts(after)
    pairs, counts = np.unique(
        before.values[present] * max(len(new), 1) + after.values[present], return_counts=True
    )
    return [
        (old[pair // len(new)], new[pair % len(new)], count)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
    ]
