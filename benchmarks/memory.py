"""How much memory a piece of work takes."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from time import perf_counter

import psutil


def peak_growth(work: Callable[[], object]) -> tuple[float, int]:
    """Return the seconds a piece of work took.

    By how many bytes this process grew at its peak.
    """
    process, done = psutil.Process(), Event()
    before = peak = process.memory_info().rss

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, process.memory_info().rss)

    watcher = Thread(target=watch)
    watcher.start()
    start = perf_counter()
    try:
        work()
    finally:
        seconds = perf_counter() - start
        done.set()
        watcher.join()
    return seconds, peak - before
