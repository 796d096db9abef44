"""A table holds rows or a query; which of the two never changes, and nothing is fetched twice."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.table import table as tables
from veladura.table.table import Table

ROWS = {"zip": ["a", "b", None, "a", "a"], "x": [1.5, -0.0, 0.0, None, 1.5], "n": [3, 1, 1, 2, 3]}


@pytest.fixture
def lazy(tmp_path, lazy_files):
    pd.DataFrame(ROWS).to_csv(tmp_path / "t.csv", index=False)
    return vd.open(tmp_path / "t.csv", {name: {} for name in ROWS})


@pytest.fixture
def fetches(monkeypatch):
    """The queries whose rows were fetched."""
    queries = []
    original = tables.fetch

    def counted(expression):
        queries.append(expression)
        return original(expression)

    monkeypatch.setattr(tables, "fetch", counted)
    return queries


def test_a_lazy_table_stays_lazy_whatever_is_asked_of_it(lazy):
    _ = lazy.arrow, lazy.rows, lazy.codes(["zip"]), lazy.counts(["n"]), lazy.fetched()
    assert not lazy.in_memory
    assert not lazy.select(["n"]).in_memory
    assert lazy.fetched().in_memory
    assert lazy.fetched().select(["n"]).in_memory


def test_rows_are_fetched_once_also_by_several_threads(lazy, fetches):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: lazy.fetched(), range(8)))
    assert all(result is results[0] for result in results)
    assert lazy.arrow is results[0].data
    assert results[0].fetched() is results[0]
    assert len(fetches) == 1


def test_rows_that_are_read_are_not_kept(lazy, fetches):
    assert lazy.read().equals(lazy.read())
    assert len(fetches) == 2
    assert lazy.cache.fetched is None


def test_a_release_keeps_the_rows_it_was_made_of(lazy, fetches):
    release = vd.Noise(columns=["n"]).protect(lazy, seed=1)
    assert release.original.in_memory
    assert not lazy.in_memory
    _ = release.datasets, release.original.arrow, lazy.arrow
    assert len(fetches) == 1


def test_nothing_is_hidden_from_the_definition_of_a_table(lazy):
    for table in (lazy, lazy.fetched(), lazy.select(["n", "x"])):
        _ = table.arrow, table.rows, table.counts(["n"]), table.profile("x"), table.expression
        assert set(vars(table)) == {field.name for field in fields(Table)}


def test_a_changed_table_does_not_inherit_answers(lazy):
    assert lazy.rows == 5
    _ = lazy.counts(["n"])
    changed = replace(lazy.fetched(), data=lazy.arrow.slice(0, 2))
    assert changed.rows == 2
    assert changed.counts(["n"]).size.tolist() == [1, 1]


def test_a_table_in_memory_can_be_copied_and_sent_to_another_process(lazy):
    table = lazy.fetched()
    _ = table.counts(["n"])
    for copied in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):  # noqa: S301
        assert copied.arrow.equals(table.arrow)
        assert copied.counts(["n"]).size.tolist() == table.counts(["n"]).size.tolist()


@pytest.mark.parametrize("columns", [["zip"], ["x"], ["n", "zip"], ["x", "n", "zip"], ["n", "n"]])
def test_memory_and_database_count_the_same_tuples(lazy, columns):
    frame = vd.open(pa.table(ROWS))
    expected = Counter(zip(*[ROWS[name] for name in columns], strict=True))
    for table in (frame, lazy, lazy.fetched()):
        counts = table.counts(columns)
        values = [column.to_arrow().to_pylist() for column in counts.columns]
        counted = dict(zip(zip(*values, strict=True), counts.size.tolist(), strict=True))
        assert counted == dict(expected)
    first, second = frame.counts(columns), lazy.counts(columns)
    assert np.array_equal(first.codes, second.codes)
    assert np.array_equal(first.size, second.size)


def test_values_at_the_ends_of_their_types_are_counted_apart(tmp_path):
    rng = np.random.default_rng(5)
    ends = [-(2**63), 2**63 - 1, 0, 1, None]
    large = [float("inf"), float("-inf"), 1e308, -0.0, 0.0, None]
    rows = {f"i{i}": [ends[j] for j in rng.integers(0, 5, 200)] for i in range(3)}
    rows |= {f"f{i}": [large[j] for j in rng.integers(0, 6, 200)] for i in range(2)}
    rows |= {f"w{i}": rng.integers(-(2**62), 2**62, 200).tolist() for i in range(6)}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    lazy, frame = (vd.open(source, {}) for source in (tmp_path / "t.parquet", pa.table(rows)))
    for columns in (["i0"], ["f0"], ["i0", "i1"], ["f0", "i2", "f1"], list(rows)):
        inside, here = lazy.counts(columns), frame.counts(columns)
        expected = Counter(zip(*[rows[name] for name in columns], strict=True))
        assert sorted(here.size) == sorted(expected.values())
        assert np.array_equal(here.size, inside.size)
        for one, other in zip(here.columns, inside.columns, strict=True):
            assert one.to_arrow().equals(other.to_arrow())


def test_not_a_number_and_missing_are_one_value_in_memory():
    rows = pa.table({"x": [float("nan"), None, -0.0, 0.0, float("nan")]})
    table = tables.from_arrow(rows, vd.open(pa.table({"x": [1.0]})).schema)
    assert table.counts(["x"]).size.tolist() == [2, 3]


def test_a_frame_needs_no_database():
    code = """
import sys, pyarrow as pa, veladura as vd
frame = pa.table({"zip": ["a", "b"] * 20, "n": list(range(40))})
vd.Noise(columns=["n"]).protect(frame, seed=1).datasets
vd.KAnonymity(quasi_identifiers=["zip"], k=2).protect(frame).datasets
assert not {"ibis", "duckdb"} & set(sys.modules), "a database was loaded"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
