"""The first run ever: all kernels are compiled into the cache beforehand, several at a time, each group in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from veladura.context import Progress, silent

HERE = Path(__file__).parent


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
            folder = path.parent.relative_to(HERE.parent)
            found.setdefault(str(folder), []).append(".".join([*folder.parts, path.stem]))
    return found


def warm(progress: Progress = silent) -> None:
    """Compile what is not in the cache; a process that fails leaves its kernels to the run itself."""
    cold = cold_kernels()
    if not cold:
        return
    largest = sorted(cold.values(), key=lambda modules: -sum(_size(name) for name in modules))
    with progress("compiling, at the first run only", len(cold)) as advance, ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(_compile, largest):
            advance()


def _compile(modules: list[str]) -> None:
    subprocess.run([sys.executable, "-c", f"import {', '.join(modules)}"], check=False, capture_output=True)  # noqa: S603  # our own names


def _size(module: str) -> int:
    return (HERE.parent / Path(*module.split("."))).with_suffix(".py").stat().st_size
