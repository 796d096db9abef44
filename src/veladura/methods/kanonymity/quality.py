"""Quality models: what a generalisation costs in information, with suppressed rows counted as ARX counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veladura.methods.kanonymity.lattice import Lattice
from veladura.methods.kanonymity.suppression import Verdict, unpack
from veladura.numeric.hierarchies.levels import Levels
from veladura.table.codes import label_text

QUALITIES = (
    "loss",
    "non-uniform-entropy",
    "discernibility",
    "average-class-size",
    "non-uniform-entropy-before-suppression",
    "discernibility-before-suppression",
)
BY_COLUMN = (
    "loss",
    "non-uniform-entropy",
    "non-uniform-entropy-before-suppression",
)  # these take weights
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Quality:
    """One quality model on one lattice; smaller is better.

    Parameters
    ----------
    name
        "loss": the share of its column's domain that a released value stands for, 1 for a
        suppressed one, set to [0, 1] and averaged over the columns by the geometric mean of 1 +
        loss. "non-uniform-entropy": the sum over rows and columns of log2(n of the generalised
        value / n of the original one), and for suppressed rows of log2(suppressed rows / those of
        them with the same generalised value). "discernibility": the sum of squared group sizes, a
        suppressed row counting as many as there are rows. "average-class-size": rows over groups,
        the suppressed rows as one group. The two that end in "-before-suppression" take no notice
        of what is suppressed.
    costs
        For each column and level the summed cost of all rows.
    shares
        For each column and level the share of the domain that each code stands for.

    References
    ----------
    Iyengar, V. S. (2002). Transforming data to satisfy privacy constraints. KDD (loss).
    de Waal, A. and Willenborg, L. (1999). Information loss through global recoding and local
    suppression.
    Netherlands Official Statistics 14, 17-20 (non-uniform entropy).
    Bayardo, R. and Agrawal, R. (2005). Data privacy through optimal k-anonymization. ICDE
    (discernibility).
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE
    (class size).
    """

    name: str
    rows: int
    lattice: Lattice = field(repr=False)
    costs: tuple[Floats, ...] = field(repr=False)
    shares: tuple[tuple[Floats, ...], ...] = field(repr=False)
    weights: Floats = field(repr=False)

    def value(self, vector: Sequence[int], verdict: Verdict) -> float:
        """Return the cost of a node."""
        if self.name in BY_COLUMN:
            return float(self._combined(self._by_column(vector, verdict)[None])[0])
        sizes, kept = verdict.sizes.astype(np.float64), verdict.kept
        if self.name == "average-class-size":
            return self.rows / (np.count_nonzero(kept) + (not kept.all()))
        if self.name == "discernibility":
            return float(np.sum(sizes[kept] ** 2) + self.rows * np.sum(sizes[~kept]))
        return float(np.sum(sizes**2))

    def least(self, verdict: Verdict) -> float:
        """Return what no node above can be below: the cost if nothing were suppressed."""
        sizes = verdict.sizes.astype(np.float64)
        return (
            self.rows / max(sizes.size, 1)
            if self.name == "average-class-size"
            else float(np.sum(sizes**2))
        )

    def bounds(self, vectors: Ints) -> Floats | None:
        """Return what each node costs at least, if its levels alone tell."""
        if self.name not in BY_COLUMN:
            return None
        return self._combined(
            np.column_stack([cost[vectors[:, c]] for c, cost in enumerate(self.costs)])
        )

    def _by_column(self, vector: Sequence[int], verdict: Verdict) -> Floats:
        cost = np.array([cost[level] for cost, level in zip(self.costs, vector, strict=True)])
        if self.name.endswith("before-suppression") or verdict.kept.all():
            return cost
        keys, sizes = verdict.keys[~verdict.kept], verdict.sizes[~verdict.kept]
        for c, level in enumerate(vector):
            codes = unpack(self.lattice, keys, c)
            if self.name == "loss":
                cost[c] += np.sum(sizes * (1 - self.shares[c][level][codes]))
            else:
                cost[c] += _entropy(np.bincount(codes, weights=sizes).astype(np.float64))
        return cost

    def _combined(self, costs: Floats) -> Floats:
        """Return one figure for the columns' costs: a sum of bits, or a mean of losses set to [0, 1]."""
        if self.name != "loss":
            return np.asarray(costs @ self.weights)
        least = np.array([shares[0].min() for shares in self.shares])
        spread = np.where(least < 1, 1 - least, 1.0)
        scaled = np.maximum((costs / self.rows - least) / spread, 0.0)
        return np.asarray(np.exp(np.log1p(scaled) @ (self.weights / self.weights.sum())) - 1)


def measure(name: str, lattice: Lattice, weights: Mapping[str, float]) -> Quality:
    """Return a quality model for the tuples of a table; columns weigh 1 unless told otherwise."""
    rows = int(lattice.sizes.sum())
    costs, shares = [], []
    for c, levels in enumerate(lattice.levels):
        counts = np.bincount(
            unpack(lattice, lattice.keys, c), weights=lattice.sizes, minlength=levels.codes[0].size
        ).astype(np.float64)
        shares.append(_shares(levels))
        if name == "loss":
            costs.append(
                np.array(
                    [
                        counts @ share[code]
                        for share, code in zip(shares[-1], levels.codes, strict=True)
                    ]
                )
            )
        else:
            costs.append(np.array([_merged(counts, code) for code in levels.codes]))
    weighed = np.array([weights.get(levels.base.name, 1.0) for levels in lattice.levels])
    return Quality(name, rows, lattice, tuple(costs), tuple(shares), weighed)


def _merged(counts: Floats, codes: Ints) -> float:
    """Return the sum over rows of log2(n of the generalised value / n of the original one)."""
    merged = np.bincount(codes, weights=counts)[codes]
    present = counts > 0
    return float(np.sum(counts[present] * np.log2(merged[present] / counts[present])))


def _entropy(counts: Floats) -> float:
    """Return the sum over rows of log2(all rows / rows with the same value)."""
    present = counts[counts > 0]
    return float(np.sum(present * np.log2(present.sum() / present)))


def _shares(levels: Levels) -> tuple[Floats, ...]:
    """Return the share of the domain that each code of each level stands for.

    The domain is the rows of an explicit hierarchy, whether they occur or not; else the values that
    occur.
    """
    domain = [
        np.bincount(code, minlength=int(code.max()) + 1).astype(np.float64) for code in levels.codes
    ]
    size = levels.codes[0].size
    if levels.hierarchy.rule == "rows":
        missing = any(label is None for label in levels.labels[0])
        size = len(levels.hierarchy.rows) + missing
        for level, labels in enumerate(levels.labels):
            named: dict[str, int] = {}
            for row in levels.hierarchy.rows:
                named[row[level]] = named.get(row[level], 0) + 1
            domain[level] = np.array(
                [1.0 if label is None else named.get(label_text(label), size) for label in labels],
                dtype=np.float64,
            )
    return tuple(counts / size for counts in domain)
