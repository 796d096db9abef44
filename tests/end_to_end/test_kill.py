"""Killed at any moment, a run leaves no release folder or a whole one that verifies."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from veladura import example
from veladura.plan.draft import draft
from veladura.release.verify import holds, verify


def command(plan):
    return [sys.executable, "-m", "veladura.cli.main", "run", str(plan), "--quiet", "--force"]


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        draft(str(example.path("clinic.csv")), method="noise", home=tmp_path), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_a_killed_run_leaves_no_half_release(plan, kills):
    start = time.monotonic()
    subprocess.run(command(plan), check=True)
    whole = time.monotonic() - start
    release = plan.parent / "release" / "clinic"
    rng = random.Random(kills)  # noqa: S311
    interrupted = 0
    for attempt in range(kills):
        # Half of the kills aim at the end, where the files are written.
        wait = whole * (rng.uniform(0.05, 1.0) if attempt % 2 else rng.uniform(0.8, 1.05))
        process = subprocess.Popen(command(plan))
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        interrupted += process.wait() != 0
        assert not release.exists() or holds(verify(release))
    assert interrupted
    subprocess.run(command(plan), check=True)
    assert holds(verify(release))
    assert [path.name for path in release.parent.iterdir()] == ["clinic"]
