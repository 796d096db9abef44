"""The first demo ever: another process compiles what the demo needs later.

A run compiles what it uses when it comes to it; a demo uses every method, so that a second core
saves it half of the wait.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parents[1]
LATER = (  # as a demo comes to them; what comes first it compiles itself
    "numeric.trees",
    "methods.masks",
    "inference",
    "methods.critical",
    "methods.geography",
)
DECLARED = re.compile(r"^@(compiled|handed)\(", re.MULTILINE)


def cold_kernels() -> list[str]:
    """Return the modules needed later whose kernels are not cached, as named within the package.

    None where the cache is somewhere else.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or not os.access(HERE, os.W_OK):
        return []
    paths = [path for folder in LATER for path in _sources(folder) if _is_cold(path)]
    return [".".join(path.relative_to(HERE).with_suffix("").parts) for path in paths]


def _sources(folder: str) -> list[Path]:
    return sorted(HERE.joinpath(*folder.split(".")).rglob("*.py"))


def _is_cold(path: Path) -> bool:
    """Return whether a file declares kernels that are not in the cache, or older than the file."""
    if not DECLARED.search(path.read_text(encoding="utf-8")):
        return False
    kept = list((path.parent / "__pycache__").glob(f"{path.stem}.*.nbi"))
    return not kept or max(file.stat().st_mtime for file in kept) < path.stat().st_mtime


@contextmanager
def warming() -> Iterator[None]:
    """Compile meanwhile what is not in the cache; the run compiles what this has not reached."""
    cold = cold_kernels()
    meanwhile = _started(cold) if cold else None
    try:
        yield
    finally:
        if meanwhile is not None:
            meanwhile.terminate()
            meanwhile.wait()


def _started(modules: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process that compiles the kernels of modules."""
    names = [f"{HERE.name}.{name}" for name in modules]
    code = f"from veladura.base.jit import build_all; build_all({names})"
    return subprocess.Popen(  # noqa: S603  # our own names
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
