"""Top and bottom coding: no value beyond a limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from veladura.base.checks import check_choice, check_columns, is_number
from veladura.base.context import Context
from veladura.core.gates import MASKED
from veladura.core.promise import LIMITS, Check, Evidence, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import DataError, PlanError
from veladura.methods.masks.dates import moment_of, start_of, to_number, to_text
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Field, Schema
    from veladura.table.table import Table

CODED = (*NUMERIC, "date")
FEWEST = 10
DIGITS = 2
Limit = int | float | str
Pair = tuple[Limit | None, Limit | None]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The highest and the lowest value a column may have: numbers, or dates as ISO text."""

    upper: int | float | str | None = None
    lower: int | float | str | None = None

    def __post_init__(self) -> None:
        given = [limit for limit in (self.lower, self.upper) if limit is not None]
        if not given:
            msg = "limits need an upper or a lower one."
            raise PlanError(msg)
        if not all(isinstance(limit, str) or is_number(limit) for limit in given):
            msg = "a limit must be a finite number, or a date as in '2020-12-31'."
            raise PlanError(msg)
        order = [
            moment_of("a limit", limit) if isinstance(limit, str) else limit for limit in given
        ]
        try:
            crossed = order[0] > order[-1]  # type: ignore[operator]
        except TypeError:
            msg = (
                "the two limits of a column must be of one kind: numbers, or dates both with or"
                " both without a time zone."
            )
            raise PlanError(msg) from None
        if crossed:
            msg = "the lower limit must not be above the upper one."
            raise PlanError(msg)


