"""Two releases side by side: whether one extends the other, as it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.errors import VeladuraError
from veladura.release.folder import SUMS, file_hash, listed_files, read_hashes
from veladura.release.line import Line
from veladura.release.package import load
from veladura.table.files.digest import content_digest

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

SAME = "The earlier release is the one that this release extends, unchanged."
ROWS = "Every dataset holds the rows of the same dataset of the earlier release, numbers included."
LATER = "All other rows are of later waves, and people of the earlier release keep their household."


def extension_lines(release: Release, folder: Path, *, large: bool = False) -> list[Line]:
    """Return whether a release extends another, by the rows of both."""
    about = next((s.settings["extends"] for s in release.steps if "extends" in s.settings), None)
    if not isinstance(about, Mapping):
        return [Line(SAME, "broken", "it does not say that it extends any")]
    try:
        whole = all(file_hash(folder / n) == h for n, h in read_hashes(folder).items())
        whole = whole and sorted(read_hashes(folder)) == sorted(listed_files(folder))
        same = whole and file_hash(folder / SUMS) == about.get("release")
        earlier = load(folder, large=large)
        found = [_added(*pair, about) for pair in _pairs(release, earlier)]
    except (VeladuraError, OSError, LookupError, ValueError, TypeError, pa.ArrowException) as error:
        return [Line(SAME, "broken", f"it cannot be read or compared ({type(error).__name__})")]
    kept = len(release.tables) == len(earlier.tables) and all(rows for rows, _ in found)
    later = all(rest for _, rest in found)
    return [
        Line(SAME, "holds" if same else "broken"),
        Line(ROWS, "holds" if kept else "broken"),
        Line(LATER, "holds" if later else "broken"),
    ]


def _pairs(release: Release, earlier: Release) -> list[tuple[Table, Table]]:
    tables = zip(release.tables, earlier.tables, strict=False)
    return [(new.table.units.fetched(), old.table.units.fetched()) for new, old in tables]


def _added(new: Table, old: Table, about: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether a dataset holds the rows of an older one, and whether the rest are later ones.

    Rows are compared by what they hold, people and households by their numbers.
    """
    time = about["columns"][0]
    last = pc.max(old.arrow.column(time))
    late = pc.greater(new.arrow.column(time), last)
    held = _digest(new.arrow.filter(pc.invert(late)), new) == _digest(old.arrow, old)
    units = [name for name in (new.schema.person, new.schema.household) if name is not None]
    members, before = (
        np.unique(np.column_stack([t.arrow.column(n).to_numpy() for n in units]), axis=0)
        for t in (new, old)
    )  # a person and the household, if there are any
    known = members[np.isin(members[:, 0], before[:, 0])]
    return held, np.array_equal(known, before)


def _digest(rows: Any, table: Table) -> str | None:
    from veladura.table.table import from_arrow

    return content_digest(from_arrow(rows, table.schema), table.names)
