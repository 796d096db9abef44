"""The recipe of sequential synthesis: which columns, in which order, by which model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from veladura.base.checks import check_columns, is_number
from veladura.base.context import Context
from veladura.core.gates import SYNTHETIC
from veladura.core.promise import LIMITS, Check
from veladura.core.recipe import Recipe
from veladura.errors import DataError, PlanError
from veladura.methods.cart.order import check_named, grouped
from veladura.methods.cart.rules import find_rules, read_rules, rows_against_rules
from veladura.methods.cart.single_numbers import single_numbers
from veladura.numeric.trees.column import check_levels
from veladura.numeric.trees.leaf import Smoothing

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

Model = Literal["cart", "bagging", "forest", "parametric", "sample"]
MAX_LEVELS = 20_000


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Smallest and largest number a column may hold."""

    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        if self.min is not None and self.max is not None and self.min > self.max:
            msg = "min must not be above max."
            raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class Cart(Recipe):
    """Replace columns by artificial values, drawn from the leaves of trees grown on the original.

    Columns are drawn one after the other, each given those that stay and those drawn before it.
    A row falls down the tree of a column to a leaf; a donor there is drawn by the Bayesian
    bootstrap, and a number is moved by a Gaussian kernel cut to the range of the leaf. With every
    column replaced the rows are new ones, linked to none of the original.

    Parameters
    ----------
    columns
        The columns to replace; all of them by default.
    m
        Number of datasets. Standard errors of an analysis need at least 2 when some columns stay.
    order
        Columns in the order they are drawn ("given": that of the table; "dependence": strong ties
        first), or names.
    predictors
        Columns that may predict, or by column those that predict it; by default all that stay or
        were drawn before.
    groups
        Columns that are drawn together, from one donor.
    strata
        Columns or conditions: each combination is synthesised by itself.
    rows
        Rows of each dataset, when every column is replaced; as many as the original by default.
    proper
        Grow the trees of each dataset on a bootstrap sample of its own.
    model
        Draw from a tree ("cart"), several trees ("bagging", "forest"), a regression ("parametric"),
        or the column alone ("sample").
    models
        Another model for some columns.
    trees
        Number of trees of "bagging" and "forest".
    smoothing
        Move each donor's number by a normal, no farther than its neighbours in the leaf ("local"),
        by the one bandwidth of the leaf and cut to its range ("kernel", the method as published),
        or take it as it is ("none").
    bandwidth
        Factor on the robust bandwidth of the kernel.
    republish
        Columns in which a number that occurs once in the original may come out; none by default.
    spikes
        By column, values that many rows share and that stay as they are; found where not named.
    rules
        Conditions that hold in every row, as in ``smoke == "NO" implies nociga == -8``.
    limits
        By column, the smallest and largest number allowed.
    min_leaf
        Fewest rows in a leaf. A leaf of one would copy its row.
    min_distinct
        Fewest different values in a leaf.
    complexity
        Share of the root's impurity that every split must remove; none by default.
    prune
        Folds of the cross-validation that prunes the trees; 0 for none.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "income": [1000 + 7 * i for i in range(100)]})
    >>> release = vd.Cart(columns=["income"], m=2).protect(people, seed=7)
    >>> len(release.datasets), release.rule
    (2, 'partial')

    References
    ----------
    Reiter, J. P. (2005). Using CART to generate partially synthetic public use microdata. Journal
    of Official Statistics 21(3), 441-462.
    Drechsler, J. and Reiter, J. P. (2011). An empirical evaluation of easily implemented,
    nonparametric methods for generating synthetic datasets. Computational Statistics and Data
    Analysis 55(12), 3232-3243.
    """

    method = "cart"
    sentence = "Values were replaced by artificial ones, drawn from a model of the original table."
    checks = {
        "limits": LIMITS,
        "rules": Check(rows_against_rules),
        "single-numbers": Check(single_numbers, linked=False),
    }
    gate = SYNTHETIC
    synthesizes = True

    columns: tuple[str, ...] | None = None
    m: int = 5
    order: Literal["given", "dependence"] | tuple[str, ...] = "given"
    predictors: tuple[str, ...] | Mapping[str, tuple[str, ...]] | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    strata: tuple[str, ...] = ()
    rows: int | None = None
    proper: bool = False
    model: Model = "cart"
    models: Mapping[str, Model] = field(default_factory=dict)
    trees: int = 10
    smoothing: Smoothing = "local"
    bandwidth: float = 1.0
    republish: tuple[str, ...] = ()
    spikes: Mapping[str, tuple[float, ...]] = field(
        default_factory=dict, metadata={"private": True}
    )
    rules: tuple[str, ...] = ()
    limits: Mapping[str, Bounds] = field(default_factory=dict)
    min_leaf: int = 5
    min_distinct: int = 1
    complexity: float = 0.0
    prune: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _freeze(self)
        if self.columns is not None:
            check_columns(self.columns, "the columns to replace, or leave columns out for all")
        self._check_numbers()
        for setting, value, possible in (
            ("model", self.model, get_args(Model)),
            ("smoothing", self.smoothing, get_args(Smoothing)),
            *(
                (f"models.{name}: model", model, get_args(Model))
                for name, model in self.models.items()
            ),
            *(
                (("order", self.order, ("given", "dependence")),)
                if isinstance(self.order, str)
                else ()
            ),
        ):
            if value not in possible:
                raise PlanError.unknown(setting, str(value), possible)
        twice = [
            name
            for i, group in enumerate(self.groups)
            for name in group
            if any(name in other for other in self.groups[:i])
        ]
        if twice:
            msg = f"groups: columns that stand in two groups: {twice}."
            raise PlanError(msg)
        read_rules(self.rules)

    def _check_numbers(self) -> None:
        for name, least in (
            ("m", 1),
            ("trees", 1),
            ("min_leaf", 2),
            ("min_distinct", 1),
            ("prune", 0),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                why = ": a leaf of one copies its row" if name == "min_leaf" else ""
                msg = f"{name} ({value}) must be a whole number of at least {least}{why}."
                raise PlanError(msg)
        if self.prune == 1:
            msg = "prune (1) must be 0 or the number of folds, at least 2."
            raise PlanError(msg)
        if self.rows is not None and (
            isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1
        ):
            msg = f"rows ({self.rows}) must be a whole number of at least 1."
            raise PlanError(msg)
        if not is_number(self.bandwidth) or self.bandwidth <= 0:
            msg = f"bandwidth ({self.bandwidth}) must be above 0."
            raise PlanError(msg)
        if not is_number(self.complexity) or not 0 <= self.complexity < 1:
            msg = f"complexity ({self.complexity}) must be a share from 0 to below 1."
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedCart:
        """Grow the trees."""
        from veladura.methods.cart.fitted import fit

        return fit(self, table, context)

    def replaced(self, schema: Schema) -> list[str]:
        """Return the columns to replace, in the order of the table."""
        if self.columns is not None:
            schema.check("columns", self.columns)
        names = [name for name in schema.names if self.columns is None or name in self.columns]
        if text := [name for name in names if schema[name].kind == "text"]:
            msg = (
                f"columns of free text cannot be synthesised: {text}.\n\nHint: declare role"
                " 'identifier' to drop them, or another kind."
            )
            raise PlanError(msg)
        everything = set(names) == set(schema.names)
        if self.rows is not None and not everything:
            msg = (
                "rows can be chosen only when every column is replaced.\n\nHint: leave rows out, or"
                " columns."
            )
            raise PlanError(msg)
        for setting, named in (
            ("groups", [name for group in self.groups for name in group]),
            ("models", list(self.models)),
            ("limits", list(self.limits)),
            ("spikes", list(self.spikes)),
            ("republish", list(self.republish)),
            ("order", [] if isinstance(self.order, str) else list(self.order)),
            ("predictors", list(self.predictors) if isinstance(self.predictors, Mapping) else []),
        ):
            check_named(setting, named, names)
        return names

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Cart:
        """Suggest that every column be replaced; weights last, for they depend on the rest."""
        if text := [f.name for f in schema if f.kind == "text"]:
            msg = (
                f"columns of free text cannot be synthesised: {text}.\n\nHint: declare role"
                " 'identifier' to drop them."
            )
            raise PlanError(msg)
        if (
            not any(fact.present for fact in facts.values())
            or max(fact.rows for fact in facts.values()) < cls.min_leaf
        ):
            msg = (
                f"the table has fewer rows than a leaf ({cls.min_leaf}): there is nothing to draw"
                " from."
            )
            raise PlanError(msg)
        weights = schema.of_role("weight")
        if not weights:
            return cls()
        return cls(order=(*(name for name in schema.names if name not in weights), *weights))

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Cart:
        """Suggest also the rules that the table seems to follow, for the holder to confirm."""
        suggested = cls.suggest(table.schema, facts)
        codes = table.codes(table.names)
        for column in codes.values():
            check_levels(column, MAX_LEVELS)
        return replace(suggested, rules=find_rules(codes))


def _freeze(recipe: Cart) -> None:
    """Turn lists inside settings into tuples, and pairs of limits into bounds."""
    given: dict[str, Any] = {f.name: getattr(recipe, f.name) for f in fields(recipe)}
    if isinstance(given["republish"], bool):
        msg = "republish names the columns in which single numbers may come out, as a list."
        raise PlanError(msg)
    tidy = {
        "groups": tuple(tuple(group) for group in given["groups"]),
        "predictors": (
            {k: tuple(v) for k, v in given["predictors"].items()}
            if isinstance(given["predictors"], Mapping)
            else given["predictors"]
        ),
        "spikes": {
            name: tuple(float(x) for x in values) for name, values in given["spikes"].items()
        },
        "limits": {name: bounds_of(pair, "limits") for name, pair in given["limits"].items()},
        "models": dict(given["models"]),
    }
    for name, value in tidy.items():
        object.__setattr__(recipe, name, value)


def bounds_of(given: Any, setting: str) -> Bounds:
    """Return bounds from a pair, a table of min and max, or bounds."""
    if isinstance(given, Bounds):
        return given
    if isinstance(given, Sequence) and len(given) == 2:  # noqa: PLR2004
        low, high = (None if end is None or math.isinf(end) else float(end) for end in given)
        return Bounds(min=low, max=high)
    if isinstance(given, Mapping) and set(given) <= {"min", "max"}:
        return Bounds(**given)
    msg = (
        f'{setting}: each column has a min, a max, or both, as in {{"age": {{"min": 0, "max":'
        " 110}}."
    )
    raise PlanError(msg)


def check_rows(rows: int, min_leaf: int) -> None:
    """Refuse a table with fewer rows than a leaf."""
    if rows < min_leaf:
        msg = (
            f"the table has {rows} rows, fewer than a leaf (min_leaf = {min_leaf}): there is"
            " nothing to draw from.\n\nHint: give more rows."
        )
        raise DataError(msg)


__all__ = ["Bounds", "Cart", "bounds_of", "check_rows", "grouped"]
