"""Top-coding and bottom-coding: no value beyond a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from veladura.base import shapes
from veladura.base.checks import check_choice, check_columns, is_number
from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.gates import MASKED
from veladura.core.promise import LIMITS, Check, Evidence, Promise, in_range, pair_of
from veladura.core.recipe import Draw, Drawn, Recipe
from veladura.core.violations import still_coded
from veladura.errors import PlanError
from veladura.methods.masks.topcode_limits import (
    FEWEST,
    Limits,
    Pair,
    as_held,
    checked_limit,
    limit_from,
    limits_of,
)
from veladura.table.schema import NUMERIC, WEIGHTS, check_kinds

if TYPE_CHECKING:
    from veladura.core.chunks import FittedChunks
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

CODED = (*NUMERIC, "date")


def dates_outside(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of dates before the first or after the last one allowed."""
    outside = 0
    for column, pair in still_coded(evidence, settings):
        if column.field.kind != "date":
            continue
        lower, upper = (as_held(column.field, limit) for limit in pair)
        values = column.values[~column.missing]
        outside += int(np.count_nonzero(values < lower)) if lower is not None else 0
        outside += int(np.count_nonzero(values > upper)) if upper is not None else 0
    return outside


def _date_limits(settings: Mapping[str, Any]) -> str:
    parts = [f"{name} {in_range(*ends)}" for name, ends in settings["columns"].items()]
    return f"Dates are within their limits: {', '.join(parts)}."


DATE_LIMITS = Check(
    dates_outside,
    _date_limits,
    shapes.table({"columns": shapes.mapped(pair_of(shapes.text), 1, keys=shapes.name)}),
    by_row=True,
)


@dataclass(frozen=True, kw_only=True)
class TopCode(Recipe):
    """Top-coding and bottom-coding: values beyond a limit are replaced by the limit.

    Parameters
    ----------
    columns
        By column the upper limit, or both limits as ``{"upper": ..., "lower": ...}``; dates as ISO
        text. With ``quantile`` a list of names.
    quantile
        Take the upper limits from the data: the quantile of each column, lowered where needed so
        that at least ten released people (rows) have the limit, then rounded down to two
        significant digits (more, when that would fall below the median), or to the first of the
        month. The limits are in the manifest.
    replace
        What replaces a value beyond its limit: the "limit", or "missing".

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"age": [40, 97]})
    >>> vd.TopCode(columns={"age": 90}).protect(table).datasets[0]["age"].tolist()
    [40, 90]

    References
    ----------
    Hundepool, A. et al. (2012). Statistical Disclosure Control. Wiley.
    """

    method = "top-code"
    keeps_most = True
    sentence = (
        "Top-coding: values beyond a limit were replaced, so that the most extreme values are not"
        " shown."
    )
    caution = (
        "values were top-coded or bottom-coded; means lie too close to the middle, and slopes are"
        " biased"
    )
    checks = {"limits": LIMITS, "date-limits": DATE_LIMITS}
    gate = MASKED
    random = False
    coarsens = True
    chunked = True

    columns: Mapping[str, int | float | str | Limits] | Sequence[str]
    quantile: float | None = None
    replace: Literal["limit", "missing"] = "limit"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the columns to top-code, each with its limit")
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
                {name: limits_of(name, given) for name, given in self.columns.items()},
            )

    def apply(self, table: Table, context: Context) -> FittedTopCode:  # noqa: ARG002
        """Settle the limits."""
        check_kinds(table.schema, tuple(self.columns), CODED, "use Recode for categories.")
        codes = table.codes(tuple(self.columns))
        limits = {name: self._pair(codes[name]) for name in self.columns}
        return FittedTopCode(self, table, codes, limits)

    def apply_to_sample(self, table: Table, number: int, context: Context) -> FittedChunks[TopCode]:
        """Settle the limits; a quantile is that of a whole column, read by itself."""
        from veladura.core.chunks import FittedChunks, fit_to_sample

        check_kinds(table.schema, tuple(self.columns), CODED, "use Recode for categories.")
        near, few, _ = fit_to_sample(self, table, number, context, ())
        codes = few.codes(tuple(self.columns))
        declared = self.quantile is None
        limits = {
            name: self._pair(codes[name] if declared else near.column(name))
            for name in self.columns
        }
        return FittedChunks.of(self, near, FittedTopCode(self, few, codes, limits))

    def _pair(self, column: Column) -> Pair:
        """Return the limits of a column: as declared, or from the data."""
        if isinstance(self.columns, Mapping):
            given = self.columns[column.name]
            assert isinstance(given, Limits)  # noqa: S101  # made so in __post_init__
            return checked_limit(column.field, given.lower), checked_limit(
                column.field, given.upper
            )
        return None, limit_from(column, self.quantile or 0.0)

    def shown(self, column: Column) -> Column:
        """Return a column with what lies beyond the limits coded."""
        return self.coded(column, self._pair(column))

    def coded(self, column: Column, limits: Pair) -> Column:
        """Return a column with what lies beyond two limits replaced."""
        lower, upper = (as_held(column.field, limit) for limit in limits)
        values = column.values
        if self.replace == "missing":
            beyond = np.zeros(values.size, dtype=bool)
            if lower is not None:
                beyond |= values < lower
            if upper is not None:
                beyond |= values > upper
            shown = np.where(beyond, np.zeros_like(values), values)
            return column.with_values(shown, column.missing | beyond)
        for limit, bound in ((lower, np.maximum), (upper, np.minimum)):
            if limit is not None and (values.dtype.kind == "f" or abs(limit) < 2**63):
                values = bound(values, limit)
        return column.with_values(values)

    def treats_rows_alone(self) -> bool:
        """Yes, unless the limit is a quantile of the data."""
        return self.quantile is None

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise that no value is beyond its limits: those of dates are text."""
        sides: dict[str, dict[str, Any]] = {"limits": {}, "date-limits": {}}
        for name, pair in settings["limits"].items():
            of_dates = any(isinstance(end, str) for end in pair)
            sides["date-limits" if of_dates else "limits"][name] = pair
        return tuple(
            Promise(check, "package", {"columns": limits})
            for check, limits in sides.items()
            if limits
        )

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> TopCode:
        """Suggest the 99th percentile of every number column with many values; else of dates."""
        for kinds in (NUMERIC, ("date",)):
            wanted = (
                f.name for f in schema if f.kind in kinds and f.role not in (*WEIGHTS, "geographic")
            )
            if names := [name for name in wanted if facts[name].distinct >= 2 * FEWEST]:
                return cls(columns=tuple(names), quantile=0.99)
        msg = (
            f"the table has no number or date column with {2 * FEWEST} different values: there is"
            " nothing to top-code."
        )
        raise PlanError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class FittedTopCode(RowWise[TopCode]):
    """The columns and the limits in use: lower, upper."""

    limits: Mapping[str, Pair]

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Replace what lies beyond the limits."""
        del stream  # nothing is random
        return {
            name: self.recipe.coded(column, self.limits[name]) for name, column in columns.items()
        }

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Tell the limits."""
        del rows
        limits = {name: list(pair) for name, pair in self.limits.items()}
        settings = {**self.recipe.settings(), "limits": limits}
        return Drawn(
            datasets=datasets,
            changed=tuple(self.recipe.columns),
            settings=settings,
            promises=self.recipe.implied(settings, None),
        )
