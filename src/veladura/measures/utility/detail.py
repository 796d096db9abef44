"""Total variation distance of tables at the detail of the original.

A generalised table that is compared at its own level of detail looks perfect, however little is
left of it. Here every column is compared in the cells of the original (its 20 most frequent
categories, ten parts of its numbers). A generalised value is spread evenly over the values it
covers: a recipient who knows only that a ZIP code starts with 021 can do no better. Suppressed rows
count as lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base.arrays import Floats, Ints
from veladura.base.estimate import Estimate
from veladura.core.release import Dataset, Release
from veladura.errors import NotApplicable
from veladura.measures.domain import column_levels, generalising_step, map_of
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.utility.tables import cells_of, chosen_tables
from veladura.numeric.sampling import MANY_ROWS, read, sample_note, some_rows
from veladura.table.codes import Column
from veladura.table.source import open_quietly
from veladura.table.table import Table

STAR = "*"


@dataclass(frozen=True)
class DetailDistances:
    """Total variation distance of tables in the cells of the original.

    Attributes
    ----------
    one, two
        Mean over the tables of one column and of two.
    note
        How many rows were compared, where that is not all of them.
    """

    one: Estimate
    two: Estimate | None
    note: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False)
class Cells:
    """One column in the cells of the original.

    A cell for each row or, where values are coarser, the shares of cells for each value.
    """

    codes: Ints = field(repr=False)
    cells: int
    spread: Floats | None = field(default=None, repr=False)  # by code, the shares of the cells

    def rows(self) -> Floats:
        """Return the shares of every row, one column a cell."""
        return (
            self.spread[self.codes] if self.spread is not None else np.eye(self.cells)[self.codes]
        )


def detail(original: Any, release: Release) -> DetailDistances:
    """Return the total variation distance of one- and two-way tables at the original's detail.

    1/2 sum |p - c q| + (1 - c)/2 over the cells, with c the share of rows that a generalisation
    released: 0 for equal tables, 1 where nothing is left. A generalised value is spread evenly over
    the values it covers, the assumption by which queries on generalised tables are answered
    (LeFevre et al. 2006); ``*`` over all.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        The release made from it, in memory.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"zip": ["02138"] * 3 + ["02139"], "sex": ["f", "m"] * 2})
    >>> recipe = vd.KAnonymity(
    ...     quasi_identifiers=["zip"], k=4, hierarchies={"zip": vd.Hierarchy.mask(5)}
    ... )
    >>> float(detail(people, recipe.protect(people)).one)  # a quarter for zip, 0 for sex
    0.125

    References
    ----------
    LeFevre, K., DeWitt, D. J. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity.
    ICDE.
    """
    # row numbers are those of the table that was protected
    before = open_quietly(original) if release.original is None else release.original
    names = [
        f.name
        for f in release.tables[0].table.schema
        if f.name in before.names and "text" not in (f.kind, before.schema[f.name].kind)
    ]
    if not names:
        msg = "no released column can be compared with the original one."
        raise NotApplicable(msg)
    step = generalising_step(release)
    left = (
        1 - int(step.settings.get("suppressed_rows", 0)) / max(before.rows, 1)
        if step is not None and step.settings.get("suppressed") == "drop"
        else 1.0
    )
    sampled = some_rows(before.rows, MANY_ROWS)
    distances: dict[int, list[list[float]]] = {1: [], 2: []}
    for dataset in release.tables:
        columns = {name: _column(before, sampled, release, dataset, name) for name in names}
        for way, moved in distances.items():
            chosen = chosen_tables(names, way)
            moved.append([_distance([columns[name] for name in table], left) for table in chosen])
    one, two = (
        over_datasets([float(np.mean(each)) for each in moved], upper=1.0) if moved[0] else None
        for moved in distances.values()
    )
    assert one is not None  # noqa: S101  # there is a column
    return DetailDistances(
        one, two, sample_note(before, *(d.table for d in release.tables), most=MANY_ROWS)
    )


def _distance(columns: Sequence[tuple[Cells, Cells]], left: float) -> float:
    before, after = (_shares([pair[side] for pair in columns]) for side in (0, 1))
    return float(min((np.abs(before - left * after).sum() + 1 - left) / 2, 1.0))


def _shares(columns: Sequence[Cells]) -> Floats:
    """Return the table of one or two columns as shares."""
    first, rows = columns[0], max(columns[0].codes.size, 1)
    if len(columns) == 1:
        size = first.cells if first.spread is None else len(first.spread)
        count = np.bincount(first.codes, minlength=size) / rows
        return count if first.spread is None else count @ first.spread
    second = columns[1]
    if first.spread is not None and second.spread is not None:
        return np.asarray(first.rows().T @ second.rows() / rows)
    if first.spread is not None:
        return _shares([second, first]).T
    size = second.cells if second.spread is None else len(second.spread)
    count = (
        np.bincount(first.codes * size + second.codes, minlength=first.cells * size).reshape(
            first.cells, size
        )
        / rows
    )
    return count if second.spread is None else np.asarray(count @ second.spread)


def _column(
    original: Table, sampled: Ints, release: Release, dataset: Dataset, name: str
) -> tuple[Cells, Cells]:
    """Return a column of the original and of one dataset in the same cells."""
    taken = some_rows(dataset.table.rows, MANY_ROWS)
    before, after = read(original, name, sampled), read(dataset.table, name, taken)
    if not _coarser(release, before, after):
        codes, cells = cells_of([before, after])
        return Cells(codes[0], cells), Cells(codes[1], cells)
    whole = original.column(name)
    codes, cells = cells_of([whole])
    value, first = _distinct(whole)
    of_value = codes[0][first]
    labels = dataset.table.arrow.column(name).take(pa.array(taken)).combine_chunks()
    kinds = labels.unique()
    code = (
        pc.index_in(labels, kinds, skip_nulls=False).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    covered = _covered(original, release, dataset, name, (kinds, code, taken), value)
    spread = np.zeros((len(kinds), cells))
    np.add.at(spread, (covered[0], of_value[covered[1]]), 1.0)
    unknown = (spread.sum(axis=1) == 0) | np.array(
        [str(kind) == STAR for kind in kinds.to_pylist()], dtype=bool
    )
    spread[unknown] = np.bincount(of_value, minlength=cells)
    return Cells(codes[0][sampled], cells), Cells(
        code, cells, spread / spread.sum(axis=1, keepdims=True)
    )


def _coarser(release: Release, before: Column, after: Column) -> bool:
    """Whether released values cover several original ones: generalised, recoded or renamed."""
    step = generalising_step(release)
    if (step is not None and before.name in step.changed) or (before.labels is None) != (
        after.labels is None
    ):
        return True
    if (
        before.labels is None
        or after.labels is None
        or not any(before.name in other.changed for other in release.steps)
    ):
        return False
    return bool(set(map(str, after.labels.to_pylist())) - set(map(str, before.labels.to_pylist())))


def _distinct(column: Column) -> tuple[Ints, Ints]:
    """Return the number of the distinct value of each row, and a row of each."""
    _, first, place = np.unique(
        np.where(column.missing, -np.inf, column.values), return_index=True, return_inverse=True
    )
    return place.reshape(-1), first


def _covered(
    original: Table,
    release: Release,
    dataset: Dataset,
    name: str,
    released: tuple[pa.Array, Ints, Ints],
    value: Ints,
) -> tuple[Ints, Ints]:
    """Return pairs of a released value and an original value that it covers.

    By the levels of the manifest, else by the rows themselves.
    """
    kinds, code, taken = released
    height = column_levels(release).get(name)
    if height is not None and (rule := map_of(original, release, name, height)) is not None:
        old, new = (rule.column(end).combine_chunks() for end in ("old", "new"))
        row = pc.index_in(
            old.cast(original.schema[name].type),
            original.arrow.column(name).combine_chunks(),
            skip_nulls=False,
        )
        label = pc.index_in(new.cast(kinds.type), kinds, skip_nulls=False)
        both = pc.and_(row.is_valid(), label.is_valid()).to_numpy(zero_copy_only=False)
        places = [
            np.asarray(index.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)[both]
            for index in (label, row)
        ]
        return places[0], value[places[1]]
    if dataset.rows is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    pairs = np.unique(np.stack([code, value[dataset.rows[taken]]]), axis=1)
    return pairs[0], pairs[1]


def measure(subject: Subject) -> Measured:
    """Measure tables of one and two columns in the cells of the original."""
    result = detail(subject.original, subject.release)
    return Measured(
        {"one": result.one, "two": result.two or NotApplicable("there are too few columns.")},
        {"two": result.note} if result.note else {},
    )


MEASURE = Measure(
    "utility.detail",
    figures={
        "one": Meaning(
            "Total variation distance of one-way tables (generalised values spread evenly over the"
            " values they cover), mean over columns.",
            unit="share",
        ),
        "two": Meaning(
            "Total variation distance of two-way tables (generalised values spread evenly over the"
            " values they cover), mean over pairs.",
            unit="share",
            headline=True,
        ),
    },
    function=measure,
)
