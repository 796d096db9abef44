"""The driver of a run on Spark is killed while workers draw: no release, and the next run is whole.

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


def test_a_driver_that_is_killed_while_workers_draw_leaves_no_release(people, tmp_path):
    require_spark()
    (tmp_path / "tmp").mkdir()
    kept = [*QUASI, "ward", "number"]
    columns = "\n".join(f'{name} = {{ exact = "made up" }}' for name in kept)
    (tmp_path / "plan.toml").write_text(PLAN.format(people=people, columns=columns))
    process = start(tmp_path)
    # what workers need lies in private scratch from the moment that they draw
    while process.poll() is None and not list(tmp_path.rglob("*.work")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    _, told = process.communicate()
    assert process.returncode == -signal.SIGKILL, told
    assert list(tmp_path.rglob("*.work"))
    assert not (tmp_path / "out" / "people").exists()
    _, told = (process := start(tmp_path)).communicate()
    assert process.returncode in (0, 6), told  # 6: nobody confirmed the plan
    assert holds(verify(tmp_path / "out" / "people"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["people"]
    assert not list(tmp_path.rglob("*.work"))
