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
from veladura.numeric.calibration import rake
from veladura.table.codes import Column, label_texts
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

AGREES = 1e-6  # relative error of a total in the release, and of sums that must be the same
Totals = Mapping[str, float | Mapping[str, float]]


def missed_totals(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many of the promised totals the released weights do not have."""
    weights = evidence.column(settings["columns"][0]).numbers()
    missed = 0
    for name, wanted in settings["totals"].items():
        sides = _sides(evidence.column(name), wanted)
        given = wanted.values() if isinstance(wanted, Mapping) else [wanted]
        for side, total in zip(sides, given, strict=True):
            missed += not np.isclose(np.nansum(weights * side), total, rtol=AGREES, atol=AGREES)
    return missed


def _claim(settings: Mapping[str, Any]) -> str:
    return (
        f"Calibration: the weights in {settings['columns'][0]} add up to the declared totals of"
        f" {', '.join(settings['totals'])}."
    )


def _totals(value: object) -> str:
    """Accept totals as a manifest writes them: a number a column, or one a category."""
    if not isinstance(value, dict) or not value or not all(isinstance(k, str) for k in value):
        return "expected a table of totals"
    each = shapes.number()
    for wanted in value.values():
        numbers = list(wanted.values()) if isinstance(wanted, dict) else [wanted]
        if fault := next((fault for fault in map(each, numbers) if fault), ""):
            return fault
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
        for a number column its sum. They are in the manifest. Whole weights stay whole and may miss
        a total by a few people: the promise then states the totals that are reached.
    lower, upper
        Smallest and largest factor by which a weight is multiplied, below and above 1.

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
    totals: Mapping[str, float | Mapping[str, float]]
    lower: float = 0.2
    upper: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str) or not self.column:
            msg = "column must name the column of sampling weights."
            raise PlanError(msg)
        if not isinstance(self.totals, Mapping) or not self.totals:
            msg = (
                "totals must give each column its totals, as in totals={'sex': {'f': 1200, 'm':"
                " 1100}} or totals={'income': 3.5e9}."
            )
            raise PlanError(msg)
        for name, wanted in self.totals.items():
            numbers = list(wanted.values()) if isinstance(wanted, Mapping) else [wanted]
            if not numbers or not all(is_number(number) for number in numbers):
                msg = f"totals of {name!r} must be numbers, one for every category."
                raise PlanError(msg)
            if isinstance(wanted, Mapping) and not all(number > 0 for number in numbers):
                msg = f"totals of {name!r} must be above 0: they are numbers of people."
                raise PlanError(msg)
        low, high = self.lower, self.upper
        if not (is_number(low) and is_number(high) and 0 <= low < 1 < high):
            msg = f"lower ({low}) must be at least 0 and below 1, upper ({high}) above 1."
            raise PlanError(msg)
        self._check_people()

    def _check_people(self) -> None:
        """Refuse categories of different columns that are not of the same number of people."""
        people = {
            name: sum(wanted.values())
            for name, wanted in self.totals.items()
            if isinstance(wanted, Mapping)
        }
        if people and not np.isclose(min(people.values()), max(people.values()), rtol=AGREES):
            told = ", ".join(f"{name}: {number:,.6g}" for name, number in people.items())
            msg = (
                f"totals are of different numbers of people ({told}).\n\nHint: the totals of every"
                " column of categories must add up to the same population."
            )
            raise PlanError(msg)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the column of weights."""
        return (self.column,)

    def apply(self, table: Table, context: Context) -> FittedCalibrate:  # noqa: ARG002
        """Check the weights, and that every row has a declared category."""
        check_kinds(table.schema, (self.column,), NUMERIC, "weights are numbers.")
        table.schema.check("totals", list(self.totals))
        codes = table.codes((self.column, *self.totals))
        weights = _present(codes[self.column])
        if (weights < 0).any() or not weights.sum() > 0:
            msg = (
                f"column {self.column!r} cannot hold sampling weights: none may be below 0, and"
                " they must add up to more than 0."
            )
            raise DataError(msg)
        for name, wanted in self.totals.items():
            _check_categories(codes[name], wanted)
        return FittedCalibrate(self, table, codes)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise of the totals."""
        told = {
            "columns": [settings["column"], *settings["totals"]],
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


def _check_categories(column: Column, wanted: float | Mapping[str, float]) -> None:
    if not isinstance(wanted, Mapping):
        if column.labels is not None or column.missing.any():
            msg = (
                f"column {column.name!r} has one total, so it must hold numbers, none missing."
                "\n\nHint: give the total of every category instead."
            )
            raise DataError(msg)
        return
    texts = _texts(column)
    known = {str(category) for category in wanted}
    if strangers := int(np.count_nonzero(~np.isin(texts, sorted(known)))):
        msg = (
            f"{strangers} rows have a value of {column.name!r} without a declared total, or none."
            "\n\nHint: give the total of every category of the released column, or leave it out."
        )
        raise DataError(msg)
    if absent := len(known - set(texts.tolist())):
        msg = (
            f"{absent} categories of {column.name!r} have a total, but no row: no weight can reach"
            " it.\n\nHint: merge them with others."
        )
        raise DataError(msg)


def _texts(column: Column) -> Any:
    """Return the values as text, None where missing."""
    if column.labels is not None:
        every = np.array([*label_texts(column), None], dtype=object)
        return every[np.where(column.missing, -1, column.values)]
    texts = np.array([f"{value:g}" for value in column.numbers()], dtype=object)
    texts[column.missing] = None
    return texts


def _present(column: Column) -> Floats:
    """Return weights, 0 where one is missing: it stays missing."""
    return np.where(column.missing, 0.0, column.numbers())


def _sides(column: Column, wanted: float | Mapping[str, float]) -> list[Floats]:
    """Return what each row adds to each total: whether it is in a category, or its number."""
    if not isinstance(wanted, Mapping):
        return [column.numbers()]
    texts = _texts(column)
    return [(texts == str(category)).astype(np.float64) for category in wanted]


@dataclass(frozen=True, eq=False, repr=False)
class FittedCalibrate(Fitted[Calibrate]):
    """The weights as they are."""

    def draw(self, context: Context) -> Drawn:
        """Rake the weights to the totals."""
        del context  # nothing is random
        recipe, name = self.recipe, self.recipe.column
        sides, totals = [], []
        for other, wanted in recipe.totals.items():
            sides += _sides(self.codes[other], wanted)
            totals += list(wanted.values()) if isinstance(wanted, Mapping) else [wanted]
        raked = rake(
            _present(self.codes[name]),
            np.column_stack(sides),
            np.array(totals, dtype=np.float64),
            lower=recipe.lower,
            upper=recipe.upper,
        )
        if raked is None:
            msg = (
                f"no weights in {name!r} reach the declared totals when each is multiplied by"
                f" {recipe.lower} to {recipe.upper}.\n\nHint: check the totals, scale the weights"
                " to the population first (reweight), or widen lower and upper."
            )
            raise DataError(msg)
        column, settings = self.codes[name], recipe.settings()
        if column.values.dtype.kind != "f":  # whole weights stay whole
            raked = np.rint(raked)
            settings["totals"] = self._reached(raked)
        return Drawn(
            datasets=[Draw({name: column.with_values(raked.astype(column.values.dtype))})],
            changed=(name,),
            settings=settings,
            promises=recipe.implied(settings, None),
        )

    def _reached(self, weights: Floats) -> dict[str, Any]:
        """Return what whole weights add up to: a few people more or less than was declared."""
        reached: dict[str, Any] = {}
        for name, wanted in self.recipe.totals.items():
            sums = [float(weights @ side) for side in _sides(self.codes[name], wanted)]
            reached[name] = (
                dict(zip(wanted, sums, strict=True)) if isinstance(wanted, Mapping) else sums[0]
            )
        return reached
