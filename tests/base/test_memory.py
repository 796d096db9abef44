"""Memory is a setting: DuckDB, held rows and threads follow it; what does not fit is told first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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


def test_pieces_of_a_wide_table_have_fewer_rows(monkeypatch):
    assert memory.rows_within(131_072, 300) == 131_072  # nobody set a limit
    monkeypatch.setenv("VELADURA_MEMORY", "1 GiB")
    for columns in (1, 10, 23):
        assert memory.rows_within(131_072, columns) == 131_072
    for columns in (30, 300, 10_000):
        held = memory.rows_within(131_072, columns) * columns * memory.BYTES_A_CELL
        assert 0.19 * 2**30 < held <= 0.2 * 2**30
    assert memory.rows_within(131_072, 10**9) == 1


PEAK = """
import sys, warnings
from pathlib import Path
import veladura as vd

warnings.simplefilter("ignore")
method, source, home = sys.argv[1], sys.argv[2], Path(sys.argv[3])
recipe = {
    "noise": vd.Noise(columns=["v0", "v1"]),
    "cart": vd.Cart(columns=["v0", "v1"], predictors=["v2", "v3"], m=4),
    "top-code": vd.TopCode(columns={"v0": 1.0}),
}[method]
release = recipe.protect(vd.open(source), seed=1, threads=8)
release.save(home / "out" / "wide", custodian=home / "safe" / "wide")
assert all(line.status != "broken" for line in vd.verify(home / "out" / "wide"))
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is told by Linux")
@pytest.mark.parametrize("method", ["noise", "cart", "top-code"])
def test_the_peak_of_a_run_is_within_its_memory(tmp_path, method):
    """A table of 300,000 x 204, about 4 GiB if it were held, with eight threads within one GiB.

    Chunks of as many rows as a narrow table has took 1.67 GiB with two threads (`noise`).
    """
    rng, path = np.random.default_rng(3), tmp_path / "wide.parquet"
    writer = None
    for _ in range(6):
        base = rng.normal(size=50_000)
        rows = pa.table({f"v{i}": np.round(base + rng.normal(size=50_000), 1) for i in range(204)})
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows)
    writer.close()
    done = subprocess.run(
        [sys.executable, "-c", PEAK, method, str(path), str(tmp_path)],
        env={**os.environ, "VELADURA_MEMORY": "1 GiB", "VELADURA_CUSTODIAN": str(tmp_path / "c")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) < 2**20  # KiB
