"""Measures by name: functions that look at a release beside its original and hand out figures.

A new measure is a decorated function in a module of `MEASURES`; the assessment, the gate and the
report then know its figures without a line of theirs being changed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

from veladura.base.estimate import Estimate
from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.core.promise import Evidence
    from veladura.core.release import Release
    from veladura.table.table import Table

MEASURES = (
    "veladura.measures.risk.uniqueness",
    "veladura.measures.risk.classes",
    "veladura.measures.risk.unchanged",
    "veladura.measures.risk.intruders",
    "veladura.measures.risk.weighted",
    "veladura.measures.risk.special",
    "veladura.measures.risk.replicas",
    "veladura.measures.risk.disclosive",
    "veladura.measures.risk.closeness",
    "veladura.measures.risk.linking",
    "veladura.measures.risk.attacks",
    "veladura.measures.risk.republished",
    "veladura.measures.risk.pools",
    "veladura.measures.risk.location",
    "veladura.measures.utility.columns",
    "veladura.measures.utility.correlations",
    "veladura.measures.utility.generalised",
    "veladura.measures.utility.contingency",
    "veladura.measures.utility.detailed",
    "veladura.measures.utility.propensity",
    "veladura.measures.utility.clusters",
    "veladura.measures.utility.intervals",
    "veladura.measures.utility.prediction",
    "veladura.measures.utility.location",
)
FAMILIES = ("risk", "utility")
LAZY = (
    "the released rows stay where the data lives, and this figure needs them in memory. Load the"
    " saved release to have it."
)
Better = Literal["low", "high", "neither"]
Unit = Literal["share", "people", "rows", "count", "number"]


class NotApplicable(PlanError):  # noqa: N818  # no fault of anyone: the figure does not exist for this release
    """A measure has no meaning for a release, for the reason told."""


@dataclass(frozen=True)
class Meaning:
    """What a figure says, in plain words.

    Attributes
    ----------
    text
        One line for people who are not statisticians.
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
    """A table behind a measure, one row a column or pair of columns; for the custodian's page."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)


@dataclass(frozen=True)
class Measured:
    """Figures with notes beside some of them and, where there is more to tell, a table."""

    figures: Mapping[str, Estimate | NotApplicable]
    notes: Mapping[str, str] = field(default_factory=dict)
    detail: Detail | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of an assessment: its estimate, or why there is none."""

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
    """What is measured: a prepared original without identifiers, and the release made of it.

    The control, where there is one, holds people of the same population whom the release was not
    made of.
    """

    original: Table
    release: Release
    control: Table | None = None

    def __post_init__(self) -> None:
        self.original.schema.check("the release", self.tables[0].names)
        made_of = self.release.original
        if (
            made_of is not None
            and self.original is not made_of
            and self.original.rows != made_of.rows
        ):
            msg = (
                f"the table has {self.original.rows} rows, the release was made of one with"
                f" {made_of.rows}.\n\nHint: give the table that was protected."
            )
            raise PlanError(msg)

    @property
    def tables(self) -> list[Table]:
        """The released tables."""
        return [dataset.table for dataset in self.release.tables]

    @property
    def changed(self) -> list[str]:
        """The released columns whose values a step replaced."""
        changed = {name for step in self.release.steps for name in step.changed}
        return [name for name in self.tables[0].names if name in changed]

    def base(self, unit: Unit) -> int:
        """Return how many people or rows a share is of; 0 for other units."""
        if unit == "people":
            return self.original.rows
        return self.tables[0].rows if unit == "rows" else 0

    def fetched(self) -> Subject:
        """Return the subject if its rows are in memory; figures that look at rows are not taken of others."""
        if not all(table.in_memory for table in self.tables):
            raise NotApplicable(LAZY)
        return self

    def aligned(self) -> list[Evidence]:
        """Return each dataset with the original row for row beside it."""
        from veladura.core.promise import Evidence

        if self.release.rows is None:
            msg = "the released rows are not linked to rows of the original."
            raise NotApplicable(msg)
        source = (
            self.original if self.release.original is None else self.release.original
        )  # row numbers are of this one
        return [Evidence(dataset.table, source, dataset.rows) for dataset in self.release.tables]


