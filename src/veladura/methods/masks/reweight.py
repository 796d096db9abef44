"""Sampling weights: rounded so that they single out nobody, and brought back to their total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Floats, Ints
from veladura.base.checks import is_number
from veladura.base.context import Context
from veladura.core.gates import MASKED
from veladura.core.promise import Check, Evidence, Promise, listed
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import PlanError
from veladura.methods.masks.recode_rules import MOST_DIGITS, significant
from veladura.methods.masks.replicate_weights import check_sampling_weights, replicates_of
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

TOLERANCE = 1e-9  # of the total: what sums of floating-point numbers lose


def other_total(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return 1 if the released weights do not add up to the promised total."""
    total = float(np.nansum(evidence.column(settings["columns"][0]).numbers()))
    return int(not np.isclose(total, settings["total"], rtol=TOLERANCE, atol=0.0))


def _weight_total(settings: Mapping[str, Any]) -> str:
    return f"The weights in {listed(settings)} add up to {settings['total']:,.10g}."


WEIGHT_TOTAL = Check(
    other_total,
    _weight_total,
    shapes.table(
        {"columns": shapes.listed(shapes.name, 1, 1), "total": shapes.number(0, above=True)}
    ),
)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class Reweight(Recipe):
    """Sampling weights: rounded, then scaled to a declared total.

    Rows that another step left out take their weights with them. Scaling gives the rest back the
    size of the population (with ``rows``, about that size). Rounding makes people share their
    weight: one with many digits tells who someone is, and which rows belong to one household.
    Replicate weights of the column (by their role) are multiplied by the same factors, row by row.

    Parameters
    ----------
    column
        The column of sampling weights.
    total
        What the released weights add up to, such as the size of the population, from public
        knowledge: the total of the data tells the weight of somebody who was left out. By default
        what the rounded weights add up to: the exact sum would tell the weight of one person to
        whoever knows all others. Where few different weights occur, rounding may move the total by
        some per cent: give the total of a census there. Whole weights may miss it by a few:
        people with equal weights keep equal ones, and the promise states the total that is reached.
    rows
        Rows of the whole table, those that an earlier step left out included. Without a total,
        weights are raised by the share that was left out, as for nonresponse: the total depends on
        released rows only, and says nothing of the others but how many they are.
    digits
        Significant digits that a weight keeps before it is scaled.
    lower, upper
        Weights beyond them are trimmed to them, before anything else. A few people with very large
        weights stand out, whatever is rounded.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"w": [101.2, 98.9, 203.7]})
    >>> vd.Reweight(column="w", total=1000, digits=1).protect(table).datasets[0]["w"].tolist()
    [250.0, 250.0, 500.0]

    References
    ----------
    Willenborg, L. and de Waal, T. (2001). Elements of Statistical Disclosure Control. Springer
    (section 5.7: weights disclose strata).
    """

    method = "reweight"
    decisive = ("total", "rows", "digits", "lower", "upper")
    sentence = (
        "Sampling weights were rounded, and scaled so that they add up to the declared total."
    )
    caution = "weights were rounded and scaled; design-based variances are approximate"
    checks = {"weight-total": WEIGHT_TOTAL}
    gate = MASKED
    random = False

    column: str
    total: float | None = None
    rows: int | None = None
    digits: int = 2
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str) or not self.column:
            msg = "column must name the column of sampling weights."
            raise PlanError(msg)
        if self.total is not None and not (is_number(self.total) and self.total > 0):
            msg = f"total ({self.total}) must be a number above 0."
            raise PlanError(msg)
        if self.rows is not None and not (_is_whole(self.rows) and self.rows > 0):
            msg = f"rows ({self.rows}) must be a whole number of at least 1."
            raise PlanError(msg)
        ends = [end for end in (self.lower, self.upper) if end is not None]
        if not all(is_number(end) and end > 0 for end in ends) or ends != sorted(ends):
            msg = (
                f"lower ({self.lower}) and upper ({self.upper}) must be numbers above 0, lower not"
                " above upper."
            )
            raise PlanError(msg)
        if not (_is_whole(self.digits) and 1 <= self.digits <= MOST_DIGITS):
            msg = f"digits ({self.digits}) must be a whole number from 1 to {MOST_DIGITS}."
            raise PlanError(msg)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the column of weights."""
        return (self.column,)

    def apply(self, table: Table, context: Context) -> FittedReweight:  # noqa: ARG002
        """Check that the column holds weights."""
        check_kinds(table.schema, (self.column,), NUMERIC, "weights are numbers.")
        replicates = replicates_of(table, self.column)
        check_kinds(table.schema, replicates, NUMERIC, "replicate weights are numbers.")
        codes = table.codes((self.column, *replicates))
        for name in (self.column, *replicates):
            check_sampling_weights(codes[name])
        return FittedReweight(self, table, codes, replicates)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise of the total."""
        weights = {"columns": [settings["column"]], "total": settings["total"]}
        return (Promise("weight-total", "package", weights),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Reweight:  # noqa: ARG003
        """Suggest the column declared as the weight."""
        if not (weights := schema.of_role("weight")):
            msg = 'no column is a weight.\n\nHint: declare one: role = "weight".'
            raise PlanError(msg)
        return cls(column=weights[0])


def _total(weights: Floats, recipe: Reweight) -> float:
    """Return what the released weights shall add up to.

    Without a declared total it is made of the trimmed and rounded weights that are released: it
    tells no digit more of anybody's weight than they do, and nothing of who was left out.
    """
    if recipe.total is not None:
        return float(recipe.total)
    left_out = 1.0 if recipe.rows is None else recipe.rows / weights.size
    return float(np.nansum(weights)) * left_out


def _whole(weights: Floats, total: int) -> Ints:
    """Return weights as whole numbers: equal ones stay equal, so that nobody is set apart.

    What rounding adds to the total or takes from it goes back to whole groups of equal weights, the
    largest first. Less than the smallest of them may be left.
    """
    levels, group, sizes = np.unique(weights, return_inverse=True, return_counts=True)
    whole = np.rint(levels).astype(np.int64)
    left = total - int((whole * sizes).sum())
    for place in np.argsort(-sizes, kind="stable"):
        step = int(np.sign(left))
        if 0 < sizes[place] <= abs(left) and whole[place] + step > 0 and levels[place] > 0:
            whole[place] += step
            left -= step * int(sizes[place])
    each: Ints = whole[group]
    return each


def _multiplied(column: Column, factor: Floats) -> Column:
    """Return replicates of weights that were multiplied: exact ones would give these back."""
    made = np.where(column.missing, 0.0, np.nan_to_num(column.numbers()) * factor)
    if column.values.dtype.kind == "f":
        return column.with_values(made)
    return column.with_values(np.rint(made).astype(column.values.dtype))


@dataclass(frozen=True, eq=False, repr=False)
class FittedReweight(Fitted[Reweight]):
    """The weights as they are, and the replicates that were made from them."""

    replicates: tuple[str, ...]

    def draw(self, context: Context) -> Drawn:
        """Round and scale the weights."""
        del context  # nothing is random
        recipe, name = self.recipe, self.recipe.column
        column = self.codes[name]
        weights = column.numbers()
        trimmed = np.where(weights > 0, np.clip(weights, recipe.lower, recipe.upper), weights)
        rounded = significant(trimmed, recipe.digits)
        total = _total(rounded, recipe)
        scaled = np.where(column.missing, 0.0, rounded * (total / np.nansum(rounded)))
        if column.values.dtype.kind != "f":  # whole weights stay whole
            scaled = _whole(scaled, round(total))
            total = float(scaled.sum())
        settings = {**recipe.settings(), "total": total}
        settings |= {"replicates": list(self.replicates)} if self.replicates else {}
        drawn = {name: column.with_values(scaled)}
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(weights > 0, scaled / weights, 0.0)
        drawn |= {other: _multiplied(self.codes[other], factor) for other in self.replicates}
        return Drawn(
            datasets=[Draw(drawn)],
            changed=tuple(drawn),
            settings=settings,
            promises=recipe.implied(settings, None),
        )
