"""While the first demo runs, another process compiles what is not in the cache, and only that."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from veladura.plan import warm

KERNEL = """
from veladura.base.jit import compiled


@compiled('int64(int64)')
def double(x):
    return 2 * x
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a kernel that is needed later, one needed first, and a plain module."""
    home = tmp_path / "warmed"
    for folder in (home, home / "first", home / "later"):
        folder.mkdir()
        (folder / "__init__.py").write_text("")
    for folder in ("first", "later"):
        (home / folder / "kernels.py").write_text(KERNEL)
    (home / "later" / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(warm, "HERE", home)
    monkeypatch.setattr(warm, "LATER", ("later",))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    return home


def kept(folder):
    return list((folder / "__pycache__").glob("kernels.double*.nbi"))


def wait_for(package):
    for _ in range(600):
        if kept(package / "later"):
            return
        time.sleep(0.1)


def test_what_is_needed_later_is_compiled_meanwhile(package):
    assert warm.cold_kernels() == ["later.kernels"]
    with warm.warming():
        wait_for(package)
    assert kept(package / "later")
    assert not kept(package / "first")
    assert not warm.cold_kernels()


def test_a_run_that_ends_early_leaves_no_process(package, monkeypatch):
    started = []
    monkeypatch.setattr(
        warm, "_started", lambda modules: started.append(_sleeping()) or started[-1]
    )
    with pytest.raises(ZeroDivisionError), warm.warming():
        raise ZeroDivisionError
    assert len(started) == 1
    assert started[0].poll() is not None


def _sleeping():
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_a_changed_file_is_cold_again(package):
    with warm.warming():
        wait_for(package)
    assert not warm.cold_kernels()
    later = (package / "later" / "kernels.py").stat().st_mtime + 60
    os.utime(package / "later" / "kernels.py", (later, later))
    assert warm.cold_kernels()


def test_a_cache_somewhere_else_is_left_alone(package, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(package))
    assert not warm.cold_kernels()


def test_the_folders_that_a_demo_needs_later_have_kernels():
    for folder in warm.LATER:
        assert any(warm.DECLARED.search(path.read_text()) for path in warm._sources(folder))
