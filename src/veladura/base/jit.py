"""How hot loops are compiled: kernels for everyone, inner ones for other kernels of the same file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(signature: Any) -> Callable[[Kernel], Kernel]:
    """Return how a kernel is compiled that Python calls."""
    return _made(signature, no_cfunc_wrapper=True)


def inner(signature: Any) -> Callable[[Kernel], Kernel]:
    """Return how a kernel is compiled that others of its file call: the way in from Python takes longer to compile than many a kernel."""
    return _made(signature, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def handed(signature: Any) -> Callable[[Kernel], Kernel]:
    """Return how a kernel is compiled that is handed to another one; it leaves draws to inner kernels, or their code is compiled twice."""
    return _made(signature, no_cpython_wrapper=True)


def _made(signature: Any, **ways_in: bool) -> Callable[[Kernel], Kernel]:
    """Compile once, into the cache, to run without Python's lock; a division by nought is that of NumPy."""
    made: Callable[[Kernel], Kernel] = njit(
        signature, cache=True, nogil=True, error_model="numpy", **ways_in
    )
    return made
