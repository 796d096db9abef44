"""Hierarchies as the holder declares them: how the values of a column become coarser, level by level."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from veladura.errors import DataError, PlanError

TOP = "*"
Period = Literal["month", "quarter", "year", "5 years", "decade", "20 years", "50 years"]
PERIODS = {
    "month": 1,
    "quarter": 3,
    "year": 12,
    "5 years": 60,
    "decade": 120,
    "20 years": 240,
    "50 years": 600,
}


@dataclass(frozen=True)
class Hierarchy:
    """One way to make values coarser; the last level is always the single value ``*``.

    Made by one of its constructors: `from_csv`, `explicit`, `mask`, `intervals`, `dates`,
    `groups`, `quantiles`. In a plan it is a table with the settings below.

    Parameters
    ----------
    rows
        Explicit: one row a value, level 0 first, the last entry the same in all.
    file
        The CSV file that holds such rows (``;``, no header), as ARX writes it.
    masked, side
        How many characters are replaced by ``*``, one more each level, from the right or the left.
    widths, origin
        Widths of intervals, finest first, each a multiple of the one before; ``origin`` is where
        one starts.
    cuts
        Limits of intervals, finest level first; each level keeps some of the limits before.
    periods
        Periods of dates, finest first.
    grouped
        For each level the new names and the values (of the level before) that they stand for.
    flat
        No level but ``*``.
    bins
        Number of intervals with about equal numbers of rows, halved each level.
    """

    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    file: Path | None = None
    masked: int | None = None
    side: Literal["right", "left"] = "right"
    widths: tuple[float, ...] = ()
    origin: float = 0.0
    cuts: tuple[tuple[float, ...], ...] = ()
    periods: tuple[Period, ...] = ()
    grouped: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    bins: int | None = None
    flat: bool = False

    def __post_init__(self) -> None:
        if self.file is not None and not self.rows:
            object.__setattr__(self, "rows", _read(self.file))
        if len(self.rules) != 1:
            msg = (
                "a hierarchy needs exactly one of rows, file, masked, widths, cuts, periods,"
                f" grouped, bins, flat; got {self.rules or 'none'}."
            )
            raise PlanError(msg)
        getattr(self, f"_check_{self.rule}")()

    @property
    def rules(self) -> list[str]:
        """Which rules are given."""
        return [
            name
            for name in ("rows", "masked", "widths", "cuts", "periods", "grouped", "bins", "flat")
            if getattr(self, name)
        ]

    @property
    def rule(self) -> str:
        """The one rule that is given."""
        return self.rules[0]

    @property
    def height(self) -> int:
        """Number of steps from the values to ``*``."""
        if self.rule == "rows":
            return len(self.rows[0]) - 1
        if self.rule == "masked":
            return int(self.masked or 0)
        if self.rule == "flat":
            return 1
        if self.rule == "bins":
            return int(self.bins or 1).bit_length()
        return len(getattr(self, self.rule)) + 1

    @classmethod
    def from_csv(cls, path: str | Path) -> Hierarchy:
        """Return the hierarchy in a CSV file: ``;`` between levels, no header, level 0 first."""
        return cls(file=Path(path))

    @classmethod
    def explicit(cls, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """Return a hierarchy from rows: a value, then what it becomes at each level."""
        return cls(rows=tuple(tuple(map(str, row)) for row in rows))

    @classmethod
    def mask(cls, characters: int, side: Literal["right", "left"] = "right") -> Hierarchy:
        """Replace characters by ``*``, one more each level: 02138, 0213*, 021**, ..."""
        return cls(masked=characters, side=side)

    @classmethod
    def intervals(
        cls,
        widths: Sequence[float] = (),
        *,
        origin: float = 0.0,
        cuts: Sequence[Sequence[float]] = (),
    ) -> Hierarchy:
        """Put numbers into intervals, by widths that are multiples of each other or by given limits."""
        return cls(
            widths=tuple(map(float, widths)),
            origin=float(origin),
            cuts=tuple(tuple(map(float, level)) for level in cuts),
        )

    @classmethod
    def dates(
        cls, periods: Sequence[Period] = ("month", "quarter", "year", "5 years", "decade")
    ) -> Hierarchy:
        """Put dates into periods."""
        return cls(periods=tuple(periods))

    @classmethod
    def groups(cls, *levels: Mapping[str, Sequence[str]]) -> Hierarchy:
        """Give groups of values a new name, one mapping a level; values not named stay as they are."""
        return cls(
            grouped=tuple(
                {name: tuple(values) for name, values in level.items()} for level in levels
            )
        )

    @classmethod
    def quantiles(cls, bins: int = 8) -> Hierarchy:
        """Put numbers into intervals with about equal numbers of rows, half as many each level."""
        return cls(bins=bins)

    @classmethod
    def star(cls) -> Hierarchy:
        """Keep a value or replace it by ``*``, with nothing between."""
        return cls(flat=True)

    def to_csv(self, path: str | Path, values: Sequence[Any] = ()) -> None:
        """Write the hierarchy as ARX reads it; a rule is written for the given values."""
        from veladura.numeric.hierarchies.levels import table_of

        rows = self.rows or table_of(self, values)
        with Path(path).open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)

    def told(self) -> dict[str, Any]:
        """Return the rule as the manifest tells it: as it was declared, never the values that occur."""
        if self.rule == "rows":
            return {"rows": [list(row) for row in self.rows]}
        settings = {name: getattr(self, name) for name in (self.rule, "side", "origin")}
        used = {"masked": ("masked", "side"), "widths": ("widths", "origin")}.get(
            self.rule, (self.rule,)
        )
        return {name: settings[name] for name in used}

    def _check_rows(self) -> None:
        widths = {len(row) for row in self.rows}
        if len(widths) > 1:
            msg = f"rows of a hierarchy differ in the number of levels: {sorted(widths)}."
            raise PlanError(msg)
        if min(widths) < 2:  # noqa: PLR2004  # a value and at least one generalisation
            msg = "rows of a hierarchy need a value and at least one level above it."
            raise PlanError(msg)
        if len({row[0] for row in self.rows}) < len(self.rows):
            msg = (
                f"{len(self.rows) - len({row[0] for row in self.rows})} values stand twice in level"
                " 0 of a hierarchy."
            )
            raise PlanError(msg)
        if len({row[-1] for row in self.rows}) > 1:
            msg = "the last level of a hierarchy must be one value, such as *."
            raise PlanError(msg)
        for level in range(1, len(self.rows[0]) - 1):
            above: dict[str, str] = {}
            torn = {
                row[level]
                for row in self.rows
                if above.setdefault(row[level], row[level + 1]) != row[level + 1]
            }
            if torn:
                msg = (
                    f"levels {level} and {level + 1} of a hierarchy do not nest: {len(torn)} values"
                    " have more than one value above them."
                )
                raise PlanError(msg)
        _check_circles(pair for row in self.rows for pair in pairwise(row))

    def _check_masked(self) -> None:
        if not isinstance(self.masked, int) or self.masked < 1:
            msg = f"masked ({self.masked}) must be a whole number of at least 1."
            raise PlanError(msg)

    def _check_widths(self) -> None:
        if any(width <= 0 for width in self.widths):
            msg = "widths of intervals must be above 0."
            raise PlanError(msg)
        ratios = [big / small for small, big in pairwise(self.widths)]
        if any(
            ratio <= 1 or abs(ratio - round(ratio)) > 1e-9  # noqa: PLR2004  # rounding of the ratio
            for ratio in ratios
        ):
            msg = (
                f"widths {list(self.widths)} do not nest: each must be a whole multiple of the one"
                " before."
            )
            raise PlanError(msg)

    def _check_cuts(self) -> None:
        for level in self.cuts:
            if not level or list(level) != sorted(set(level)):
                msg = "cuts of a level must rise."
                raise PlanError(msg)
        if any(not set(coarse) < set(fine) for fine, coarse in pairwise(self.cuts)):
            msg = (
                "cuts do not nest: each level must keep some of the limits of the level before, and"
                " no others."
            )
            raise PlanError(msg)

    def _check_periods(self) -> None:
        for period in self.periods:
            if period not in PERIODS:
                raise PlanError.unknown("period", str(period), PERIODS)
        months = [PERIODS[period] for period in self.periods]
        if any(big <= small or big % small for small, big in pairwise(months)):
            msg = (
                f"periods {list(self.periods)} do not nest: each must hold the one before a whole"
                " number of times."
            )
            raise PlanError(msg)

    def _check_grouped(self) -> None:
        for level in self.grouped:
            values = [value for members in level.values() for value in members]
            if len(set(values)) < len(values):
                msg = "a value stands in two groups of one level."
                raise PlanError(msg)
        _check_circles(
            (value, name)
            for level in self.grouped
            for name, members in level.items()
            for value in members
        )

    def _check_flat(self) -> None:
        """A flat hierarchy has nothing to check."""

    def _check_bins(self) -> None:
        if not isinstance(self.bins, int) or self.bins < 2 or self.bins & (self.bins - 1):  # noqa: PLR2004
            msg = (
                f"bins ({self.bins}) must be 2, 4, 8, 16 or another power of two, so that levels"
                " nest."
            )
            raise PlanError(msg)


def _check_circles(steps: Iterable[tuple[str, str]]) -> None:
    """Refuse values that become each other: what is coarser cannot be finer again. A value may stay as it is."""
    above: dict[str, set[str]] = {}
    for value, coarser in steps:
        if value != coarser:
            above.setdefault(value, set()).add(coarser)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        msg = (
            f"a hierarchy runs in a circle: {len(error.args[1]) - 1} values become each other from"
            " level to level.\n\nHint: give coarser values names of their own."
        )
        raise PlanError(msg) from None


def _read(path: Path) -> tuple[tuple[str, ...], ...]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = tuple(tuple(row) for row in csv.reader(file, delimiter=";") if row)
    except (OSError, UnicodeDecodeError, csv.Error):
        msg = (
            f"{path} cannot be read as a hierarchy.\n\nHint: a CSV file, `;` between levels, no"
            " header, UTF-8."
        )
        raise DataError(msg) from None
    if not rows:
        msg = f"{path} is empty: a hierarchy needs a row for each value."
        raise DataError(msg)
    return rows
