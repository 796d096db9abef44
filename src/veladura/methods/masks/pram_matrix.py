"""Transition matrices of PRAM: made, drawn from, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.core.promise import Evidence
from veladura.table.codes import label_texts

FEWEST = 10
FALSE_ALARM = 1e-9
DECIMALS = 12
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Transition:
    """The probability of each category (row) to become each other (column)."""

    labels: Sequence[str] = field(repr=False)
    matrix: Floats = field(repr=False)

    def among(self, labels: AbstractSet[str]) -> Transition:
        """Return the probabilities among some categories, given that no other is drawn.

        Rows are drawn independently. Given that some categories were not drawn at all, each row was
        drawn with the probabilities of the rest divided by their sum: these are exact. A category
        that could only become others keeps itself.
        """
        kept = [i for i, label in enumerate(self.labels) if label in labels]
        part = self.matrix[np.ix_(kept, kept)]
        sums = part.sum(axis=1, keepdims=True)
        safe = np.where(sums > 0, part / np.where(sums > 0, sums, 1.0), np.eye(len(kept)))
        return Transition([self.labels[i] for i in kept], safe)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Return the probabilities by category, those of 0 left out."""
        return {
            label: {
                other: round(float(share), DECIMALS)
                for other, share in zip(self.labels, row, strict=True)
                if share > 0
            }
            for label, row in zip(self.labels, self.matrix, strict=True)
        }


def from_table(rows: Mapping[str, Mapping[str, float]]) -> Transition:
    """Return declared probabilities as a matrix.

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


def invariant(counts: Ints, retain: float) -> Floats:
    """Return an invariant matrix R (t R = t) that keeps an expected share ``retain`` of the rows.

    R = P Q, where P keeps a category with probability p and spreads the rest evenly, and Q inverts
    P by the rule of Bayes: Q[j, k] = t[k] P[k, j] / sum over l of t[l] P[l, j]. The share
    kept, sum of t[i] R[i, i], grows with p from that of drawing anew for every row, sum of
    t[i]^2, to 1; p is found by bisection. Counts below ten are taken as ten: t is the one
    distribution that R leaves alone, so R gives it away.

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


def _two_stage(share: Floats, keep: float) -> Floats:
    """Return P Q for a P that keeps a category with probability ``keep``."""
    first = np.full((share.size, share.size), (1 - keep) / max(share.size - 1, 1))
    np.fill_diagonal(first, keep)
    joint = share[:, None] * first
    back = (joint / joint.sum(axis=0)).T
    both: Floats = first @ back
    both /= both.sum(axis=1, keepdims=True)
    return both


def drawn(uniforms: Floats, old: Ints, matrix: Floats) -> Ints:
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
        # Divided by the last step: the end is exactly 1, and probability 0 is never drawn.
        new[rows] = np.searchsorted(steps / steps[-1], uniforms[rows], side="right")
    return new


def matrix_faults(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the matrix rows that are no probabilities, and the values it does not name."""
    faults = 0
    for name, rows in settings["columns"].items():
        for row in rows.values():
            proper = min(row.values()) >= 0 and abs(sum(row.values()) - 1) <= ROUNDING
            faults += not (proper and set(row) <= set(rows))
        column = evidence.column(name)
        outside = np.array([label not in rows for label in label_texts(column)] or [False])
        faults += int(np.count_nonzero(outside[column.values[~column.missing]]))
    return faults


def improbable_changes(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the impossible changes, and the columns that changed less than chance allows.

    Rows whose old category is not in the matrix are left out. By Hoeffding's inequality n rows
    keep more than expected by sqrt(n log(1 / a) / 2) with probability a at most.
    """
    faults = 0
    for name, rows in settings["columns"].items():
        size, surplus = 0, 0.0
        for old, new, count in _changes(evidence, name):
            if old in rows:
                faults += count if rows[old].get(new, 0.0) <= 0 else 0
                surplus += count * ((old == new) - rows[old].get(old, 0.0))
                size += count
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
