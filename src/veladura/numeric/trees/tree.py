"""One tree: its leaves, the rows in them, how new rows find theirs, and how it is grown."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.scratch import scratch
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.records import find_leaves, layout_of, pack

FEATURE, CUT, LEFT, MISSING_LEFT, SET = range(5)
START, END, PARENT, DEPTH = range(5, 9)
NumberCriterion = Literal["ranks", "values"]
ClassCriterion = Literal["gini", "deviance", "misclassification"]
THREAD_ROWS = 20_000  # a thread costs more than it saves for fewer


@dataclass(frozen=True)
class TrainingRows:
    """What a tree is grown on: predictors, the rows, and their strata.

    A row may be in there twice (a bootstrap sample).
    """

    predictors: Predictors
    rows: Ints
    groups: Ints | None = None

    def only(self, keep: Mask) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(
            self.predictors, self.rows[keep], None if self.groups is None else self.groups[keep]
        )


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What a split lowers, and when a tree stops growing.

    Attributes
    ----------
    min_leaf
        Fewest rows in a leaf.
    min_distinct
        Fewest distinct values in a leaf: a split that would leave fewer is not made.
    complexity
        Share of the root's impurity that a split must remove.
    tried
        Columns tried at each split, at random; 0 for all.
    numbers
        Whether squares of ranks or of values are lowered.
    classes
        The impurity of classes that is lowered.
    min_variance
        Smallest variance of numbers in a leaf: a split that would leave less is not made.
    unbiased
        Whether columns are compared by what their best split gains above chance: one with many
        values has many splits to choose from (the selection bias of Loh and Shih 1997). Linear
        scores are compared by their whole gain; so is every column by deviance and by
        misclassification.
    few
        Columns that nodes of fewer than 200 rows are split by: those that gained most in the first
        such node on the way down. So few rows tell little about all the others. 0 for all.
    sample
        Rows, evenly spaced, that choose the split of a node with at least twice as many: so many or
        100 times ``min_leaf``; 0 for all.
    """

    min_leaf: int = 5
    min_distinct: int = 1
    complexity: float = 0.0
    tried: int = 0
    numbers: NumberCriterion = "ranks"
    classes: ClassCriterion = "gini"
    min_variance: float = 0.0
    unbiased: bool = False
    few: int = 0
    sample: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A grown tree. Holds rows of the original: its repr shows none.

    Attributes
    ----------
    order
        Rows of the original, those of each leaf side by side.
    nodes
        A row for each node: feature, cut, left child, whether missing goes left, its set, start,
        end, parent, depth.
    risks
        Impurity of each node, and what its split takes away.
    stop
        Marks inner nodes that a pruned tree ends at.
    """

    order: Ints
    nodes: Ints
    risks: Floats
    sets: NDArray[np.uint64]
    stop: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __repr__(self) -> str:
        return f"Tree(leaves={self.leaves().size}, rows={self.order.size})"

    def stretches(self) -> Ints:
        """Return where the rows of each node begin and end in ``order``."""
        return np.ascontiguousarray(self.nodes[:, START : END + 1])

    def is_leaf(self) -> Mask:
        """Return which nodes are leaves; in a pruned tree nodes below them are never reached."""
        leaf: Mask = (self.nodes[:, FEATURE] < 0) | (self.stop > 0)
        return leaf

    def leaves(self) -> Ints:
        """Return the leaves that rows can reach."""
        if not self.stop.any():
            return np.flatnonzero(self.nodes[:, FEATURE] < 0)
        inner_parent = np.ones(len(self.nodes), dtype=bool)
        ends = self.is_leaf()
        for node in range(len(self.nodes)):  # parents come before their children
            parent = self.nodes[node, PARENT]
            if parent >= 0:
                inner_parent[node] = inner_parent[parent] and not ends[parent]
        return np.flatnonzero(ends & inner_parent)

    def find(
        self,
        predictors: Predictors,
        rows: Ints | None = None,
        root: Ints | None = None,
        threads: int = 1,
    ) -> Ints:
        """Return the leaf of each row; many rows are divided among some threads."""
        which = np.arange(len(predictors.bins)) if rows is None else rows
        number = max(1, min(threads, which.size // THREAD_ROWS))
        if number == 1:
            return self._find(predictors, which, root)
        parts = np.array_split(which, number)
        roots = [None] * number if root is None else np.array_split(root, number)
        with ThreadPoolExecutor(number) as pool:
            leaves = pool.map(lambda *part: self._find(predictors, *part), parts, roots)
            return np.concatenate(list(leaves))

    def _find(self, predictors: Predictors, which: Ints, root: Ints | None) -> Ints:
        if root is None or not np.any(root):
            place, roots = np.arange(which.size, dtype=np.int32), np.array([0, which.size])
        else:
            place = np.argsort(root, kind="stable").astype(np.int32)
            roots = np.append(0, np.cumsum(np.bincount(root)))
        used = np.flatnonzero(np.bincount(self.nodes[:, FEATURE] + 1)[1:])
        at, high, words = layout_of(predictors.levels[used], predictors.categorical[used])
        layout = np.zeros((predictors.levels.size, 4), dtype=np.int64)
        layout[used] = np.column_stack(
            [at, high, predictors.levels[used], predictors.categorical[used]]
        )
        codes = scratch("records", (which.size, words), np.int64).view(np.uint8)
        pack(predictors.bins, which, used, at, high, codes)
        spare = scratch("places", (which.size,), np.int32)
        leaves = np.empty(which.size, dtype=np.int64)
        find_leaves(codes, place, spare, layout, self.nodes, self.sets, self.stop, roots, leaves)
        return leaves


def grow(
    predictors: Predictors,
    features: Sequence[int],
    target: Ints,
    *,
    classes: int = 0,
    rows: Ints | None = None,
    groups: Ints | None = None,
    growth: Growth = Growth(),  # noqa: B008  # frozen
    seed: int = 0,
) -> Tree:
    """Return a tree of a target on some predictors.

    Parameters
    ----------
    features
        Columns of ``predictors`` that may split.
    target
        For each row of ``predictors`` a class below ``classes`` or, with 0 classes, a whole number.
    rows
        The rows to grow on; all of them by default. A row may be given twice.
    groups
        The zero-based stratum of each of ``rows``: each has a root of its own.
    seed
        For the choice of columns when not all are tried.
    """
    from veladura.numeric.trees.kernels import ROW, grow_nodes

    which = np.arange(target.size) if rows is None else rows
    if groups is None:
        roots = np.array([0, which.size])
    else:
        roots = np.append(0, np.cumsum(np.bincount(groups)))
        which = which[np.argsort(groups, kind="stable")]
    if classes and growth.classes != "gini":
        return _grow_by_class(predictors, features, target, classes, which, roots, growth, seed)
    shift = which.size.bit_length()
    layout, records = _records(
        predictors,
        features,
        target if classes > 2 else _masses(target, which.size, shift),  # noqa: PLR2004
        which,
        unbiased=growth.unbiased,
    )
    spare = scratch("spare records", records.shape, np.int64)
    # most nodes that there can be; memory by NumPy, which asks for large pages
    room = 2 * (which.size // max(growth.min_leaf, 1) + roots.size) + 2
    nodes, stack = (np.empty((room, columns), dtype=np.int64) for columns in (9, 4))
    risks = np.zeros(2 * room)
    sets, made, used = grow_nodes(
        records,
        records.view(np.uint8),
        spare,
        spare.view(np.uint8),
        layout,
        classes,
        shift,
        roots,
        growth.min_leaf,
        growth.min_distinct,
        growth.complexity,
        growth.tried,
        growth.few or len(features),
        growth.sample,
        seed,
        nodes,
        stack,
        risks,
    )
    return Tree(
        records[:, ROW].copy(),
        nodes[:made],
        risks[: 2 * made].reshape(made, 2),
        sets[:used].copy(),
        np.zeros(made, dtype=np.int64),
    )


def _grow_by_class(
    predictors: Predictors,
    features: Sequence[int],
    target: Ints,
    classes: int,
    rows: Ints,
    roots: Ints,
    growth: Growth,
    seed: int,
) -> Tree:
    """Return a classification tree by deviance or by misclassification."""
    from veladura.numeric.trees.class_kernels import DEVIANCE, MISCLASSIFICATION, grow_classes

    order = np.array(rows, dtype=np.int64)
    nodes, risks, sets, made, used = grow_classes(
        np.ascontiguousarray(predictors.bins),
        np.asarray(features, dtype=np.int64),
        predictors.levels,
        predictors.categorical,
        np.ascontiguousarray(target, dtype=np.int64),
        classes,
        order,
        np.asarray(roots, dtype=np.int64),
        DEVIANCE if growth.classes == "deviance" else MISCLASSIFICATION,
        growth.min_leaf,
        growth.min_distinct,
        growth.complexity,
        growth.tried,
        seed,
    )
    stop = np.zeros(made, dtype=np.int64)
    return Tree(order, nodes[:made].copy(), risks[:made].copy(), sets[:used].copy(), stop)


def grow_on(
    training: TrainingRows,
    features: Sequence[int],
    target: Ints,
    classes: int,
    growth: Growth,
    seed: int,
) -> Tree:
    """Return the tree of a target on some training rows, unpruned."""
    return grow(
        training.predictors,
        features,
        target,
        classes=classes,
        rows=training.rows,
        groups=training.groups,
        growth=growth,
        seed=seed,
    )


def _records(
    predictors: Predictors, features: Sequence[int], target: Ints, rows: Ints, *, unbiased: bool
) -> tuple[Ints, Ints]:
    """Return the layout of a record, and the records: target, row, a byte or two a predictor."""
    from veladura.numeric.trees.kernels import HEAD, ROW, TARGET

    columns = np.asarray(features, dtype=np.int64)
    levels, categorical = predictors.levels[columns], predictors.categorical[columns]
    at, high, words = layout_of(levels, categorical)
    at, high = at + 8 * HEAD, np.where(high, high + 8 * HEAD, 0)
    handicap = unbiased & (columns < predictors.levels.size - predictors.scores)
    before = np.cumsum(levels) - levels
    layout = np.column_stack([columns, at, high, levels, categorical, before, handicap]).astype(
        np.int64
    )
    records = scratch("records", (rows.size, HEAD + words), np.int64)
    records[:, TARGET], records[:, ROW] = target[rows], rows
    pack(predictors.bins, rows, columns, at, high, records.view(np.uint8))
    return layout, records


def _masses(target: Ints, rows: int, shift: int) -> Ints:
    """Return numbers as masses: shifted, plus one; coarser where the sum would overflow a word."""
    most = 2 ** (62 - shift) // max(rows, 1)
    largest = int(np.abs(target).max(initial=0))
    unit = largest // most + 1
    masses: Ints = (target if unit == 1 else target // unit) << shift
    masses += 1
    return masses


def cut_at(tree: Tree, nodes: Ints) -> Tree:
    """Return the tree with some of its nodes as leaves."""
    stop = np.zeros(len(tree.nodes), dtype=np.int64)
    stop[nodes] = 1
    return replace(tree, stop=stop)


def ranks(values: Floats) -> Ints:
    """Return doubled mid-ranks about zero: whole numbers that no heavy tail can stretch.

    Examples
    --------
    >>> ranks(np.array([10.0, 30.0, 10.0])).tolist()
    [-1, 2, -1]
    """
    return ranks_of_places(np.unique(values, return_inverse=True)[1].reshape(-1))


def ranks_of_places(place: Ints) -> Ints:
    """Return the same for values known by their places in order: no need to sort again.

    Examples
    --------
    >>> ranks_of_places(np.array([0, 7, 0])).tolist()
    [-1, 2, -1]
    """
    count = np.bincount(place)
    doubled = 2 * np.cumsum(count) - count + 1  # twice the mean of the ranks first to last
    centred: Ints = (doubled - (place.size + 1)).take(place)
    return centred
