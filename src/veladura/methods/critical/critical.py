"""The recipe that replaces critical cells only: which cells, which groups, which models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from veladura.base.bounds import Bounds, bounds_of
from veladura.base.checks import (
    MOST_DATASETS,
    MOST_DISTINCT,
    check_choice,
    check_fit_rows,
    check_whole,
    is_number,
)
from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.core.gates import NO_OWN_NUMBERS, SYNTHETIC
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.methods.cart.checks import SmoothingName, check_smoothing
from veladura.methods.cart.growing import check_transform
from veladura.methods.critical.cells import ALL, read_conditions
from veladura.methods.critical.mask import is_frame, read_mask
from veladura.methods.critical.promises import CHECKS, implied_by
from veladura.numeric.transforms import TransformName
from veladura.numeric.trees.law import MIN_PEOPLE
from veladura.numeric.trees.leaf import Draws

if TYPE_CHECKING:
    import pandas as pd

    from veladura.core.promise import Promise
    from veladura.methods.critical.fitted import FittedCritical
    from veladura.methods.critical.passing import FittedPassing
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

Others = Literal["keep", "replace"]
Scale = Literal["rank", "deviation"]


@dataclass(frozen=True, kw_only=True)
class CriticalCart(Recipe):
    """Partially synthetic data: replace critical cells only; every other cell stays as it is.

    A condition says which values of each confidential column are critical. A row that is critical
    in one column gets a new value from the leaves of a CART tree. Columns whose correlations must
    be kept form groups: rows that are critical in several columns of a group are clustered, and
    each gets the whole tuple of a donor in its cluster. Numbers that fewer than five people share
    are moved, those of a tuple together. Categories that fewer than five people hold are merged
    into others first.

    Parameters
    ----------
    critical
        By column, a condition such as ``"income > 200_000"``, an interval, or "all"; or a list of
        columns whose values are all critical; or a frame of true and false, cell by cell, with a
        column for each confidential one and the rows of the table in its order.
    mask
        The same cell by cell, as a frame or the path of a file: only cells that are true in it are
        critical. In a plan: ``critical = {income = "all"}``, ``mask = "cells.csv"``.
    rows
        A condition, or true or false for each row: only cells of these rows are critical.
    order
        The confidential columns in the order of replacement; by default the one with most critical
        cells first. `compare_orders` compares several.
    groups
        Lists of columns whose correlations are kept; proposed from the data by default. An empty
        list replaces column by column.
    linked
        Association (rank correlation or Cramér's V) from which two columns are proposed as a group.
    m
        Number of synthetic datasets. Standard errors of an analysis need at least 2.
    predictors
        Columns that may split the trees; all by default.
    keep_inside
        Whether a new value meets the condition too. If it need not, a released value does not
        disclose that the original one is critical, but fewer values lie in the critical range.
    others
        Whether the other values of the confidential columns are kept or replaced too ("keep",
        "replace").
    draws
        How donors are drawn, as in `Cart`: "bayesian" or "plain". By default Bayesian for several
        datasets and plain for one.
    smoothing
        Whether numbers that few people share are moved, as in `Cart` ("local"), tuples together; or
        only where a value came back to its own row ("none"). One for all columns, or by column.
    bandwidth
        Factor on the least step within a leaf or cluster.
    transform
        By confidential column, a transformation of its numbers that is undone before they are
        rounded, as in `Cart`: "log", "log1p", "sqrt" or "asinh". For numbers with a long tail:
        numbers are moved, and with ``scale="deviation"`` clustered, on that scale.
    min_leaf
        Fewest people in a leaf, and rows in a cluster.
    min_people
        A critical number that at least so many people share among the critical ones stays as it is,
        and a critical category that fewer people of the table hold is merged into another.
    min_distinct
        Smallest number of distinct values, or tuples, in a leaf or cluster.
    scale
        How numbers are standardised for clusters: by their rank (normal scores) or by their
        standard deviation ("rank", "deviation").
    spread
        A cluster is not split when its root-mean-square standard deviation (RMSSTD, of standardised
        columns) is at most this.
    regrow
        Grow the trees of each dataset again, on the data in which earlier columns are replaced.
    consistency
        Without groups: rows in which the same earlier columns were replaced draw from one node.
    tell
        Whether the manifest tells the recipient the conditions.
    fit_rows
        Most rows that are held: of a larger table all that have a critical cell, which must be no
        more; the others pass chunk by chunk. By default all rows, or those that a quarter of
        ``[run] memory`` holds where they do not fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame(
    ...     {"age": [30 + i % 40 for i in range(200)], "income": range(1000, 2400, 7)}
    ... )
    >>> recipe = vd.CriticalCart(critical={"income": "income > 2_000"}, groups=[], m=2)
    >>> release = recipe.protect(people, seed=7)
    >>> int((people["income"] > 2000).sum())
    57
    >>> [int((data["income"] != people["income"]).sum()) for data in release.datasets]
    [57, 57]

    References
    ----------
    Aslanyan, L. and Topchyan, V. (2013). Enhanced CART technologies in partial synthetic data
    generation.
    Reiter, J. P. (2005). Using CART to generate partially synthetic public use microdata. Journal
    of Official Statistics 21(3), 441-462.
    """

    method = "critical-cart"
    decisive = ("m", "min_leaf", "min_people")
    keeps_most = True
    sentence = (
        "Partially synthetic data: critical values were replaced by artificial ones, drawn from"
        " models of the original table. All other values are the original ones."
    )
    checks = CHECKS
    gate = SYNTHETIC
    firm_gate = NO_OWN_NUMBERS
    synthesizes = True
    chunked = True
    proposed: ClassVar[tuple[str, ...]] = ("critical", "groups")

    critical: Mapping[str, str | Bounds] = field(metadata={"private": True})
    mask: Any = field(default=None, repr=False, metadata={"private": True, "path": True})
    rows: str | Sequence[bool] | None = field(default=None, repr=False, metadata={"private": True})
    order: Sequence[str] | None = None
    groups: Sequence[Sequence[str]] | None = None
    linked: float = 0.5
    m: int = 5
    predictors: Sequence[str] | None = None
    keep_inside: bool = True
    others: Others = "keep"
    draws: Draws | None = None
    smoothing: SmoothingName | Mapping[str, SmoothingName] = "local"
    bandwidth: float = 1.0
    transform: Mapping[str, TransformName] = field(default_factory=dict, metadata={"private": True})
    min_leaf: int = 5
    min_people: int = MIN_PEOPLE
    min_distinct: int = 2
    scale: Scale = "rank"
    spread: float = 0.1
    regrow: bool = False
    consistency: bool = True
    tell: bool = False
    fit_rows: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_frame(self.critical):
            object.__setattr__(self, "mask", self.critical)
            object.__setattr__(self, "critical", list(read_mask(self.critical)))
        if self.mask is not None and not isinstance(self.mask, (str, Path)):
            object.__setattr__(self, "mask", read_mask(self.mask))
        object.__setattr__(self, "critical", _conditions(self.critical))
        if self.order is not None and sorted(self.order) != sorted(self.critical):
            msg = (
                f"order must name each confidential column once: {sorted(self.critical)}, got"
                f" {sorted(self.order)}."
            )
            raise PlanError(msg)
        if self.groups is not None:
            object.__setattr__(self, "groups", _groups(self.groups))
        if self.rows is not None and not isinstance(self.rows, str):
            object.__setattr__(self, "rows", tuple(bool(mark) for mark in self.rows))
        read_conditions(self.critical)
        if isinstance(self.rows, str):
            parse(self.rows)
        check_choice("others", self.others, get_args(Others))
        check_choice("scale", self.scale, get_args(Scale))
        if self.draws is not None:
            check_choice("draws", self.draws, get_args(Draws))
        if not isinstance(self.smoothing, Mapping):
            check_choice("smoothing", self.smoothing, get_args(SmoothingName))
        check_smoothing(self.smoothing)
        check_transform(self.transform)
        self._check_numbers()

    def _check_numbers(self) -> None:
        check_whole("m", self.m, 1, MOST_DATASETS)
        check_whole("min_leaf", self.min_leaf, 2)
        check_whole("min_people", self.min_people, 2)
        check_whole("min_distinct", self.min_distinct, 1, MOST_DISTINCT)
        check_fit_rows(self.fit_rows, self.min_leaf, ": a leaf needs them")
        if not is_number(self.linked) or not 0 < self.linked <= 1:
            msg = f"linked ({self.linked}) must be above 0 and at most 1."
            raise PlanError(msg)
        if not is_number(self.bandwidth) or self.bandwidth <= 0:
            msg = f"bandwidth ({self.bandwidth}) must be above 0."
            raise PlanError(msg)
        if not is_number(self.spread) or self.spread < 0:
            msg = f"spread ({self.spread}) must be at least 0."
            raise PlanError(msg)

    @property
    def kind_of_draws(self) -> Draws:
        """How donors are drawn: as asked, else Bayesian for several datasets and plain for one."""
        return self.draws or ("bayesian" if self.m > 1 else "plain")

    def moves(self, column: str) -> bool:
        """Whether numbers of a column that few people share are moved."""
        given = self.smoothing
        return (given.get(column) if isinstance(given, Mapping) else given) != "none"

    def apply(self, table: Table, context: Context) -> FittedCritical:
        """Find the critical cells, and grow the trees and clusters."""
        from veladura.methods.critical.fit import fit

        return fit(self, table, context)

    def apply_to_sample(self, table: Table, number: int, context: Context) -> FittedPassing:
        """Fit the rows that have critical cells; all others pass."""
        from veladura.methods.critical.passing import fit_passing

        return fit_passing(self, table, number, context)

    def indicators(self, table: Any) -> pd.DataFrame:
        """Return the indicator Z of the critical cells, in the order of the table. Private.

        A column ``<name>_replaced`` of true and false for each confidential column. To hand Z out,
        join them to the table before it is protected: they are then released as they are, named
        in the manifest and measured like every other column. They tell of every person whether
        the true value is critical.
        """
        from veladura.methods.critical.mask import indicators

        return indicators(self, table)

    def settings(self) -> dict[str, Any]:
        """Return the settings that the recipient may see: the conditions only with ``tell``."""
        public = super().settings()
        if self.tell:
            public["critical"] = {
                name: given if isinstance(given, str) else [given.min, given.max]
                for name, given in self.critical.items()
            }
        return public

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the confidential columns."""
        return tuple(self.critical)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises about critical cells that the settings tell."""
        return implied_by(settings)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> CriticalCart:  # noqa: ARG003
        """Refuse: thresholds can be proposed from the values only."""
        msg = (
            "critical-cart needs a condition for each confidential column.\n\nHint: give critical,"
            " or let veladura init propose thresholds from the table."
        )
        raise PlanError(msg)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> CriticalCart:
        """Suggest round thresholds that one value in twenty exceeds, and groups, to confirm."""
        from veladura.methods.critical.propose import propose_recipe

        return propose_recipe(cls, table, facts)


def _conditions(given: Any) -> dict[str, str | Bounds]:
    """Return the conditions by column; a list of names means whole columns."""
    if isinstance(given, str) or not given:
        msg = (
            f"critical must map columns to conditions, got {type(given).__name__}.\n\nHint: write"
            ' critical={"income": "income > 200_000"}, for instance.'
        )
        raise PlanError(msg)
    if not isinstance(given, Mapping):
        return {str(name): ALL for name in given}
    return {
        name: condition if isinstance(condition, str) else bounds_of(condition, f"critical.{name}")
        for name, condition in given.items()
    }


def _groups(given: Any) -> tuple[tuple[str, ...], ...]:
    groups = tuple(tuple(group) for group in given if not isinstance(group, str))
    if len(groups) < len(given) or any(len(group) < 2 for group in groups):  # noqa: PLR2004
        msg = (
            "groups must be a list of lists with at least two columns each.\n\nHint: write"
            ' groups=[["income", "wealth"]], for instance.'
        )
        raise PlanError(msg)
    return groups


__all__ = ["Bounds", "CriticalCart"]
