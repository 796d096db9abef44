"""A look at a source, for its holder: tables of frequencies, moments, groups and tests.

Private: it tells values of the source. It is printed, or written to a page that only its owner may
read, and never into or beside a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.private_files import private_folder, refuse_near_release, write_private
from veladura.errors import ColumnError, PlanError
from veladura.measures.source.columns import (
    QUANTILES,
    Frequencies,
    Moments,
    frequencies,
    moments,
    number_columns,
)
from veladura.measures.source.comparisons import (
    MOST_GROUPS,
    Correlation,
    Test,
    correlations,
    groups_of,
    tests_by,
    tests_of,
)
from veladura.table.roles.evidence import FEWEST_ROWS, Evidence, gather
from veladura.table.roles.numbers import is_scale
from veladura.table.roles.reserved import no_answer
from veladura.table.roles.shapes import shape_of
from veladura.table.schema import NUMERIC
from veladura.table.source import open_unwarned

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_PAIRS = 20
SMALL_P = 0.0001
SIZES = (2, 3, 5, 10, 11, 20, 50)  # of k, in the table that helps to choose it


@dataclass(frozen=True)
class LookTable:
    """One table of a look: a title, headings, rows of text, and what a reader must know."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    note: str = ""

    def numeric(self, place: int) -> bool:
        """Whether a column of the table holds figures, which are written to the right."""
        cells = [row[place] for row in self.rows]
        return bool(cells) and all(cell[:1] in "-<0123456789" for cell in cells)


@dataclass(frozen=True, eq=False)
class Look:
    """What `look` found. Holds values of the source: its repr shows none.

    Attributes
    ----------
    frequencies, moments
        By column.
    tests
        Of every column against the groups of ``by``, or of ``target`` against every column.
    correlations
        Of all pairs of numbers, the strongest first.
    tables
        All of it as tables of text.
    """

    name: str
    rows: int
    people: int
    frequencies: tuple[Frequencies, ...] = field(repr=False)
    moments: tuple[Moments, ...] = field(repr=False)
    tests: tuple[Test, ...] = field(repr=False)
    correlations: tuple[Correlation, ...] = field(repr=False)
    tables: tuple[LookTable, ...] = field(repr=False)

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.rows:,} rows, {self.people:,} people. Private."]
        for table in self.tables:
            lines = [table.headings, *table.rows]
            widths = [max(len(line[i]) for line in lines) for i in range(len(table.headings))]
            shown = [
                "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
                for line in lines
            ]
            parts.append("\n".join([table.title, *(line.rstrip() for line in shown), table.note]))
        return "\n\n".join(part.rstrip() for part in parts)

    def to_html(self) -> str:
        """Return the custodian's page. Private: do not share."""
        from veladura.report.render import page

        return page("look.html.j2", look=self)

    def save(self, path: str | Path) -> Path:
        """Write the page, readable by its owner only; never into or beside a release."""
        place = Path(path)
        refuse_near_release(place)
        private_folder(place.absolute().parent)
        write_private(place, self.to_html())
        return place


