"""risky.csv: the people at risk in a release, for its custodian only."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.measures.risk.suda2 import set_score
from veladura.measures.risk.suda2_search import minimal_uniques
from veladura.numeric.coding import common_cells
from veladura.numeric.individual_risk import negative_binomial_risk
from veladura.table.units import people_per_cell, person_numbers

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.measures.assessment import Assessment
    from veladura.measures.risk.at_risk import AtRisk
    from veladura.table.table import Table

RISKY = "risky.csv"
PAIR = 2
MOST_CELLS = 20_000_000  # rows times pairs of columns; beyond, single columns only


def risky_people(release: Release, assessment: Assessment | None, place: Ints) -> pa.Table | None:
    """Return the people at risk, one line each: their combination, its size, and what tells them.

    None where released rows are not linked to people. Columns: ``row``, the row in the source as
    it was opened, zero-based; ``place``, its place in the order of ``rows.parquet``; ``found by``,
    the intruders; the released values that the strongest of them knows; ``people sharing``, who
    have the register's combination in the release; ``individual risk``, 1 over that number, or by
    the sampling weights; and for every column the share of the person's SUDA score that comes from
    it.

    Parameters
    ----------
    place
        The place of each row of the source in the order of the record.
    """
    records = [] if assessment is None else [r for r in assessment.intruders if r.found is not None]
    if not records or release.original is None or release.tables[0].rows is None:
        return None
    table, link = release.tables[0].table, np.asarray(release.tables[0].rows)
    people = person_numbers(release.original)[link]
    names = list(max(records, key=lambda record: len(record.knows)).knows)
    size, risk = _sizes(table, list(records[0].knows), people)
    lines = _lines(records, people, size)
    parts = _contributions(table, names)[lines]
    shown = table.arrow.select(names).take(pa.array(lines))
    columns: dict[str, Any] = {
        "row": link[lines],
        "place": place[link[lines]],
        "found by": [_finders(records, person) for person in people[lines].tolist()],
        **{f"released {name}": shown.column(name) for name in names},
        "people sharing": size[lines],
        "individual risk": np.round(risk[lines], 6),
        **{f"share of {name}": np.round(parts[:, i], 3) for i, name in enumerate(names)},
    }
    return pa.table(columns)


def _finders(records: Sequence[AtRisk], person: int) -> str:
    """Return the names of the intruders who find a person."""
    return "; ".join(r.name for r in records if r.found is not None and person in r.found)


def _sizes(table: Table, known: Sequence[str], people: Ints) -> tuple[Ints, Floats]:
    """Return how many people share the combination of each row, and its individual risk."""
    (cells,), number = common_cells([table], known)
    sizes = people_per_cell(cells, people, number)
    weights = table.schema.of_role("weight")
    each = table.column(weights[0]).numbers() if weights else None
    if each is None or not (each > 0).all():
        return sizes[cells], 1 / sizes[cells]
    total = np.bincount(cells, each, number).astype(np.float64)
    return sizes[cells], negative_binomial_risk(sizes, np.maximum(total, sizes))[cells]


def _lines(records: Sequence[AtRisk], people: Ints, size: Ints) -> Ints:
    """Return one released row for every person at risk, that of the rarest combination first."""
    everybody = frozenset[int]().union(*(r.found for r in records if r.found is not None))
    wanted = np.array(sorted(everybody), dtype=np.int64)
    rows = np.flatnonzero(np.isin(people, wanted))
    rows = rows[np.lexsort((rows, size[rows]))]
    _, first = np.unique(people[rows], return_index=True)
    return rows[np.sort(first)]


def _contributions(table: Table, names: Sequence[str]) -> Floats:
    """Return the share of each column in the SUDA score of each row; 0 without a score.

    The score of a minimal sample unique (Elliot et al. 2005; see `veladura.risk.suda2`) is
    divided evenly among its columns, so that the shares of a row add up to 1.
    """
    largest = PAIR if table.rows * comb(len(names), PAIR) <= MOST_CELLS else 1
    largest = min(largest, len(names))
    worth = [set_score(size, largest, len(names)) / size for size in range(1, largest + 1)]
    parts = minimal_uniques(table, names, largest, worth).shares
    total = parts.sum(axis=1, keepdims=True)
    return parts / np.where(total > 0, total, 1.0)
