"""How hot loops are compiled: kernels for everyone, inner ones for other kernels of the same file.

Importing a module compiles and loads nothing, not even Numba. A kernel is loaded from the cache, or
compiled with the signature it declares, when it is first called: a run waits for what it uses only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from importlib import import_module
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


class Kernel:
    """A function that becomes machine code when it is first called, from any thread.

    Parameters
    ----------
    function
        What is compiled.
    signature
        The types of its arguments and of what it returns.
    inner
        Whether it is part of other kernels only: then it is neither called from Python nor cached.
    apart
        Whether an inner kernel is optimised by itself before it becomes part of others.
    wraparound
        Whether an index below zero counts from the end of an array, as in Python.
    ways_in
        Numba's options on how a kernel can be entered.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Any,
        *,
        inner: bool,
        apart: bool,
        wraparound: bool,
        ways_in: dict[str, bool],
    ) -> None:
        update_wrapper(self, function)
        self.function, self.signature, self.ways_in = function, signature, ways_in
        self.inner, self.apart, self.wraparound = inner, apart, wraparound
        self._native: Any = None
        self._called = False

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code."""
        if not self._called:
            self._learn(arguments)
        return self._native(*arguments)

    def _learn(self, arguments: tuple[Any, ...]) -> None:
        """Load the machine code, and let Numba meet the types of its arguments, in one thread.

        To learn a type it may load a part of itself, which changes a table that another thread
        reads at its own first call.
        """
        from numba import typeof

        from veladura.base.compiler import building

        with building:
            if self.native is not None and not self._called:
                for argument in arguments:
                    typeof(argument)
                self._called = True

    @property
    def native(self) -> Any:
        """The machine code as Numba holds it."""
        if self._native is None:
            from veladura.base.compiler import build, building

            with building:
                self._native = self._native or build(self)
        return self._native

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks for when it meets this kernel in another one."""
        try:
            return self.native._numba_type_
        except AttributeError as error:  # Numba would take it for an object without a type
            msg = f"the kernel {self.function.__name__} cannot be compiled: {error}."
            raise RuntimeError(msg) from error


def compiled(signature: Any, *, wraparound: bool = True) -> Callable[[Function], Function]:
    """Return how a kernel is compiled that Python calls.

    Without ``wraparound`` (Cython has a directive of that name) an index is taken as it is: one
    below zero then reads memory outside of the array, and loops over many arrays run a fourth
    faster.
    """
    return _made(signature, wraparound=wraparound, no_cfunc_wrapper=True)


def inner(
    signature: Any, *, apart: bool = False, wraparound: bool = True
) -> Callable[[Function], Function]:
    """Return how a kernel is compiled that others of its file call: it becomes part of them.

    Compiling it apart first takes longer. Few kernels run faster for it: measure.
    """
    return _made(
        signature,
        inner=True,
        apart=apart,
        wraparound=wraparound,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )


def handed(signature: Any) -> Callable[[Function], Function]:
    """Return how a kernel is compiled that is handed to another one.

    It leaves draws to inner kernels, or their code is compiled twice.
    """
    return _made(signature, no_cpython_wrapper=True)


def native(kernel: Function) -> Function:
    """Return the machine code of a kernel, so that it can be handed to another one."""
    return cast("Function", cast("Kernel", kernel).native)


def build_all(modules: Sequence[str]) -> None:
    """Compile every kernel of some modules that Python calls, or load it from the cache."""
    for module in modules:
        for value in vars(import_module(module)).values():
            if isinstance(value, Kernel) and not value.inner:
                native(value)


def _made(
    signature: Any,
    *,
    inner: bool = False,
    apart: bool = False,
    wraparound: bool = True,
    **ways_in: bool,
) -> Callable[[Function], Function]:
    def declared(function: Function) -> Function:
        kernel = Kernel(
            function,
            signature,
            inner=inner,
            apart=apart,
            wraparound=wraparound,
            ways_in=ways_in,
        )
        return cast("Function", kernel)

    return declared
