"""Generalisation hierarchies as the holder declares them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from veladura.errors import DataError, PlanError
from veladura.numeric.hierarchies.checks import check_rule

TOP = "*"
OTHER = "other"
RULES = ("rows", "masked", "widths", "cell", "cuts", "periods", "grouped", "bins", "kept", "flat")
SIZES = 8  # of the cells of a grid, where the holder does not say how many
Period = Literal["month", "quarter", "year", "5 years", "decade", "20 years", "50 years"]


@dataclass(frozen=True)
class Hierarchy:
    """A generalisation hierarchy: how the values of a column become coarser, level by level.

    The last level is always the single value ``*``. Make one with `from_csv`, `explicit`, `mask`,
    `intervals`, `dates`, `groups`, `keep`, `quantiles`, `grid` or `star`. In a plan it is a table
    with exactly one of the rules below.

    Parameters
    ----------
    rows
        One row for each value: the value, then what it becomes at each level. The last entry is
        the same in all rows.
    file
        A CSV file with such rows (``;`` between levels, no header), as ARX writes it.
    masked, side
        Number of characters; at each level one more is replaced by ``*``, from the right or the
        left.
    widths, origin
        Widths of intervals, finest first, each a multiple of the one before; an interval starts
        at ``origin``.
    cell, levels, origin
        For a pair of coordinates: the side of the smallest cells in the unit of the coordinates (or
        width and height), and how many sizes there are, each twice the one before. A corner of a
        cell of every size is at ``origin`` (x and y).
    cuts
        Limits of intervals, finest level first; each level keeps some limits of the level before.
    periods
        Periods of dates, finest first.
    grouped
        For each level the new categories, each with the categories of the level before that it
        takes in.
    kept
        For each level the categories that stay; all others together become ``other``. Each level
        keeps some of the categories of the level before.
    flat
        True: a value is kept or becomes ``*``, with no level between.
    bins
        Number of intervals with about the same number of rows; half as many at each level.
    """

    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    file: Path | None = None
    masked: int | None = None
    side: Literal["right", "left"] = "right"
    widths: tuple[float, ...] = ()
    origin: float | tuple[float, float] = 0.0
    cell: float | tuple[float, float] | None = None
    levels: int | None = None
    cuts: tuple[tuple[float, ...], ...] = ()
    periods: tuple[Period, ...] = ()
    grouped: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    bins: int | None = None
    kept: tuple[tuple[str, ...], ...] = ()
    flat: bool = False

    def __post_init__(self) -> None:
        if self.file is not None and not self.rows:
            object.__setattr__(self, "rows", _read(self.file))
        object.__setattr__(
            self, "rows", tuple(dict.fromkeys(self.rows))
        )  # repeated rows add nothing
        if len(self.rules) != 1:
            msg = (
                "a hierarchy needs exactly one of rows, file, masked, widths, cell, cuts, periods,"
                f" grouped, bins, kept, flat; got {self.rules or 'none'}."
            )
            raise PlanError(msg)
        check_rule(self.rule, self)

    @property
    def rules(self) -> list[str]:
        """Which rules are given."""
        return [name for name in RULES if getattr(self, name)]

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
        if self.rule == "cell":
            return self.sizes + 1
        if self.rule == "bins":
            return int(self.bins or 1).bit_length()
        return len(getattr(self, self.rule)) + 1

    @property
    def sizes(self) -> int:
        """Number of sizes of the cells of a grid."""
        return SIZES if self.levels is None else self.levels

    @property
    def sides(self) -> tuple[float, float]:
        """Width and height of the smallest cells of a grid."""
        return _both(self.cell or 1.0)

    @property
    def corner(self) -> tuple[float, float]:
        """The point of a grid where a corner of a cell of every size is."""
        return _both(self.origin)

    @classmethod
    def from_csv(cls, path: str | Path) -> Hierarchy:
        """Return the hierarchy in a CSV file: ``;`` between levels, no header, level 0 first."""
        return cls(file=Path(path))

    @classmethod
    def from_areas(
        cls, path: str | Path, levels: Sequence[str], outside: str = "outside"
    ) -> Hierarchy:
        """Return a hierarchy of areas, from the properties of their polygons in a GeoJSON file.

        Parameters
        ----------
        levels
            The properties that name the area at each level, smallest areas first, as in
            ``["district", "city", "state"]``. Above them all is ``*``.
        outside
            What `Areas` calls places outside all of them.
        """
        from veladura.numeric.hierarchies.area_levels import rows_of

        return cls(rows=rows_of(Path(path), levels, outside))

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
        """Put numbers into intervals: by widths that are multiples of each other, or by limits."""
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
        """Put categories into groups, one mapping a level; categories not named stay."""
        return cls(
            grouped=tuple(
                {name: tuple(values) for name, values in level.items()} for level in levels
            )
        )

    @classmethod
    def quantiles(cls, bins: int = 8) -> Hierarchy:
        """Put numbers into intervals with about the same number of rows, half as many a level."""
        return cls(bins=bins)

    @classmethod
    def grid(
        cls,
        cell: float | Sequence[float],
        levels: int = SIZES,
        origin: Sequence[float] = (0.0, 0.0),
    ) -> Hierarchy:
        """Put a pair of coordinates into square cells of a quadtree; each level doubles them.

        A pair is released as the centre of its cell.

        Parameters
        ----------
        cell
            Side of the smallest cells, in the unit of the coordinates; two numbers where cells
            are to be square on the ground and a degree of longitude is shorter than one of
            latitude.
        levels
            How many sizes of cells there are, each twice the one before. Above them all is ``*``.
        origin
            A point where a corner of a cell of every size is: best a round one to the south-west
            of the region, so that large cells do not part it.
        """
        return cls(cell=_numbers(cell), levels=levels, origin=_both(_numbers(origin)))

    @classmethod
    def keep(cls, *levels: Sequence[str]) -> Hierarchy:
        """Keep the named categories, one list a level; all others become ``other``."""
        return cls(kept=tuple(tuple(level) for level in levels))

    @classmethod
    def star(cls) -> Hierarchy:
        """Keep a value or replace it by ``*``, with no level between."""
        return cls(flat=True)

    def to_csv(self, path: str | Path, values: Sequence[Any] = ()) -> None:
        """Write the hierarchy as ARX reads it; a rule is written out for the given values."""
        from veladura.numeric.hierarchies.levels import table_of

        rows = self.rows or table_of(self, values)
        with Path(path).open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)

    def to_svg(self, values: Sequence[Any] = (), name: str = "Z") -> str:
        """Return the hierarchy drawn: the chain of its domains, and the tree of its values.

        Parameters
        ----------
        values
            The values to draw a rule for; a hierarchy of rows needs none.
        name
            What the domains are called: Z0, Z1, ...
        """
        from veladura.numeric.hierarchies.levels import table_of
        from veladura.numeric.hierarchies.picture import hierarchy_svg

        return hierarchy_svg(self.rows or table_of(self, values), name).decode()

    def plot(self, path: str | Path, values: Sequence[Any] = (), name: str = "Z") -> Path:
        """Write the picture of `to_svg` to a file, and return its path."""
        place = Path(path)
        place.write_text(self.to_svg(values, name), encoding="utf-8")
        return place

    def declared(self) -> dict[str, Any]:
        """Return the rule as it was declared, for the manifest; never the values that occur."""
        if self.rule == "cell":
            return {"cell": _as_lists(self.cell), "levels": self.sizes, "origin": [*self.corner]}
        with_setting = {"masked": ("masked", "side"), "widths": ("widths", "origin")}
        names = with_setting.get(self.rule, (self.rule,))
        return {name: _as_lists(getattr(self, name)) for name in names}


def _numbers(given: float | Sequence[float]) -> float | tuple[float, float]:
    """Return one number, or a pair of them; `check_rule` refuses what is neither."""
    if isinstance(given, Sequence):
        return tuple(map(float, given))  # type: ignore[return-value]
    return float(given)


def _both(given: float | tuple[float, float]) -> tuple[float, float]:
    """Return a setting for both coordinates: one number stands for two."""
    return given if isinstance(given, tuple) else (given, given)


def _as_lists(value: Any) -> Any:
    """Return tuples as lists, as JSON has them."""
    if isinstance(value, tuple):
        return [list(item) if isinstance(item, tuple) else item for item in value]
    return value


def _read(path: Path) -> tuple[tuple[str, ...], ...]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=";")
            numbered = [(reader.line_num, tuple(row)) for row in reader if row]
    except (OSError, ValueError, csv.Error):  # a NUL in the path, or bytes that are not UTF-8
        msg = (
            f"{path} cannot be read as a hierarchy.\n\nHint: it must be a CSV file in UTF-8, with"
            " `;` between levels and no header."
        )
        raise DataError(msg) from None
    if not numbered:
        msg = f"{path} is empty: a hierarchy needs a row for each value."
        raise DataError(msg)
    _refuse_contradictions(path, numbered)
    return tuple(row for _, row in numbered)


def _refuse_contradictions(path: Path, numbered: Sequence[tuple[int, tuple[str, ...]]]) -> None:
    """Refuse a value that becomes one thing in one line of a file and another in another."""
    first: dict[str, tuple[int, tuple[str, ...]]] = {}
    for line, row in numbered:
        before, same = first.setdefault(row[0], (line, row))
        if row != same:
            msg = (
                f"{path}, line {line}: the value of this line stands in line {before} already, with"
                " other levels above it.\n\nHint: keep one of the two lines."
            )
            raise DataError(msg)
