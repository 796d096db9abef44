"""Who is unique in a source by what an intruder knows, and which column makes people unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.table.schema import NOT_RELEASED, UNITS
from veladura.table.telling import Telling

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

MISSING = "missing"


@dataclass(frozen=True)
class Contribution:
    """What one column does to the number of people who are unique.

    Attributes
    ----------
    known
        Whether the intruder knows it.
    people
        Of a known column, people who would not be unique without it; of another, people who would
        be unique with it in addition.
    """

    name: str
    known: bool
    people: int


def contribution(telling: Telling, known: Sequence[str], name: str) -> Contribution:
    """Return what one column adds to the people who are unique by the known columns.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": list("ffmm"), "age": [30, 31, 40, 40]})
    >>> telling = Telling(vd.open(people))
    >>> contribution(telling, ["sex", "age"], "age").people
    2
    >>> contribution(telling, ["age"], "sex").people
    0
    """
    unique = telling.alone(known) if known else 0
    if name in known:
        rest = [other for other in known if other != name]
        return Contribution(name, True, unique - (telling.alone(rest) if rest else 0))
    ordered = [*known, name]
    return Contribution(name, False, telling.alone(ordered) - unique)


def knowable(table: Table) -> list[str]:
    """Return the columns that an intruder may know and look up: those that would be released."""
    return [f.name for f in table.schema if f.role not in (*NOT_RELEASED, *UNITS)]


def unique_combinations(
    table: Table, known: Sequence[str], most: int, household: str | None = None
) -> list[tuple[str, ...]]:
    """Return the values of people who are unique by the known columns. Private: do not share.

    Parameters
    ----------
    most
        How many of them, in the order of their values.
    household
        A column of household numbers: it comes first, and members of one follow each other.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"home": [7, 7, 8, 8], "sex": list("fmff"), "age": [9, 30, 31, 9]})
    >>> unique_combinations(vd.open(people), ["sex", "age"], 9, household="home")
    [('7', 'm', '30'), ('8', 'f', '31')]
    """
    names = list(known) if household is None else [household, *known]
    counts = table.people_counts(names)
    people = np.asarray(counts.size)
    if household is not None:  # people of all households together who hold the same values
        group = _numbered(counts.columns[1:])
        people = np.bincount(group, weights=people)[group]
    alone = np.flatnonzero(people == 1)[:most]
    columns = [column.take(alone).to_arrow().to_pylist() for column in counts.columns]
    rows = zip(*columns, strict=True)
    return [tuple(MISSING if value is None else str(value) for value in row) for row in rows]


def _numbered(columns: Sequence[Column]) -> NDArray[np.int64]:
    """Return the number of each row's combination of values."""
    number = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        codes = np.unique(column.key(), return_inverse=True)[1]
        number = np.unique(number * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    return number
