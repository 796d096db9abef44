"""Quality models: the information that a generalisation loses, suppressed rows as in ARX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.methods.kanonymity.judging import judged
from veladura.methods.kanonymity.lattice import Lattice, Vector
from veladura.methods.kanonymity.search import SearchResult
from veladura.methods.kanonymity.suppression import Criteria, Outcome
from veladura.methods.kanonymity.tallies import Tallies
from veladura.methods.kanonymity.traversal import Traversal
from veladura.numeric.hierarchies.levels import Levels
from veladura.table.codes import label_text

BALANCED = "balanced"
QUALITIES = (
    BALANCED,
    "loss",
    "non-uniform-entropy",
    "discernibility",
    "average-class-size",
    "non-uniform-entropy-before-suppression",
    "discernibility-before-suppression",
)
BY_COLUMN = (  # these take weights
    BALANCED,
    "loss",
    "non-uniform-entropy",
    "non-uniform-entropy-before-suppression",
)
TIE = 1e-9  # relative difference below which two nodes are equally good
FEW = 16  # nodes that are judged one by one sooner than by the compiled walk


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
        For each column and level the summed cost of all rows, where a column has one.
    shares
        For each column and level the share of the domain that each code stands for, likewise.

    References
    ----------
    Iyengar, V. S. (2002). Transforming data to satisfy privacy constraints. KDD (loss).
    de Waal, A. and Willenborg, L. (1999). Information loss through global recoding and local
    suppression. Netherlands Official Statistics 14, 17-20 (non-uniform entropy).
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

    def value(self, vector: Sequence[int], outcome: Outcome) -> float:
        """Return the cost of a node."""
        if self.name in BY_COLUMN:
            return float(self._combined(self._by_column(vector, outcome)[None])[0])
        sizes, kept = outcome.sizes.astype(np.float64), outcome.kept
        if self.name == "average-class-size":
            return self.rows / (np.count_nonzero(kept) + (not kept.all()))
        if self.name == "discernibility":
            return float(np.sum(sizes[kept] ** 2) + self.rows * np.sum(sizes[~kept]))
        return float(np.sum(sizes**2))

    def least(self, outcome: Outcome) -> float:
        """Return the least cost of all nodes above: the cost here if nothing were suppressed."""
        sizes = outcome.sizes.astype(np.float64)
        if self.name == "average-class-size":
            return self.rows / max(sizes.size, 1)
        return float(np.sum(sizes**2))

    def bounds(self) -> Floats:
        """Return the least cost of every node by its levels alone, for a quality by column."""
        total: Floats = np.zeros((1,) * len(self.costs))
        for axis, cost in enumerate(self.costs):
            own = self._terms(cost[:, None], [axis])
            total = total + own.reshape(_along(axis, len(self.costs)))
        return np.expm1(total) if self.name == "loss" else total

    def least_costs(self, vectors: Sequence[Vector]) -> list[float]:
        """Return the same of some nodes, of a lattice that may be too large for all."""
        levels = np.array(vectors, dtype=np.int64).reshape(len(vectors), -1)
        costs = [cost[levels[:, c]] for c, cost in enumerate(self.costs)]
        least: list[float] = self._combined(np.column_stack(costs)).tolist()
        return least

    def _by_column(self, vector: Sequence[int], outcome: Outcome) -> Floats:
        cost = np.array([cost[level] for cost, level in zip(self.costs, vector, strict=True)])
        if self.name.endswith("before-suppression") or outcome.kept.all():
            return cost
        keys, sizes = outcome.keys[~outcome.kept], outcome.sizes[~outcome.kept]
        for c, level in enumerate(vector):
            codes = self.lattice.unpacked(keys, c)
            if self.name == "loss":
                cost[c] += np.sum(sizes * (1 - self.shares[c][level][codes]))
            else:
                cost[c] += _entropy(np.bincount(codes, weights=sizes).astype(np.float64))
        return cost

    def _combined(self, costs: Floats) -> Floats:
        """Return one figure for all columns: a sum of bits, or a mean loss in [0, 1]."""
        total = self._terms(costs, range(len(self.costs)))
        return np.expm1(total) if self.name == "loss" else total

    def _terms(self, costs: Floats, columns: Sequence[int]) -> Floats:
        """Return what some columns add: weighted bits, or logarithms of 1 + loss."""
        chosen = list(columns)
        weights = self.weights[chosen]
        if self.name != "loss":
            return np.asarray(costs @ weights)
        least, spread = (scale[chosen] for scale in self.scale())
        scaled = np.maximum((costs / self.rows - least) / spread, 0.0)
        return np.asarray(np.log1p(scaled) @ (weights / self.weights.sum()))

    def scale(self) -> tuple[Floats, Floats]:
        """Return the least loss of each column, and how far above it a loss can be."""
        least = np.array([shares[0].min() for shares in self.shares])
        return least, np.where(least < 1, 1 - least, 1.0)


def measure(name: str, lattice: Lattice, weights: Mapping[str, float]) -> Quality:
    """Return a quality model for the tuples of a table; a column weighs 1 by default."""
    costs, shares = [], []
    for c, levels in enumerate(lattice.levels if name in BY_COLUMN else ()):
        codes, values = lattice.unpacked(lattice.keys, c), levels.codes[0].size
        counts = np.bincount(codes, weights=lattice.sizes, minlength=values).astype(np.float64)
        of_domain = _shares(levels)
        if name == "loss":
            cost = [
                float(counts @ share[code])
                for share, code in zip(of_domain, levels.codes, strict=True)
            ]
        else:
            cost = [_merged(counts, code) for code in levels.codes]
        costs.append(np.array(cost))
        shares.append(of_domain)
    by_column = np.array([weights.get(levels.base.name, 1.0) for levels in lattice.levels])
    return Quality(name, lattice.rows, lattice, tuple(costs), tuple(shares), by_column)


def best_nodes(
    criteria: Criteria,
    name: str,
    weights: Mapping[str, float],
    lattice: Lattice,
    found: SearchResult,
) -> list[Vector]:
    """Return the good nodes, minimal or not, at which a quality model is best; several if tied.

    "balanced" is the least loss of those nodes that give up fewest columns.
    """
    result = least_given_up(lattice, found) if name == BALANCED else found
    quality, good = measure("loss" if name == BALANCED else name, lattice, weights), result.good
    if good is None:
        values = [(quality.value(node, criteria.at(node)), node) for node in result.minimal]
        return _ties(values)
    if not criteria.only_k:
        by = _best_in_order if name in BY_COLUMN else _best_by_counting
        return _ties(by(criteria, quality, _bounds(quality, good, None)))
    counts = found.tallies if Tallies.counts(name) and found.tallies is not None else None
    bounds = _bounds(quality, good, counts)
    first = np.inf if counts is None else counts.best(name, lattice.rows, good)
    if np.isinf(first):
        first = quality.value(vector := _at_least(bounds), criteria.at(vector))
    near = bounds <= first + TIE * abs(first)
    if np.count_nonzero(near) > FEW:
        return _ties(judged(quality, criteria.k, bounds, first))
    return _ties(_best_in_order(criteria, quality, np.where(near, bounds, np.inf)))


def _bounds(quality: Quality, good: Mask, counts: Tallies | None) -> Floats:
    """Return the least cost of every node, infinite for those that are not good."""
    if counts is not None:
        least = counts.bounds(quality.name, quality.rows, quality.lattice.heights)
        return np.where(good, least, np.inf)
    return np.where(good, quality.bounds() if quality.name in BY_COLUMN else 0.0, np.inf)


def _at_least(bounds: Floats) -> Vector:
    """Return the node of the least bound."""
    return tuple(int(level) for level in np.unravel_index(int(np.argmin(bounds)), bounds.shape))


def _best_in_order(
    criteria: Criteria, quality: Quality, bounds: Floats
) -> list[tuple[float, Vector]]:
    """Return costs and nodes, the best among them, in the order of their least costs."""
    least = bounds.ravel()
    order, best, values = [int(np.argmin(least))], np.inf, list[tuple[float, Vector]]()
    while order:
        place = order.pop()
        if least[place] > best + TIE * abs(best):
            break
        vector = tuple(int(level) for level in np.unravel_index(place, bounds.shape))
        value = quality.value(vector, criteria.at(vector))
        if not values:  # no node with a higher bound than this one's cost can be better
            near = np.flatnonzero(least <= value + TIE * abs(value))
            near = near[near != place]
            order = near[np.argsort(least[near], kind="stable")][::-1].tolist()
        best = min(best, value)
        values.append((value, vector))
    return values


def least_given_up(lattice: Lattice, result: SearchResult) -> SearchResult:
    """Return what was found without the nodes that give up more columns than others do.

    A column is given up where nothing is left of it: all its values have become one.
    """
    numbers = numbers_given_up(lattice, result.minimal)
    fewest = numbers.min()
    minimal = tuple(
        node for node, number in zip(result.minimal, numbers, strict=True) if number == fewest
    )
    if result.good is None:
        return replace(result, minimal=minimal)
    number = np.zeros((1,) * len(lattice.levels), dtype=np.int8)
    for axis, levels in enumerate(lattice.levels):
        flag = _given_up(levels).astype(np.int8)
        number = number + flag.reshape(_along(axis, len(lattice.levels)))
    return replace(result, minimal=minimal, good=result.good & (number == fewest))


def _along(axis: int, columns: int) -> list[int]:
    """Return the shape of an array along one axis of the lattice."""
    return [-1 if column == axis else 1 for column in range(columns)]


def _given_up(levels: Levels) -> Mask:
    """Return at which levels nothing is left of a column that has more than one value."""
    return np.array([code.size > 1 and not code.any() for code in levels.codes])


def numbers_given_up(lattice: Lattice, vectors: Sequence[Vector]) -> Ints:
    """Return how many columns each of some nodes gives up."""
    heights = np.array(vectors, dtype=np.int64).reshape(len(vectors), -1)
    numbers = np.zeros(len(vectors), dtype=np.int64)
    for c, levels in enumerate(lattice.levels):
        numbers += _given_up(levels)[heights[:, c]]
    return numbers


def _best_by_counting(
    criteria: Criteria, quality: Quality, bounds: Floats
) -> list[tuple[float, Vector]]:
    """Return costs and nodes, the best among them, where only counting gives a bound.

    Generalising further never makes that bound smaller, so the traversal stops above it.
    """
    best, values = np.inf, []

    def promising(outcome: Outcome) -> bool:
        return quality.least(outcome) <= best + TIE * abs(best)

    tags = np.where(np.isfinite(bounds), 0, -1).astype(np.int8)
    for vector, outcome in Traversal(criteria, tags, 0).nodes(promising):
        value = quality.value(vector, outcome)
        best = min(best, value)
        values.append((value, vector))
    return values


def _ties(values: Sequence[tuple[float, Vector]]) -> list[Vector]:
    """Return the nodes at which the cost is least, in order."""
    best = min(value for value, _ in values)
    return sorted(vector for value, vector in values if value <= best + TIE * abs(best))


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
