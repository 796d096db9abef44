"""The first run ever: kernels are compiled into the cache in other processes, those needed first beforehand, the others meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from veladura.context import Progress, silent

HERE = Path(__file__).parent
FIRST, LATER = ("anonymize", "risk"), ("masks", "dp", "synth", "spatial")  # in the order in which a demo comes to them
LABEL = "compiling, at the first run only"


def cold_kernels() -> dict[str, list[str]]:
    """Return the modules whose kernels are not in the cache, by folder; none where the cache is somewhere else."""
    found: dict[str, list[str]] = {}
    if os.environ.get("NUMBA_CACHE_DIR") or not os.access(HERE, os.W_OK):
        return found
    for path in sorted(HERE.rglob("*.py")):
        if "from veladura.jit import" not in path.read_text(encoding="utf-8"):
            continue
        kept = list((path.parent / "__pycache__").glob(f"{path.stem}.*.nbi"))
        if not kept or max(file.stat().st_mtime for file in kept) < path.stat().st_mtime:
            parts = path.parent.relative_to(HERE.parent).parts
            found.setdefault(parts[-1], []).append(".".join([*parts, path.stem]))
    return found


@contextmanager
def warming(progress: Progress = silent) -> Iterator[None]:
    """Compile what is not in the cache; a process that fails leaves its kernels to the run itself."""
    cold = cold_kernels()
    ahead = [cold.pop(folder) for folder in FIRST if folder in cold]
    if ahead:
        with progress(LABEL, len(ahead)) as advance, ThreadPoolExecutor(len(ahead)) as pool:
            for _ in pool.map(lambda modules: _started(modules).wait(), ahead):
                advance()
    rest = sorted(cold, key=lambda folder: LATER.index(folder) if folder in LATER else len(LATER))
    meanwhile = _started([name for folder in rest for name in cold[folder]], gently=True) if rest else None
    try:
        yield
    finally:
        if meanwhile is not None:
            meanwhile.terminate()
            meanwhile.wait()


def _started(modules: Sequence[str], *, gently: bool = False) -> subprocess.Popen[bytes]:
    """Start a process that imports modules, and so compiles them; gently where the run itself should come first."""
    code = f"{'import os; os.nice(10); ' if gently and os.name == 'posix' else ''}import {', '.join(modules)}"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # our own names