def reasons(figures: Iterable[Figure]) -> dict[str, list[str]]:
    """Return why figures do not apply, each reason with the measures it holds for, or with single figures of one that gives others."""
    listed = list(figures)
    given = {figure.name.rpartition(".")[0] for figure in listed if figure.estimate is not None}
    why: dict[str, list[str]] = {}
    for figure in listed:
        if figure.estimate is None:
            name = figure.name.rpartition(".")[0]
            shown = figure.name if name in given else name
            if shown not in why.setdefault(figure.why, []):
                why[figure.why].append(shown)
    return why


Result = Mapping[str, Estimate] | Measured
Function = Callable[[Subject], Result]


@dataclass(frozen=True)
class Measure:
    """A registered function and the figures it gives."""

    name: str
    figures: Mapping[str, Meaning]
    function: Function
    counted: bool = False

    def apply(self, subject: Subject) -> tuple[list[Figure], Detail | None]:
        """Return every figure, with its reason where it does not apply."""
        try:
            result = self.function(subject) if self.counted else self.function(subject.fetched())
        except NotApplicable as reason:
            result = Measured(dict.fromkeys(self.figures, reason))
        measured = result if isinstance(result, Measured) else Measured(result)
        if set(measured.figures) != set(self.figures):
            msg = (
                f"measure {self.name!r} declares {sorted(self.figures)} and gives"
                f" {sorted(measured.figures)}."
            )
            raise ValueError(msg)
        figures = [self._figure(short, measured, subject) for short in self.figures]
        return figures, measured.detail

    def _figure(self, short: str, measured: Measured, subject: Subject) -> Figure:
        found, meaning = measured.figures[short], self.figures[short]
        why, note = (
            (str(found), "")
            if isinstance(found, NotApplicable)
            else ("", measured.notes.get(short, ""))
        )
        estimate = None if isinstance(found, NotApplicable) else found
        return Figure(
            f"{self.name}.{short}",
            meaning.text,
            meaning.better,
            estimate,
            why,
            note,
            meaning.unit,
            meaning.public,
            meaning.headline,
            subject.base(meaning.unit),
        )


_REGISTERED: dict[str, Measure] = {}


def measure(
    name: str, *, figures: Mapping[str, Meaning], counted: bool = False
) -> Callable[[Function], Function]:
    """Register a function that measures a release, under a name such as "risk.uniqueness".

    One that needs nothing but `Table.counts` and `Table.rows` is ``counted``: only such measures
    are taken of a release whose rows stay in a file or database.
    """
    family, _, short = name.partition(".")
    if family not in FAMILIES or not short or not figures:
        msg = (
            f"measure {name!r} needs a name that starts with one of {list(FAMILIES)}, a dot and a"
            " word, and at least one figure."
        )
        raise ValueError(msg)

    def register(function: Function) -> Function:
        if name in _REGISTERED and _REGISTERED[name].function.__module__ != function.__module__:
            msg = f"two measures are called {name!r}."
            raise ValueError(msg)
        _REGISTERED[name] = Measure(name, dict(figures), function, counted)
        return function

    return register


def measures() -> dict[str, Measure]:
    """Return every measure by name, those of `MEASURES` first and in its order."""
    for module in MEASURES:
        import_module(module)
    listed = sorted(_REGISTERED.values(), key=lambda m: _place(m.function.__module__))
    return {found.name: found for found in listed}


def _place(module: str) -> int:
    return MEASURES.index(module) if module in MEASURES else len(MEASURES)


def figure_names() -> list[str]:
    """Return the full names of all figures, as a gate may use them.

    Examples
    --------
    >>> "risk.uniqueness.average_prosecutor" in figure_names()
    True
    """
    return [f"{found.name}.{short}" for found in measures().values() for short in found.figures]


def over_datasets(values: Sequence[float], lower: float = 0.0, upper: float = math.inf) -> Estimate:
    """Return the mean of one figure per dataset, its interval cut to what the figure can be.

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


def open_quietly(source: Any, columns: Mapping[str, Any] | None = None) -> Table:
    """Return an opened table without identifiers; measuring releases nothing, so nothing is warned of."""
    from veladura.table.source import IdentifierWarning
    from veladura.table.source import open as open_table
    from veladura.table.table import Table

    if isinstance(source, Table):  # nothing to open; filters of warnings belong to all threads
        return source.without_identifiers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        return open_table(source, columns).without_identifiers()
