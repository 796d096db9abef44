"""What the members of a household have in common, in the original, in the release, in a resample.

Composition table: households by how many members of each kind they have; total variation distance.
Intra-class correlation: the share of the variance of a number that lies between households (one-way
analysis of variance, Fisher 1925), of its ranks in the original. Pairs of members: the table of the
values of a column in two members of one household, in at most eight classes; total variation
distance. Each is set beside the same distance of a resample of households.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.methods.households.levels import is_constant
from veladura.methods.households.members import Members, find_order
from veladura.table.codes import label_texts

if TYPE_CHECKING:
    from veladura.measures.pairing import Form, Pairing
    from veladura.table.codes import Column
    from veladura.table.table import Table

RESAMPLES = 40
CLASSES = 8
MOST_LEVELS = 50  # of a column whose pairs are counted


@dataclass(frozen=True)
class HouseholdFigures:
    """Distances within households, each beside its mean over resamples of the original households.

    Attributes
    ----------
    composition, composition_resample
        Total variation distance of the composition tables.
    intraclass, intraclass_resample
        Largest difference of intra-class correlations over columns of numbers.
    pairs, pairs_resample
        Total variation distance of the tables of pairs of members, mean over columns.
    correlations
        By column the intra-class correlation in the original and in the release.
    """

    composition: Estimate
    composition_resample: Estimate
    intraclass: Estimate | None
    intraclass_resample: Estimate | None
    pairs: Estimate
    pairs_resample: Estimate
    correlations: Mapping[str, tuple[float, float]] = field(repr=False)
    pair_distances: Mapping[str, float] = field(repr=False)


def households(original: Any, release: Any) -> HouseholdFigures:
    """Compare what members of a household have in common, original and release.

    Parameters
    ----------
    original
        A table with a column of role "household" (or "person", with several rows each).
    release
        A release, one released table, or a list of them, with numbers of the same units.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> frame = pd.DataFrame({"home": [1, 1, 2, 2, 3], "age": [30, 31, 60, 65, 50]})
    >>> people = vd.open(frame, {"home": {"role": "household"}})
    >>> float(households(people, people).composition)
    0.0

    References
    ----------
    Fisher, R. A. (1925). Statistical Methods for Research Workers. Oliver and Boyd, chapter 7.
    """
    pairing = pair(original, release)
    before, after = _Homes.of(pairing)
    rng = Streams(0)("utility", "households")
    weights = [np.ones(before.units)]
    weights += [
        rng.multinomial(before.units, np.full(before.units, 1 / before.units)).astype(np.float64)
        for _ in range(RESAMPLES)
    ]
    found = [Common.of(homes, np.ones(homes.units)) for homes in after]
    again = [Common.of(before, weight) for weight in weights]
    whole, resampled = again[0], again[1:]
    numbers = list(whole.correlations)

    def far(other: Common) -> float:
        return max(abs(other.correlations[n] - whole.correlations[n]) for n in numbers)

    return HouseholdFigures(
        over_datasets([_distance(one.composition, whole.composition) for one in found], upper=1.0),
        Estimate.exact(_mean([_distance(r.composition, whole.composition) for r in resampled])),
        over_datasets([far(one) for one in found]) if numbers else None,
        Estimate.exact(_mean([far(one) for one in resampled])) if numbers else None,
        over_datasets([_pairs(one, whole) for one in found], upper=1.0),
        Estimate.exact(_mean([_pairs(one, whole) for one in resampled])),
        {n: (whole.correlations[n], _mean(one.correlations[n] for one in found)) for n in numbers},
        {n: _mean(_distance(one.pairs[n], whole.pairs[n]) for one in found) for n in whole.pairs},
    )


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def _distance(one: Floats, other: Floats) -> float:
    """Return the total variation distance of two tables of shares."""
    return float(np.abs(one - other).sum() / 2)


def _pairs(one: Common, other: Common) -> float:
    return _mean(_distance(one.pairs[name], other.pairs[name]) for name in one.pairs)


@dataclass(frozen=True, eq=False)
class _Homes:
    """The members of households as small codes, alike in all tables that are compared.

    Attributes
    ----------
    unit
        The household of each member, from 0.
    composition
        Of each household: its kind among all compositions; and how many there are.
    classes
        By column the class of each member, and how many there are.
    scores
        By column of numbers the share of the original below each.
    """

    unit: Ints
    units: int
    composition: tuple[Ints, int]
    classes: Mapping[str, tuple[Ints, int]]
    scores: Mapping[str, Floats]

    @classmethod
    def of(cls, pairing: Pairing) -> tuple[_Homes, list[_Homes]]:
        """Return the households of the original, and those of every released table."""
        tables = [pairing.original, *pairing.released]
        numbers = [_numbers(table) for table in tables]
        names = [name for name in pairing.forms if _is_of_members(pairing, name, numbers[0])]
        if not names:
            msg = "no column differs between the members of a household."
            raise NotApplicable(msg)
        columns = {name: [table.column(name) for table in tables] for name in names}
        own = {name: columns[name][0] for name in names}
        is_person = pairing.original.units.schema.household is None
        order = find_order(Members(own, numbers[0], is_person))
        kind = order[0] if order and not is_person else None
        coded = {n: _codes(columns[n], pairing.forms[n]) for n in names}
        kinds = coded[kind] if kind is not None else [np.zeros(c.size, int) for c in numbers]
        compositions = _compositions(kinds, numbers)
        scored = {n: _scores(columns[n]) for n in names if pairing.forms[n] == "numbers"}
        homes = [
            cls(
                number,
                int(number.max(initial=-1)) + 1,
                (compositions[i], max(int(c.max(initial=0)) for c in compositions) + 1),
                {n: (c[i], max(int(x.max(initial=0)) for x in c) + 1) for n, c in coded.items()},
                {name: scores[i] for name, scores in scored.items()},
            )
            for i, number in enumerate(numbers)
        ]
        return homes[0], homes[1:]


def _is_of_members(pairing: Pairing, name: str, unit: Ints) -> bool:
    """Whether a column differs between members, and has not too many categories for a table."""
    every = [table.column(name) for table in (pairing.original, *pairing.released)]
    few = all(column.labels is None or len(column.labels) <= MOST_LEVELS for column in every)
    return few and not is_constant(every[0], unit)


def _numbers(table: Table) -> Ints:
    """Return the household of every row; without a column that says so there is no figure."""
    schema = table.units.schema
    name = schema.household or schema.person
    if name is None:
        msg = "rows are not of households: no column has the role household, or the release has no"
        raise NotApplicable(f"{msg} numbers of them.")
    column = table.units.column(name)
    number = np.unique(column.values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    number[column.missing] = table.rows + np.flatnonzero(column.missing)
    return np.unique(number, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _codes(columns: Sequence[Column], form: Form) -> list[Ints]:
    """Return classes of the values of a column in several tables, at most eight, and missing."""
    if form == "labels":
        texts = [np.array([*label_texts(column), ""])[_places(column)] for column in columns]
        return _together(texts)
    first = np.sort(columns[0].values[~columns[0].missing])
    cuts = np.unique(first[np.linspace(0, first.size - 1, CLASSES + 1).astype(int)[1:-1]])
    return [np.where(c.missing, CLASSES, np.searchsorted(cuts, c.values)) for c in columns]


def _places(column: Column) -> Ints:
    return np.where(column.missing, -1, column.values).astype(np.int64)


def _together(values: Sequence[NDArray[Any]]) -> list[Ints]:
    """Return values of several arrays as codes of all of them."""
    codes = np.unique(np.concatenate(values), return_inverse=True)[1].reshape(-1)
    ends = np.cumsum([value.size for value in values])[:-1]
    return [part.astype(np.int64) for part in np.split(codes, ends)]


def _compositions(kinds: Sequence[Ints], units: Sequence[Ints]) -> list[Ints]:
    """Return the composition of every household: its number of members of each kind, as a code."""
    levels = max(int(kind.max(initial=0)) for kind in kinds) + 1
    tables = [
        np.bincount(unit * levels + kind, minlength=(unit.max() + 1) * levels).reshape(-1, levels)
        for kind, unit in zip(kinds, units, strict=True)
    ]
    codes = np.unique(np.concatenate(tables), axis=0, return_inverse=True)[1].reshape(-1)
    return np.split(codes.astype(np.int64), np.cumsum([len(table) for table in tables])[:-1])


def _scores(columns: Sequence[Column]) -> list[Floats]:
    """Return the share of the original below each number, the mean where it is missing."""
    first = np.sort(columns[0].values[~columns[0].missing])
    middle = [
        (np.searchsorted(first, c.values) + np.searchsorted(first, c.values, side="right")) / 2
        for c in columns
    ]
    size = max(first.size, 1)
    return [np.where(c.missing, 0.5, m / size) for c, m in zip(columns, middle, strict=True)]


@dataclass(frozen=True, eq=False)
class Common:
    """What members of households have in common, in one table."""

    composition: Floats
    correlations: Mapping[str, float]
    pairs: Mapping[str, Floats]

    @classmethod
    def of(cls, homes: _Homes, weight: Floats) -> Common:
        """Return it with a weight for each household: how often it is in a resample."""
        code, most = homes.composition
        composition = np.bincount(code, weights=weight, minlength=most) / weight.sum()
        return cls(
            composition,
            {n: intraclass(values, homes.unit, weight) for n, values in homes.scores.items()},
            {n: pair_table(c, most, homes.unit, weight) for n, (c, most) in homes.classes.items()},
        )


def intraclass(values: Floats, unit: Ints, weight: Floats) -> float:
    """Return the intra-class correlation of numbers, by one-way analysis of variance.

    (MSB - MSW) / (MSB + (n0 - 1) MSW), with n0 = (N - sum n^2 / N) / (k - 1) for k units of n rows,
    N in all (Fisher 1925); 0 where nothing varies.

    Examples
    --------
    >>> values, unit = np.array([1.0, 1, 5, 5]), np.array([0, 0, 1, 1])
    >>> intraclass(values, unit, np.ones(2))
    1.0
    """
    size = np.bincount(unit, minlength=weight.size)
    sums = np.bincount(unit, weights=values, minlength=weight.size)
    squares = np.bincount(unit, weights=values**2, minlength=weight.size)
    rows, units = float(weight @ size), float(weight.sum())
    mean = float(weight @ sums) / rows
    own = sums / np.maximum(size, 1)
    between = float(weight @ (size * (own - mean) ** 2)) / max(units - 1, 1)
    within = float(weight @ (squares - sums * own)) / max(rows - units, 1)
    each = (rows - float(weight @ size**2) / rows) / max(units - 1, 1)
    total = between + (each - 1) * within
    return (between - within) / total if total > 0 else 0.0


def pair_table(classes: Ints, levels: int, unit: Ints, weight: Floats) -> Floats:
    """Return the shares of pairs of members with each two classes: C'WC less each with itself.

    Examples
    --------
    >>> pair_table(np.array([0, 1, 1]), 2, np.array([0, 0, 1]), np.ones(2)).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    counts = np.bincount(unit * levels + classes, minlength=weight.size * levels)
    table = counts.reshape(weight.size, levels).astype(np.float64)
    pairs = table.T @ (table * weight[:, None]) - np.diag(weight @ table)
    return pairs / max(float(pairs.sum()), 1.0)


def measure(subject: Subject) -> Measured:
    """Measure what members have in common, beside a resample of the original households."""
    found = households(subject.original, subject.release)
    no_numbers = NotApplicable("no column of numbers differs between the members of a household.")
    rows = [
        (name, *(f"{value:.3f}" for value in found.correlations.get(name, ())), f"{distance:.4f}")
        if name in found.correlations
        else (name, "", "", f"{distance:.4f}")
        for name, distance in found.pair_distances.items()
    ]
    headers = ("Column", "Intra-class, original", "Intra-class, release", "Pairs of members")
    return Measured(
        {
            "composition": found.composition,
            "composition_resample": found.composition_resample,
            "intraclass": no_numbers if found.intraclass is None else found.intraclass,
            "intraclass_resample": no_numbers
            if found.intraclass_resample is None
            else found.intraclass_resample,
            "pairs": found.pairs,
            "pairs_resample": found.pairs_resample,
        },
        detail=Detail("What members of a household have in common", headers, tuple(rows)),
    )


MEASURE = Measure(
    "utility.households",
    figures={
        "composition": Meaning(
            "Composition table: households that would have to change so that as many have each"
            " number of members of each kind (total variation distance).",
            unit="share",
            headline=True,
        ),
        "composition_resample": Meaning(
            "The same for a resample of the original households, which is simulation error alone.",
            "neither",
            "share",
        ),
        "intraclass": Meaning(
            "Intra-class correlation of members of a household: largest difference between original"
            " and release, over columns of numbers (ranks)."
        ),
        "intraclass_resample": Meaning(
            "The same for a resample of the original households, which is simulation error alone.",
            "neither",
        ),
        "pairs": Meaning(
            "Pairs of members of a household: total variation distance of the table of a column in"
            " two members, mean over columns.",
            unit="share",
        ),
        "pairs_resample": Meaning(
            "The same for a resample of the original households, which is simulation error alone.",
            "neither",
            "share",
        ),
    },
    function=measure,
)
