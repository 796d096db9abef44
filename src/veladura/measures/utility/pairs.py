"""Standardised pMSE of all pairs of columns: which relations the release moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import Pairing, pair
from veladura.measures.utility.pair_table import Cell, PairTable, listed
from veladura.measures.utility.pmse import check_replaced, synthesis_of
from veladura.measures.utility.two_way import (
    Coded,
    Pair,
    categories,
    chosen_pairs,
    numbers_of,
    over_pairs,
    pair_counts,
)
from veladura.measures.weights import effective_rows, weighted_note
from veladura.numeric.sampling import read

if TYPE_CHECKING:
    from veladura.table.codes import Column

GROUPS, FEWEST_GROUPS, MAX_LISTED = 5, 3, 15


@dataclass(frozen=True)
class PairScores:
    """Standardised pMSE of one-way and two-way tables.

    Attributes
    ----------
    mean, worst
        S_pMSE over the pairs of columns: 1 for a correct and simple synthesis, 2 where draws have
        the uncertainty of the original too (Bayesian bootstrap, or a new sample).
    worst_pair
        The pair with the largest score.
    cells
        The cells of the fifteen pairs with the largest scores, in the first dataset; those that
        differ most first.
    one, one_worst
        The same over the columns by themselves.
    worst_column
        The column with the largest score.
    pairs, columns
        By pair and by column.
    """

    mean: Estimate
    worst: Estimate
    worst_pair: Pair
    cells: Mapping[Pair, tuple[Cell, ...]] = field(repr=False)
    one: Estimate
    one_worst: Estimate
    worst_column: str
    pairs: Mapping[Pair, Estimate] = field(repr=False)
    columns: Mapping[str, Estimate] = field(repr=False)
    note: str = field(default="", repr=False)


def pairs(original: Any, release: Any) -> PairScores:
    """Return the standardised pMSE (S_pMSE) of the tables of all pairs of columns.

    With t original and u released rows in a cell of a table, c the share of released rows among
    all and k the occupied cells, S_pMSE = sum (u - t c / (1 - c))^2 / ((t + u) c) / (k - 1): pMSE
    of the saturated model over its expectation c (1 - c)^2 (k - 1) / N (Raab et al. 2021, sec. 3).
    Numbers and dates are cut into five groups by the quantiles of both tables together (by equal
    widths where that leaves the original fewer than three), as in synthpop's ``utility.tables``;
    missing is a group of its own. With a declared sampling weight cells hold sums of weights,
    scaled to the effective number of rows of each table (Kish 1965), so that 1 is still what a
    correct synthesis has.

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
    >>> scores = pairs(before, before.assign(b=["u"] * 50 + ["v"] * 50))
    >>> float(scores.one), round(float(scores.mean), 2)
    (0.0, 44.44)

    References
    ----------
    Raab, G. M., Nowok, B. and Dibben, C. (2021). Assessing, visualizing and improving the utility
    of synthetic data. arXiv:2109.12717.
    """
    pairing = pair(original, release)
    names, each = pairing.tabulated(), pairing.weights()
    if pairing.original.rows == 0 or any(table.rows == 0 for table in pairing.released):
        msg = "there are no rows to compare."
        raise NotApplicable(msg)
    weights = [None] * (len(pairing.released) + 1) if each is None else _scaled(each)
    chosen = chosen_pairs(names)
    if not chosen:
        msg = "there is only one column: pairs need two."
        raise NotApplicable(msg)
    before = {name: read(pairing.original, name) for name in names}
    coded = [
        {name: fifths(before[name], read(table, name)) for name in names}
        for table in pairing.released
    ]
    both = [(weights[0], weight) for weight in weights[1:]]
    two = [
        [standardised(*counts) for counts in over_pairs(codes, chosen, weight)]
        for codes, weight in zip(coded, both, strict=True)
    ]
    one = [
        [standardised(*_one_way(column, weight)) for column in codes.values()]
        for codes, weight in zip(coded, both, strict=True)
    ]
    ranked = np.argsort(-np.mean(two, axis=0), kind="stable")[:MAX_LISTED]
    cells = {
        (a, b): listed_cells(coded[0][a], coded[0][b], both[0])
        for a, b in (chosen[i] for i in ranked)
    }
    note = f"{_left_out(pairing, chosen, names)} {weighted_note(pairing.weight if each else None)}"
    return PairScores(
        _mean(two),
        _worst(two),
        chosen[ranked[0]],
        cells,
        _mean(one),
        _worst(one),
        names[int(np.argmax(np.mean(one, axis=0)))],
        _by_name(chosen, two),
        _by_name(names, one),
        note.strip(),
    )


def fifths(before: Column, after: Column) -> Coded:
    """Return two columns in common codes: fifths of the pooled numbers, or categories."""
    if before.labels is not None:
        return categories(before, after)
    first, second = numbers_of(before), numbers_of(after)
    pool = np.concatenate([first[np.isfinite(first)], second[np.isfinite(second)]])
    if not pool.size:
        zeros = [np.zeros(part.size, dtype=np.int64) for part in (first, second)]
        return Coded(zeros[0], zeros[1], 1, ())
    edges = np.unique(np.quantile(pool, np.linspace(0, 1, GROUPS + 1)))
    if np.unique(_grouped(first, edges)[~np.isnan(first)]).size < FEWEST_GROUPS:
        edges = np.unique(np.linspace(pool.min(), pool.max(), GROUPS + 1))
    levels = max(edges.size, 2)
    names = (
        [f"part {part} of {levels - 1}" for part in range(1, levels)]
        if before.field.kind == "date"
        else [f"{low:.6g} to {high:.6g}" for low, high in pairwise(edges)]
    )
    return Coded(_grouped(first, edges), _grouped(second, edges), levels, names)


def _grouped(values: Floats, edges: Floats) -> Any:
    last = max(edges.size - 2, 0)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, last)
    return np.where(np.isnan(values), last + 1, place)


def standardised(before: Floats, after: Floats) -> float:
    """Return S_pMSE of a table of occupied cells, from its rows in both tables.

    Examples
    --------
    >>> standardised(np.array([10.0, 10.0]), np.array([5.0, 15.0])).__round__(4)
    5.3333
    """
    share = after.sum() / (before.sum() + after.sum())
    if before.size < 2 or not 0 < share < 1:  # noqa: PLR2004
        return 0.0
    apart = (after - before * share / (1 - share)) ** 2 / ((before + after) * share)
    return float(apart.sum() / (before.size - 1))


def _one_way(column: Coded, weights: tuple[Floats | None, Floats | None]) -> tuple[Floats, Floats]:
    counts = [
        np.bincount(codes, weights=weight, minlength=column.levels).astype(np.float64)
        for codes, weight in zip((column.before, column.after), weights, strict=True)
    ]
    occupied = counts[0] + counts[1] > 0
    return counts[0][occupied], counts[1][occupied]


def listed_cells(
    first: Coded, second: Coded, weights: tuple[Floats | None, Floats | None]
) -> tuple[Cell, ...]:
    """Return the cells of two columns, those that add most to the score first."""
    before, after, cells = pair_counts(first, second, weights)
    ratio = after.sum() / before.sum()
    apart = (after - before * ratio) ** 2 / (before + after)
    return tuple(
        Cell(
            f"{first.label(int(cells[i]) // second.levels)},"
            f" {second.label(int(cells[i]) % second.levels)}",
            float(before[i]),
            float(after[i]),
        )
        for i in np.argsort(-apart, kind="stable")
    )


def _scaled(weights: Sequence[Floats]) -> list[Floats | None]:
    """Return weights that add up to the effective number of rows of each table."""
    return [part * (effective_rows(part) / part.sum()) for part in weights]


def _mean(scores: Sequence[Sequence[float]]) -> Estimate:
    return over_datasets(np.mean(scores, axis=1).tolist())


def _worst(scores: Sequence[Sequence[float]]) -> Estimate:
    """Return the score of what is worst on average over the datasets."""
    matrix = np.array(scores)
    return over_datasets(matrix[:, int(matrix.mean(axis=0).argmax())].tolist())


def _by_name(names: Sequence[Any], scores: Sequence[Sequence[float]]) -> dict[Any, Estimate]:
    columns = np.array(scores).T
    return {
        name: over_datasets(column.tolist()) for name, column in zip(names, columns, strict=True)
    }


def _left_out(pairing: Pairing, chosen: Sequence[Pair], names: Sequence[str]) -> str:
    every = len(names) * (len(names) - 1) // 2
    some = f"{len(chosen):,} of {every:,} pairs of columns." if len(chosen) < every else ""
    out = f"{len(pairing.left_out)} columns cannot be compared." if pairing.left_out else ""
    return f"{some} {out}".strip()


def measure(subject: Subject) -> Measured:
    """Measure all pairs of columns, and list those that moved most."""
    check_replaced(subject)
    scores = pairs(subject.original, subject.release)
    expected = 2.0 if synthesis_of(subject.release) == "proper" else 1.0
    note = f"A correct synthesis of this kind has {expected:.0f}. {scores.note}".strip()
    values = {name: float(score) for name, score in scores.pairs.items()}
    worst = " and ".join(scores.worst_pair)
    return Measured(
        {
            "mean": scores.mean,
            "worst": scores.worst,
            "one": scores.one,
            "one_worst": scores.one_worst,
        },
        {
            "mean": note,
            "worst": f"Columns: {worst}.",
            "one_worst": f"Column: {scores.worst_column}.",
        },
        PairTable(
            "Pairs of columns that moved most, with their cells",
            ("Columns", "S_pMSE", "Cells that moved most: rows of the original, of the release"),
            listed(values, scores.cells),
            scores=values,
            columns={name: float(score) for name, score in scores.columns.items()},
            expected=expected,
        ),
    )


MEASURE = Measure(
    "utility.pairs",
    figures={
        "mean": Meaning(
            "S_pMSE of two-way tables: standardised pMSE of the table of two columns, mean over"
            " all pairs.",
            headline=True,
        ),
        "worst": Meaning("S_pMSE of the pair of columns where it is largest."),
        "one": Meaning("S_pMSE of one-way tables, mean over columns."),
        "one_worst": Meaning("S_pMSE of the column where it is largest."),
    },
    function=measure,
)
