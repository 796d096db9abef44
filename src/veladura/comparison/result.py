"""A finished comparison: two axes, the frontier, and the dominated candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.comparison.candidate import Candidate
from veladura.errors import PlanError
from veladura.measures.measure import Figure
from veladura.measures.registry import figure_names, is_figure
from veladura.report import words

if TYPE_CHECKING:
    import pandas as pd

# The first of these that applies to most candidates is an axis, unless the caller names one.
# The strongest intruder comes first: he is measured for any release, an untouched one too.
RISK = (
    "risk.intruders.strongest",
    "risk.replicated.uniques",
    "risk.attribution.disco",
    "risk.uniqueness.average_prosecutor",
)
UTILITY = ("utility.detail.two", "utility.pmse.ratio", "utility.columns.mean")
# Figures that count lost detail; others measure a table at its own level of detail.
OWN_DETAIL = ("utility.detail.",)
PROSECUTOR = "risk.uniqueness.average_prosecutor"  # without meaning for synthetic rows
PRECISION = "utility.generalisation.precision"
PRIVATE_NOTE = (
    "Figures of a differentially private release disclose something about the data, and so does a"
    " choice that is based on them. Do not publish either."
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
        The candidates that no other one dominates, safest first.
    dominated
        By name of a candidate, the candidate that dominates it: at least as good on both axes, in
        prosecutor risk, in detail and in number of columns, and better in one of these.
    """

    candidates: tuple[Candidate, ...]
    risk: str
    utility: str

    @property
    def placed(self) -> list[Candidate]:
        """The candidates that have both figures."""
        return [c for c in self.candidates if _has(c, self.risk) and _has(c, self.utility)]

    @property
    def dominated(self) -> dict[str, str]:
        """By name, the first candidate of the frontier that dominates it."""
        front = self.frontier
        return {
            c.name: next(f.name for f in front if self._beats(f, c))
            for c in self.placed
            if c not in front
        }

    @property
    def frontier(self) -> list[Candidate]:
        """The candidates that no other one dominates, safest first."""
        kept = [c for c in self.placed if not any(self._beats(other, c) for other in self.placed)]
        return sorted(kept, key=lambda c: self._badness(c)[0])

    def _badness(self, candidate: Candidate) -> tuple[float, ...]:
        """Return what candidates are compared by, less is better: the two axes first.

        Then the prosecutor risk, which separates k = 3 from k = 10 where nobody is unique in
        either; the detail that the utility axis does not count; and the columns: a coarser or
        narrower table must not win by what it leaves out.
        """
        values = []
        for name in (self.risk, self.utility):
            estimate = candidate.estimate(name)
            value = math.inf if estimate is None else estimate.value
            values.append(-value if candidate.figures[name].better == "high" else value)
        prosecutor = candidate.estimate(PROSECUTOR)
        return (
            *values,
            0.0 if prosecutor is None else prosecutor.value,
            0.0 if self.sees_detail else 1 - detail(candidate),
            -candidate.columns,
        )

    @property
    def sees_detail(self) -> bool:
        """Whether the utility axis counts lost detail."""
        return self.utility.startswith(OWN_DETAIL)

    @property
    def edge(self) -> list[Candidate]:
        """The line on the map: the candidates that no other one beats on the two axes alone."""
        front = [(self._badness(c)[:2], c) for c in self.frontier]
        return [
            c
            for place, c in front
            if not any(
                other != place and other[0] <= place[0] and other[1] <= place[1]
                for other, _ in front
            )
        ]

    def _beats(self, candidate: Candidate, other: Candidate) -> bool:
        a, b = self._badness(candidate), self._badness(other)
        return a != b and all(mine <= theirs for mine, theirs in zip(a, b, strict=True))

    def verdict(self, candidate: Candidate) -> str:
        """Return the place of a candidate on the map, in words."""
        if candidate.problem:
            return f"no release: {candidate.problem}"
        if beaten := self.dominated.get(candidate.name):
            return f"dominated by {beaten}: at least as safe, useful, detailed and complete"
        if candidate in self.frontier:
            return "on the frontier"
        missing = next(name for name in (self.risk, self.utility) if not _has(candidate, name))
        figure = candidate.figures.get(missing)
        return f"not on the map: {missing} does not apply. {figure.why if figure else ''}".strip()

    @property
    def notes(self) -> list[str]:
        """Remarks on how to read the map."""
        coarse = [c.name for c in self.placed if _has(c, PRECISION) and not self.sees_detail]
        remarks = {
            f"A candidate is as safe as another if its prosecutor risk ({PROSECUTOR}) is also no"
            " higher.": self.risk != PROSECUTOR,
            "Figures cover the released columns only, so that a candidate with fewer columns never"
            " dominates one with more.": len({c.columns for c in self.placed}) > 1,
            "Utility is measured at each table's own level of detail, so that a coarser candidate"
            f" never dominates a finer one: {words.enumerated(coarse)}. To count lost detail, use"
            f" --utility {UTILITY[0]}.": bool(coarse),
            PRIVATE_NOTE: any(c.private for c in self.candidates),
        }
        return [remark for remark, applies in remarks.items() if applies]

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

        listed = dict.fromkeys(name for c in self.candidates for name in c.figures)
        names = [name for name in listed if any(_has(c, name) for c in self.candidates)]
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

    def curves(self) -> dict[str, bytes]:
        """Return pictures of a sweep as SVG by title: what is lost along each setting.

        None where nothing was swept.
        """
        from veladura.comparison.curves import curves

        return curves(self)

    def to_html(self) -> str:
        """Return one page with the map and the table; it loads nothing from the network."""
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
    """Return the precision of a candidate's values: 1 where nothing is generalised."""
    precision = candidate.estimate(PRECISION)
    return 1.0 if precision is None else precision.value


def _has(candidate: Candidate, name: str) -> bool:
    estimate = candidate.estimate(name)
    return estimate is not None and math.isfinite(estimate.value)


def written(candidate: Candidate, name: str) -> str:
    """Return a figure with its interval, as people read it."""
    figure = candidate.figures.get(name)
    if figure is None or figure.estimate is None:
        return "-"
    value, _, share = words.figure(figure).partition(" (")
    beside = [text for text in (share.removesuffix(")"), words.interval(figure)) if text]
    return f"{value} ({'; '.join(beside)})" if beside else value


def check_axes(risk: str | None, utility: str | None) -> None:
    """Refuse an unknown figure before anything is run."""
    for family, given in (("risk", risk), ("utility", utility)):
        possible = [name for name in figure_names() if name.startswith(f"{family}.")]
        named = given is None or (given.startswith(f"{family}.") and is_figure(given))
        if given is not None and not named:
            raise PlanError.unknown(f"{family} figure", given, possible)


def axis(candidates: Sequence[Candidate], family: str, given: str | None) -> str:
    """Return the figure of an axis: the given one, or the preferred one most candidates have."""
    return given or max(
        RISK if family == "risk" else UTILITY,
        key=lambda name: sum(_has(c, name) for c in candidates),
    )


def figure_of(comparison: Comparison, name: str) -> Figure | None:
    """Return a figure of any candidate, for its meaning and unit."""
    return next((c.figures[name] for c in comparison.candidates if name in c.figures), None)
