"""Growing the model of a unit: one tree, several, a regression, or the column by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.context import Context
from veladura.base.expression import Expression
from veladura.methods.cart.cart import Cart
from veladura.methods.cart.growing import growth_of
from veladura.methods.cart.joint import grow_joint
from veladura.methods.cart.order import Unit
from veladura.methods.cart.rules import decision_on
from veladura.methods.cart.strata import Strata
from veladura.methods.cart.unit_draw import UnitModel
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.linear import ScoredModel, moments_of, regressions_of, score_rows
from veladura.numeric.trees.model import Grow, Pair, TreeModel, grow_pair
from veladura.numeric.trees.people import growing_people
from veladura.numeric.trees.regression import Moments
from veladura.numeric.trees.tree import Growth, TrainingRows, grow_on
from veladura.numeric.trees.variable import Variable
from veladura.table.codes import Codes
from veladura.table.conditions import holds


@dataclass(frozen=True, eq=False, repr=False)
class UnitGrower:
    """Grows the models of units, as the recipe asks."""

    recipe: Cart
    codes: Codes
    variables: Mapping[str, Variable]
    predictors: Sequence[str]
    base: Predictors
    strata: Strata | None
    binding: Mapping[str, Sequence[Expression]]
    context: Context
    growing: Grow
    rows_per_term: float = 0.0
    moments: Sequence[Moments] = ()

    def grow(self, task: tuple[int, Unit]) -> UnitModel:
        """Return the model of a unit, for all datasets or for the one with trees of its own."""
        run, unit = task
        rows = self._rows(run)
        groups = None if self.strata is None else self.strata.groups(rows, unit.columns)
        training = TrainingRows(self.base, rows, groups)
        training = training.only(~self._decided(unit)[rows])
        seed = int(self.context.streams("cart", "seed", unit.name, run).integers(2**63))
        # where a rule decides some rows, the regressions are those of the others
        every = self.moments and training.rows.size == rows.size
        return self._model(unit, training, seed, self.moments[run] if every else None)

    def moments_of_run(self, run: int, units: Sequence[Unit]) -> Moments:
        """Return what the linear scores of all units share, for the trees of one run."""
        given = dict.fromkeys(name for unit in units for name in unit.given)
        # in the order of synthesis: what the first columns of all need is a part of it
        features = [self.predictors.index(name) for name in given]
        moments = moments_of(TrainingRows(self.base, self._rows(run)), features)
        _ = moments.root  # before threads share it
        return moments

    def _rows(self, run: int) -> Ints:
        """Return the rows that trees are grown on: all, or a bootstrap sample."""
        rows = np.arange(self.codes.rows.size)
        if not self.recipe.proper:
            return rows
        rng = self.context.streams("cart", "bootstrap", run)
        return np.sort(rng.integers(rows.size, size=rows.size))

    def margin(self, unit: Unit) -> UnitModel:
        """Return the model of a unit without predictors: the last resort of rows against a rule."""
        variables = [self.variables[name] for name in unit.columns]
        if not self.binding:
            return TreeModel(variables[0], (Pair(None, None),))
        training = TrainingRows(self.base, np.arange(self.codes.rows.size))
        growth = Growth(min_leaf=self.recipe.people_in_leaf)
        if len(variables) > 1:
            return grow_joint(variables, training, (), growth, grow_on, self.recipe.kind_of_draws)
        pair = grow_pair(variables[0], training, (), growth, draws=self.recipe.kind_of_draws)
        return TreeModel(variables[0], (pair,), self.recipe.kind_of_draws)

    def _decided(self, unit: Unit) -> Mask:
        """Return the rows whose value a rule decides: a tree learns nothing from them."""
        decided = np.zeros(self.codes.rows.size, dtype=bool)
        if len(unit.columns) > 1:
            return decided
        for rule in self.binding.get(unit.columns[0], ()):
            if (decision := decision_on(rule, unit.columns[0])) is not None:
                decided |= holds(decision.condition, self.codes)
        return decided

    def _model(
        self, unit: Unit, training: TrainingRows, seed: int, moments: Moments | None
    ) -> UnitModel:
        recipe, variables = self.recipe, [self.variables[name] for name in unit.columns]
        kind = recipe.models.get(unit.columns[0], recipe.model)
        growth = growth_of(recipe, variables[0])
        grow = self.growing
        given = () if kind == "sample" else unit.given
        features = tuple(self.predictors.index(name) for name in given)
        if len(variables) > 1:
            return grow_joint(variables, training, features, growth, grow, recipe.kind_of_draws)
        variable = variables[0]
        if kind == "parametric":
            from veladura.methods.cart.parametric import Regression

            return Regression(variable, training, features, recipe.kind_of_draws)
        scored = regressions = None
        if recipe.linear_scores:
            regressions = regressions_of(variable, training, features, moments, self.rows_per_term)
        if regressions is not None:
            scored = score_rows(regressions, training, features)
        if scored is not None:
            scores, training, features = scored
        if kind in ("bagging", "forest"):
            tried = max(1, len(features) // 3) if kind == "forest" else 0
            growth = replace(growth, tried=tried)
            pairs = _several(variable, training, features, growth, grow, recipe.trees, seed)
        else:
            pair = grow_pair(variable, training, features, growth, grow, seed, recipe.kind_of_draws)
            # rules decide some rows where moments are not shared: draws there are overwritten
            if recipe.calibrated and regressions is not None and moments is not None:
                pair = regressions.calibrated(pair)
            pairs = (pair,)
        model = TreeModel(variable, pairs, recipe.kind_of_draws)
        return model if scored is None else ScoredModel(scores, model)


def growing_of(recipe: Cart, people: Ints | None) -> Grow:
    """Return how a tree is grown: pruned if asked, with enough people in every leaf."""
    grow: Grow = grow_on
    if recipe.prune:
        from veladura.numeric.trees.prune import pruned_by

        grow = pruned_by(recipe.prune)
    return grow if people is None else growing_people(grow, people)


def _several(
    variable: Variable,
    training: TrainingRows,
    features: Sequence[int],
    growth: Growth,
    grow: Grow,
    trees: int,
    seed: int,
) -> tuple[Pair, ...]:
    """Return trees on bootstrap samples of the rows (Breiman 1996)."""
    rng = np.random.default_rng(seed)
    size = training.rows.size
    pairs = []
    for number in range(trees):
        picked: Ints = np.sort(rng.integers(size, size=size)) if size else training.rows
        sample = TrainingRows(
            training.predictors,
            training.rows[picked],
            None if training.groups is None else training.groups[picked],
        )
        pairs.append(grow_pair(variable, sample, features, growth, grow, seed + number))
    return tuple(pairs)
