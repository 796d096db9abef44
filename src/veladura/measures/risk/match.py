"""Match risk (EMR, TMR, FMR): how often an intruder picks the right row for a person.

Released rows are aligned with those of the original: the question is whether the row that an
intruder picks for a target is the one that was made from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.core.promise import Evidence
from veladura.errors import NotApplicable, PlanError
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.pairing import linked_tables
from veladura.measures.risk.intruder import Intruder
from veladura.measures.risk.match_search import MatchRisk, search
from veladura.measures.risk.scenarios import FACTORS, Scenarios
from veladura.measures.risk.uniqueness import known_columns
from veladura.numeric.coding import is_recoded
from veladura.table.schema import LABELLED
from veladura.table.source import open_quietly

WITHIN, DAYS, MOST_TARGETS = 0.1, 30.0, 2_000


@dataclass(frozen=True)
class MatchCurve(Detail):
    """The table behind the figures, with the risks it was made from: ``curve.plot(path)``."""

    curve: Scenarios = field(default_factory=lambda: Scenarios({}), repr=False)


@renamed(datasets="release")
def match(
    original: Any,
    release: Any,
    *,
    known: Sequence[str] | str = (),
    sensitive: Sequence[str] | str = (),
    radius: float | Mapping[str, float] | None = None,
    relative: bool | Sequence[str] = False,
    population: Any = None,
    decline: bool = False,
    targets: int | None = None,
) -> MatchRisk:
    """Return the match risk of m datasets whose rows are those of the original.

    Row j of dataset i matches target t when the known columns are equal and every sensitive number
    is within [Y - l, Y + l]. P(J = j | t) = (1/m) sum_i I(match) / N_it, with N_it the number of
    matches in dataset i, or the number F_t of matches in the population, if larger, when the
    intruder does not know that the target is in the data (Reiter and Mitra 2009, eq. 4; Drechsler
    and Reiter 2011, sec. 3). With c the number of rows that share the largest probability (within
    1e-9), I whether the true one is among them, K = 1 if c I = 1, Q = 1 if c (1 - I) = 1, and s the
    number of targets with c = 1: EMR = sum I / c, TMR = sum K / n, FMR = sum Q / s. A target
    without any match has no largest probability and adds to none of them.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release linked to its rows, one table, or a list of tables with the rows of the original
        in its order.
    known, sensitive, radius, relative, population, decline
        What the intruder knows: see `Intruder`. Missing counts as a value of its own.
    targets
        Take this many people as targets, drawn from a fixed stream, instead of all; figures then
        have intervals.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"sex": ["f", "f", "m"], "income": [10.0, 20.0, 30.0]})
    >>> after = before.assign(income=[11.0, 19.0, 90.0])
    >>> risk = match(before, [after], known=["sex"], sensitive="income", radius=2)
    >>> round(float(risk.emr), 4), risk.per_record.tolist()
    (0.6667, [1.0, 1.0, 0.0])

    References
    ----------
    Reiter, J. P. and Mitra, R. (2009). Estimating risks of identification disclosure in partially
    synthetic data. Journal of Privacy and Confidentiality 1(1), 99-110.
    Drechsler, J. and Reiter, J. P. (2011). An empirical evaluation of easily implemented,
    nonparametric methods for generating synthetic datasets. Computational Statistics & Data
    Analysis 55(12), 3232-3243.
    """
    if (radius is not None or relative) and not sensitive:
        msg = (
            "radius is how far off the sensitive columns are known, and sensitive names none:"
            " columns in known are compared exactly.\n\nHint: name the columns that are known"
            " roughly in sensitive, or leave radius out."
        )
        raise PlanError(msg)
    intruder = Intruder(
        known=known,  # type: ignore[arg-type]
        sensitive=sensitive,  # type: ignore[arg-type]
        radius=radius,
        relative=relative,  # type: ignore[arg-type]
        population=population,
        decline=decline,
    )
    table = open_quietly(original)
    return search(table, linked_tables(table, release), intruder, targets)


def measure(subject: Subject) -> Measured:
    """Measure the aligned rows for an intruder who knows changed numbers roughly."""
    evidence = subject.one_row_a_person().aligned()
    original = evidence[0].original
    assert original is not None  # noqa: S101  # aligned rows have one
    if original.rows == 0:
        msg = "the table has no rows."
        raise NotApplicable(msg)
    intruder = _default(subject, evidence[0])
    released = [(part.released, part.rows) for part in evidence if part.rows is not None]
    rough = [name for name in intruder.sensitive if original.schema[name].kind not in LABELLED]
    targets = MOST_TARGETS if len(rough) > 1 else None
    risk = search(original, released, intruder, targets)
    figures: dict[str, Estimate | NotApplicable] = {
        "emr": risk.emr,
        "tmr": risk.tmr,
        "fmr": risk.fmr,
    }
    detail = None
    if rough:
        curve = {
            f: risk if f == 1 else search(original, released, intruder.widened(f), targets)
            for f in FACTORS
        }
        detail = MatchCurve(
            "Match risk by how precisely the changed columns are known",
            ("Times the radius", "EMR / n", "TMR", "FMR"),
            tuple(Scenarios(curve).rows()),
            Scenarios(curve),
        )
    dates = [name for name in rough if original.schema[name].kind == "date"]
    sampled = f" {MOST_TARGETS} targets." if targets and targets < original.rows else ""
    return Measured(figures, {"emr": _knowledge(intruder, rough, dates) + sampled}, detail)


def _default(subject: Subject, evidence: Evidence) -> Intruder:
    """Return an intruder who knows unchanged columns exactly, and changed ones roughly.

    How roughly is in ``within`` of the plan's intruders; else within 10 %, and 30 days.
    """
    changed, original = subject.changed, evidence.original
    assert original is not None  # noqa: S101  # aligned rows have one
    if not changed:
        msg = "the method changes no column."
        raise NotApplicable(msg)
    if recoded := [name for name in changed if is_recoded(original, evidence.released, name)]:
        msg = (
            f"{', '.join(recoded)}: recoded to values that are not in the original; risk.classes"
            " has the risk of such a release."
        )
        raise NotApplicable(msg)
    schema = evidence.released.schema
    reaches = {
        name: (DAYS, "days") if schema[name].kind == "date" else (WITHIN, "%")
        for name in changed
        if schema[name].kind not in LABELLED
    }
    for who in reversed(subject.intruders):  # the first of the plan decides
        reaches |= {name: who.reach(name) for name in who.within if name in reaches}
    return Intruder(
        known=_unchanged(subject),
        sensitive=tuple(changed),
        radius={name: number for name, (number, _) in reaches.items()},
        relative=tuple(name for name, (_, unit) in reaches.items() if unit == "%"),
    )


def _unchanged(subject: Subject) -> tuple[str, ...]:
    try:
        return tuple(name for name in known_columns(subject) if name not in subject.changed)
    except NotApplicable:  # nothing but numbers: the changed columns are all there is
        return ()


def _knowledge(intruder: Intruder, rough: Sequence[str], dates: Sequence[str]) -> str:
    """Say what an intruder knows."""
    known = f"Known: {', '.join(intruder.known) or 'nothing else'}."
    exact = [name for name in intruder.sensitive if name not in rough]
    by_reach: dict[str, list[str]] = {}
    for name in rough:
        reach = intruder.reach(name)
        unit = " days" if name in dates else ""
        words = f"{reach:.4g}{unit}" if not intruder.is_relative(name) else f"{100 * reach:.4g}%"
        by_reach.setdefault(words, []).append(name)
    parts = [f"{', '.join(exact)} as in the original"] if exact else []
    parts += [f"{', '.join(names)} within {words}" for words, names in by_reach.items()]
    return f"{known} Roughly: {'; '.join(parts)}."


MEASURE = Measure(
    "risk.match",
    figures={
        "emr": Meaning(
            "EMR / n: expected share of people whose row is picked right by an intruder who knows"
            " their other columns, and the changed ones roughly.",
            unit="people",
        ),
        "tmr": Meaning(
            "True match rate (TMR): people for whom one row is the most likely, and it is theirs.",
            unit="people",
            headline=True,
        ),
        "fmr": Meaning(
            "False match rate (FMR): of the people for whom one row is the most likely, those for"
            " whom it is somebody else's.",
            "high",
            "share",
        ),
    },
    function=measure,
)
