"""The confusion table of a classification tree: sensitivity and specificity of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints
from veladura.errors import PlanError
from veladura.methods.cart.grown import grown_tree
from veladura.numeric.trees.prune import answers

if TYPE_CHECKING:
    import pandas as pd

    from veladura.methods.cart.fitted import FittedCart


@dataclass(frozen=True, eq=False, repr=False)
class Confusion:
    """How a classification tree classifies the rows it was grown on. For the custodian only.

    A row is classified as the most frequent class of its leaf.

    Attributes
    ----------
    classes
        The names of the classes.
    counts
        Rows by true class (down) and by class of the tree (across).
    """

    column: str
    classes: tuple[str, ...]
    counts: Ints

    def __repr__(self) -> str:
        return f"Confusion({self.column!r}, classes={len(self.classes)})"

    @property
    def error(self) -> float:
        """Share of rows that are classified wrongly."""
        return 1 - float(np.trace(self.counts)) / max(int(self.counts.sum()), 1)

    @property
    def sensitivity(self) -> dict[str, float]:
        """By class, the share of its rows that the tree classifies so."""
        rows = self.counts.sum(axis=1)
        return self._shares(np.diag(self.counts), rows)

    @property
    def specificity(self) -> dict[str, float]:
        """By class, the share of the other rows that the tree does not classify so."""
        total, rows, called = self.counts.sum(), self.counts.sum(axis=1), self.counts.sum(axis=0)
        right = total - rows - called + np.diag(self.counts)
        return self._shares(right, total - rows)

    def _shares(self, part: Ints, whole: Ints) -> dict[str, float]:
        shares = np.divide(part, whole, out=np.full(part.size, np.nan), where=whole > 0)
        return dict(zip(self.classes, shares.tolist(), strict=True))

    def table(self) -> pd.DataFrame:
        """Return the counts with sensitivity and specificity."""
        import pandas as pd

        frame = pd.DataFrame(self.counts, index=list(self.classes), columns=list(self.classes))
        frame.index.name = "true class"
        frame["sensitivity"] = pd.Series(self.sensitivity)
        frame["specificity"] = pd.Series(self.specificity)
        return frame

    def __str__(self) -> str:
        return str(self.table().to_string(float_format="{:.3f}".format))


def confusion_of(fitted: FittedCart, column: str, most: int | None = None) -> Confusion:
    """Return the confusion table of a column's classification tree.

    Parameters
    ----------
    most
        Most leaves: those of the largest subtree of the pruning sequence that has no more.
    """
    grown = grown_tree(fitted, column, most)
    if not grown.classes or grown.variable.places is not None:
        msg = (
            f"column {column!r} holds numbers: its tree classifies nothing.\n\nHint: see"
            f' fitted.leaves("{column}").'
        )
        raise PlanError(msg)
    tree, state = grown.tree, grown.variable.state
    start, end = tree.stretches().T
    leaf = tree.leaves()
    called = np.repeat(
        answers(tree.nodes, tree.order, state, grown.classes)[leaf].astype(np.int64),
        (end - start)[leaf],
    )
    rows = np.concatenate([tree.order[start[node] : end[node]] for node in leaf])
    size = grown.classes
    counts = np.bincount(state[rows] * size + called, minlength=size * size).reshape(size, size)
    return Confusion(column, tuple(grown.class_names[:size]), counts)
