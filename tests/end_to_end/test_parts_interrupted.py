"""A release of many files whose run is killed, or whose disk is full: whole or not at all."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from veladura.release.verify import holds, verify

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of this kind")

ROWS = 12_000
PLAN = """
[source]
path = "people.parquet"
[columns]
age = {role = "quasi-identifier"}
area = {role = "quasi-identifier"}
income = {exact = "invented"}
[release]
folder = "out/people"
rows_per_file = 40
[custodian]
folder = "safe/people"
[run]
memory = "1 GiB"
[[step]]
"""
STEPS = {
    "k-anonymity": 'method = "k-anonymity"\nquasi_identifiers = ["age", "area"]\nk = 3',
    "cart": 'method = "cart"\nfit_rows = 500\nm = 1',
}


@pytest.fixture(params=["k-anonymity", pytest.param("cart", marks=pytest.mark.slow)])
def home(request, tmp_path) -> Path:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 60, ROWS), "area": rng.choice(list("abc"), ROWS)})
    frame["income"] = rng.integers(0, 10**6, ROWS)
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    frame.to_parquet(home / "people.parquet")
    text = PLAN + STEPS[request.param]
    if request.param == "cart":  # every column is replaced: none is exact
        text = text.replace('{exact = "invented"}', '{role = "sensitive"}')
    (home / "plan.toml").write_text(text)
    return home


def start(home: Path, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    """Start a run whose rows are not held, as a user would."""
    places = {
        "TMPDIR": str(home / "tmp"),
        "XDG_STATE_HOME": str(home / "state"),
        "VELADURA_HELD_CELLS": "0",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "veladura", "run", "plan.toml", "--quiet"],
        cwd=home,
        env={**os.environ, **places},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=before,  # noqa: PLW1509  # it has one thread
    )


def parts(folder: Path) -> list[Path]:
    return list((folder / "data" / "dataset-1").glob("part-*"))


def whole(home: Path) -> None:
    """Run to the end, and check what is there."""
    _, told = (process := start(home)).communicate()
    assert process.returncode in (0, 6), told  # 6: nobody confirmed the plan
    rows = json.loads((home / "out" / "people" / "manifest.json").read_text())["rows"][0]
    assert len(parts(home / "out" / "people")) == -(-rows // 40)
    assert holds(verify(home / "out" / "people"))
    assert [path.name for path in (home / "out").iterdir()] == ["people"]
    assert not list((home / "safe").rglob("run-*"))


@pytest.mark.parametrize("written", [pytest.param(1, marks=pytest.mark.slow), 150])
def test_a_run_killed_between_two_parts_leaves_no_release(home, written):
    process = start(home)
    fresh = home / "out" / ".people.part" / "new"
    while process.poll() is None and len(parts(fresh)) < written:
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert parts(fresh)
    assert not (home / "out" / "people").exists()
    whole(home)


@pytest.mark.parametrize("most", [pytest.param(n, marks=pytest.mark.slow) for n in (400, 60_000)])
def test_a_disk_that_is_full_leaves_no_release(home, most):
    """No file may be larger: fails at the first rows, at all rows in scratch, or at the report."""
    process = start(home, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    _, told = process.communicate()
    assert process.returncode not in (0, 6)
    assert "Traceback" not in told
    assert not (home / "out" / "people").exists()
    assert not list((home / "out").glob(".*")) if (home / "out").exists() else True
    whole(home)


def test_a_small_disk_that_runs_full_leaves_no_release(home):
    """A file system that has room for some of the parts only."""
    disk = home / "out"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("only the superuser may mount a small disk")
    try:
        _, told = (process := start(home)).communicate()
        assert process.returncode not in (0, 6)
        assert "Nothing was released" in told or "disk is full" in told
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    whole(home)
