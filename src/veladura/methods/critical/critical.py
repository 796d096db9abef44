"""The recipe that replaces critical cells only: which they are, which columns belong together, how far values may move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from veladura.base.checks import check_choice, is_number
from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.core.gates import SYNTHETIC
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.methods.cart.cart import Bounds, bounds_of
from veladura.methods.critical.cells import ALL, read_conditions
from veladura.methods.critical.claims import CHECKS
from veladura.numeric.trees.leaf import Smoothing

if TYPE_CHECKING:
    from veladura.methods.critical.fitted import FittedCritical
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

Others = Literal["keep", "replace"]
Scale = Literal["rank", "deviation"]


@dataclass(frozen=True, kw_only=True)
class CriticalCart(Recipe):
    """Replace critical cells by artificial values, correlated ones as whole tuples; everything else stays true.

    A condition marks the critical values of each confidential column. Columns whose correlations
    must survive form groups; rows that are critical in several columns of a group are clustered,
    and each gets the tuple of a donor of its cluster, moved by a joint kernel. A value that is
    critical alone is drawn from the leaves of a tree.

    Parameters
    ----------
    critical
        By column, a condition such as ``"income > 200_000"``, an interval, or "all"; or names of
        columns, all of whose values are critical.
    rows
        A condition, or true and false for each row: only cells of these rows are critical.
    groups
        Columns whose joint structure is kept; proposed from the data by default, none for
        replacement column by column.
    linked
        The tie (rank correlation or Cramér's V) from which two columns are proposed as a group.
    m
        Number of datasets. Standard errors of an analysis need at least 2.
    predictors
        Columns that may split the trees; by default all.
    keep_inside
        Whether a new value meets the condition of the old one. If not, nobody can tell that the
        true value is critical, but its range thins out.
    others
        Whether the other values of the confidential columns are kept or replaced too ("keep",
        "replace").
    smoothing
        Move every replaced number, one drawn alone as `Cart` does ("local", "kernel"), a tuple by a
        joint kernel; or hand out values of other rows and move only those that came back ("none").
    bandwidth
        Factor on the bandwidth of the kernels.
    min_leaf
        Fewest rows in a leaf or cluster.
    min_distinct
        Fewest different values, or tuples, in a leaf or cluster.
    scale
        How numbers are made comparable in clusters: by their rank (as normal scores), or by their
        standard deviation ("rank", "deviation").
    spread
        A cluster whose root-mean-square standard deviation (columns standardised) is at most this
        is not split.
    regrow
        Grow each tree on the data as they stand, earlier columns replaced, anew for each dataset.
    consistency
        Without groups: rows with the same columns already replaced draw from one node of a tree.
    tell
        Whether the recipient is told the conditions.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"age": [30 + i % 40 for i in range(200)], "income": [1000 + 7 * i for i in range(200)]})
    >>> release = vd.CriticalCart(critical={"income": "income > 2_000"}, groups=[], m=2).protect(people, seed=7)
    >>> [int((data["income"] != people["income"]).sum()) for data in release.datasets], int((people["income"] > 2000).sum())
    ([57, 57], 57)

    References
    ----------
    Aslanyan, L. and Topchyan, V. (2013). Enhanced CART technologies in partial synthetic data
    generation.
    Reiter, J. P. (2005). Using CART to generate partially synthetic public use microdata. Journal
    of Official Statistics 21(3), 441-462.
    """

    method = "critical-cart"
    sentence = (
        "Critical values were replaced by artificial ones, drawn from a model of the original"
        " table. The other values are as they were."
    )
    checks = CHECKS
    gate = SYNTHETIC
    synthesizes = True
    proposed: ClassVar[tuple[str, ...]] = ("critical", "groups")

    critical: Mapping[str, str | Bounds] = field(metadata={"private": True})
    rows: str | tuple[bool, ...] | None = field(
        default=None, repr=False, metadata={"private": True}
    )
    groups: tuple[tuple[str, ...], ...] | None = None
    linked: float = 0.5
    m: int = 5
    predictors: tuple[str, ...] | None = None
    keep_inside: bool = True
    others: Others = "keep"
    smoothing: Smoothing = "local"
    bandwidth: float = 1.0
    min_leaf: int = 5
    min_distinct: int = 2
    scale: Scale = "rank"
    spread: float = 0.1
    regrow: bool = False
    consistency: bool = True
    tell: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "critical", _conditions(self.critical))
        if self.groups is not None:
            object.__setattr__(self, "groups", _groups(self.groups))
        if self.rows is not None and not isinstance(self.rows, str):
            object.__setattr__(self, "rows", tuple(bool(mark) for mark in self.rows))
        read_conditions(self.critical)
        if isinstance(self.rows, str):
            parse(self.rows)
        check_choice("others", self.others, get_args(Others))
        check_choice("scale", self.scale, get_args(Scale))
        check_choice("smoothing", self.smoothing, get_args(Smoothing))
        self._check_numbers()

    def _check_numbers(self) -> None:
        for name, least in (("m", 1), ("min_leaf", 2), ("min_distinct", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                msg = f"{name} ({value}) must be a whole number of at least {least}."
                raise PlanError(msg)
        if not is_number(self.linked) or not 0 < self.linked <= 1:
            msg = f"linked ({self.linked}) must be above 0 and at most 1."
            raise PlanError(msg)
        if not is_number(self.bandwidth) or self.bandwidth <= 0:
            msg = f"bandwidth ({self.bandwidth}) must be above 0."
            raise PlanError(msg)
        if not is_number(self.spread) or self.spread < 0:
            msg = f"spread ({self.spread}) must not be below 0."
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedCritical:
        """Find the critical cells, and grow the trees and clusters."""
        from veladura.methods.critical.fit import fit

        return fit(self, table, context)

    def settings(self) -> dict[str, Any]:
        """Return the settings that the recipient is told: the conditions only if asked to."""
        told = super().settings()
        if self.tell:
            told["critical"] = {
                name: given if isinstance(given, str) else [given.min, given.max]
                for name, given in self.critical.items()
            }
        return told

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> CriticalCart:  # noqa: ARG003
        """Refuse: thresholds can be proposed only by looking at the values."""
        msg = (
            "critical-cart needs a threshold for each confidential column.\n\nHint: give critical,"
            " or let veladura init look at the table."
        )
        raise PlanError(msg)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> CriticalCart:
        """Suggest round thresholds above which one value in twenty lies, and groups, for the holder to confirm."""
        from veladura.methods.critical.propose import propose_recipe

        return propose_recipe(cls, table, facts)


def _conditions(given: Any) -> dict[str, str | Bounds]:
    """Return the conditions by column; names alone stand for whole columns."""
    if isinstance(given, str) or not given:
        msg = (
            'critical names confidential columns with their conditions, as in {"income": "income >'
            ' 200_000"}.'
        )
        raise PlanError(msg)
    if not isinstance(given, Mapping):
        return {str(name): ALL for name in given}
    return {
        name: one if isinstance(one, str) else bounds_of(one, f"critical.{name}")
        for name, one in given.items()
    }


def _groups(given: Any) -> tuple[tuple[str, ...], ...]:
    groups = tuple(tuple(group) for group in given if not isinstance(group, str))
    if len(groups) < len(given) or any(len(group) < 2 for group in groups):  # noqa: PLR2004
        msg = (
            'groups is a list of lists with at least two columns each, as in [["income",'
            ' "wealth"]].'
        )
        raise PlanError(msg)
    return groups


__all__ = ["Bounds", "CriticalCart"]
