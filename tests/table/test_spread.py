"""Ranks and counts of a lazy column are those of the same column in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.report.codebook import describe
from veladura.table.quantiles import spread

pytestmark = pytest.mark.usefixtures("lazy_files")

NUMBERS = st.one_of(
    st.none(),
    st.floats(allow_infinity=False, width=64, min_value=-1e12, max_value=1e12),
    st.sampled_from([-0.0, 0.0, 1.0]),
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    values=st.lists(NUMBERS, min_size=1, max_size=40),
    limits=st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=4),
)
def test_ranks_and_counts_are_those_of_the_sorted_values(tmp_path, values, limits):
    pq.write_table(pa.table({"x": pa.array(values, pa.float64())}), tmp_path / "t.parquet")
    far = spread(vd.open(tmp_path / "t.parquet", {"x": "number"}), "x")
    known = np.sort([value + 0.0 for value in values if value is not None and not np.isnan(value)])
    assert (far.rows, far.known) == (len(values), known.size)
    if known.size:
        ranks = sorted({0, known.size // 2, known.size - 1})
        assert far.at_ranks(ranks) == known[ranks].tolist()
    assert far.below(limits) == [int((known < limit).sum()) for limit in limits]


@pytest.mark.parametrize("type_", [pa.int32(), pa.float32(), pa.float64()], ids=str)
def test_a_page_says_the_same_of_a_file_and_of_its_rows_in_memory(tmp_path, type_):
    rng = np.random.default_rng(2)
    numbers = pa.array(rng.normal(50, 12, 700).round(), type_, mask=rng.random(700) < 0.1)
    pq.write_table(pa.table({"x": numbers}), tmp_path / "t.parquet")
    far = vd.open(tmp_path / "t.parquet", {"x": {"role": "other"}})
    near = vd.open(pa.table({"x": numbers}), {"x": {"role": "other"}})
    assert describe(far, far, ()) == describe(near, near, ())
    assert not far.in_memory


def test_other_columns_are_not_asked_for_ranks(tmp_path):
    pq.write_table(pa.table({"x": ["a", "b"]}), tmp_path / "t.parquet")
    assert spread(vd.open(tmp_path / "t.parquet", {"x": "category"}), "x") is None
    assert spread(vd.open(pa.table({"x": [1, 2]}), {"x": "integer"}), "x") is None
