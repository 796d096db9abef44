"""The models a column can be drawn from, behind one interface: ``draw_all(rng, where)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.methods.cart.joint import JointModel, grow_joint
from veladura.numeric.trees.model import Ground, Pair, TreeModel, Where, grow_pair, unpruned
from veladura.numeric.trees.tree import Growth, Tree
from veladura.numeric.trees.variable import Subject

if TYPE_CHECKING:
    from veladura.methods.cart.cart import Cart

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Drawn = list[tuple[Ints, Floats | None]]


class Model(Protocol):
    """What draws the columns of a unit."""

    def draw_all(self, rng: Generator, where: Where) -> Drawn:
        """Return states and numbers for each column of the unit."""


@runtime_checkable
class Reweighted(Protocol):
    """A model that is fitted anew for each dataset."""

    def weighted(self, rng: Generator) -> Model:
        """Return the model of one dataset."""


@dataclass(frozen=True, eq=False, repr=False)
class One:
    """A unit of one column."""

    model: TreeModel

    def draw_all(self, rng: Generator, where: Where) -> Drawn:
        """Return states and numbers of the column."""
        return [self.model.draw(rng, where)]


@dataclass(frozen=True, eq=False, repr=False)
class Together:
    """A unit of several columns."""

    model: JointModel

    def draw_all(self, rng: Generator, where: Where) -> Drawn:
        """Return states and numbers of every column."""
        return self.model.draw(rng, where)


def build(
    recipe: Cart, subjects: Sequence[Subject], ground: Ground, features: Sequence[int], seed: int
) -> Model:
    """Return the model of a unit as the recipe names it."""
    kind = recipe.models.get(subjects[0].name, recipe.model)
    growth = Growth(
        min_leaf=recipe.min_leaf, min_distinct=recipe.min_distinct, complexity=recipe.complexity
    )
    prune: Callable[..., Tree] = unpruned
    if recipe.prune:
        from veladura.numeric.trees.prune import pruned_by

        prune = pruned_by(recipe.prune)
    used = () if kind == "sample" else tuple(features)
    if len(subjects) > 1:
        return Together(grow_joint(subjects, ground, used, growth, prune, recipe.bandwidth))
    subject = subjects[0]
    if kind == "parametric":
        from veladura.methods.cart.parametric import fit_parametric

        return fit_parametric(subject, ground, used)
    if kind in ("bagging", "forest"):
        return One(
            TreeModel(
                subject,
                _many(subject, ground, used, growth, recipe.trees, seed, forest=kind == "forest"),
                recipe.bandwidth,
            )
        )
    return One(
        TreeModel(
            subject, (grow_pair(subject, ground, used, growth, prune, seed),), recipe.bandwidth
        )
    )


def _many(
    subject: Subject,
    ground: Ground,
    features: Sequence[int],
    growth: Growth,
    trees: int,
    seed: int,
    *,
    forest: bool,
) -> tuple[Pair, ...]:
    """Return trees on bootstrap samples of the rows (Breiman 1996); in a forest, a third of the columns is tried at each split."""
    rng = np.random.default_rng(seed)
    tried = max(1, len(features) // 3) if forest else 0
    grown = []
    for number in range(trees):
        rows = ground.rows
        picked = np.sort(rng.integers(rows.size, size=rows.size)) if rows.size else rows
        sample = Ground(
            ground.predictors,
            rows[picked],
            None if ground.groups is None else ground.groups[picked],
        )
        one = Growth(
            min_leaf=growth.min_leaf,
            min_distinct=growth.min_distinct,
            complexity=growth.complexity,
            tried=tried,
        )
        grown.append(grow_pair(subject, sample, features, one, unpruned, seed + number))
    return tuple(grown)


def margin(recipe: Cart, subjects: Sequence[Subject], ground: Ground, needed: bool) -> Model:  # noqa: FBT001
    """Return the model of a unit that no other column predicts: the last resort of rows that break a rule."""
    growth = Growth(min_leaf=recipe.min_leaf)
    if not needed:
        return One(TreeModel(subjects[0], (Pair(None, None),)))
    if len(subjects) > 1:
        return Together(grow_joint(subjects, ground, (), growth, unpruned, recipe.bandwidth))
    return One(
        TreeModel(
            subjects[0],
            (grow_pair(subjects[0], ground, (), growth, unpruned, 0),),
            recipe.bandwidth,
        )
    )
