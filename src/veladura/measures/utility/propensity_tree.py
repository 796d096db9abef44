"""pMSE of a classification tree, and its expectation by chance.

Trees have no formula for that expectation. It is simulated: by labels shuffled over all rows where
every column was replaced; between a row and its released version where some columns were kept; or,
where rows have no such counterpart, from pairs of released tables.

A tree that splits by one column at a time is blind to relations between columns whose own
distributions are exact (its first split gains nothing). So it is grown within eight clusters of
similar rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.streams import Streams
from veladura.measures.utility.design import Raw, main_effects, read_columns
from veladura.measures.utility.propensity import DatasetScores, PropensityScores
from veladura.numeric.kmeans import k_means
from veladura.numeric.sampling import matched_rows
from veladura.numeric.trees.bins import Binning, Predictors, cuts, stack
from veladura.numeric.trees.tree import END, START, Growth, grow

if TYPE_CHECKING:
    from veladura.table.table import Table

SHUFFLES, MOST_PAIRS = 20, 10
MOST_LEVELS = 200
CLUSTERS, ROWS_A_CLUSTER = 8, 100
LEAVES = 200  # a leaf holds at least this share of the rows, and twenty of them


@dataclass(frozen=True)
class Side:
    """An original and one released table stacked, ready for a tree."""

    predictors: Predictors
    strata: Ints
    label: Ints
    aligned: bool
    used: float  # share of the original's rows that are in the stack

    @property
    def share(self) -> float:
        """Share of released rows."""
        return float(self.label.mean())


@dataclass(frozen=True)
class TreeScores:
    """pMSE of each dataset; mean and spread of what chance gives, NaN where they are unknown."""

    values: list[float]
    expected: float
    spread: float
    leaves: int
    null: str
    scores: PropensityScores = field(default_factory=PropensityScores)


def tree_scores(
    original: Table,
    released: Sequence[Table],
    names: Sequence[str],
    replaced: Sequence[str],
    synthesis: str,
) -> TreeScores:
    """Return pMSE by a tree for every dataset, with the expectation that fits the release.

    Parameters
    ----------
    synthesis
        "simple" (drawn from the fitted model) or "proper" (from a posterior draw).
    """
    kept = [name for name in names if name not in replaced]
    sides = [stacked(original, table, names, kept) for table in released]
    each = PropensityScores(tuple(_dataset_scores(side) for side in sides))
    values, leaves = list(each.values), _score(sides[0], sides[0].label)[1]
    if not kept or all(side.aligned for side in sides):
        result = _by_shuffling(sides, values, leaves, synthesis)
    elif len(released) > 1:
        result = _by_pairs(sides[0], released, names, values, leaves, synthesis)
    else:
        result = TreeScores(values, np.nan, np.nan, leaves, "none")
    return replace(result, scores=each)


def stacked(original: Table, released: Table, names: Sequence[str], kept: Sequence[str]) -> Side:
    """Return two tables as bins of their columns, original first."""
    rows = matched_rows(original, released, kept)
    columns = read_columns(original, released, names, list(rows))
    label = np.repeat([0, 1], [rows.original.size, rows.released.size])
    strata = (
        k_means(main_effects(columns), CLUSTERS)
        if label.size >= CLUSTERS * ROWS_A_CLUSTER
        else np.zeros(label.size, dtype=np.int64)
    )
    return Side(
        predictors_of(columns),
        np.unique(strata, return_inverse=True)[1],
        label,
        rows.aligned,
        rows.original.size / original.rows,
    )


def predictors_of(columns: Mapping[str, Raw]) -> Predictors:
    """Return stacked columns for a tree; categories beyond the 200 most frequent are one."""
    parts, binnings = [], []
    for raw in columns.values():
        if raw.numbers is not None:
            edges = cuts(raw.numbers[~raw.missing])
            binning, values = Binning(edges.size + 2, edges), raw.numbers
        else:
            assert raw.codes is not None  # noqa: S101  # one of the two
            lumped = np.minimum(raw.codes, MOST_LEVELS)
            binning, values = (
                Binning(int(lumped.max(initial=0)) + 2, None),
                lumped.astype(np.float64),
            )
        parts.append(binning.codes(values, raw.missing))
        binnings.append(binning)
    return stack(parts, binnings)


def _score(side: Side, label: Ints) -> tuple[float, int]:
    """Return pMSE with the share of released rows in a leaf as score, and the number of leaves."""
    share, size, _ = _leaves(side, label)
    return float(np.sum(size * (share - label.mean()) ** 2) / label.size), size.size


def _leaves(side: Side, label: Ints) -> tuple[Floats, Ints, Ints]:
    """Return share of released rows and size of each leaf, and the rows, leaf by leaf."""
    growth = Growth(min_leaf=max(20, label.size // LEAVES))
    tree = grow(
        side.predictors,
        range(side.predictors.bins.shape[1]),
        label,
        classes=2,
        groups=side.strata,
        growth=growth,
    )
    leaves = tree.leaves()
    start, end = tree.nodes[leaves, START], tree.nodes[leaves, END]
    sums = np.append(0, np.cumsum(label[tree.order]))
    size = end - start
    rows = np.concatenate([tree.order[a:b] for a, b in zip(start, end, strict=True)])
    return (sums[end] - sums[start]) / size, size, rows


def _dataset_scores(side: Side) -> DatasetScores:
    """Return the score of every row: the share of released rows in its leaf."""
    share, size, rows = _leaves(side, side.label)
    scores = np.empty(side.label.size)
    scores[rows] = np.repeat(share, size)
    return DatasetScores.of(scores, side.label.astype(np.float64))


def _by_shuffling(
    sides: Sequence[Side], values: list[float], leaves: int, synthesis: str
) -> TreeScores:
    """Shuffle labels over all rows or, if rows are aligned, between a row and its released version.

    A shuffled table is a new sample; one drawn from the fitted model is nearer to the original by
    the factor 1 - c.
    """
    aligned = sides[0].aligned
    each = max(SHUFFLES // len(sides), 2)
    scores: list[float] = []
    for i, side in enumerate(sides):
        rng = Streams(0)("utility", "pmse", "shuffle", i)
        nearer = 0.0 if synthesis == "proper" else side.share * side.used
        shuffled = (
            _flipped(rng, side.label) if aligned else rng.permutation(side.label)
            for _ in range(each)
        )
        scores += [(1 - nearer) * _score(side, label)[0] for label in shuffled]
    kind = "labels shuffled within rows" if aligned else "labels shuffled"
    return TreeScores(
        values,
        float(np.mean(scores)),
        float(np.std(scores, ddof=1)),
        leaves,
        f"{synthesis} synthesis, {kind} {len(scores)} times",
    )


def _flipped(rng: np.random.Generator, label: Ints) -> Ints:
    flip = rng.integers(0, 2, label.size // 2)
    return np.concatenate([flip, 1 - flip])


def _by_pairs(
    side: Side,
    released: Sequence[Table],
    names: Sequence[str],
    values: list[float],
    leaves: int,
    synthesis: str,
) -> TreeScores:
    """Compare released tables with each other, corrected for their larger distance.

    8 c^2 (1 - c)^2 of the pairs' pMSE, one half for tables of the original's size. Where only some
    of the original's rows are used, these differ from the whole: 2 - f for simple, 2 / (1 + f)
    for proper synthesis.
    """
    pairs = list(combinations(range(len(released)), 2))[:MOST_PAIRS]
    both = [stacked(released[i], released[j], names, ()) for i, j in pairs]
    c, f = side.share, side.used
    factor = 8 * c**2 * (1 - c) ** 2 * (2 - f if synthesis == "simple" else 2 / (1 + f))
    scores = [factor * _score(pair, pair.label)[0] for pair in both]
    spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
    return TreeScores(
        values,
        float(np.mean(scores)),
        spread,
        leaves,
        f"{synthesis} synthesis, {len(pairs)} pairs of datasets",
    )
