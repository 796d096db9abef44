"""Whether one table is a generalisation of another, and a k-minimal one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.numeric.hierarchies.hierarchy import TOP, Hierarchy
from veladura.numeric.hierarchies.levels import table_of
from veladura.table.codes import label_text
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.table.table import Table

Cells = tuple[str | None, ...]


@dataclass(frozen=True)
class Generalisation:
    """How a table follows from another by generalisation and suppression.

    Attributes
    ----------
    holds
        Whether it is a generalisation at all (Samarati and Sweeney 1998, def. 4.2).
    distance
        The distance vector: the level of every column; empty where it is none.
    suppressed
        Rows of the first table that are not in the second.
    k
        The fewest rows that share a combination in the second table.
    minimal
        Whether it is k-minimal (def. 4.3) for the k that was asked for; None where none was.
    why
        What is missing, where ``holds`` or ``minimal`` is false.
    """

    holds: bool
    distance: Mapping[str, int]
    suppressed: int
    k: int
    minimal: bool | None = None
    why: str = ""

    def __bool__(self) -> bool:
        return self.holds


def generalisation_of(
    original: Any,
    generalised: Any,
    hierarchies: Mapping[str, Hierarchy],
    *,
    k: int | None = None,
    max_suppression: float = 0,
) -> Generalisation:
    """Return whether a table is a generalisation of another, with the distance vector.

    It is one if every column takes its values from one level of its hierarchy, and if its rows can
    be assigned to different rows of the original that become them. Rows of the original without
    such a row are suppressed; so are rows with ``*`` in every column while others have values.

    Parameters
    ----------
    original, generalised
        Anything `veladura.open` takes, such as two frames.
    hierarchies
        The hierarchy of each column that is compared; other columns do not matter.
    k
        Asks besides whether it is k-minimal: k-anonymous, with the fewest rows suppressed at its
        levels and no more than allowed, and no other such generalisation with a smaller distance
        vector.
    max_suppression
        Rows that may be suppressed, a number or a share.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"zip": ["02138", "02139", "02141", "02142"]})
    >>> coarse = pd.DataFrame({"zip": ["0213*", "0213*", "0214*", "0214*"]})
    >>> found = vd.generalisation_of(people, coarse, {"zip": vd.Hierarchy.mask(5)}, k=2)
    >>> found.holds, found.distance, found.minimal
    (True, {'zip': 1}, True)

    References
    ----------
    Samarati, P. and Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity
    and its enforcement through generalization and suppression. SRI-CSL-98-04.
    """
    if not hierarchies:
        msg = "hierarchies is empty: name the columns to compare, each with its hierarchy."
        raise PlanError(msg)
    if k is not None and k < 1:
        msg = f"k ({k}) must be at least 1."
        raise PlanError(msg)
    names = list(hierarchies)
    before, after = (
        open_quietly(table, {name: {} for name in names}) for table in (original, generalised)
    )
    for table in (before, after):
        table.schema.check("hierarchies", names)
    ladders = [_ladder(before, name, hierarchies[name]) for name in names]
    tops = [hierarchies[name].rows[0][-1] if hierarchies[name].rows else TOP for name in names]
    rows, kept = _rows(before, names), _shown(_with_stars(_rows(after, names), tops))
    smallest = min(Counter(kept).values(), default=0)
    lost = len(rows) - len(kept)
    levels = [_levels(ladder, {row[c] for row in kept}) for c, ladder in enumerate(ladders)]
    if strange := [name for name, found in zip(names, levels, strict=True) if not found]:
        why = f"columns {strange} hold values of no single level of their hierarchies"
        return Generalisation(False, {}, lost, smallest, None if k is None else False, why)
    vector = _assigned(rows, kept, ladders, levels)
    if vector is None:
        why = "there are more rows of some combination than the original gives"
        return Generalisation(False, {}, lost, smallest, None if k is None else False, why)
    distance = dict(zip(names, vector, strict=True))
    if k is None:
        return Generalisation(True, distance, lost, smallest)
    why = _not_minimal(before, hierarchies, distance, (lost, smallest), k, max_suppression)
    return Generalisation(True, distance, lost, smallest, not why, why)


def _ladder(table: Table, name: str, hierarchy: Hierarchy) -> dict[str | None, Cells]:
    """Return by value what it becomes at each level; missing stays missing below the top."""
    values = list(table.column(name).to_arrow().unique().to_pylist())
    present = [value for value in values if value is not None]
    written = table_of(hierarchy, present) if present else []
    ladder: dict[str | None, Cells] = {row[0]: tuple(row) for row in written}
    height = hierarchy.height
    ladder[None] = (*[None] * height, TOP)
    return ladder


def _rows(table: Table, names: Sequence[str]) -> list[Cells]:
    columns = [
        [None if v is None else label_text(v) for v in table.column(name).to_arrow().to_pylist()]
        for name in names
    ]
    return list(zip(*columns, strict=True))


def _with_stars(rows: list[Cells], tops: Sequence[str]) -> list[Cells]:
    """Return rows with ``*`` for the single value that a declared hierarchy ends with."""
    return [
        tuple(TOP if value == top else value for value, top in zip(row, tops, strict=True))
        for row in rows
    ]


def _shown(rows: list[Cells]) -> list[Cells]:
    """Return the rows without those that stars took the place of."""
    starred = [all(value == TOP for value in row) for row in rows]
    return rows if all(starred) else [r for r, star in zip(rows, starred, strict=True) if not star]


def _levels(ladder: Mapping[str | None, Cells], values: set[str | None]) -> list[int]:
    """Return the levels that hold all values of a column, lowest first."""
    height = len(next(iter(ladder.values())))
    domains = [{cells[level] for cells in ladder.values()} for level in range(height)]
    return [level for level, domain in enumerate(domains) if values <= domain]


def _assigned(
    rows: Sequence[Cells],
    kept: Sequence[Cells],
    ladders: Sequence[Mapping[str | None, Cells]],
    levels: Sequence[Sequence[int]],
) -> tuple[int, ...] | None:
    """Return the lowest levels at which every row can have an original row of its own."""
    wanted = Counter(kept)
    for vector in sorted(product(*levels), key=sum):
        raised = Counter(
            tuple(
                ladder[value][level]
                for ladder, value, level in zip(ladders, row, vector, strict=True)
            )
            for row in rows
        )
        if all(raised[row] >= number for row, number in wanted.items()):
            return vector
    return None


def _not_minimal(
    table: Table,
    hierarchies: Mapping[str, Hierarchy],
    distance: Mapping[str, int],
    found: tuple[int, int],
    k: int,
    max_suppression: float,
) -> str:
    """Return why a generalisation is not k-minimal; an empty text if it is."""
    from veladura.methods.kanonymity.fitted import FittedKAnonymity
    from veladura.methods.kanonymity.kanonymity import KAnonymity
    from veladura.methods.kanonymity.settings import allowed_rows

    lost, smallest = found
    if smallest < k:
        return f"it is not k-anonymous: {smallest} rows share some combination, k is {k}"
    if lost > allowed_rows(max_suppression, table.rows):
        return f"{lost} rows are suppressed, more than allowed"
    if k == 1:
        return "" if not any(distance.values()) else "the table itself is 1-anonymous"
    recipe = KAnonymity(
        quasi_identifiers=list(hierarchies),
        k=k,
        max_suppression=max_suppression,
        hierarchies=hierarchies,
        prefer=("min-distance",),
    )
    fitted = recipe.fit(table)
    assert isinstance(fitted, FittedKAnonymity)  # noqa: S101  # of that recipe
    vector = tuple(distance.values())
    needed = fitted.node(vector).suppressed
    if lost > needed:
        return f"{lost} rows are suppressed where {needed} would do at these levels"
    if vector not in fitted.vectors:
        return "a generalisation with a smaller distance vector is k-anonymous too"
    return ""
