"""Rules that recode one column, and the checks of the recoded values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base import shapes
from veladura.base.checks import check_choice, is_number
from veladura.base.shapes import Shape
from veladura.core.promise import CATEGORIES, Check, Evidence, Promise
from veladura.core.violations import still_coded
from veladura.errors import PlanError
from veladura.methods.masks.bands import BANDS, Cut, banded, checked_cuts, checked_labels
from veladura.methods.masks.dates import PERIODS, start_of
from veladura.table.codes import label_texts
from veladura.table.schema import LABELLED, NUMERIC

if TYPE_CHECKING:
    from veladura.table.codes import Column

WIDEST = 10**18
MOST_DIGITS = 6
REST = "other"  # the category of all that are not kept


@dataclass(frozen=True, kw_only=True)
class Coarser:
    """How one column is recoded: groups of categories, rounding of numbers, or a period of dates.

    Parameters
    ----------
    groups
        By new category the old ones that are merged into it. Those not named stay as they are.
    keep
        The categories that stay; all others become ``other``. Rare categories are then named
        nowhere in the release.
    other
        The category for all that no group names, or that are not kept.
    round
        The base whose nearest multiple replaces a number; halves are rounded up.
    digits
        Significant digits that a number keeps, for amounts of very different size.
    date
        The period whose first day replaces a date.
    cuts
        The points, in rising order, at which numbers or dates (ISO text) are cut into ordered
        bands; the first and the last band have no end.
    labels
        The names of the bands, lowest first: one more than cuts. By default intervals, as in
        ``< 18``, ``[18, 65)``, ``>= 65``.
    closed
        Which end belongs to a band: with "left" a value that equals a cut is in the band above
        it, with "right" in the band below.
    """

    groups: Mapping[str, Sequence[str]] | None = None
    keep: Sequence[str] | None = None
    other: str | None = None
    round: int | float | None = None
    digits: int | None = None
    date: Literal["month", "quarter", "year", "decade"] | None = None
    cuts: Sequence[Cut] | None = None
    labels: Sequence[str] | None = None
    closed: Literal["left", "right"] = "left"

    def __post_init__(self) -> None:
        rules = [self.groups, self.keep, self.round, self.digits, self.date, self.cuts]
        if rules.count(None) != len(rules) - 1:
            msg = (
                "a column is recoded by exactly one of groups, keep, round, digits, date and cuts."
            )
            raise PlanError(msg)
        check_choice("closed", self.closed, ("left", "right"))
        if self.cuts is None and (self.labels is not None or self.closed != "left"):
            msg = "labels and closed go with cuts only."
            raise PlanError(msg)
        if self.cuts is not None:
            object.__setattr__(self, "cuts", checked_cuts(self.cuts))
            labels = checked_labels(self.labels, self.cuts, self.closed)
            object.__setattr__(self, "labels", labels)
        if self.digits is not None and self.digits not in range(1, MOST_DIGITS + 1):
            msg = f"digits ({self.digits}) must be a whole number from 1 to {MOST_DIGITS}."
            raise PlanError(msg)
        if self.date is not None:
            check_choice("date", self.date, tuple(PERIODS))
        if self.round is not None and not (is_number(self.round) and 0 < self.round <= WIDEST):
            msg = (
                f"round ({self.round}) must be a number above 0 and at most 1e18: values are"
                " replaced by its multiples."
            )
            raise PlanError(msg)
        merges = self.groups is not None or self.keep is not None
        if self.other is not None and not (merges and isinstance(self.other, str)):
            msg = "other must be a category (text), and goes with groups or keep only."
            raise PlanError(msg)
        if self.keep is not None:
            object.__setattr__(self, "keep", _checked_keep(self.keep))
            object.__setattr__(self, "other", self.other or REST)
        if self.groups is not None:
            object.__setattr__(self, "groups", _checked_groups(self.groups))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of columns that this can be done to."""
        if self.groups is not None or self.keep is not None:
            return LABELLED
        of_dates = self.cuts is not None and isinstance(self.cuts[0], str)
        return ("date",) if self.date is not None or of_dates else NUMERIC

    @property
    def new(self) -> list[str]:
        """The categories that the rule names as new ones."""
        rest = [] if self.other is None else [self.other]
        return [*(self.groups or {}), *(self.keep or ()), *rest]

    @property
    def gone(self) -> list[str]:
        """The categories that no longer occur."""
        return [
            label for old in (self.groups or {}).values() for label in old if label not in self.new
        ]

    def new_labels(self, labels: Sequence[str]) -> list[str]:
        """Return the category that each category is merged into."""
        taken = {old: new for new, members in (self.groups or {}).items() for old in members}
        stays = set(self.new)
        return [
            taken.get(label, label if self.other is None or label in stays else self.other)
            for label in labels
        ]

    def apply(self, column: Column) -> Column:
        """Return a column recoded by this rule; missing values stay missing."""
        if self.date is not None:
            return column.with_values(start_of(column, self.date))
        if self.groups is not None or self.keep is not None:
            return self._merged(column)
        if self.cuts is not None:
            return banded(column, self.cuts, self.labels or (), self.closed)
        return column.with_values(self.rounded(column.values))

    def rounded(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return numbers rounded to the base, or to significant digits."""
        if self.digits is not None:
            return significant(values, self.digits)
        return values if self.round is None else multiples(values, self.round)

    def _merged(self, column: Column) -> Column:
        """Return a column with categories merged; those that were numbers or yes/no become text."""
        old = label_texts(column)
        new = self.new_labels(old)
        order = tuple(label for label, _ in groupby(self.new_labels(column.field.order)))
        if len(set(order)) < len(order):  # a group with a gap in it has no place in the order
            order = ()
        lost_order = column.field.kind == "ordered" and column.field.order and not order
        kind = "category" if lost_order else column.field.kind
        meant = {
            label: text
            for label, text in column.field.labels.items()
            if label in new and (label not in self.new or label in (self.keep or ()))
        }
        labels = list(order) or sorted(set(new))
        code_of = [labels.index(label) for label in new] or [0]
        codes = np.array(code_of, dtype=np.int64)[column.values]
        field = replace(column.field, type=pa.string(), kind=kind, order=order, labels=meant)
        return replace(column, field=field, values=codes, labels=pa.array(labels, pa.string()))


def rule_of(name: str, given: object) -> Coarser:
    """Return what the holder gave for a column as a rule."""
    if isinstance(given, Coarser):
        return given
    if not isinstance(given, Mapping):
        msg = f"columns.{name} must be a rule, as in {{'round': 1000}}, got {type(given).__name__}."
        raise PlanError(msg)
    if unknown := [key for key in given if key not in Coarser.__dataclass_fields__]:
        setting = f"columns.{name}: setting"
        raise PlanError.unknown(setting, str(unknown[0]), Coarser.__dataclass_fields__)
    return Coarser(**given)


def multiples(values: NDArray[Any], base: float) -> NDArray[Any]:
    """Return the multiple of a base nearest to each value; halves are rounded up.

    Examples
    --------
    >>> multiples(np.array([1, 5, -5, 14]), 10).tolist(), multiples(np.array([0.26]), 0.1).tolist()
    ([0, 10, 0, 10], [0.3])
    """
    if values.dtype.kind != "f":
        whole = int(base)
        below, rest = values // whole * whole, values % whole
        fits = below <= np.iinfo(np.int64).max - whole
        nearest: NDArray[Any] = np.where(
            (rest >= whole - rest) & fits, below + np.where(fits, whole, 0), below
        )
        return nearest
    with np.errstate(over="ignore"):
        times = values / base
    coarse = np.floor(np.where(np.abs(times) < 2**52, times, 0.0) + 0.5) * base
    decimals = -int(Decimal(str(base)).normalize().as_tuple().exponent)
    coarse = np.round(coarse, max(decimals, 0)) + 0.0
    # A number so large that its own digits are coarser than the base stays.
    return np.where(np.abs(times) < 2**52, coarse, values)


def significant(values: NDArray[Any], digits: int) -> NDArray[Any]:
    """Return numbers rounded to so many significant digits; zero and missing stay.

    Examples
    --------
    >>> significant(np.array([1234.0, 0.0567, 0.0]), 2).tolist(), significant(np.array([45]), 1)
    ([1200.0, 0.057, 0.0], array([50]))
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.floor(np.log10(np.abs(values.astype(np.float64))))
    power = np.where(np.isfinite(size), digits - 1 - size, 0.0)
    up, down = 10.0 ** np.maximum(power, 0), 10.0 ** np.maximum(-power, 0)
    rounded = np.floor(np.abs(values) * up / down + 0.5) / up * down * np.sign(values)
    if values.dtype.kind != "f":
        return np.where(power < 0, rounded, values).astype(values.dtype)
    return np.asarray(rounded) + 0.0  # no negative zero


def not_merged(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of values in categories that were merged into another."""
    violations = 0
    for name, gone in settings["columns"].items():
        column = evidence.column(name)
        old = np.array([label in gone for label in label_texts(column)] or [False])
        violations += int(np.count_nonzero(old[column.values[~column.missing]]))
    return violations


def not_multiples(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of values that are no multiple of the base."""
    violations = 0
    for column, base in still_coded(evidence, settings):
        values = column.values[~column.missing]
        nearest = multiples(values, base)
        same = (
            nearest == values
            if values.dtype.kind != "f"
            else np.isclose(nearest, values, rtol=1e-12, atol=base * 1e-9)
        )
        violations += int(np.count_nonzero(~same))
    return violations


def too_many_digits(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of values with more significant digits than were kept."""
    violations = 0
    for column, digits in still_coded(evidence, settings):
        values = column.values[~column.missing]
        same = np.isclose(significant(values, digits), values, rtol=1e-12, atol=0.0)
        violations += int(np.count_nonzero(~same))
    return violations


def not_period_starts(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of dates that are not the first day of a period."""
    violations = 0
    for column, period in still_coded(evidence, settings):
        if column.field.kind != "date":
            continue
        violations += int(
            np.count_nonzero((start_of(column, period) != column.values) & ~column.missing)
        )
    return violations


def _checked_keep(labels: object) -> tuple[str, ...]:
    """Return the categories that stay, after refusing what is no list of them."""
    listed = tuple(labels) if isinstance(labels, (list, tuple)) else ()
    if not listed or not all(isinstance(label, str) for label in listed):
        msg = "keep must list at least one category, all of them text."
        raise PlanError(msg)
    return listed


def _checked_groups(groups: object) -> dict[str, tuple[str, ...]]:
    """Return groups with lists turned into tuples, after refusing what is no partition."""
    if not isinstance(groups, Mapping) or not groups:
        msg = "groups must name at least one new category, with the old ones merged into it."
        raise PlanError(msg)
    listed = {
        new: tuple(old) if isinstance(old, (list, tuple)) else () for new, old in groups.items()
    }
    if not all(
        isinstance(new, str) and old and all(isinstance(label, str) for label in old)
        for new, old in listed.items()
    ):
        msg = "groups must give each new category a list of old ones, all of them text."
        raise PlanError(msg)
    old = [label for members in listed.values() for label in members]
    if twice := len(old) - len(set(old)):
        msg = f"groups put {twice} categories into more than one group."
        raise PlanError(msg)
    return listed


def promises_of(rules: Mapping[str, Coarser]) -> tuple[Promise, ...]:
    """Promise what each rule leaves."""
    wanted: dict[str, dict[str, Any]] = {
        "categories": {name: rule.new for name, rule in rules.items() if rule.other is not None},
        "merged": {name: rule.gone for name, rule in rules.items() if rule.gone},
        "multiples": {name: rule.round for name, rule in rules.items() if rule.round is not None},
        "digits": {name: rule.digits for name, rule in rules.items() if rule.digits is not None},
        "period-starts": {name: rule.date for name, rule in rules.items() if rule.date is not None},
    }
    wanted["bands"] = {
        name: list(rule.labels or ()) for name, rule in rules.items() if rule.cuts is not None
    }
    return tuple(
        Promise(check, "package", {"columns": columns})
        for check, columns in wanted.items()
        if columns
    )


def _recoded(count: Callable[[Evidence, Mapping[str, Any]], int], what: str, rule: Shape) -> Check:
    """Return the check of one kind of rule; ``what`` says of a column what its rule leaves."""

    def sentence(settings: Mapping[str, Any]) -> str:
        left = [f"{name} {what.format(rule)}" for name, rule in settings["columns"].items()]
        return f"Recoding: every value of {', '.join(left)}."

    columns = shapes.mapped(rule, 1, keys=shapes.name)
    return Check(count, sentence, shapes.table({"columns": columns}), by_row=True)


_LABELS = shapes.listed(shapes.text, least=1)
CHECKS = {
    "bands": BANDS,
    "categories": CATEGORIES,
    "merged": _recoded(not_merged, "is in no category that was merged into another", _LABELS),
    "multiples": _recoded(
        not_multiples, "is a multiple of {:,.10g}", shapes.number(0, WIDEST, above=True)
    ),
    "digits": _recoded(
        too_many_digits, "has at most {} significant digits", shapes.whole(1, MOST_DIGITS)
    ),
    "period-starts": _recoded(
        not_period_starts, "is the first day of its {}", shapes.one_of(*PERIODS)
    ),
}
