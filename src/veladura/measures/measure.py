"""A measure: a function that compares a release with its original and returns figures.

A measure is a value, `MEASURE`, of the module that has its name: ``risk.suda2`` is
``measures/risk/suda2.py``, which also holds the plain function ``suda2``. A new measure is that
file, its test and one line of `veladura.measures.registry.MEASURES`. Measures from elsewhere are
passed to ``vd.assess(table, release, measures=[...])``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable, PlanError

if TYPE_CHECKING:
    from veladura.core.promise import Evidence
    from veladura.core.release import Release
    from veladura.measures.knowledge import Scenario
    from veladura.table.table import Table

FAMILIES = ("risk", "utility")
LAZY = (
    "the released rows are in a file or database, and this figure needs them in memory. Load the"
    " saved release with vd.load(folder, lazy=False) to compute it."
)
Better = Literal["low", "high", "neither"]
Unit = Literal["share", "people", "rows", "count", "number"]


@dataclass(frozen=True)
class Meaning:
    """What a figure says, in plain words.

    Attributes
    ----------
    text
        One line: the term of the field first, then what it means for people.
    better
        Which direction is the good one: "low", "high" or "neither".
    unit
        How it is written: a "share" as per cent, a share of the "people" in the original or of the
        released "rows" with their number first, a "count" without decimals, else a "number".
    public
        Whether the recipient may see it.
    headline
        Whether it is among the few that a committee reads first.
    """

    text: str
    better: Better = "low"
    unit: Unit = "number"
    public: bool = True
    headline: bool = False

    def __post_init__(self) -> None:
        for setting, value, possible in (
            ("better", self.better, get_args(Better)),
            ("unit", self.unit, get_args(Unit)),
        ):
            if value not in possible:
                raise PlanError.unknown(setting, value, possible)


@dataclass(frozen=True)
class Detail:
    """A table behind a measure, one row a column or pair of columns; for the custodian's report."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)

    def public(self) -> Detail | None:
        """Return the part of it that recipients need and may see; by default nothing."""
        return None

    def pictures(self) -> dict[str, bytes]:
        """Return pictures of it for the custodian, as SVG by title; by default none."""
        return {}


@dataclass(frozen=True)
class Measured:
    """Figures, with notes beside some of them and, where there is more to say, a table."""

    figures: Mapping[str, Estimate | NotApplicable]
    notes: Mapping[str, str] = field(default_factory=dict)
    detail: Detail | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of an assessment: its estimate, or the reason why there is none."""

    name: str
    meaning: str
    better: Better
    estimate: Estimate | None
    why: str = ""
    note: str = ""
    unit: Unit = "number"
    public: bool = True
    headline: bool = False
    base: int = 0  # how many people or rows a share of them is of

    @property
    def family(self) -> str:
        """What the figure belongs to: "risk" or "utility"."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, eq=False)
class Subject:
    """What is measured: an original without identifiers, and the release made from it.

    The control group, where there is one, holds people of the same population who are not in the
    original. Without intruders the usual ones are taken. Models are formulas of the holder.
    """

    original: Table
    release: Release
    control: Table | None = None
    intruders: tuple[Scenario, ...] = ()
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.original.schema.check("the release", self.tables[0].names)
        source = self.release.original
        if source is not None and self.original is not source and self.original.rows != source.rows:
            msg = (
                f"the table has {self.original.rows} rows, the release was made from one with"
                f" {source.rows}.\n\nHint: give the table that was protected."
            )
            raise PlanError(msg)

    @cached_property
    def tables(self) -> list[Table]:
        """The released tables, which know the people behind their rows."""
        from veladura.core.units import with_people

        return with_people(self.release, self.original)

    @property
    def changed(self) -> list[str]:
        """The released columns whose values a step replaced."""
        changed = {name for step in self.release.steps for name in step.changed}
        return [name for name in self.tables[0].names if name in changed]

    def base(self, unit: Unit, *, counts_people: bool = False) -> int:
        """Return how many people or rows a share is of; 0 for other units."""
        if unit == "people":
            return self.original.people
        if unit != "rows":
            return 0
        return self.tables[0].people if counts_people else self.tables[0].rows

    def one_row_a_person(self) -> Subject:
        """Return the subject if nobody has several rows; else the figure does not apply."""
        people, rows = self.original.people, self.original.rows
        if people < rows:
            msg = (
                f"it takes every row for a person, and {people} people have {rows} rows here."
                " risk.uniqueness and risk.classes count people."
            )
            raise NotApplicable(msg)
        return self

    def fetched(self) -> Subject:
        """Return the subject if its rows are in memory; else the figure does not apply."""
        if not all(table.in_memory for table in self.tables):
            raise NotApplicable(LAZY)
        return self

    def aligned(self) -> list[Evidence]:
        """Return each dataset with the original beside it, row for row."""
        from veladura.core.promise import Evidence

        if self.release.rows is None:
            msg = "the released rows are not linked to rows of the original."
            raise NotApplicable(msg)
        source = self.release.original  # the row numbers are those of this table
        if source is None:
            source = self.original
        return [Evidence(dataset.table, source, dataset.rows) for dataset in self.release.tables]


