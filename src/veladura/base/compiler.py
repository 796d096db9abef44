"""From a declared kernel to machine code: Numba, with less to do than it does by default.

Numba makes machine code of every kernel it meets, and optimises an inner one again in each kernel
that calls it; it also gets ready to compile before it loads what is compiled already. Here inner
kernels are only translated, all that belongs together is optimised once, and loading is loading.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite.binding import add_symbol  # type: ignore[import-untyped]
from llvmlite.ir import CallInstr, Constant  # type: ignore[import-untyped]
from numba import _dynfunc, njit, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.runtime import _nrt_python
from numba.core.typed_passes import NativeLowering

if TYPE_CHECKING:
    from veladura.base import jit

# Numba's own lock: with another one, two threads that each hold one could wait for each other.
building = global_compiler_lock


def build(kernel: jit.Kernel) -> Any:
    """Return a kernel's machine code: from the cache, else compiled and cached."""
    translated = kernel.inner and not kernel.apart
    pipeline = _InnerCompiler if translated else Compiler if kernel.inner else _KernelCompiler
    dispatcher = njit(nogil=True, error_model="numpy", pipeline_class=pipeline, **kernel.ways_in)(
        kernel.function
    )  # a division by zero is that of NumPy
    if not kernel.inner:
        dispatcher._cache = _Cache(kernel.function)  # noqa: SLF001  # where cache=True puts its own
    with _without_collection(), _indices_of(kernel):
        dispatcher.compile(kernel.signature)
    dispatcher.disable_compile()
    return dispatcher


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the collection of garbage: a compiler makes millions of objects that live on."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


_wraparound = [True]  # of the kernel that is compiled now; those it calls are compiled meanwhile


@contextmanager
def _indices_of(kernel: jit.Kernel) -> Iterator[None]:
    """Note whether the indices of a kernel may be below zero."""
    _wraparound.append(kernel.wraparound)
    try:
        yield
    finally:
        _wraparound.pop()


@contextmanager
def _plain_indices() -> Iterator[None]:
    """Take an index as it is where the kernel asks for it: it is never below zero."""
    from numba.np import arrayobj

    def plain(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        if isinstance(index, Constant):  # written into the kernel: costs nothing at run time
            return checked(context, builder, kind, index, size)
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    checked = arrayobj.fix_integer_index
    if not _wraparound[-1]:
        arrayobj.fix_integer_index = plain
    try:
        yield
    finally:
        arrayobj.fix_integer_index = checked


class _CacheFile(CompileResultCacheImpl):  # type: ignore[misc]
    """What is written of a kernel: without the modules of inner ones that keep no constants.

    Loading a kernel would import them again, and with them a part of Numba that only compiles.
    """

    def reduce(self, data: Any) -> Any:
        *parts, environments = super().reduce(data)
        return (*parts, tuple(env for env in environments if env.consts))


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, read without getting ready to compile: that takes longer than to load."""

    _impl_class = _CacheFile

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _name_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


@cache
def _name_runtime() -> None:
    """Tell the linker where Numba's runtime is: all that machine code needs.

    `rtsys.initialize`, which compiling calls, does the same and then compiles what a kernel that
    comes from the cache has inside.
    """
    for name, address in _nrt_python.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel and of all that it calls, optimised together and not before."""

    borrows = False  # whether it makes no arrays and hands none back

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001


class _InnerLibrary(_Library):
    """The code of an inner kernel: linked into others, which optimise it and make machine code."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the code; of a kernel that only borrows arrays, without counting who holds them."""
        if self.borrows:
            for function in ir_module.functions:
                for block in function.blocks:
                    block.instructions[:] = [
                        step for step in block.instructions if not _counts_holders(step)
                    ]
        super().add_ir_module(ir_module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            module = library._get_module_for_linking()  # noqa: SLF001
            self._final_module.link_in(module, preserve=True)
        self._finalized = True


_PLAIN = (types.Number, types.Boolean, types.NoneType, types.Literal, types.RangeType)


def _counts_holders(step: Any) -> bool:
    """Whether a step counts one holder of an array more or less."""
    return isinstance(step, CallInstr) and step.callee.name in ("NRT_incref", "NRT_decref")


def _only_borrows(state: Any) -> bool:
    """Whether a kernel makes no array and hands none back: then its caller holds all of them."""
    made = [
        signature.return_type
        for step, signature in state.calltypes.items()
        if getattr(step, "op", "") == "call" and signature is not None
    ]
    return not any(_holds_arrays(kind) for kind in (state.return_type, *made))


def _holds_arrays(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return any(_holds_arrays(part) for part in kind)
    return not isinstance(kind, _PLAIN)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """From typed code to that of LLVM, optimised once."""

    _name = "veladura_lowering"
    library: type[_Library] = _Library

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.borrows = _only_borrows(state)
        state.library.enable_object_caching()
        with _plain_indices():
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(_Lowering):
    """The same without machine code; callers find the function by a name that leads nowhere."""

    _name = "veladura_inner_lowering"
    library = _InnerLibrary

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        super().run_pass(state)
        lowered, library = state["cr"], state.library
        function = lowered.fndesc
        name = function.qualname.split(".")[-1]
        entry = _dynfunc.make_function(
            function.lookup_module(), name, "inner kernel", 0, lowered.env, (library,)
        )
        state.targetctx.insert_user_function(entry, function, [library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class _KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's passes, the lowering replaced."""

    lowering = _Lowering

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if step is NativeLowering else step, why) for step, why in passes.passes
        ]
        passes.finalize()
        return [passes]


class _InnerCompiler(_KernelCompiler):
    lowering = _InnerLowering
