"""Critical cells given one by one: a table of true and false beside the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Mask
from veladura.errors import DataError, PlanError

if TYPE_CHECKING:
    import pandas as pd

    from veladura.methods.critical.critical import CriticalCart

SUFFIX = "_replaced"


def is_frame(given: Any) -> bool:
    """Whether something is a frame with columns, and neither a mapping nor a list."""
    return hasattr(given, "columns") and not isinstance(given, (Mapping, Sequence))


def read_mask(given: Any) -> dict[str, tuple[bool, ...]]:
    """Return a mask by column; refuse what is neither true nor false.

    Examples
    --------
    >>> import pandas as pd
    >>> read_mask(pd.DataFrame({"income": [True, False]}))
    {'income': (True, False)}
    """
    if isinstance(given, Mapping):
        columns = {str(name): list(values) for name, values in given.items()}
    else:
        from veladura.table.source import open_quietly

        arrow = open_quietly(given).arrow
        columns = {name: arrow[name].to_pylist() for name in arrow.column_names}
    marks = {name: [_mark(value) for value in values] for name, values in columns.items()}
    if wrong := [name for name, values in marks.items() if None in values]:
        msg = (
            f"mask: columns with values that are neither true nor false: {wrong}.\n\nHint: give"
            " true or false (or 1 and 0) for every row of the table, in its order."
        )
        raise PlanError(msg)
    return {name: tuple(bool(value) for value in values) for name, values in marks.items()}


def _mark(value: Any) -> bool | None:
    text = str(value).strip().lower()
    return (
        True if text in ("true", "1", "1.0") else False if text in ("false", "0", "0.0") else None
    )


def checked_mask(given: Any, names: Sequence[str], rows: int) -> dict[str, Mask]:
    """Return the mask of each confidential column, in the order of the table."""
    marks = read_mask(str(given)) if isinstance(given, (str, Path)) else given
    if set(marks) != set(names):
        msg = (
            f"the mask has the columns {sorted(marks)}, the confidential ones are"
            f" {sorted(names)}.\n\nHint: a mask has one column of true and false for each column"
            " named in critical."
        )
        raise PlanError(msg)
    if wrong := [name for name in names if len(marks[name]) != rows]:
        msg = (
            f"the mask has {len(marks[wrong[0]])} rows, the table {rows}.\n\nHint: give true or"
            " false for every row of the table, in its order."
        )
        raise DataError(msg)
    return {name: np.array(marks[name], dtype=bool) for name in names}


def indicators(recipe: CriticalCart, table: Any) -> pd.DataFrame:
    """Return the indicator Z of the critical cells of a table, in its order."""
    import pandas as pd

    from veladura.methods.critical.fit import cells_of, needed_columns
    from veladura.table.source import open as open_table

    opened = open_table(table).without_identifiers()
    codes = opened.codes([name for name in opened.names if name in needed_columns(recipe)])
    cells = cells_of(recipe, codes)
    frame = {}
    for name in recipe.critical:
        mark = np.zeros(codes.rows.size, dtype=bool)
        mark[codes.rows] = cells.marks[name]
        frame[f"{name}{SUFFIX}"] = mark
    return pd.DataFrame(frame)
