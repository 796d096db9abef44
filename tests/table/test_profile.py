"""A lazy table is counted once; a long list of numbers is shortened and keeps its quantiles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.table import counts as counting
from veladura.table.counts import thinned

pytestmark = pytest.mark.usefixtures("lazy_files")


@pytest.fixture
def stored(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=3000), "g": rng.choice(list("abc"), 3000)})
    frame.loc[::7, "x"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    return frame, vd.open(tmp_path / "t.parquet", {"g": "category"})


def test_each_column_is_counted_once_whoever_asks(stored, monkeypatch):
    _, table = stored
    asked = []
    once = counting.counts
    monkeypatch.setattr(
        counting,
        "counts",
        lambda table_, columns: asked.append(tuple(columns)) or once(table_, columns),
    )
    for part in (table, table.select(["x"]), table.select(["g", "x"])):
        part.profile("x")
        part.profile("x")
        part.counts(["x"])
    assert asked == [("x",)]


def test_a_short_list_keeps_cumulative_shares(stored):
    frame, table = stored
    whole, few = table.counts(["x"]), thinned(table.counts(["x"]), 100)
    assert few.size.size <= 100
    assert few.size.sum() == whole.size.sum() == len(frame)
    known = frame["x"].dropna().to_numpy()
    kept = few.columns[0]
    assert few.size[kept.missing].sum() == frame["x"].isna().sum()
    values, size = kept.values[~kept.missing], few.size[~kept.missing]
    np.testing.assert_array_equal(np.cumsum(size), [(known <= value).sum() for value in values])
    assert values[0] == known.min()
    assert values[-1] == known.max()


def test_categories_and_short_lists_stay_whole(stored):
    _, table = stored
    assert thinned(table.counts(["g"]), 2) is table.counts(["g"])
    assert thinned(table.counts(["x"])) is table.counts(["x"])