def look(
    table: Any,
    by: str | None = None,
    *,
    target: str | None = None,
    known: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> Look:
    """Return frequencies, moments, tests and correlations of a source, for its holder.

    Rows are counted as they are, without weights.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    by
        A column whose groups are compared: means of numbers by t test (two groups) or analysis of
        variance, categories by chi-square.
    target
        A column of numbers that is tested against every other one.
    known
        Columns that an intruder may know: a table tells how many people share their combination
        with fewer than k others, for several k.
    columns
        The columns to look at; by default all.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"zip": ["1", "1", "2"], "income": [10.0, 20.0, 60.0]})
    >>> found = look(people, by="zip")
    >>> found.frequencies[0].distinct, found.frequencies[0].greatest, found.moments[0].mean
    (2, 2, 30.0)
    """
    opened = open_unwarned(table)
    for setting, names in (
        ("columns", columns or ()),
        ("by", [by] if by else ()),
        ("target", [target] if target else ()),
        ("known", known),
    ):
        if absent := [name for name in names if name not in opened.names]:
            raise ColumnError.missing(setting, absent, opened.names)
    shown = list(dict.fromkeys([*(columns or opened.names), *filter(None, (by, target))]))
    if target is not None and opened.schema[target].kind not in NUMERIC:
        msg = f"target {target!r} must hold numbers.\n\nHint: use by for a column of categories."
        raise PlanError(msg)
    numbers = [name for name in number_columns(opened) if name in shown]
    rows = opened.fetched()
    every = tuple(frequencies(opened, name) for name in shown)
    keys = {f.name for f in every if f.distinct == f.present and f.distinct > 1}
    codes = {f.name for f in opened.schema if f.kind == "integer"} & keys
    evidence = gather(opened, [name for name in numbers if name not in codes])
    numbers = [e.name for e in evidence if e.name == target or not _is_code(e)]  # no moments
    reserved = {e.name: no_answer(e) for e in evidence if e.name in numbers}
    found = [moments(name, rows.column(name).numbers()) for name in numbers]
    others = [name for name in shown if name not in (by, target)]
    grouped = tests_by(rows, by, others) if by else []
    targeted = tests_of(rows, target, [n for n in shown if n != target]) if target else []
    pairs = correlations(rows, numbers)
    given = tuple(moment for moment in found if moment is not None)
    tables = (
        _frequency_table(every),
        *_moment_tables(given, reserved),
        *_group_tables(rows, by, numbers),
        *_test_tables(grouped, f"Tests by {by}"),
        *_test_tables(targeted, f"Tests of {target} against each column"),
        *_pair_tables(pairs),
        *_k_tables(opened, known),
        *_value_tables(every),
    )
    name, people = opened.source.name, opened.people
    tests = (*grouped, *targeted)
    return Look(name, opened.rows, people, every, given, tests, tuple(pairs), tables)


def _number(value: float) -> str:
    if np.isnan(value):
        return "-"
    whole = abs(value) >= 1000 or value == int(value)  # noqa: PLR2004
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def _p(value: float) -> str:
    return f"< {SMALL_P:.4f}" if value < SMALL_P else f"{value:.4f}"


def _frequency_table(every: Sequence[Frequencies]) -> LookTable:
    rows = [
        (
            f.name,
            f.kind,
            *(f"{n:,}" for n in (f.present, f.missing, f.distinct, f.alone, f.least, f.greatest)),
            f"{f.median:,g}",
        )
        for f in every
    ]
    headings = ("column", "kind", "present", "missing", "distinct", "alone")
    return LookTable(
        "Frequencies",
        (*headings, "least", "greatest", "median"),
        tuple(rows),
        "alone: values that one row has only. least, greatest, median: rows that share a value,"
        " over the distinct values.",
    )


def _is_code(column: Evidence) -> bool:
    """Whether numbers are codes, as those of places: their mean says nothing."""
    coded = shape_of(column) in ("nominal code", "long code") and not is_scale(column)
    return coded and column.present >= FEWEST_ROWS


def _moment_tables(
    found: Sequence[Moments], reserved: Mapping[str, Sequence[str]]
) -> Iterator[LookTable]:
    if not found:
        return
    headings = ("column", "rows", "mean", "sd", "skewness", "kurtosis", "min")
    quantiles = tuple(f"{100 * q:g} %" for q in QUANTILES)
    rows = [
        (
            m.name,
            f"{m.rows:,}",
            *map(_number, (m.mean, m.deviation)),
            *(f"{value:.2f}" for value in (m.skewness, m.kurtosis)),
            *map(_number, (m.smallest, *m.quantiles, m.largest)),
        )
        for m in found
    ]
    note = "kurtosis: excess, 0 for a normal distribution."
    if doubted := {name: listed for name, listed in reserved.items() if listed}:
        told = "; ".join(f"{name}: {', '.join(listed)}" for name, listed in doubted.items())
        note += (
            f" Numbers that may mean no answer, and are counted here: {told}. Where they do,"
            ' declare them: missing = ["..."] in [columns] of a plan.'
        )
    yield LookTable("Numbers", (*headings, *quantiles, "max"), tuple(rows), note)


def _group_tables(table: Table, by: str | None, numbers: Sequence[str]) -> Iterator[LookTable]:
    """Yield the means of every number in every group, with 95 % intervals."""
    if by is None:
        return
    from scipy import stats

    group, names = groups_of(table, by)
    rows = []
    for column in (name for name in numbers if name != by):
        values = table.column(column).numbers()
        for place, name in enumerate(names):
            part = values[(group == place) & ~np.isnan(values)]
            spread = float(part.std(ddof=1)) if part.size > 1 else float("nan")
            half = spread / np.sqrt(max(part.size, 1)) * float(stats.t.ppf(0.975, part.size - 1))
            mean = float(part.mean()) if part.size else float("nan")
            ends = f"{_number(mean - half)} to {_number(mean + half)}" if part.size > 1 else "-"
            rows.append((column, name, f"{part.size:,}", _number(mean), _number(spread), ends))
    if rows:
        headings = ("column", by, "rows", "mean", "sd", "95 % interval")
        yield LookTable(f"Means by {by}", headings, tuple(rows))


def _test_tables(tests: Sequence[Test], title: str) -> Iterator[LookTable]:
    if not tests:
        return
    rows = [
        (
            t.name,
            t.test,
            f"{t.statistic:,.3f}",
            ", ".join(f"{d:,.4g}" for d in t.degrees),
            _p(t.p),
            f"{t.effect:.3f}",
            t.measure,
            f"{t.rows:,}",
        )
        for t in tests
    ]
    headings = ("column", "test", "statistic", "df", "p", "effect", "measured by", "rows")
    note = "Rows with a missing value are left out; no weights, no correction for many tests."
    yield LookTable(title, headings, tuple(rows), note)


def _pair_tables(pairs: Sequence[Correlation]) -> Iterator[LookTable]:
    if not pairs:
        return
    rows = [
        (p.first, p.second, f"{p.rows:,}", f"{p.pearson:.3f}", f"{p.spearman:.3f}", _p(p.p))
        for p in pairs[:MOST_PAIRS]
    ]
    left = len(pairs) - len(rows)
    note = f"{left:,} weaker pairs are not shown." if left else ""
    headings = ("column", "with", "rows", "Pearson", "Spearman", "p")
    yield LookTable("Correlations", headings, tuple(rows), note)


def _k_tables(table: Table, known: Sequence[str]) -> Iterator[LookTable]:
    """Yield the people below each k: what a choice of k would have to change."""
    if not known:
        return
    counts = table.people_counts(list(known))
    rows = []
    for k in SIZES:
        below = counts.holders(counts.size < k)
        share = 100 * below / max(counts.people, 1)
        rows.append((f"{k}", f"1 in {k}", f"{below:,} of {counts.people:,}", f"{share:.1f} %"))
    yield LookTable(
        f"Choosing k: people by {', '.join(known)}",
        ("k", "chance of the right row", "people in smaller classes", "share"),
        tuple(rows),
        "k-anonymity has to generalise or suppress these people. Usual: 3 among researchers under"
        " contract, 5 to 11 for public use, more where harm would be great.",
    )


def _value_tables(every: Sequence[Frequencies]) -> Iterator[LookTable]:
    """Yield the commonest values of categories, where there are not too many of them."""
    rows = [
        (f.name, value, f"{size:,}", f"{100 * size / max(f.present, 1):.1f} %")
        for f in every
        if f.distinct <= MOST_GROUPS and f.kind in ("category", "ordered", "text")
        for value, size in f.most
    ]
    if rows:
        headings = ("column", "value", "rows", "share")
        yield LookTable("Commonest values of categories", headings, tuple(rows))
