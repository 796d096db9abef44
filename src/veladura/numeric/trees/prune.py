"""Cost-complexity pruning: the subtree that predicts rows it has not seen best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled
from veladura.numeric.trees.model import Grow
from veladura.numeric.trees.tree import Growth, TrainingRows, Tree, cut_at, grow_on

MOST_TRIED = 40


@compiled("float64[::1](int64[:, ::1], float64[::1])")
def collapse(nodes: Ints, risk: Floats) -> Floats:  # noqa: C901
    """Return for each node the price of a leaf at which it becomes one.

    Breiman et al. (1984), section 3.3. The weakest link is cut first: the node with the smallest
    (R(t) - R(T_t)) / (|T_t| - 1), where T_t are the leaves below t. A leaf has price 0.
    """
    size = nodes.shape[0]
    below = risk.copy()
    leaves = np.ones(size)
    inner = np.zeros(size, dtype=np.bool_)
    price = np.zeros(size)
    for node in range(size - 1, -1, -1):
        if nodes[node, 0] >= 0:
            inner[node] = True
            left = nodes[node, 2]
            below[node] = below[left] + below[left + 1]
            leaves[node] = leaves[left] + leaves[left + 1]
    stack = np.empty(size + 1, dtype=np.int64)
    reached = 0.0
    while True:
        weakest = -1
        smallest = np.inf
        for node in range(size):
            if inner[node]:
                link = (risk[node] - below[node]) / (leaves[node] - 1)
                if link < smallest:
                    smallest = link
                    weakest = node
        if weakest < 0:
            return price
        reached = max(reached, smallest)
        stack[0] = weakest
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = stack[waiting]
            if inner[node]:
                inner[node] = False
                price[node] = reached
                stack[waiting] = nodes[node, 2]
                stack[waiting + 1] = nodes[node, 2] + 1
                waiting += 2
        risen = risk[weakest] - below[weakest]
        fewer = leaves[weakest] - 1
        node = weakest
        while node >= 0:
            below[node] += risen
            leaves[node] -= fewer
            node = nodes[node, 7]


@compiled("float64[::1](int64[:, ::1], int64[::1], int64[::1], int64)")
def answers(nodes: Ints, order: Ints, target: Ints, classes: int) -> Floats:
    """Return what each node predicts: its mean, or its most frequent class."""
    answer = np.zeros(nodes.shape[0])
    count = np.zeros(max(classes, 1), dtype=np.int64)
    for node in range(nodes.shape[0]):
        start, end = nodes[node, 5], nodes[node, 6]
        if classes == 0:
            total = 0.0
            for i in range(start, end):
                total += target[order[i]]
            answer[node] = total / max(end - start, 1)
            continue
        top = 0
        for i in range(start, end):
            count[target[order[i]]] += 1
        for i in range(start, end):
            k = target[order[i]]
            if count[k] > count[top] or (count[k] == count[top] and k < top):
                top = k
        for i in range(start, end):
            count[target[order[i]]] = 0
        answer[node] = top
    return answer


@dataclass(frozen=True)
class _Pruning:
    """Grows a tree and cuts it back to the price of a leaf that cross-validation finds best."""

    folds: int

    def __call__(
        self,
        training: TrainingRows,
        features: Sequence[int],
        target: Ints,
        classes: int,
        growth: Growth,
        seed: int,
    ) -> Tree:
        tree = grow_on(training, features, target, classes, growth, seed)
        rows = training.rows.size
        if len(tree.nodes) < 3 or rows < 2 * self.folds:  # noqa: PLR2004
            return tree
        price = collapse(tree.nodes, np.ascontiguousarray(tree.risks[:, 0])) / rows
        prices = np.unique(price[tree.nodes[:, 0] >= 0])
        above = np.append(prices[1:], 2 * prices[-1])
        tried = np.append(0.0, np.sqrt(prices * above))  # geometric means (sec. 8.5.2)
        if tried.size > MOST_TRIED:
            tried = tried[np.unique(np.linspace(0, tried.size - 1, MOST_TRIED).astype(int))]
        # folds are spread over the canonical order of the rows
        fold = (np.arange(rows) * 2_654_435_761 + seed % 1009) % 2**32 % self.folds
        loss = np.zeros(tried.size)
        for k in range(self.folds):
            loss += self._loss(
                grow_on(training.only(fold != k), features, target, classes, growth, seed),
                training.only(fold == k),
                target,
                classes,
                tried,
            )
        return cut_at(
            tree, np.flatnonzero((price <= tried[int(np.argmin(loss))]) & (tree.nodes[:, 0] >= 0))
        )

    @staticmethod
    def _loss(
        tree: Tree, held_out: TrainingRows, target: Ints, classes: int, tried: Floats
    ) -> Floats:
        """Return the loss on rows held out, for each price of a leaf."""
        price = collapse(tree.nodes, np.ascontiguousarray(tree.risks[:, 0])) / max(
            tree.order.size, 1
        )
        value = answers(tree.nodes, tree.order, target, classes)
        truth = target[held_out.rows]
        losses = []
        for alpha in tried:
            cut = cut_at(tree, np.flatnonzero((price <= alpha) & (tree.nodes[:, 0] >= 0)))
            predicted = value[cut.find(held_out.predictors, held_out.rows, held_out.groups)]
            losses.append(
                float(np.sum(predicted != truth) if classes else np.sum((predicted - truth) ** 2))
            )
        return np.array(losses)


def pruned_by(folds: int) -> Grow:
    """Return how trees are grown when they are pruned by cross-validation."""
    return _Pruning(folds)
