"""The first run compiles what is not in the cache, and only that."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from veladura.plan import warm

KERNEL = (
    "from veladura.base.jit import compiled\n\n\n@compiled('int64(int64)')\ndef double(x):\n   "
    " return 2 * x\n"
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a kernel that is needed first, one that is not, and a plain module."""
    home = tmp_path / "warmed"
    for folder in (home, home / "risk", home / "deep"):
        folder.mkdir()
        (folder / "__init__.py").write_text("")
    for folder in ("risk", "deep"):
        (home / folder / "kernels.py").write_text(KERNEL)
    (home / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(warm, "HERE", home)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    return home


def kept(folder):
    return list((folder / "__pycache__").glob("kernels.double*.nbi"))


def test_what_is_needed_first_is_compiled_beforehand_and_the_rest_meanwhile(package):
    told = []

    @contextmanager
    def progress(label, total):
        told.append((label, total))
        yield lambda: told.append("advanced")

    assert warm.cold_kernels() == ["deep.kernels", "risk.kernels"]
    with warm.warming(progress):
        assert kept(package / "risk")
        for _ in range(600):
            if kept(package / "deep"):
                break
            time.sleep(0.1)
        assert kept(package / "deep")
    with warm.warming(progress):  # all is in the cache: nothing to say
        assert not warm.cold_kernels()
    assert told == [(warm.LABEL, 1), "advanced"]


def test_a_run_that_ends_early_leaves_no_process(package, monkeypatch):
    started = []
    monkeypatch.setattr(
        warm, "_started", lambda modules: started.append(_sleeping()) or started[-1]
    )
    (package / "risk" / "kernels.py").unlink()
    with pytest.raises(ZeroDivisionError), warm.warming():
        raise ZeroDivisionError
    assert len(started) == 1
    assert started[0].poll() is not None


def _sleeping():
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_a_changed_file_is_cold_again(package):
    (package / "deep" / "kernels.py").unlink()
    with warm.warming():
        assert not warm.cold_kernels()
    later = (package / "risk" / "kernels.py").stat().st_mtime + 60
    os.utime(package / "risk" / "kernels.py", (later, later))
    assert warm.cold_kernels()


def test_a_cache_somewhere_else_is_left_alone(package, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(package))
    assert not warm.cold_kernels()
