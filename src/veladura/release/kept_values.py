"""The released values that a consistent series keeps, and which of them a new row gets."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veladura.base.arrays import Ints
from veladura.release.register import VALUES

KEY, PART, DATASET = "(key)", "(part)", "(dataset)"
OWN = (KEY, PART, DATASET)


def files_of(folder: Path) -> list[Path]:
    """Return the files of values that were kept, the newest first."""
    paths = folder.glob(f"*{VALUES}") if folder.exists() else ()
    return sorted(paths, key=lambda path: path.name, reverse=True)


def values_of(paths: Sequence[Path], columns: Sequence[str]) -> pa.Table:
    """Return the values of all releases of the same columns, the newest first, one row a line."""
    names, tables = [*OWN, *columns], []
    for path in paths:
        rows = pq.read_table(path)
        if PART not in rows.column_names:  # of an earlier version
            rows = rows.append_column(PART, pa.nulls(rows.num_rows, pa.int64()))
        if set(names) == set(rows.column_names):
            tables.append(rows.select(names))
    return pa.concat_tables(tables, promote_options="permissive")


def places_of(old: pa.Table, keys: Ints, parts: Ints | None) -> Ints:
    """Return for each row the earlier row whose values it keeps; -1 for none.

    First rows that are the same as a whole, of the newest release that has them. Of the others
    those of the same person and drawn columns, each earlier row once. The order of rows does not
    matter.
    """
    place: dict[int, int] = {}
    for at, key in enumerate(old[KEY].to_pylist()):
        place.setdefault(key, at)
    found = np.array([place.get(key, -1) for key in keys.tolist()], dtype=np.int64)
    if parts is None:
        return found
    taken = set(keys[found >= 0].tolist())
    free: defaultdict[int, deque[int]] = defaultdict(deque)
    earlier = old[PART].to_pylist()
    for key, at in place.items():
        part = earlier[at]
        if key not in taken and part is not None:
            free[part].append(at)
    lacking = np.flatnonzero(found < 0)
    for row in lacking[np.argsort(keys[lacking], kind="stable")].tolist():
        if waiting := free.get(int(parts[row])):
            found[row] = waiting.popleft()
    return found
