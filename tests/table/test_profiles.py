"""Distributions of lazy columns: together, exact, and never more values than a profile keeps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veladura as vd
from veladura.report.codebook import describe
from veladura.table import profiles
from veladura.table.database import connection
from veladura.table.profiles import profile_columns, sorted_profile, thinned_stream

pytestmark = pytest.mark.usefixtures("lazy_files")


@given(
    numbers=st.lists(st.integers(-5, 40), min_size=1, max_size=60),
    most=st.integers(2, 20),
    cut=st.integers(1, 9),
)
def test_what_streams_by_keeps_exact_cumulative_counts(numbers, most, cut):
    ordered = np.sort(np.array(numbers))
    batches = [ordered[i : i + cut] for i in range(0, ordered.size, cut)]
    values, sizes = thinned_stream(batches, ordered.size, most)
    assert values.size <= most
    assert (values[0], values[-1]) == (ordered[0], ordered[-1])
    assert np.all(np.diff(values) > 0)
    assert np.cumsum(sizes).tolist() == [int((ordered <= value).sum()) for value in values]
    # no value stands for more rows than a share of them, unless it has as many by itself
    own = np.array([(ordered == value).sum() for value in values])
    assert np.all(sizes <= own + ordered.size / (most - 1))


@pytest.fixture
def many(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(2000) < 0.3, 0.0, rng.lognormal(10, 2, 2000)),
            "n": rng.integers(0, 2**60, 2000),
            "day": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 10**9, 2000), "s"),
            "g": rng.choice(list("abc"), 2000),
        }
    )
    frame.loc[::7, "x"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    return frame, tmp_path / "t.parquet"


def test_a_column_of_many_numbers_is_thinned_as_it_streams(many, monkeypatch):
    frame, path = many
    table = vd.open(path, {"g": "category"})
    for name in ("x", "n", "day"):
        profile = sorted_profile(table, name, 50)
        column, known = profile.columns[0], frame[name].dropna()
        assert profile.size.size <= 50
        assert profile.size.sum() == len(frame)
        assert profile.size[column.missing].sum() == frame[name].isna().sum()
        kept = column.take(np.flatnonzero(~column.missing)).to_arrow().to_pandas()
        reached = np.cumsum(profile.size[~column.missing])
        assert [int((known <= value).sum()) for value in kept] == reached.tolist()
    count, mean, variance = sorted_profile(table, "x", 50).moments
    known = frame["x"].dropna()
    assert (count, mean) == (len(known), pytest.approx(known.mean(), rel=1e-12))
    assert variance == pytest.approx(known.var(), rel=1e-10)


def test_all_columns_are_counted_in_one_pass_and_many_numbers_are_never_held(many, monkeypatch):
    _, path = many
    monkeypatch.setattr(profiles, "MOST_VALUES", 500)
    table, asked = vd.open(path, {"g": "category"}), []
    for name in ("fetch", "fetch_sql"):
        once = getattr(connection, name)
        monkeypatch.setattr(connection, name, lambda *a, _once=once: asked.append(1) or _once(*a))
    profile_columns(table)
    sizes = {name: table.profile(name).size.size for name in table.names}
    assert sizes["g"] == 3
    assert ("x",) not in table.cache.counts  # nobody ever held all its values
    before = len(asked)
    for part in (table, table.select(["x", "g"])):
        for name in part.names:
            part.profile(name)
    assert len(asked) == before


def test_counts_of_some_columns_follow_from_those_of_more(many):
    frame, path = many
    frame = frame.assign(h=frame.index % 5)
    frame.to_parquet(path)
    lazy, other = (vd.open(path, {"g": "category"}) for _ in range(2))
    lazy.counts(["h", "g", "n"])
    for names in (["g"], ["g", "h"], ["n", "g"]):
        rolled, counted = lazy.counts(names), other.counts(names)
        assert rolled.size.tolist() == counted.size.tolist()
        for mine, theirs in zip(rolled.columns, counted.columns, strict=True):
            assert mine.to_arrow().equals(theirs.to_arrow())


@pytest.mark.parametrize("type_", [pa.int32(), pa.float32(), pa.float64()], ids=str)
def test_a_page_says_the_same_of_a_file_and_of_its_rows_in_memory(tmp_path, type_):
    rng = np.random.default_rng(2)
    numbers = pa.array(rng.normal(50, 12, 700).round(), type_, mask=rng.random(700) < 0.1)
    pq.write_table(pa.table({"x": numbers}), tmp_path / "t.parquet")
    far = vd.open(tmp_path / "t.parquet", {"x": {"role": "other"}})
    near = vd.open(pa.table({"x": numbers}), {"x": {"role": "other"}})
    assert describe(far, far, ()) == describe(near, near, ())
    assert not far.in_memory
