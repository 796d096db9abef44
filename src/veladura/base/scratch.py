"""Memory for intermediate results of hot loops, used again by the same thread.

A large array that is new costs more than what most loops do with it: the system clears every page,
and on virtual machines fetches it first. Nothing is kept beyond the work that asks for it: threads
of a pool end with it, and their memory with them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1 << 20  # bytes of an array that is worth keeping
ROOM = 2  # columns are drawn given more and more others


class _Kept(threading.local):
    """The memory of one thread, by name."""

    def __init__(self) -> None:
        self.memory: dict[str, NDArray[np.uint8]] = {}


_kept = _Kept()
_lock = threading.Lock()
_works = 0


@contextmanager
def kept() -> Iterator[None]:
    """Let threads use their memory again while this lasts."""
    global _works  # noqa: PLW0603
    with _lock:
        _works += 1
    try:
        yield
    finally:
        with _lock:
            _works -= 1
        _kept.memory.clear()


def scratch(name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array with any content, to be given up before the same name is asked for again.

    Examples
    --------
    >>> scratch("records", (2, 3), np.int64).shape
    (2, 3)
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < LEAST or not _works:
        return np.empty(shape, dtype=dtype)
    memory = _kept.memory.get(name)
    if memory is None or memory.size < size:
        _kept.memory.pop(name, None)  # before the larger one is there
        # room for a larger one: pages that nobody writes to are never fetched
        memory = _kept.memory[name] = np.empty(ROOM * size, dtype=np.uint8)
    array: NDArray[Any] = memory[:size].view(dtype).reshape(shape)
    return array
