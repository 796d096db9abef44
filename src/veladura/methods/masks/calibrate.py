"""Calibration of sampling weights: raking to totals that the holder declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Floats
from veladura.base.checks import is_number
from veladura.base.context import Context
from veladura.core.gates import MASKED
from veladura.core.promise import Check, Evidence, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import DataError, PlanError
from veladura.methods.masks.declared_totals import Cells, Target, columns_of, read_targets
from veladura.methods.masks.replicate_weights import check_sampling_weights, replicates_of
from veladura.numeric.calibration import rake
from veladura.table.codes import Column
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

AGREES = 1e-6  # relative error of a total in the release, and of sums that must be the same
WHOLE = 0.005  # the same for weights that stay whole numbers: more is no rounding


def missed_totals(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many of the promised totals the released weights do not have."""
    weights = evidence.column(settings["columns"][0]).numbers()
    missed = 0
    for target in read_targets(settings["totals"]):
        columns = {name: evidence.column(name) for name in target.columns}
        sums = reached(target, columns, weights)
        missed += int(np.sum(~np.isclose(sums, target.numbers, rtol=AGREES, atol=AGREES)))
    return missed


def reached(target: Target, columns: Mapping[str, Column], weights: Floats) -> Floats:
    """Return what weights add up to, for each total of a target; missing ones are 0."""
    if target.labels:
        return Cells.of(target, columns).sums(np.nan_to_num(weights))
    return np.array([np.nansum(weights * columns[target.key].numbers())])


def _claim(settings: Mapping[str, Any]) -> str:
    return (
        f"Calibration: the weights in {settings['columns'][0]} add up to the declared totals of"
        f" {', '.join(settings['totals'])}."
    )


def _totals(value: object) -> str:
    """Accept totals as a manifest writes them: a number a column, or one a category."""
    if not isinstance(value, dict) or not value or not all(isinstance(k, str) for k in value):
        return "expected a table of totals"
    try:
        read_targets(value)
    except PlanError:
        return "expected a number for every column or category"
    return ""


CALIBRATED = Check(
    missed_totals, _claim, shapes.table({"columns": shapes.names, "totals": _totals})
)


