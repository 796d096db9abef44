"""Tables that nearly belong together: which rows keep a column from being a key or a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from veladura.errors import PlanError

MOST_WRONG = 0.1  # share of rows that may stand in the way of a candidate
NEARLY = 0.5  # of the score of another link
LEAST_COVERED = 0.5  # share of the keys that its link has: an age is among running numbers too


@dataclass(frozen=True)
class NearLink:
    """A column that would link two tables but for some rows."""

    child: str
    column: str
    parent: str
    key: str
    orphans: int
    unlinked: int
    repeated: int
    missing: int
    wrong: float  # share of rows, the link's and the key's
    covered: float  # share of the keys that the link has

    def sentence(self) -> str:
        """Return what stands in the way, with numbers of rows."""
        faults = [
            f"{number:,} rows of {table!r} {what}"
            for number, table, what in (
                (self.orphans, self.child, f"have a {self.column!r} that {self.parent!r} lacks"),
                (self.unlinked, self.child, f"have no {self.column!r}"),
                (self.repeated, self.parent, f"repeat a {self.key!r}"),
                (self.missing, self.parent, f"have no {self.key!r}"),
            )
            if number
        ]
        return (
            f"the nearest to a link is {self.column!r} of {self.child!r} to {self.key!r} of"
            f" {self.parent!r}, but {' and '.join(faults)}"
        )


def same_kind(key: pa.ChunkedArray, column: pa.ChunkedArray) -> bool:
    """Whether both columns hold whole numbers, or both text."""
    kinds = [pa.types.is_integer, pa.types.is_string, pa.types.is_large_string]
    return any(kind(key.type) and kind(column.type) for kind in kinds)


def refuse_near_links(
    rows: Mapping[str, pa.Table], linked: Mapping[tuple[str, str], float]
) -> None:
    """Refuse tables of which one belongs to nothing, and nearly belongs to another or describes it.

    Parameters
    ----------
    linked
        How well the links that were found fit, by child and parent.
    """
    children = {child for child, _ in linked}
    related = {name for pair in linked for name in pair}
    near = [
        found
        for child, below in rows.items()
        for parent, above in rows.items()
        if parent != child and (child not in children or parent not in related)
        for key in above.column_names
        for column in below.column_names
        if same_kind(above.column(key), below.column(column))
        if (found := _near(above, below, (child, column, parent, key))) is not None
        if linked.get((parent, child), 0.0) < NEARLY * found.covered
    ]
    if near:
        best = min(near, key=lambda one: (one.column != one.key, one.wrong))
        msg = (
            f"the tables {list(rows)} do not belong together: {best.sentence()}. A key has every"
            " value once, and every value of a link is a key.\n\nHint: correct these rows in the"
            " source, or leave them out."
        )
        raise PlanError(msg)


def refuse_second_parents(
    scores: Mapping[tuple[str, str], float], parents: Mapping[str, str]
) -> None:
    """Refuse a table whose rows belong to two others: patients and hospitals of visits."""
    for (child, other), score in scores.items():
        if not score or child not in parents or other in (*parents, parents[child]):
            continue
        if other in parents.values():
            continue
        msg = (
            f"rows of {child!r} belong to {parents[child]!r} and to {other!r}: linked tables hang"
            " below one first table.\n\nHint: where one of the two only describes rows of"
            f" {child!r}, as a table of hospitals describes visits, write its columns into"
            f" {child!r} and leave that file out."
        )
        raise PlanError(msg)


def _near(above: pa.Table, below: pa.Table, names: tuple[str, str, str, str]) -> NearLink | None:
    """Return a candidate with its faults; None where it has none, or too many."""
    child, column, parent, key = names
    keys, links = above.column(key), below.column(column)
    if not len(keys) or not len(links):
        return None
    distinct = pc.count_distinct(keys).as_py()
    missing, held = keys.null_count, pc.count_distinct(links).as_py()
    repeated = len(keys) - missing - distinct
    inside = pc.is_in(links, value_set=keys.combine_chunks())
    unlinked = links.null_count
    belonging = pc.sum(pc.and_(inside, links.is_valid())).as_py()
    orphans = len(links) - unlinked - belonging
    wrong = (repeated + missing) / len(keys) + (orphans + unlinked) / len(links)
    names_units = held >= LEAST_COVERED * distinct and held < len(links)
    if not 0 < wrong <= MOST_WRONG or not names_units:
        return None
    covered = held / distinct
    return NearLink(
        child, column, parent, key, orphans, unlinked, repeated, missing, wrong, covered
    )
