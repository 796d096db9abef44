"""Memory is a setting: DuckDB, held rows and threads follow it; what does not fit is told first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base import memory
from veladura.errors import PlanError
from veladura.table.database.connection import own_connection, run_sql
from veladura.table.held import held_cells


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setenv("VELADURA_MEMORY", "2 GiB")


@pytest.mark.parametrize("text", ["4", "4 gib", "-4 GiB", "4 GiB or so", "", "1 PiB"])
def test_a_size_needs_a_unit(text):
    with pytest.raises(PlanError, match="must be a number with a unit"):
        memory.size_of(text)


def test_too_little_for_any_table_is_told():
    with pytest.raises(PlanError, match="less than Python"):
        memory.size_of("200 MiB")


def test_the_plan_goes_before_the_environment(two):
    assert memory.memory_limit() == 2 << 30
    memory.limit_memory("4 GiB")
    try:
        assert memory.memory_limit() == 4 << 30
    finally:
        memory.limit_memory(None)


@pytest.mark.usefixtures("two")
def test_duckdb_and_its_threads_keep_within(monkeypatch):
    monkeypatch.setenv("VELADURA_THREADS", "64")
    limit, threads = run_sql(
        own_connection(),
        "SELECT current_setting('memory_limit'), current_setting('threads')",
    )[0]
    assert limit == "819.0 MiB"
    assert threads == 3  # a thread for every 256 MiB


@pytest.mark.usefixtures("two")
def test_what_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    assert held_cells() == int(0.4 * (2 << 30)) // 70
    rows = 2_000
    frame = pd.DataFrame({"x": np.arange(rows), "y": np.arange(rows) % 7})
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(memory, "BYTES_A_CELL", 1 << 19)  # as if cells were larger
    read = []
    monkeypatch.setattr("veladura.table.table.Table.read", lambda self: read.append(1))
    table = vd.open(tmp_path / "t.parquet", {"x": {"role": "other"}})
    assert not table.in_memory
    with pytest.raises(PlanError, match=r"(?s)4,000 cells.*'swap'.*4.9 GiB, where 2.0 GiB"):
        vd.Swap(columns=["x"]).protect(table, seed=1)
    assert not read
    counted = vd.KAnonymity(quasi_identifiers=["y"], k=3)
    assert not counted.protect(table).tables[0].table.in_memory
