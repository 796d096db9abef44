"""The trees of a synthesis as text, for the custodian's page: splits show original values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.errors import PlanError
from veladura.methods.cart.readable import readable

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart

MOST_TREES = 12
LEVELS = 4


def tree_texts(fitted: FittedCart) -> dict[str, str]:
    """Return the first levels of the trees of some columns as text, by title."""
    texts: dict[str, str] = {}
    for name in fitted.table.names:
        if name in fitted.variables and len(texts) < MOST_TREES:
            try:
                texts[f"Tree of {name} (first levels)"] = tree_text(fitted, name)
            except PlanError:  # a column without a tree
                continue
    return texts


def tree_text(fitted: FittedCart, column: str, most_depth: int = LEVELS) -> str:
    """Return the tree of a column as text. For the custodian only: splits show original values."""
    return readable(fitted, column, deepest=most_depth).text(most_depth)
