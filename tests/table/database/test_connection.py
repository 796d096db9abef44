"""A process keeps the DuckDB databases that its tables need, and no others."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veladura.table.database.connection import connect, read_parquet

# A collection meets what other tests left open.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_plans_with_folders_of_their_own_leave_one_database_behind(tmp_path: Path) -> None:
    backends = [ref(connect(tmp_path / f"custodian{number}")) for number in range(5)]
    gc.collect()
    assert [backend() is not None for backend in backends] == [False] * 4 + [True]


def test_a_lazy_table_keeps_its_database(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [31, 42]}), tmp_path / "people.parquet")
    table = read_parquet(tmp_path / "people.parquet", tmp_path / "first")
    connect(tmp_path / "second")
    gc.collect()
    assert table.to_pyarrow()["age"].to_pylist() == [31, 42]
