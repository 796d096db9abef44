"""The first run compiles what is not in the cache, and only that."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from veladura import warm

KERNEL = "from veladura.jit import compiled\n\n\n@compiled('int64(int64)')\ndef double(x):\n    return 2 * x\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one kernel and one plain module."""
    home = tmp_path / "warmed"
    (home / "deep").mkdir(parents=True)
    for folder in (home, home / "deep"):
        (folder / "__init__.py").write_text("")
    (home / "deep" / "kernels.py").write_text(KERNEL)
    (home / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(warm, "HERE", home)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    return home


def test_what_is_cold_is_compiled_once_and_told(package):
    told = []

    @contextmanager
    def progress(label, total):
        told.append((label, total))
        yield lambda: told.append("advanced")

    assert warm.cold_kernels() == {str(Path("warmed", "deep")): ["warmed.deep.kernels"]}
    warm.warm(progress)
    assert list((package / "deep" / "__pycache__").glob("kernels.double*.nbi"))
    warm.warm(progress)  # all is in the cache: nothing to say
    assert told == [("compiling, at the first run only", 1), "advanced"]


def test_a_changed_file_is_cold_again(package):
    warm.warm()
    assert not warm.cold_kernels()
    later = (package / "deep" / "kernels.py").stat().st_mtime + 60
    os.utime(package / "deep" / "kernels.py", (later, later))
    assert warm.cold_kernels()


def test_a_cache_somewhere_else_is_left_alone(package, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(package))
    assert not warm.cold_kernels()
