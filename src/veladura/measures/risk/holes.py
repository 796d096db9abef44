"""Hole attack: values and places of people that a release avoids, and so discloses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.estimate import Estimate
from veladura.core.release import Release
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.pairing import Pairing, pair
from veladura.methods.geography.placed import changed_columns, step_of_places
from veladura.numeric.lattice import HoleAttack, distinct_points, hole_attack

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

EXACT = 2.0**53  # whole numbers beyond have no exact floats


@dataclass(frozen=True)
class Holes:
    """The best hole attack, of the column or pair of coordinates where it gains most.

    Attributes
    ----------
    precision
        Share of the named values that one person holds, or of the named places where somebody
        lives; 0 if none is named.
    base
        The same share among the values or places around the named ones.
    ratio
        Precision over base rate, as if 50 more had been found by chance: 1 if nothing is gained.
    recall
        Share of all such values or places that were named.
    named
        How many values or places are named.
    where
        The column, or the pair of coordinates; empty if nothing could be attacked.
    attacks
        By column or pair, the attack on it.
    """

    precision: Estimate
    base: Estimate
    ratio: Estimate
    recall: Estimate
    named: int
    where: str
    attacks: dict[str, HoleAttack] = field(repr=False, default_factory=dict)


def holes(
    original: Any,
    release: Any,
    *,
    columns: Sequence[str] | None = None,
    places: tuple[str, str] | None = None,
) -> Holes:
    """Return how well the gaps in a release tell which values and places are people's.

    A method that never releases a person's value, but everything around it, discloses the value by
    its absence. The intruder has the released rows alone, knows the decimals of a column, and names
    the possible values that are absent though the values around are frequent.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    columns
        Number columns that are attacked one by one: by default those that the release replaced, or
        all of a table.
    places
        The two coordinates that are attacked together: by default those of a method for places.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> people = pd.DataFrame({"income": np.arange(0, 2000, 4)})
    >>> avoided = pd.DataFrame({"income": np.setdiff1d(np.arange(2000), people.income).repeat(5)})
    >>> risk = holes(people, avoided)
    >>> float(risk.precision), float(risk.ratio) > 2
    (1.0, True)
    """
    both = pair(original, release)
    if isinstance(release, Release):
        step = step_of_places(release)
        if places is None and step is not None:
            places = (step.settings["x"], step.settings["y"])
        columns = changed_columns(release) if columns is None else columns
    else:
        columns = tuple(both.forms) if columns is None else columns
    both.original.schema.check("columns", [*columns, *(places or ())])
    pairs = [] if places is None else [places]
    single = [(name,) for name in columns if places is None or name not in places]
    attacks = {
        " and ".join(names): attack
        for names in [*pairs, *single]
        if (attack := _attack(both, names)) is not None
    }
    return _best(attacks)


def _best(attacks: dict[str, HoleAttack]) -> Holes:
    where = max(attacks, key=lambda name: attacks[name].ratio, default="")
    best = attacks.get(where, HoleAttack())
    named = max(best.named, 1)
    figures = (best.found / named, best.by_chance / named, best.ratio, min(best.recall, 1.0))
    precision, base, ratio, recall = map(Estimate.exact, figures)
    return Holes(precision, base, ratio, recall, best.named, where, attacks)


def _attack(both: Pairing, names: tuple[str, ...]) -> HoleAttack | None:
    """Return the attack on a column or pair; None where they are no numbers of few decimals."""
    if any(both.forms.get(name, "labels") == "labels" for name in names):
        return None
    tables = [both.original, *both.released]
    found = [_step([table.column(name) for table in tables]) for name in names]
    steps = [step for step in found if step is not None]
    if len(steps) < len(names):
        return None
    held, people = distinct_points(_points(both.original, names, steps))
    released = np.concatenate([_points(table, names, steps) for table in both.released])
    # somebody's home, however many live there; a number is disclosed if it is one person's
    targets = held if len(names) > 1 else held[people == 1]
    return hole_attack(released, targets, "-".join(names))


def _step(columns: Sequence[Column]) -> tuple[float, int] | None:
    """Return the decimals of the original, as a power of ten, and the common divisor of all."""
    if columns[0].decimals is None:
        return None
    scale = 10.0 ** columns[0].decimals
    values = [column.values[~column.missing].astype(np.float64) for column in columns]
    numbers = np.concatenate(values) * scale
    if not numbers.size or not np.abs(numbers).max() <= EXACT:
        return None
    divisor = int(np.gcd.reduce(np.rint(numbers).astype(np.int64)))
    return scale, max(divisor, 1)


def _points(table: Table, names: tuple[str, ...], steps: Sequence[tuple[float, int]]) -> Ints:
    """Return rows as points of the lattice; rows with a missing value are left out."""
    columns = [table.column(name) for name in names]
    present = ~np.logical_or.reduce([column.missing for column in columns])
    parts = []
    for column, (scale, divisor) in zip(columns, steps, strict=True):
        numbers = column.values[present].astype(np.float64) * scale
        parts.append(np.rint(numbers).astype(np.int64) // divisor)
    return np.column_stack(parts)


def measure(subject: Subject) -> Measured:
    """Attack the replaced numbers and places."""
    risk = holes(subject.original, subject.release)
    figures = {
        "precision": risk.precision,
        "base": risk.base,
        "ratio": risk.ratio,
        "recall": risk.recall,
    }
    note = (
        f"The attack names {risk.named:,} values of {risk.where}."
        if risk.named
        else "Nothing is named: no replaced number or place is dense enough to show a hole."
    )
    rows = tuple(
        (name, str(a.named), str(a.found), f"{a.by_chance:.1f}", f"{a.ratio:.2f}")
        for name, a in risk.attacks.items()
    )
    detail = Detail(
        "Hole attack by column",
        ("column", "values named", "held by people", "by chance", "ratio"),
        rows,
    )
    return Measured(figures, {"ratio": note}, detail if rows else None)


MEASURE = Measure(
    "risk.holes",
    figures={
        "precision": Meaning(
            "Hole attack, precision: of the values that are absent though the values around are"
            " frequent, the share that one person holds (of places: where somebody lives).",
            unit="share",
        ),
        "base": Meaning(
            "Hole attack, base rate: the same share among the values around.",
            "neither",
            unit="share",
        ),
        "ratio": Meaning(
            "Hole attack: precision over base rate in the worst column; 1 means that gaps in the"
            " release disclose nothing.",
            headline=True,
        ),
        "recall": Meaning(
            "Hole attack, recall: share of all values held by one person, or of all homes, that"
            " were named.",
            unit="share",
        ),
    },
    function=measure,
)
