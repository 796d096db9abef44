"""Sums that do not depend on the number of threads: BLAS takes one while they are made."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread.

    Which libraries are loaded is read from the system once, and again after modules were imported:
    reading it takes longer than a small fit.
    """
    limited: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(
        limits=1, user_api="blas"
    )
    return limited


@lru_cache(maxsize=1)
def _controller(modules: int) -> Any:  # noqa: ARG001  # what is loaded, as far as it can be seen
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
