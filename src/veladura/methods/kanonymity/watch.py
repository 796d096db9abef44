"""A progress bar for compiled code: a thread looks at the tags while the lattice is walked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Advance

STEPS = 100  # of the bar
EVERY = 0.2  # seconds between two looks
Watch = Callable[[NDArray[np.int8]], AbstractContextManager[None]]


@contextmanager
def unwatched(_tags: NDArray[np.int8]) -> Iterator[None]:
    """Look at nothing."""
    yield


def watching(advance: Advance) -> Watch:
    """Return what moves a bar of a hundred steps by the share of nodes that are decided, and fills it at the end."""
    told = 0

    def tell(share: float) -> None:
        nonlocal told
        while told < int(share * STEPS):
            told += 1
            advance()

    @contextmanager
    def watch(tags: NDArray[np.int8]) -> Iterator[None]:
        done = Event()

        def look() -> None:
            while not done.wait(EVERY):
                tell(np.count_nonzero(tags) / tags.size)

        thread = Thread(target=look, name="progress of the search", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        tell(1.0)

    return watch
