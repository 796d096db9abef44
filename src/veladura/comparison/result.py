"""A finished comparison: two axes, the frontier, and who is dominated by whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.comparison.candidate import Candidate
from veladura.errors import PlanError
from veladura.measures.measure import Figure
from veladura.measures.registry import figure_names
from veladura.report.words import enumerated, number

if TYPE_CHECKING:
    import pandas as pd

# The first of these that applies to most candidates is an axis, unless the caller names one.
RISK = ("risk.replicated.uniques", "risk.attribution.disco", "risk.uniqueness.average_prosecutor")
UTILITY = ("utility.detail.two", "utility.pmse.ratio", "utility.columns.mean")
OWN_DETAIL = (
    "utility.detail.",
)  # figures that see what was coarsened; others measure a table at its own level of detail
PICKED = (  # where released rows are nobody's there is none to pick
    "risk.uniqueness.average_prosecutor"
)
PRECISION = "utility.generalisation.precision"
PRIVATE_NOTE = (
    "Figures of a differentially private release tell something of the data: this page, and a"
    " choice made by it, stay with the holder."
)


@dataclass(frozen=True)
class Comparison:
    """Candidates on one table, with the two figures they are compared by.

    Attributes
    ----------
    candidates
        In the order given.
    risk, utility
        The full names of the figures on the axes.
    frontier
        The candidates that no other one beats, safest first.
    dominated
        By name of a candidate, one that is at least as good by both axes, as hard to pick a
        person's row from, as detailed and as wide, and better in one of these.
    """

    candidates: tuple[Candidate, ...]
    risk: str
    utility: str

    @property
    def placed(self) -> list[Candidate]:
        """The candidates that have both figures."""
        return [c for c in self.candidates if _known(c, self.risk) and _known(c, self.utility)]

    @property
    def dominated(self) -> dict[str, str]:
        """By name, the first candidate of the frontier that beats it."""
        front = self.frontier
        return {
            c.name: next(f.name for f in front if self._beats(f, c))
            for c in self.placed
            if c not in front
        }

    @property
    def frontier(self) -> list[Candidate]:
        """The candidates that none beats, safest first."""
        kept = [c for c in self.placed if not any(self._beats(other, c) for other in self.placed)]
        return sorted(kept, key=lambda c: self._badness(c)[0])

    def _badness(self, candidate: Candidate) -> tuple[float, ...]:
        """Return everything a candidate must not be worse in, turned so that less is better; the two axes first.

        Both figures; the chance to pick a known person's row, which tells k = 3 from k = 10 where
        nobody is alone in either; the detail that the utility axis does not see, and the columns
        that are not released: a coarser or narrower table must not win by what it left out.
        """
        values = []
        for name in (self.risk, self.utility):
            estimate = candidate.estimate(name)
            value = math.inf if estimate is None else estimate.value
            values.append(-value if candidate.figures[name].better == "high" else value)
        picked = candidate.estimate(PICKED)
        return (
            *values,
            0.0 if picked is None else picked.value,
            0.0 if self.sees_detail else 1 - detail(candidate),
            -candidate.columns,
        )

    @property
    def sees_detail(self) -> bool:
        """Whether the utility axis counts what was coarsened as lost."""
        return self.utility.startswith(OWN_DETAIL)

    @property
    def edge(self) -> list[Candidate]:
        """The candidates of the frontier that no other beats by the two axes alone, safest first: the line on the map."""
        front = [(self._badness(c)[:2], c) for c in self.frontier]
        return [
            c
            for place, c in front
            if not any(
                other != place and other[0] <= place[0] and other[1] <= place[1]
                for other, _ in front
            )
        ]

    def _beats(self, one: Candidate, other: Candidate) -> bool:
        a, b = self._badness(one), self._badness(other)
        return a != b and all(mine <= theirs for mine, theirs in zip(a, b, strict=True))

    def verdict(self, candidate: Candidate) -> str:
        """Return what the map says of a candidate, in words."""
        if candidate.problem:
            return f"no release: {candidate.problem}"
        if beaten := self.dominated.get(candidate.name):
            return f"dominated by {beaten}: no safer, no more useful, no finer, no wider"
        if candidate in self.frontier:
            return "on the frontier"
        missing = next(name for name in (self.risk, self.utility) if not _known(candidate, name))
        figure = candidate.figures.get(missing)
        return f"not on the map: {missing} does not apply. {figure.why if figure else ''}".strip()

    @property
    def notes(self) -> list[str]:
        """What must be said beside the map."""
        some = len({c.columns for c in self.placed}) > 1
        columns = (
            [
                (
                    "Figures are of the released columns: a candidate that releases fewer dominates"
                    " none that releases more."
                )
            ]
            if some
            else []
        )
        coarse = [] if self.sees_detail else [c.name for c in self.placed if _known(c, PRECISION)]
        told = (
            "Utility is measured at each table's own level of detail, so that a coarser candidate"
            f" dominates no finer one: {enumerated(coarse)}. --utility {UTILITY[0]} counts what was"
            " coarsened."
        )
        detail = [told] if coarse else []
        safe = (
            []
            if self.risk == PICKED
            else [f"As safe also means: no easier to pick a known person's row from ({PICKED})."]
        )
        return (
            safe
            + columns
            + detail
            + ([PRIVATE_NOTE] if any(c.private for c in self.candidates) else [])
        )

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """Return the table: name, method, columns, risk, utility, verdict."""
        return [
            (
                c.name,
                c.method,
                str(c.columns or "-"),
                written(c, self.risk),
                written(c, self.utility),
                self.verdict(c),
            )
            for c in self.candidates
        ]

    def table(self) -> pd.DataFrame:
        """Return the candidates with all their figures, one row each."""
        import pandas as pd

        names = [name for name in figure_names() if any(_known(c, name) for c in self.candidates)]
        rows = [
            {name: e.value for name in names if (e := c.estimate(name)) is not None}
            for c in self.candidates
        ]
        return pd.DataFrame(
            rows, index=pd.Index([c.name for c in self.candidates], name="candidate"), columns=names
        )

    def __str__(self) -> str:
        head = ("candidate", "method", "columns", self.risk, self.utility, "verdict")
        lines = [head, *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        text = [
            "  ".join(
                [
                    *(cell.ljust(width) for cell, width in zip(line[:5], widths, strict=True)),
                    line[5],
                ]
            )
            for line in lines
        ]
        return "\n".join(
            [text[0], "-" * len(text[0]), *text[1:], *(["", *self.notes] if self.notes else [])]
        )

    def to_html(self) -> str:
        """Return one page with the map and the table; it needs no network."""
        from veladura.comparison.page import render

        return render(self)

    def _repr_html_(self) -> str:
        from veladura.comparison.page import fragment

        return fragment(self)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "risk": self.risk,
            "utility": self.utility,
            "frontier": [c.name for c in self.frontier],
            "dominated": self.dominated,
            "candidates": [c.to_json() for c in self.candidates],
        }


def detail(candidate: Candidate) -> float:
    """Return how finely a candidate tells values: 1 for all that do not generalise."""
    precision = candidate.estimate(PRECISION)
    return 1.0 if precision is None else precision.value


def _known(candidate: Candidate, name: str) -> bool:
    estimate = candidate.estimate(name)
    return estimate is not None and math.isfinite(estimate.value)


def written(candidate: Candidate, name: str) -> str:
    """Return a figure with its interval, as people read it."""
    estimate, figure = candidate.estimate(name), candidate.figures.get(name)
    if estimate is None or figure is None:
        return "-"
    value = number(estimate.value, figure.unit)
    return (
        value
        if estimate.is_exact
        else (
            f"{value} ({number(estimate.lower, figure.unit)} to"
            f" {number(estimate.upper, figure.unit)})"
        )
    )


def check_axes(risk: str | None, utility: str | None) -> None:
    """Refuse a figure that is not known, before anything is run for it."""
    for family, given in (("risk", risk), ("utility", utility)):
        possible = [name for name in figure_names() if name.startswith(f"{family}.")]
        if given is not None and given not in possible:
            raise PlanError.unknown(f"{family} figure", given, possible)


def axis(candidates: Sequence[Candidate], family: str, given: str | None) -> str:
    """Return the figure of an axis: the one named, or the first preferred one that most candidates have."""
    return given or max(
        RISK if family == "risk" else UTILITY,
        key=lambda name: sum(_known(c, name) for c in candidates),
    )


def figure_of(comparison: Comparison, name: str) -> Figure | None:
    """Return a figure of any candidate, for its meaning and unit."""
    return next((c.figures[name] for c in comparison.candidates if name in c.figures), None)
