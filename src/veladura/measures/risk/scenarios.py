"""Match risk under several intruders: a table of scenarios, a curve over how much they know, and the figure of an assessment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veladura.base.estimate import Estimate
from veladura.core.promise import Evidence
from veladura.errors import PlanError
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
)
from veladura.measures.risk.intruder import Intruder
from veladura.measures.risk.match import MatchRisk, find, linked_tables
from veladura.measures.risk.uniqueness import keys
from veladura.numeric.coding import is_recoded
from veladura.table.schema import LABELLED

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
WITHIN, DAYS, MOST_TARGETS = 0.1, 30.0, 2_000


@dataclass(frozen=True, eq=False)
class Scenarios(Mapping[Any, MatchRisk]):
    """Match risks by the name of the intruder, or by the factor of the radius; prints as a table."""

    found: Mapping[Any, MatchRisk]

    def __getitem__(self, name: Any) -> MatchRisk:
        return self.found[name]

    def __iter__(self) -> Any:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        lines = [("scenario", "EMR / n", "TMR", "FMR"), *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return each scenario with its three figures, as text."""
        return [
            (str(name), _four(risk.emr), _four(risk.tmr), _four(risk.fmr))
            for name, risk in self.found.items()
        ]


def _four(figure: Estimate) -> str:
    return f"{float(figure):.4f}"


def scenarios(
    original: Any, datasets: Any, intruders: Mapping[str, Intruder], *, targets: int | None = None
) -> Scenarios:
    """Return the match risk under each of several intruders.

    Parameters
    ----------
    original, datasets, targets
        As for `match`.
    intruders
        What each knows, by a name of your choice.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"sex": ["f", "f", "m"], "income": [10.0, 20.0, 30.0]})
    >>> after = before.assign(income=[11.0, 21.0, 90.0])
    >>> knows = {"sex": Intruder(known=["sex"]), "both": Intruder(known=["sex"], sensitive=["income"], radius=2)}
    >>> print(scenarios(before, after, knows))
    scenario  EMR / n  TMR     FMR
    sex       0.6667   0.3333  0.0000
    both      0.6667   0.6667  0.0000
    """
    if not intruders:
        msg = "scenarios needs at least one intruder."
        raise PlanError(msg)
    table = open_quietly(original)
    released = linked_tables(table, datasets)
    return Scenarios(
        {name: find(table, released, intruder, targets) for name, intruder in intruders.items()}
    )


def match_curve(
    original: Any,
    datasets: Any,
    intruder: Intruder,
    *,
    factors: Sequence[float] = FACTORS,
    targets: int | None = None,
) -> Scenarios:
    """Return the match risk of one intruder for several radii: the one he has, times each factor.

    Parameters
    ----------
    original, datasets, targets
        As for `match`.
    intruder
        What he knows; its radius is multiplied.
    factors
        By what; a relative radius is cut at 1.
    """
    if intruder.radius is None or not factors:
        msg = "a curve needs an intruder with a radius, and at least one factor."
        raise PlanError(msg)
    table = open_quietly(original)
    released = linked_tables(table, datasets)
    return Scenarios(
        {factor: find(table, released, widened(intruder, factor), targets) for factor in factors}
    )


def widened(intruder: Intruder, factor: float) -> Intruder:
    """Return an intruder with his radius times a factor."""
    radii = (
        intruder.radius
        if isinstance(intruder.radius, Mapping)
        else dict.fromkeys(intruder.sensitive, intruder.radius or 0.0)
    )
    return replace(
        intruder,
        radius={
            name: min(r * factor, 1.0) if intruder.is_relative(name) else r * factor
            for name, r in radii.items()
        },
    )


@measure(
    "risk.match",
    figures={
        "emr": Meaning(
            "Rows picked right by someone who knows a person's other columns, and the changed ones"
            " roughly.",
            unit="share",
        ),
        "tmr": Meaning(
            "Rows picked right, and without any doubt, by someone who knows a person's other"
            " columns, and the changed ones roughly.",
            unit="share",
            headline=True,
        ),
        "fmr": Meaning(
            "Of the rows picked without doubt, the wrong ones: an intruder cannot trust what he"
            " finds.",
            "high",
            "share",
        ),
    },
)
def measure_match(subject: Subject) -> Measured:
    """Measure the aligned rows for an intruder who knows what is unchanged, and what was changed within ten per cent."""
    evidence = subject.aligned()
    original = evidence[0].original
    assert original is not None  # noqa: S101  # aligned rows have one
    if original.rows == 0:
        msg = "the table has no rows."
        raise NotApplicable(msg)
    intruder = _default(subject, evidence[0])
    released = [(one.released, one.rows) for one in evidence if one.rows is not None]
    rough = [name for name in intruder.sensitive if original.schema[name].kind not in LABELLED]
    targets = MOST_TARGETS if len(rough) > 1 else None
    found = find(original, released, intruder, targets)
    figures: dict[str, Estimate | NotApplicable] = {
        "emr": found.emr,
        "tmr": found.tmr,
        "fmr": found.fmr,
    }
    detail = None
    if rough:
        curve = Scenarios(
            {
                f: found if f == 1 else find(original, released, widened(intruder, f), targets)
                for f in FACTORS
            }
        )
        detail = Detail(
            "Match risk by how roughly the changed columns are known",
            ("Times the radius", "EMR / n", "TMR", "FMR"),
            tuple(curve.rows()),
        )
    sampled = (
        f" {MOST_TARGETS} rows were looked for." if targets and targets < original.rows else ""
    )
    return Measured(figures, {"emr": _told(intruder, rough) + sampled}, detail)


def _default(subject: Subject, evidence: Evidence) -> Intruder:
    """Return someone who knows the unchanged columns exactly, and those the method changed roughly."""
    changed, original = subject.changed, evidence.original
    assert original is not None  # noqa: S101  # aligned rows have one
    if not changed:
        msg = "the method changes no column."
        raise NotApplicable(msg)
    if recoded := [name for name in changed if is_recoded(original, evidence.released, name)]:
        msg = (
            f"{', '.join(recoded)}: recoded to values that no one would look up; risk.classes tells"
            " the risk of such rows."
        )
        raise NotApplicable(msg)
    schema = evidence.released.schema
    radius = {
        name: DAYS if schema[name].kind == "date" else WITHIN
        for name in changed
        if schema[name].kind not in LABELLED
    }
    numbers = tuple(name for name in radius if schema[name].kind != "date")
    return Intruder(
        known=_known(subject, changed), sensitive=tuple(changed), radius=radius, relative=numbers
    )


def _known(subject: Subject, changed: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(name for name in keys(subject) if name not in changed)
    except NotApplicable:  # nothing but numbers: what is changed is all he knows
        return ()


def _told(intruder: Intruder, rough: Sequence[str]) -> str:
    known = f"Known: {', '.join(intruder.known) or 'nothing else'}."
    numbers = [name for name in rough if intruder.is_relative(name)]
    dates = [name for name in rough if not intruder.is_relative(name)]
    exact = [name for name in intruder.sensitive if name not in rough]
    parts = [
        f"{', '.join(exact)} as it was" if exact else "",
        f"{', '.join(numbers)} within {WITHIN:.0%}" if numbers else "",
        f"{', '.join(dates)} within {DAYS:g} days" if dates else "",
    ]
    return f"{known} Roughly: {'; '.join(filter(None, parts))}."
