"""The first run ever: kernels are compiled into the cache in other processes, those needed at once beforehand, the others meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from veladura.base.context import Progress, silent

HERE = Path(__file__).parents[1]
AHEAD = ("methods.kanonymity", "measures", "numeric.points", "numeric.nearest")
MEANWHILE = (
    "numeric.trees",
    "methods.masks",
    "inference",
    "methods.critical",
    "methods.geography",
)
LABEL = "compiling, at the first run only"


def cold_kernels() -> list[str]:
    """Return the modules whose kernels are not in the cache, as named within the package; none where the cache is somewhere else."""
    if os.environ.get("NUMBA_CACHE_DIR") or not os.access(HERE, os.W_OK):
        return []
    found = []
    for path in sorted(HERE.rglob("*.py")):
        if "from veladura.base.jit import" in path.read_text(encoding="utf-8"):
            kept = list((path.parent / "__pycache__").glob(f"{path.stem}.*.nbi"))
            if not kept or max(file.stat().st_mtime for file in kept) < path.stat().st_mtime:
                found.append(".".join(path.relative_to(HERE).with_suffix("").parts))
    return found


@contextmanager
def warming(progress: Progress = silent) -> Iterator[None]:
    """Compile what is not in the cache; a process that fails leaves its kernels to the run itself."""
    cold = cold_kernels()
    ahead = [
        some
        for folder in AHEAD
        if (some := [name for name in cold if name.startswith(f"{folder}.")])
    ]
    later = sorted((name for name in cold if not name.startswith(AHEAD)), key=_turn)
    meanwhile = _started(later) if later else None
    try:
        if ahead:
            with progress(LABEL, len(ahead)) as advance, ThreadPoolExecutor(len(ahead)) as pool:
                for _ in pool.map(lambda modules: _started(modules).wait(), ahead):
                    advance()
        yield
    finally:
        if meanwhile is not None:
            meanwhile.terminate()
            meanwhile.wait()


def _turn(name: str) -> int:
    return next((i for i, start in enumerate(MEANWHILE) if name.startswith(start)), len(MEANWHILE))


def _started(modules: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process that imports modules, and so compiles them."""
    code = "import " + ", ".join(f"{HERE.name}.{name}" for name in modules)
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # our own names
