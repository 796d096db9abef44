"""How hot loops are compiled: kernels for everyone, inner ones for other kernels of the same file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(signature: Any, **more: Any) -> Callable[[Kernel], Kernel]:
    """Return how a kernel is compiled: once, into the cache, without Python's lock; a division by nought is that of NumPy."""
    made: Callable[[Kernel], Kernel] = njit(signature, cache=True, nogil=True, error_model="numpy", **more)
    return made


def inner(signature: Any) -> Callable[[Kernel], Kernel]:
    """Return how a kernel is compiled that only other kernels call: with no way in from Python, which costs as long as a short kernel."""
    return compiled(signature, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def handed(signature: Any) -> Callable[[Kernel], Kernel]:
    """Return how a kernel is compiled that is handed to another one; it leaves draws to inner kernels, or their code is compiled twice."""
    return compiled(signature, no_cpython_wrapper=True)