def dates_outside(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of dates before the first or after the last one allowed."""
    outside = 0
    for name, pair in settings["columns"].items():
        column = evidence.column(name)
        lower, upper = (_as_held(column.field, limit) for limit in pair)
        values = column.values[~column.missing]
        outside += int(np.count_nonzero(values < lower)) if lower is not None else 0
        outside += int(np.count_nonzero(values > upper)) if upper is not None else 0
    return outside


@dataclass(frozen=True, kw_only=True)
class TopCode(Recipe):
    """Replace values beyond a limit by the limit.

    Parameters
    ----------
    columns
        By column the upper limit, or both as ``{"upper": ..., "lower": ...}``; dates as ISO text.
        With ``quantile``, the names only.
    quantile
        Take the upper limits from the data: the quantile of each column, lowered where needed so
        that at least ten released rows hold the limit, then rounded down to two significant
        digits (more, when that would fall below the median), or to the first of the month. The
        limits are told in the manifest.
    replace
        What stands in place of a value beyond: the "limit", or "missing".

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> vd.TopCode(columns={"age": 90}).protect(pd.DataFrame({"age": [40, 97]})).datasets[0]["age"].tolist()
    [40, 90]

    References
    ----------
    Hundepool, A. et al. (2012). Statistical Disclosure Control. Wiley.
    """

    method = "top-code"
    sentence = (
        "Values beyond a limit were replaced, so that the highest or lowest ones cannot be "
        "told apart."
    )
    caution = (
        "values were top- or bottom-coded; means lie too close to the middle, and slopes are biased"
    )
    checks = {"limits": LIMITS, "date-limits": Check(dates_outside)}
    gate = MASKED
    random = False

    columns: Mapping[str, int | float | str | Limits] | tuple[str, ...]
    quantile: float | None = None
    replace: Literal["limit", "missing"] = "limit"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the columns to code, each with its limit")
        check_choice("replace", self.replace, ("limit", "missing"))
        if (self.quantile is None) != isinstance(self.columns, Mapping):
            msg = (
                "give each column its limit, as in columns={'income': 200_000}, or name the columns"
                " and give a quantile."
            )
            raise PlanError(msg)
        if self.quantile is not None and (
            not is_number(self.quantile) or not 0 < self.quantile < 1
        ):
            msg = f"quantile ({self.quantile}) must be between 0 and 1."
            raise PlanError(msg)
        if isinstance(self.columns, Mapping):
            object.__setattr__(
                self,
                "columns",
                {name: _limits_of(name, given) for name, given in self.columns.items()},
            )

    def apply(self, table: Table, context: Context) -> FittedTopCode:  # noqa: ARG002
        """Settle the limits."""
        check_kinds(
            table.schema, tuple(self.columns), CODED, "Recode puts rare categories together."
        )
        codes = table.codes(tuple(self.columns))
        limits = {name: self._pair(codes[name]) for name in self.columns}
        return FittedTopCode(self, table, codes, limits)

    def _pair(self, column: Column) -> Pair:
        """Return the limits of a column: as declared, or from the data."""
        if isinstance(self.columns, Mapping):
            given = self.columns[column.name]
            assert isinstance(given, Limits)  # noqa: S101  # made so in __post_init__
            return _checked(column.field, given.lower), _checked(column.field, given.upper)
        return None, _limit_from(column, self.quantile or 0.0)

    def treats_rows_alone(self) -> bool:
        """Yes, unless the limit is a quantile of the data."""
        return self.quantile is None

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> TopCode:
        """Suggest the highest hundredth of every number column with many values; of dates where there is none."""
        for kinds in (NUMERIC, ("date",)):
            wanted = (
                f.name for f in schema if f.kind in kinds and f.role not in ("weight", "geographic")
            )
            if names := [name for name in wanted if facts[name].distinct >= 2 * FEWEST]:
                return cls(columns=tuple(names), quantile=0.99)
        msg = (
            f"the table has no number or date column with {2 * FEWEST} different values: top coding"
            " has nothing to do."
        )
        raise PlanError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class FittedTopCode(Fitted[TopCode]):
    """The columns and the limits in use: lower, upper."""

    limits: Mapping[str, Pair]

    def draw(self, context: Context) -> Drawn:
        """Return the masked table."""
        return Drawn(
            datasets=self._datasets(context),
            changed=self.changed(),
            settings=self.told(),
            promises=self.promises(),
        )

    def _datasets(self, context: Context) -> Sequence[Draw]:  # noqa: ARG002
        """Code what lies beyond; nothing is drawn."""
        return [Draw({name: self._coded(column) for name, column in self.codes.items()})]

    def _coded(self, column: Column) -> Column:
        lower, upper = (_as_held(column.field, limit) for limit in self.limits[column.name])
        values = column.values
        if self.recipe.replace == "missing":
            beyond = (values < lower if lower is not None else False) | (
                values > upper if upper is not None else False
            )
            return column.with_values(
                np.where(beyond, np.zeros_like(values), values), column.missing | beyond
            )
        for limit, bound in ((lower, np.maximum), (upper, np.minimum)):
            if limit is not None and (values.dtype.kind == "f" or abs(limit) < 2**63):
                values = bound(values, limit)
        return column.with_values(values)

    def changed(self) -> tuple[str, ...]:
        """Return the coded columns."""
        return tuple(self.recipe.columns)

    def told(self) -> dict[str, Any]:
        """Return the settings and the limits in use, as [lower, upper]."""
        return {
            **self.recipe.settings(),
            "limits": {name: list(pair) for name, pair in self.limits.items()},
        }

    def promises(self) -> tuple[Promise, ...]:
        """Promise that no value is beyond its limits."""
        found = []
        for check, dates in (("limits", False), ("date-limits", True)):
            if told := {
                name: list(pair)
                for name, pair in self.limits.items()
                if (self.codes[name].field.kind == "date") == dates
            }:
                found.append(
                    Promise(
                        check,
                        f"No value of {', '.join(told)} is beyond the limits told.",
                        "package",
                        {"columns": told},
                    )
                )
        return tuple(found)


def _limits_of(name: str, given: object) -> Limits:
    """Return what the holder gave for a column as limits."""
    if isinstance(given, Limits):
        return given
    if not isinstance(given, Mapping):
        return Limits(upper=given)  # type: ignore[arg-type]  # checked in __post_init__
    if unknown := [key for key in given if key not in Limits.__dataclass_fields__]:
        setting = f"columns.{name}: setting"
        raise PlanError.unknown(setting, str(unknown[0]), Limits.__dataclass_fields__)
    return Limits(**given)


def _checked(field: Field, limit: Limit | None) -> Limit | None:
    """Return a declared limit if it fits the kind of its column."""
    if limit is not None and isinstance(limit, str) != (field.kind == "date"):
        msg = (
            f"the limit of column {field.name!r} must be"
            f" {'a date as ISO text' if field.kind == 'date' else 'a number'}: its kind is"
            f" {field.kind!r}."
        )
        raise PlanError(msg)
    if field.kind == "integer" and not isinstance(limit, str) and limit is not None and limit % 1:
        msg = f"the limit of column {field.name!r} must be a whole number, as its values are."
        raise PlanError(msg)
    return int(limit) if field.kind == "integer" and limit is not None else limit


def _as_held(field: Field, limit: Limit | None) -> Any:
    """Return a limit as the column holds its values."""
    return to_number(field, limit) if isinstance(limit, str) else limit


def _limit_from(column: Column, quantile: float) -> Limit:
    """Return an upper limit from the data, that at least ten rows hold in the release."""
    values = np.sort(column.values[~column.missing])
    if values.size < FEWEST:
        msg = (
            f"column {column.name!r} has {values.size} values: a limit from the data needs at least"
            f" {FEWEST}.\n\nHint: declare the limit."
        )
        raise DataError(msg)
    column.numbers()  # refuses infinite values
    place = min(math.ceil(quantile * values.size) - 1, values.size - FEWEST)
    if column.field.kind == "date":
        at = column.take(np.flatnonzero(~column.missing)).with_values(
            values, np.zeros(values.size, dtype=bool)
        )
        return to_text(column.field, int(start_of(at, "month")[place]))
    floor = values[min(place, values.size // 2)].item()
    rounded = (round_down(values[place].item(), digits) for digits in range(DIGITS, 16))
    return next((limit for limit in rounded if limit >= floor), values[place].item())


def round_down(value: float, digits: int) -> int | float:
    """Return the nearest number not above a value that is written with so many significant digits.

    Examples
    --------
    >>> round_down(217_900, 2), round_down(-0.123, 2), round_down(7, 2)
    (210000, -0.13, 7)
    """
    from decimal import ROUND_FLOOR, Decimal

    exact = Decimal(str(value))
    if not exact:
        return value
    unit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    rounded = (exact / unit).to_integral_value(ROUND_FLOOR) * unit
    return (
        int(rounded)
        if isinstance(value, int) and rounded == int(rounded)
        else math.floor(rounded)
        if isinstance(value, int)
        else float(rounded)
    )
