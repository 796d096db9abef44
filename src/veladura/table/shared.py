"""Columns that all members of a household share, such as a rent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from veladura.table.table import Table


def shared_by_households(table: Table, names: Sequence[str]) -> list[str]:
    """Return those of some columns that are the same within every household, and differ between.

    None without a column of households, or where each has one member.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> frame = pd.DataFrame({"home": [1, 1, 2, 2], "rent": [500, 500, 900, 900], "age": range(4)})
    >>> table = vd.open(frame, {"home": {"role": "household"}}).without_identifiers()
    >>> shared_by_households(table, ["rent", "age"])
    ['rent']
    """
    household = table.units.schema.household
    if household is None or not table.in_memory:
        return []
    numbers = table.units.column(household)
    _, home = np.unique(numbers.key(), return_inverse=True)
    home = np.where(numbers.missing, home.max(initial=0) + 1 + np.arange(home.size), home)
    home = np.unique(home, return_inverse=True)[1].reshape(-1)
    if int(home.max(initial=-1)) + 1 == home.size:
        return []
    last = np.zeros(int(home.max()) + 1, dtype=np.int64)
    last[home] = np.arange(home.size)
    shared = []
    for name in names:
        key = table.column(name).key()
        if np.any(key != key[0]) and np.array_equal(key, key[last[home]]):
            shared.append(name)
    return shared
