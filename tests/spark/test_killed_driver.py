"""The driver of a run on Spark is killed, or its disk is full: no release, and the next is whole.

The same for a run from files is in `tests/end_to_end`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veladura.release.verify import holds, verify

from .conftest import QUASI, require_spark

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.slow]
PLAN = """
[source]
url = "spark:local[2]"
table = "parquet.`{people}`"
[columns]
{columns}
[[step]]
method = "noise"
columns = ["weight"]
fit_rows = 900
[release]
folder = "out/people"
[custodian]
folder = "safe/people"
"""


def start(home: Path) -> subprocess.Popen[str]:
    """Start a run as a user would; Java runs in its group of processes."""
    places = {"XDG_STATE_HOME": str(home / "state"), "TMPDIR": str(home / "tmp")}
    return subprocess.Popen(
        [sys.executable, "-m", "veladura", "run", "plan.toml", "--quiet"],
        cwd=home,
        env={**os.environ, **places},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def home(people, tmp_path) -> Path:
    require_spark()
    (tmp_path / "tmp").mkdir()
    kept = [*QUASI, "ward", "number"]
    columns = "\n".join(f'{name} = {{ exact = "made up" }}' for name in kept)
    (tmp_path / "plan.toml").write_text(PLAN.format(people=people, columns=columns))
    return tmp_path


def whole(home: Path) -> None:
    """Run to the end, and check what is there."""
    _, told = (process := start(home)).communicate()
    assert process.returncode in (0, 6), told  # 6: nobody confirmed the plan
    assert holds(verify(home / "out" / "people"))
    assert [path.name for path in (home / "out").iterdir()] == ["people"]
    assert not list(home.rglob("*.work"))
    assert not list(home.rglob("*.parts"))


@pytest.mark.parametrize("size", ["150k", "420k"])
def test_a_disk_that_is_full_while_workers_write_leaves_no_release(home, size):
    """Scratch has room for what the workers need, or for some of the rows that they drew."""
    disk = home / "safe"
    disk.mkdir()
    small = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(disk)]
    if subprocess.run(small, capture_output=True, check=False).returncode:
        pytest.skip("only the superuser may mount a small disk")
    try:
        _, told = (process := start(home)).communicate()
        assert process.returncode not in (0, 6)
        assert "Traceback" not in told
        assert not (home / "out" / "people").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    whole(home)


def test_a_driver_that_is_killed_while_workers_draw_leaves_no_release(home):
    process = start(home)
    # what workers need lies in private scratch from the moment that they draw
    while process.poll() is None and not list(home.rglob("*.work")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    _, told = process.communicate()
    assert process.returncode == -signal.SIGKILL, told
    assert list(home.rglob("*.work"))
    assert not (home / "out" / "people").exists()
    whole(home)