def reasons(figures: Iterable[Figure]) -> dict[str, list[str]]:
    """Return by reason the measures that do not apply.

    Of a measure that gives some of its figures, the others are listed one by one.
    """
    listed = list(figures)
    partly = {figure.name.rpartition(".")[0] for figure in listed if figure.estimate is not None}
    why: dict[str, list[str]] = {}
    for figure in listed:
        if figure.estimate is None:
            name = figure.name.rpartition(".")[0]
            shown = figure.name if name in partly else name
            if shown not in why.setdefault(figure.why, []):
                why[figure.why].append(shown)
    return why


Result = Mapping[str, Estimate] | Measured
Function = Callable[[Subject], Result]


@dataclass(frozen=True)
class Measure:
    """Figures under one name, and the function that computes them.

    Attributes
    ----------
    name
        Such as "risk.uniqueness": the family, a dot, and a word.
    figures
        What each figure means, by its short name.
    function
        Takes a `Subject` and returns every figure, or raises `NotApplicable` with the reason.
    counted
        Whether it needs nothing but `Table.counts` and `Table.rows`. Only such measures are
        computed for a release whose rows stay in a file or database.
    others
        What further figures mean, whose names come from the plan, such as those of intruders.
    counts_people
        Whether a share of the release is one of its people, who may have several rows.

    Examples
    --------
    >>> rows = Measure(
    ...     "utility.rows",
    ...     figures={"released": Meaning("Rows in the release.", "high", "count")},
    ...     function=lambda subject: {"released": Estimate.exact(subject.tables[0].rows)},
    ... )
    >>> rows.names()
    ['utility.rows.released']
    """

    name: str
    figures: Mapping[str, Meaning]
    function: Function
    counted: bool = False
    others: Meaning | None = None
    counts_people: bool = False

    def __post_init__(self) -> None:
        family, _, word = self.name.partition(".")
        if family not in FAMILIES or not word or not self.figures:
            msg = (
                f"measure {self.name!r} needs a name that starts with one of {list(FAMILIES)}, a"
                " dot and a word, and at least one figure."
            )
            raise PlanError(msg)

    def names(self) -> list[str]:
        """Return the full names of its figures, as a gate may use them."""
        return [f"{self.name}.{short}" for short in self.figures]

    def apply(self, subject: Subject) -> tuple[list[Figure], Detail | None]:
        """Return every figure, with the reason where it does not apply."""
        try:
            result = self.function(subject if self.counted else subject.fetched())
        except NotApplicable as reason:
            result = Measured(dict.fromkeys(self.figures, reason))
        measured = result if isinstance(result, Measured) else Measured(result)
        extra = [short for short in measured.figures if short not in self.figures]
        if set(self.figures) - set(measured.figures) or (extra and self.others is None):
            msg = (
                f"measure {self.name!r} declares {sorted(self.figures)} and gives"
                f" {sorted(measured.figures)}."
            )
            raise PlanError(msg)
        figures = [self._figure(short, measured, subject) for short in (*self.figures, *extra)]
        return figures, measured.detail

    def meaning(self, short: str) -> Meaning:
        """Return what a figure means, by its short name."""
        return self.figures[short] if self.others is None else self.figures.get(short, self.others)

    def _figure(self, short: str, measured: Measured, subject: Subject) -> Figure:
        result, meaning = measured.figures[short], self.meaning(short)
        released = subject.tables[0] if meaning.unit == "rows" and self.counts_people else None
        of_people = released is not None and released.people < released.rows
        missing = isinstance(result, NotApplicable)
        return Figure(
            name=f"{self.name}.{short}",
            meaning=meaning.text,
            better=meaning.better,
            estimate=None if isinstance(result, NotApplicable) else result,
            why=str(result) if missing else "",
            note="" if missing else measured.notes.get(short, ""),
            unit="people" if of_people else meaning.unit,
            public=meaning.public,
            headline=meaning.headline,
            base=subject.base(meaning.unit, counts_people=self.counts_people),
        )


def over_datasets(values: Sequence[float], lower: float = 0.0, upper: float = math.inf) -> Estimate:
    """Return the mean of a figure over the datasets, its interval cut to what the figure can be.

    Examples
    --------
    >>> over_datasets([0.0, 1.0], upper=1.0)
    Estimate(value=0.5, lower=0.0, upper=1.0, level=0.95)
    """
    mean = Estimate.mean(values)
    return Estimate(
        mean.value,
        max(mean.lower, min(lower, mean.value)),
        min(mean.upper, max(upper, mean.value)),
        mean.level,
    )
