"""Outlier attack: how near a release tells the numbers of the outermost people (p-% rule)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.number_columns import number_columns
from veladura.numeric.numbers_attacks import Outermost, outermost


@dataclass(frozen=True)
class Extremes:
    """The outlier attack on both ends of the number columns.

    Attributes
    ----------
    attacked
        Outermost people whose number is more than 10 % away from that of the fifth.
    told
        Those whose number a guess comes within 10 % of.
    by_chance
        How many that would be if the guesses were about another dataset; None for one dataset,
        where it is unknown.
    lone
        Those told whose number is more than three times as far out as the third.
    own
        Those whose number comes out as it is: a guess comes nearer than chance does in one release
        of a thousand, on the grid of the column and with its rounding habits.
    ends
        By column and end, the attack on it.
    """

    attacked: int
    told: Estimate
    by_chance: Estimate | None
    lone: Estimate
    own: Estimate
    ends: dict[str, Outermost] = field(repr=False, default_factory=dict)


def extremes(original: Any, release: Any, *, columns: Sequence[str] | None = None) -> Extremes:
    """Return how many outermost people have their number told within 10 %.

    The intruder has the datasets alone. Guesses: the largest released number, mean and median of
    the largest ones of the datasets, and what their sums leave for one person beyond the usual
    ones; the same for the smallest. The p-% rule of tabular data (Hundepool et al. 2012, section
    4.2.2), with p = 10.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    columns
        Number columns: by default those that the release replaced, or all of a table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> people = pd.DataFrame({"income": np.append(np.arange(1000.0, 1100.0), 98_765.0)})
    >>> risk = extremes(people, people)
    >>> risk.attacked, int(risk.told), int(risk.lone), int(risk.own)
    (1, 1, 1, 1)

    References
    ----------
    Hundepool, A. et al. (2012). Statistical Disclosure Control. Wiley.
    """
    ends: dict[str, Outermost] = {}
    for column in number_columns(original, release, columns):
        if column.before.field.kind == "date":
            continue  # a share of a date means nothing
        before, *after = (
            one.values[~one.missing].astype(np.float64) for one in (column.before, *column.after)
        )
        for end, sign in (("largest", 1.0), ("smallest", -1.0)):
            found = outermost(sign * before, [sign * part for part in after])
            if found is not None:
                ends[f"{column.name}, {end}"] = found
    attacks = list(ends.values())
    return Extremes(
        len(attacks),
        Estimate.exact(sum(one.told for one in attacks)),
        _by_chance(attacks),
        Estimate.exact(sum(one.told and one.lone for one in attacks)),
        Estimate.exact(sum(one.own(len(attacks)) for one in attacks)),
        ends,
    )


def _by_chance(attacks: Sequence[Outermost]) -> Estimate | None:
    """Return how many are told by chance; None where one dataset does not tell."""
    known = [one.by_chance for one in attacks if one.by_chance is not None]
    return Estimate.exact(sum(known)) if len(known) == len(attacks) else None


def measure(subject: Subject) -> Measured:
    """Attack both ends of the replaced numbers."""
    risk = extremes(subject.original, subject.release)
    rows = tuple(
        (
            name,
            f"{one.error:.0%}",
            "yes" if one.told else "no",
            "unknown" if one.by_chance is None else f"{one.by_chance:.2f}",
        )
        for name, one in risk.ends.items()
    )
    chance: Estimate | NotApplicable | None = risk.by_chance
    if chance is None:
        chance = NotApplicable("one dataset does not tell how often guesses are right by chance.")
    headers = ("end", "error of the best guess", "told within 10 %", "by chance")
    return Measured(
        {"told": risk.told, "by_chance": chance, "lone": risk.lone, "own": risk.own},
        {"told": f"Of {risk.attacked} outermost people who stand out."},
        Detail("Outlier attack by column", headers, rows) if rows else None,
    )


MEASURE = Measure(
    "risk.extremes",
    figures={
        "told": Meaning(
            "Outlier attack (p-% rule): outermost people whose number the datasets tell within"
            " 10 %.",
            unit="count",
        ),
        "by_chance": Meaning(
            "Outlier attack, base rate: how many that would be by chance; unknown for one dataset.",
            "neither",
        ),
        "lone": Meaning(
            "Outlier attack: those told who stand alone, more than three times as far out as the"
            " third.",
            unit="count",
        ),
        "own": Meaning(
            "Outlier attack: outermost people whose number comes out as it is, nearer than chance"
            " comes in one release of a thousand.",
            unit="count",
        ),
    },
    function=measure,
)
