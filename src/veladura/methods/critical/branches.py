"""Branches: rows with the same critical columns, and the model that replaces their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.methods.critical.cells import Cells, Pattern
from veladura.methods.critical.constraints import CriticalConstraints, constraints_of
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.groups import ColumnClass
from veladura.methods.critical.rare import RareLevels
from veladura.methods.critical.single import SingleModel, TreeGrower
from veladura.methods.critical.tuples import TupleModel, cluster, tuple_numbers
from veladura.numeric.trees.bins import Binning, Predictors, bin_columns
from veladura.numeric.trees.model import Grow
from veladura.numeric.trees.people import growing_people
from veladura.numeric.trees.tree import Growth, Tree, grow_on
from veladura.numeric.trees.variable import Variable, variable_of
from veladura.table.codes import Codes, Column


@dataclass(frozen=True, eq=False, repr=False)
class Branch:
    """Rows of a class with the same critical columns, and what their new values are drawn from.

    Attributes
    ----------
    widened
        Whether the donors are more rows than those of the branch, because it has too few.
    rest
        Whether it is about the other cells of a column, not the critical ones.
    """

    columns: tuple[str, ...]
    rows: Ints
    model: SingleModel | TupleModel
    widened: bool = False
    rest: bool = False

    @property
    def name(self) -> str:
        """The name of its random stream."""
        return "+".join(self.columns) + (" rest" if self.rest else "")


@dataclass(frozen=True, eq=False, repr=False)
class BranchGrower:
    """Grows the models of branches: trees for one critical column, clusters for several."""

    recipe: CriticalCart
    codes: Codes
    cells: Cells
    constraints: dict[str, CriticalConstraints]
    binnings: dict[str, Binning]
    base: Predictors
    people: Ints | None
    coded: Sequence[str]
    rare: RareLevels

    @classmethod
    def of(
        cls,
        recipe: CriticalCart,
        codes: Codes,
        cells: Cells,
        predictors: Sequence[str],
        people: Ints | None = None,
        coded: Sequence[str] = (),
        rare: RareLevels | None = None,
    ) -> BranchGrower:
        """Return what grows the branches of a table.

        Parameters
        ----------
        people
            Whose row each is; every row is a person by default.
        coded
            Columns of codes that are written as numbers: they are never moved.
        rare
            The columns with rare levels, merged: donors are taken from these.
        """
        rare = RareLevels() if rare is None else rare
        constraints = {
            name: constraints_of(
                _variable(
                    recipe, rare.columns.get(name, codes[name]), cells, people, coded=name in coded
                ),
                condition,
                codes,
                cells.marks[name],
                inside=recipe.keep_inside,
            )
            for name, condition in cells.conditions.items()
        }
        for name, merged in rare.cells.items():  # these have another value already
            fixed = constraints[name].fixed & ~merged
            constraints[name] = replace(constraints[name], fixed=fixed)
        binnings, base = bin_columns({name: codes[name] for name in codes if name in predictors})
        return cls(recipe, codes, cells, constraints, binnings, base, people, coded, rare)

    def branch(self, class_: ColumnClass, pattern: Pattern) -> Branch:
        """Return a branch: clusters where rows are critical in several columns, else a tree."""
        if len(pattern.columns) == 1:
            return self._single(pattern)
        return self._tuples(class_, pattern)

    def rest(self, name: str) -> Branch | None:
        """Return the branch of a column's other cells, or None when there are none."""
        mark = ~self.cells.marks[name]
        if not mark.any():
            return None
        constraints = constraints_of(
            _variable(
                self.recipe,
                self.rare.columns.get(name, self.codes[name]),
                self.cells,
                self.people,
                coded=name in self.coded,
                rest=True,
            ),
            self.cells.conditions[name],
            self.codes,
            mark,
            inside=False,
        )
        free = replace(constraints, outside=True, fixed=np.zeros(mark.size, dtype=bool))
        rows = np.flatnonzero(mark)
        return Branch((name,), rows, self._model(free, rows, None), rest=True)

    def _single(self, pattern: Pattern) -> Branch:
        """Return a tree on the rows of the branch.

        When they are too few it is grown on all rows that are critical in the column.
        """
        name, recipe = pattern.columns[0], self.recipe
        constraints, mark = self.constraints[name], self.cells.marks[name]
        if not recipe.keep_inside and not constraints.variable.moves:
            model = self._model(constraints, np.arange(mark.size), None)
            return Branch(pattern.columns, pattern.rows, model)
        rows = pattern.rows
        if widened := not self._enough([constraints], rows):
            rows = np.flatnonzero(mark)
        if rows.size < 2 * recipe.min_leaf:
            model = self._model(constraints, np.arange(mark.size), mark)
        else:
            model = self._model(constraints, rows, None)
        widened = widened and rows.size > pattern.rows.size
        return Branch(pattern.columns, pattern.rows, model, widened)

    def _model(
        self, constraints: CriticalConstraints, rows: Ints, donors: Mask | None
    ) -> SingleModel:
        recipe = self.recipe
        own = constraints.variable.name
        features = [i for i, other in enumerate(self.binnings) if other != own]
        growth = Growth(min_leaf=recipe.min_leaf, min_distinct=recipe.min_distinct)
        grow: Grow = grow_on if self.people is None else growing_people(grow_on, self.people)
        grower = TreeGrower(constraints, rows, donors, features, growth, grow)
        return SingleModel(
            constraints,
            grower.grow(self.base),
            grower,
            recipe.kind_of_draws,
            recipe.moves(own),
            recipe.regrow,
        )

    def _tuples(self, class_: ColumnClass, pattern: Pattern) -> Branch:
        """Return the clusters of a combination of critical columns.

        When its rows are too few, all rows that are critical in at least these columns are donors.
        """
        recipe = self.recipe
        constraints = [self.constraints[name] for name in pattern.columns]
        donors = pattern.rows
        if not self._enough(constraints, donors):
            marks = [self.cells.marks[name] for name in pattern.columns]
            donors = np.flatnonzero(np.logical_and.reduce(marks))
        members = [self._on_scale(name) for name in (*class_.confidential, *class_.others)]
        tree, leaves = cluster(
            constraints,
            members,
            donors,
            pattern.rows,
            min_leaf=recipe.min_leaf,
            min_distinct=recipe.min_distinct,
            spread=recipe.spread,
            scale=recipe.scale,
        )
        still = tuple(name for name in pattern.columns if not recipe.moves(name))
        model = TupleModel(constraints, tree, pattern.rows, leaves, recipe.kind_of_draws, still)
        return Branch(pattern.columns, pattern.rows, model, donors.size > pattern.rows.size)

    def _on_scale(self, name: str) -> Column:
        """Return a column as distances see it: its numbers transformed, if they are.

        A spike that has no transformed value, such as zero, is as far as the smallest number.
        """
        column = self.codes[name]
        variable = self.constraints[name].variable if name in self.constraints else None
        if variable is None or variable.transform is None or not (variable.state == 0).any():
            return column
        scaled = variable.scaled()
        least = scaled[variable.state == 0].min()
        return column.with_values(np.where(variable.state == 0, scaled, least), column.missing)

    def _enough(self, constraints: Sequence[CriticalConstraints], rows: Ints) -> bool:
        """Whether rows make a leaf: enough of them, with enough distinct values."""
        if rows.size < self.recipe.min_leaf:
            return False
        return int(tuple_numbers(constraints, rows).max()) + 1 >= self.recipe.min_distinct

    def tree_of(self, name: str, others: Sequence[str]) -> tuple[Tree | None, dict[int, str]]:
        """Return the tree of a column on its critical rows, and which features are the others."""
        rows = np.flatnonzero(self.cells.marks[name])
        pair = self._model(self.constraints[name], rows, None).pair
        features = {i: other for i, other in enumerate(self.binnings) if other in others}
        return pair.numbers or pair.states, features


def _variable(
    recipe: CriticalCart,
    column: Column,
    cells: Cells,
    people: Ints | None,
    *,
    coded: bool,
    rest: bool = False,
) -> Variable:
    """Return how a column is drawn; no number changes its sign.

    Its law is that of the critical numbers, or of the rest. Values that many rows share are states
    of their own only where the whole column is replaced. Also with smoothing "none" numbers can
    move: those that came back to their own row must.
    """
    limits: tuple[float | None, float | None] = (None, None)
    if column.labels is None and column.field.kind != "date":
        values = column.values[~column.missing]
        limits = (
            0.0 if values.size and values.min() >= 0 else None,
            0.0 if values.size and values.max() <= 0 else None,
        )
    whole = cells.conditions[column.name].expression is None
    mark = cells.marks[column.name]
    return variable_of(
        column,
        spikes=None if whole else (),
        smoothing="none" if coded else "local",
        limits=limits,
        people=people,
        among=~mark if rest else mark,
        bandwidth=recipe.bandwidth,
        min_people=recipe.min_people,
        transform=recipe.transform.get(column.name),
    )
