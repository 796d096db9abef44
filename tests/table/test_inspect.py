"""Facts are counts; identifiers are warned of; scratch is private and cleared."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.table.database.connection import connect
from veladura.table.database.scratch import clear_stale, scratch_folder
from veladura.table.inspect import Facts, inspect_table
from veladura.table.source import IdentifierWarning


@pytest.mark.usefixtures("lazy_files")
def test_facts_are_the_same_lazily_and_in_memory(tmp_path):
    table = pa.table({"a": ["x", "yy", None, "x"], "b": [1, 1, 2, None], "c": [1.5, None, 1.5, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    lazy = inspect_table(vd.open(tmp_path / "a.parquet"))
    assert lazy == inspect_table(vd.open(table))
    assert lazy["a"] == Facts("a", "category", 3, 2, 2, rows=4)
    assert (lazy["b"].present, lazy["b"].distinct) == (3, 2)


IDENTIFIERS = {
    "email": [f"p{i}@x" for i in range(100)],
    "code": [f"K{i:06}" for i in range(100)],
    "patient_id": range(100),
    "personId": range(100),
}
OTHERS = {
    "age": range(100),
    "x": [f"{i % 9}" for i in range(100)],
    "income": [i * 1.5 for i in range(100)],
    "valid": range(100),
}


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("lazy", [True, False])
def test_identifiers_are_warned_of(tmp_path, lazy):
    frame = pd.DataFrame(IDENTIFIERS | OTHERS)
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.warns(
        IdentifierWarning,
        match=r"columns \['email', 'code', 'patient_id', 'personId'\] look like identifiers",
    ) as warned:
        vd.open(tmp_path / "a.parquet" if lazy else frame)
    assert warned[0].filename == __file__
    assert "p1@x" not in str(warned[0].message)


def test_a_declared_table_is_not_warned_of():
    vd.open(pd.DataFrame(IDENTIFIERS), {"email": {"role": "identifier"}})


def test_a_million_rows_are_looked_at_quickly(tmp_path):
    import time

    n = 300_000
    pq.write_table(
        pa.table(
            {"a": np.arange(n), "b": [f"v{i % 1000}" for i in range(n)], "c": np.arange(n) * 0.5}
        ),
        tmp_path / "a.parquet",
    )
    vd.open(tmp_path / "a.parquet")
    start = time.perf_counter()
    vd.open(tmp_path / "a.parquet")
    assert time.perf_counter() - start < 1.0


def test_scratch_is_private_and_cleared(tmp_path):
    folder = scratch_folder(tmp_path / "safe")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert scratch_folder(tmp_path / "safe") == folder
    dead = folder.parent / "run-dead"
    dead.mkdir()
    (dead / "lock").touch()  # nobody holds it
    (dead / "spill").write_text("x")
    other = folder.parent / "notes"
    other.mkdir()
    clear_stale(folder.parent)
    assert not dead.exists()
    assert other.exists()
    assert folder.exists()


def test_scratch_is_made_again_when_somebody_deletes_it(tmp_path):
    folder = scratch_folder(tmp_path / "safe")
    shutil.rmtree(tmp_path / "safe")
    again = scratch_folder(tmp_path / "safe")
    assert again.is_dir()
    assert again != folder


def test_scratch_goes_when_the_process_does(tmp_path):
    code = (
        "from pathlib import Path; from veladura.table.database.scratch import scratch_folder;"
        " print(scratch_folder(Path('safe')))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert str(os.path.realpath(tmp_path)) in os.path.realpath(made)
    assert not (tmp_path / "safe" / "scratch").exists()


def test_duckdb_fetches_no_extension():
    settings = dict(
        connect()
        .con.execute("SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%extensions'")
        .fetchall()
    )
    assert set(settings.values()) == {"false"}


def test_importing_veladura_does_not_import_ibis():
    code = (
        "import sys, veladura; print(any(name.split('.')[0] in ('ibis', 'duckdb', 'pandas',"
        " 'polars', 'numba') for name in sys.modules))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )
