"""Spark Connect: a server of its own, a client without Java, and the releases of DuckDB."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import QUASI

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.xdist_group("spark")]
# in a process of its own: one process cannot have a session of both kinds
SCRIPT = """
import sys, warnings
from pathlib import Path
import pyarrow.parquet as pq
import veladura as vd
from veladura.table import chunks

warnings.simplefilter("ignore")
url, people, folder, *quasi = sys.argv[1:]
chunks.CHUNK = 1_000
roles = {name: {"role": "quasi-identifier"} for name in quasi}
k = vd.KAnonymity(
    quasi_identifiers=quasi,
    k=3,
    max_suppression=0.1,
    hierarchies={"age": vd.Hierarchy.intervals((10, 30))},
)
noise = vd.Noise(columns=["weight"], scale=0.2, fit_rows=800, min_people=0)
far, near = vd.open(url, roles, table=f"parquet.`{people}`"), vd.open(people, roles)
longer = vd.open(url.replace("sc://", "spark-connect://"), roles, table=f"parquet.`{people}`")
assert longer.rows == near.rows
assert longer.counts(["sex"]).size.tolist() == near.counts(["sex"]).size.tolist()
for name, recipe in (("k", k), ("noise", noise)):
    rows = []
    for where, table in (("far", far), ("near", near)):
        release = recipe.protect(table, seed=1)
        saved = release.save(
            Path(folder) / "out" / f"{name}-{where}", custodian=Path(folder) / "safe" / name / where
        )
        rows.append((saved / "data" / "dataset-1.parquet").read_bytes())
    assert rows[0] == rows[1], name
    print(name, "same")
"""


def test_a_connect_server_gives_the_releases_of_duckdb(
    connect_server, people, tmp_path, monkeypatch
):
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "state"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, connect_server, str(people), str(tmp_path), *QUASI],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["k", "same", "noise", "same"]
