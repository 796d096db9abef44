"""Total variation distance of one-, two- and three-way tables.

Columns are cut to at most 20 categories of the original and "all others", numbers and dates to ten
parts with about as many original rows each; missing is a category of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import Pairing, pair
from veladura.measures.utility.design import shared_codes
from veladura.measures.weights import effective_rows, weighted_note
from veladura.numeric.sampling import MANY_ROWS, read, sample_note, some_rows
from veladura.numeric.trees.bins import cuts

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

PARTS, MOST_LABELS, MOST_TABLES, MAX_LISTED = 10, 20, 300, 10
WAYS = (1, 2, 3)
Names = tuple[str, ...]


@dataclass(frozen=True)
class TableDistances:
    """Total variation distances of tables.

    Attributes
    ----------
    ways
        Mean over the tables of one, two and three columns.
    expected
        The same by chance alone, for a new sample of the population.
    tables
        By the columns of a table.
    drawn
        How many tables were compared, and of how many.
    note
        What was left out.
    """

    ways: Mapping[int, Estimate]
    expected: Mapping[int, float]
    tables: Mapping[Names, Estimate] = field(repr=False)
    drawn: Mapping[int, tuple[int, int]] = field(repr=False)
    note: str = field(default="", repr=False)


@renamed(released="release")
def tables(original: Any, release: Any) -> TableDistances:
    """Return the total variation distance of one-, two- and three-way tables.

    Rows count with the declared sampling weight, where original and release have it.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50})
    >>> after = before.assign(b=["u"] * 50 + ["v"] * 50)
    >>> moved = tables(before, after)
    >>> float(moved.ways[1]), float(moved.ways[2])
    (0.0, 0.5)

    References
    ----------
    Gibbs, A. L. and Su, F. E. (2002). On choosing and bounding probability metrics. International
    Statistical Review 70(3), 419-435.
    """
    pairing = pair(original, release)
    names, weights = pairing.tabulated(), pairing.weights()
    every = (pairing.original, *pairing.released)
    rows = [some_rows(table.rows, MANY_ROWS) for table in every]
    coded = _coded(every, names, rows)
    taken = (
        None
        if weights is None
        else [part[places] for part, places in zip(weights, rows, strict=True)]
    )
    distances: dict[Names, list[float]] = {}
    chance: dict[int, list[float]] = {way: [] for way in WAYS}
    drawn = {}
    for way in WAYS:
        chosen = chosen_tables(names, way)
        drawn[way] = (len(chosen), comb(len(names), way))
        for columns in chosen:
            distances[columns], expected = _distances([coded[name] for name in columns], taken)
            chance[way].append(expected)
    ways = {
        way: [moved for columns, moved in distances.items() if len(columns) == way] for way in WAYS
    }
    return TableDistances(
        {
            way: over_datasets(np.mean(moved, axis=0).tolist(), upper=1.0)
            for way, moved in ways.items()
            if moved
        },
        {way: float(np.mean(expected)) for way, expected in chance.items() if expected},
        {columns: over_datasets(moved, upper=1.0) for columns, moved in distances.items()},
        drawn,
        f"{_note(pairing, drawn)} {weighted_note(pairing.weight if weights else None)}".strip(),
    )


def chosen_tables(names: Sequence[str], way: int) -> list[Names]:
    """Return all combinations of columns, or 300 of them, drawn from a fixed stream."""
    rng = Streams(0)("utility", "tables", way)
    total = comb(len(names), way)
    if total > 100 * MOST_TABLES:  # too many to list
        drawn = (np.sort(rng.choice(len(names), way, replace=False)) for _ in range(MOST_TABLES))
        return list(dict.fromkeys(tuple(names[i] for i in places) for places in drawn))
    every = list(combinations(names, way))
    return (
        every
        if total <= MOST_TABLES
        else [every[i] for i in np.sort(rng.choice(total, MOST_TABLES, replace=False))]
    )


def _coded(
    every: Sequence[Table], names: Sequence[str], rows: Sequence[Ints]
) -> dict[str, list[Ints]]:
    """Return each column as codes of its cells, the original first."""
    return {
        name: cells_of(
            [read(table, name, taken) for table, taken in zip(every, rows, strict=True)]
        )[0]
        for name in names
    }


def cells_of(parts: Sequence[Column]) -> tuple[list[Ints], int]:
    """Return columns as small codes with the same meaning in all, and the number of codes.

    Code 0 is missing.
    """
    if parts[0].labels is not None:
        codes = [np.minimum(code, MOST_LABELS) for code in shared_codes(parts)]
    else:
        edges = cuts(parts[0].values[~parts[0].missing].astype(np.float64), PARTS)
        codes = [np.searchsorted(edges, part.values.astype(np.float64)) for part in parts]
    cells = [np.where(part.missing, 0, code + 1) for part, code in zip(parts, codes, strict=True)]
    return cells, max(int(code.max(initial=0)) for code in cells) + 1


def _distances(
    columns: Sequence[Sequence[Ints]], weights: Sequence[Floats] | None = None
) -> tuple[list[float], float]:
    """Return the total variation distance of each dataset, and its expectation by chance.

    In a new sample the share of a cell differs from p by sqrt(2 p (1 - p) (1/n + 1/k) / pi) on
    average, with weights by their effective numbers of rows n and k.
    """
    sizes = [max(int(code.max(initial=0)) for code in column) + 1 for column in columns]
    counts = []
    for table, codes in enumerate(zip(*columns, strict=True)):
        place = codes[0]
        for code, size in zip(codes[1:], sizes[1:], strict=True):
            place = place * size + code
        each = None if weights is None else weights[table]
        counts.append(np.bincount(place, weights=each, minlength=int(np.prod(sizes))))
    shares = [count / max(count.sum(), 1e-300) for count in counts]
    moved = [float(min(np.abs(shares[0] - share).sum() / 2, 1.0)) for share in shares[1:]]
    rows = [
        float(counts[table].sum()) if weights is None else effective_rows(weights[table])
        for table in (0, 1)
    ]
    scarce = 1 / max(rows[0], 1) + 1 / max(rows[1], 1)
    expected = float(np.sqrt(2 * shares[0] * (1 - shares[0]) * scarce / np.pi).sum() / 2)
    return moved, min(expected, 1.0)


def _note(pairing: Pairing, drawn: Mapping[int, tuple[int, int]]) -> str:
    parts = [
        f"{some} of {every} {way}-way tables."
        for way, (some, every) in drawn.items()
        if some < every
    ]
    parts.append(sample_note(pairing.original, *pairing.released, most=MANY_ROWS))
    if pairing.left_out:
        parts.append(f"{len(pairing.left_out)} columns cannot be compared.")
    return " ".join(part for part in parts if part)


def measure(subject: Subject) -> Measured:
    """Measure tables of up to three columns, and list those with the largest distances."""
    result = tables(subject.original, subject.release)
    words = {1: "one", 2: "two", 3: "three"}
    few = NotApplicable("there are too few columns.")
    notes = {
        words[way]: f"By chance alone: {100 * expected:.3g} %."
        for way, expected in result.expected.items()
    }
    last = words[max(result.ways)]
    notes[last] = f"{notes[last]} {result.note}".strip()
    worst = sorted(result.tables.items(), key=lambda item: -float(item[1]))[:MAX_LISTED]
    rows = tuple((", ".join(names), f"{float(moved):.4f}") for names, moved in worst)
    detail = Detail(
        "Tables with the largest distances", ("Columns", "Total variation distance"), rows
    )
    return Measured({word: result.ways.get(way, few) for way, word in words.items()}, notes, detail)


MEASURE = Measure(
    "utility.tables",
    figures={
        "one": Meaning(
            "Total variation distance of one-way tables, mean over columns.",
            unit="share",
        ),
        "two": Meaning(
            "Total variation distance of two-way tables, mean over pairs of columns.",
            unit="share",
        ),
        "three": Meaning(
            "Total variation distance of three-way tables, mean over triples of columns.",
            unit="share",
        ),
    },
    function=measure,
)