@dataclass(frozen=True, kw_only=True)
class Calibrate(Recipe):
    """Calibration: sampling weights are raked to declared totals, each multiplied as little as can.

    Rows that another step suppressed, or values that were synthesised, change what the weights add
    up to. Calibration brings the totals back that are known from elsewhere, such as a census.

    Parameters
    ----------
    column
        The column of sampling weights.
    totals
        Public totals of the population: for a column of categories the people of every category,
        for a number column its sum, and for crossed columns, as in "sex, region", the people of
        every combination, one column inside the other. They are in the manifest. Whole weights stay
        whole and may miss a total by a few people: the promise then states the totals that are
        reached; where that is more than 0.5 % they are refused.
    lower, upper
        Smallest and largest factor by which a weight is multiplied, below and above 1.
    replicates
        Replicate weights that were made from the weights: each is calibrated to the same totals, so
        that errors know of it. By default the columns of that role, if the column is the table's
        first weight.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"sex": list("ffm"), "w": [10.0, 20.0, 30.0]})
    >>> recipe = vd.Calibrate(column="w", totals={"sex": {"f": 60, "m": 20}}, upper=4.0)
    >>> sorted(recipe.protect(table).datasets[0]["w"].round(6).tolist())
    [20.0, 20.0, 40.0]

    References
    ----------
    Deville, J.-C. and Sarndal, C.-E. (1992). Calibration estimators in survey sampling. Journal of
    the American Statistical Association 87(418), 376-382.
    """

    method = "calibrate"
    decisive = ("totals", "lower", "upper")
    sentence = "Sampling weights were calibrated (raked) to totals that are known from elsewhere."
    caution = "weights were calibrated to known totals; intervals that ignore it are a little wide"
    checks = {"calibrated-totals": CALIBRATED}
    gate = MASKED
    random = False

    column: str
    totals: Mapping[str, Any]
    lower: float = 0.2
    upper: float = 5.0
    replicates: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str) or not self.column:
            msg = "column must name the column of sampling weights."
            raise PlanError(msg)
        targets = read_targets(self.totals)
        low, high = self.lower, self.upper
        if not (is_number(low) and is_number(high) and 0 <= low < 1 < high):
            msg = f"lower ({low}) must be at least 0 and below 1, upper ({high}) above 1."
            raise PlanError(msg)
        if isinstance(self.replicates, str):
            msg = "replicates must be a list of columns.\n\nHint: put the name into brackets."
            raise PlanError(msg)
        _check_people(targets)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the column of weights, and named replicates of it."""
        return (self.column, *(self.replicates or ()))

    def apply(self, table: Table, context: Context) -> FittedCalibrate:  # noqa: ARG002
        """Check the weights, and that every row has a declared category."""
        check_kinds(table.schema, (self.column,), NUMERIC, "weights are numbers.")
        targets, replicates = read_targets(self.totals), self._replicates(table)
        table.schema.check("totals", columns_of(targets))
        check_kinds(table.schema, replicates, NUMERIC, "replicate weights are numbers.")
        codes = table.codes((self.column, *columns_of(targets), *replicates))
        for name in (self.column, *replicates):
            check_sampling_weights(codes[name])
        for target in targets:
            if target.labels:
                Cells.of(target, codes).check()
            else:
                _check_numbers(codes[target.key])
        return FittedCalibrate(self, table, codes, targets, replicates)

    def _replicates(self, table: Table) -> tuple[str, ...]:
        if self.replicates is None:
            return replicates_of(table, self.column)
        table.schema.check("replicates", self.replicates)
        return tuple(self.replicates)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise of the totals."""
        told = {
            "columns": [settings["column"], *columns_of(read_targets(settings["totals"]))],
            "totals": settings["totals"],
        }
        return (Promise("calibrated-totals", "package", told),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Calibrate:  # noqa: ARG003
        """Suggest nothing: totals of a population come from elsewhere, not from the data."""
        msg = (
            "totals of the population are not in the data.\n\nHint: declare them:"
            " totals = {sex = {f = 1200, m = 1100}}."
        )
        raise PlanError(msg)


def _check_people(targets: Sequence[Target]) -> None:
    """Refuse categories of different columns that are not of the same number of people."""
    people = {target.key: target.people for target in targets if target.people is not None}
    if people and not np.isclose(min(people.values()), max(people.values()), rtol=AGREES):
        told = ", ".join(f"{name}: {number:,.6g}" for name, number in people.items())
        msg = (
            f"totals are of different numbers of people ({told}).\n\nHint: the totals of every"
            " column of categories must add up to the same population."
        )
        raise PlanError(msg)


def _check_numbers(column: Column) -> None:
    if column.labels is not None or column.missing.any():
        msg = (
            f"column {column.name!r} has one total, so it must hold numbers, none missing."
            "\n\nHint: give the total of every category instead."
        )
        raise DataError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class FittedCalibrate(Fitted[Calibrate]):
    """The weights as they are."""

    targets: tuple[Target, ...]
    replicates: tuple[str, ...]

    def draw(self, context: Context) -> Drawn:
        """Rake the weights to the totals, and every replicate weight as they were."""
        del context  # nothing is random
        recipe, name = self.recipe, self.recipe.column
        sides = np.column_stack([self._sides(target) for target in self.targets])
        totals = np.array([number for target in self.targets for number in target.numbers])
        raked = self._raked(name, sides, totals)
        drawn = {name: raked} | {
            other: self._raked(other, sides, totals) for other in self.replicates
        }
        settings = recipe.settings() | {"replicates": list(self.replicates)}
        if raked.values.dtype.kind != "f":  # a few people more or less than was declared
            settings["totals"] = {
                target.key: target.written(reached(target, self.codes, raked.numbers()).tolist())
                for target in self.targets
            }
        return Drawn(
            datasets=[Draw(drawn)],
            changed=tuple(drawn),
            settings=settings,
            promises=recipe.implied(settings, None),
        )

    def _sides(self, target: Target) -> Floats:
        """Return what each row adds to each total: whether it is in a category, or its number."""
        if target.labels:
            return Cells.of(target, self.codes).sides()
        return self.codes[target.key].numbers()[:, None]

    def _raked(self, name: str, sides: Floats, totals: Floats) -> Column:
        """Return a column of weights that add up to the totals."""
        recipe, column = self.recipe, self.codes[name]
        weights = np.where(column.missing, 0.0, column.numbers())  # a missing one stays missing
        made = rake(weights, sides, totals, lower=recipe.lower, upper=recipe.upper)
        if made is None and name != recipe.column:  # with a cluster left out more may be needed
            made = rake(weights, sides, totals)
        if made is None:
            raise DataError(self._unreached(name, weights))
        if column.values.dtype.kind == "f":
            return column.with_values(made)
        whole = np.rint(made)
        missed = np.abs(whole @ sides - totals) / np.maximum(np.abs(totals), 1.0)
        if missed.max() > WHOLE:
            msg = (
                f"the weights in {name!r} are whole numbers, and so small that they miss a total by"
                f" more than {100 * WHOLE:g} % when they are rounded.\n\nHint: declare that they"
                f' may have decimals: [columns.{name}] kind = "number".'
            )
            raise DataError(msg)
        return column.with_values(whole.astype(column.values.dtype))

    def _unreached(self, name: str, weights: Floats) -> str:
        """Say that totals are not reached, and which of them cannot be even by themselves."""
        low, high = self.recipe.lower, self.recipe.upper
        beyond = []
        for target in self.targets:
            numbers, sums = np.array(target.numbers), reached(target, self.codes, weights)
            wrong = np.flatnonzero((numbers > high * sums) | (numbers < low * sums)).tolist()
            if wrong and target.labels:
                beyond.append(f"{target.key} ({target.named(wrong)})")
            elif wrong and (self.codes[target.key].numbers() >= 0).all():
                beyond.append(target.key)
        alone = f" By themselves these are out of reach: {'; '.join(beyond)}." if beyond else ""
        return (
            f"no weights in {name!r} reach the declared totals when each is multiplied by {low} to"
            f" {high}.{alone}\n\nHint: check the totals, scale the weights to the population first"
            " (reweight), or widen lower and upper."
        )
