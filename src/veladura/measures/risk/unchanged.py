"""Unchanged values: released rows and cells that equal the original ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base.arrays import Mask
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Subject, over_datasets
from veladura.table.source import open_quietly
from veladura.table.units import per_person, person_numbers

if TYPE_CHECKING:
    from veladura.core.promise import Evidence
    from veladura.core.release import Release


@dataclass(frozen=True)
class Unchanged:
    """Shares of the release that equal the original.

    Attributes
    ----------
    rows
        Share of people in the release with a row of which no cell is changed, in the columns the
        method changes.
    cells
        Share of those cells that are unchanged.
    columns
        The share of unchanged cells of each of these columns.
    """

    rows: Estimate
    cells: Estimate
    columns: Mapping[str, Estimate] = field(repr=False)


def unchanged(original: Any, release: Release) -> Unchanged:
    """Return the shares of released rows and cells that equal the original ones.

    Missing equals missing.

    Parameters
    ----------
    original
        The table the release was made from: anything `veladura.open` takes.
    release
        A release whose rows are linked to those of the original.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"x": [1.5, 2.5, None, 4.5]})
    >>> float(unchanged(table, vd.Noise(columns=["x"], scale=5).protect(table, seed=1)).cells)
    0.25
    """
    return _unchanged(Subject(open_quietly(original), release))


def _unchanged(subject: Subject) -> Unchanged:
    names = subject.changed
    if not names:
        msg = "the method changes no column."
        raise NotApplicable(msg)
    same = [_same_cells(evidence, names) for evidence in subject.aligned()]
    if any(cells.shape[0] == 0 for cells in same):
        msg = "the release has no rows."
        raise NotApplicable(msg)
    kept = [np.asarray(cells.all(axis=1), dtype=np.float64) for cells in same]
    whole = [
        float(per_person(flags, person_numbers(table)).mean())
        for flags, table in zip(kept, subject.tables, strict=True)
    ]
    return Unchanged(
        over_datasets(whole, upper=1.0),
        over_datasets([float(cells.mean()) for cells in same], upper=1.0),
        {
            name: over_datasets([float(cells[:, j].mean()) for cells in same], upper=1.0)
            for j, name in enumerate(names)
        },
    )


def _same_cells(evidence: Evidence, names: Sequence[str]) -> Mask:
    """Return, row by row, which cells are the original ones."""
    if evidence.original is None:
        raise AssertionError
    places = pa.array(evidence.rows)
    before = evidence.original.arrow
    return np.column_stack(
        [
            _equal(before.column(name).take(places), evidence.released.arrow.column(name))
            for name in names
        ]
    )


def _equal(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Mask:
    """Compare two columns; as text where the method changed the type."""
    if before.type != after.type:
        before, after = before.cast(pa.string()), after.cast(pa.string())
    missing = [pc.is_null(column, nan_is_null=True) for column in (before, after)]
    equal = pc.or_(pc.fill_null(pc.equal(before, after), False), pc.and_(*missing))
    flags: Mask = equal.to_numpy()
    return flags


def measure(subject: Subject) -> Mapping[str, Estimate]:
    """Measure the aligned rows."""
    shares = _unchanged(subject)
    return {"rows": shares.rows, "cells": shares.cells}


MEASURE = Measure(
    "risk.unchanged",
    figures={
        "rows": Meaning(
            "Unchanged rows: people whose values are the original ones in every column the method"
            " changes.",
            unit="rows",
        ),
        "cells": Meaning(
            "Unchanged cells: original values left in the columns the method changes.",
            unit="share",
            headline=True,
        ),
    },
    function=measure,
    counts_people=True,
)
