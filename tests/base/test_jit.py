"""Kernels become machine code when they are first called, once.

Are loaded without a compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import veladura
from veladura.base import jit

ROOT = Path(veladura.__file__).parent
KERNELS = """
import numpy as np
from veladura.base.jit import compiled, inner


@inner("float64(float64)")
def _half(x):
    return x / 2


@inner("float64[::1](int64)")
def _zeros(size):
    return np.zeros(size)


@inner("float64(float64[::1], int64)", apart=True)
def _sum(values, size):
    total = 0.0
    for i in range(size):
        total += _half(values[i])
    return total


@compiled("float64[::1](float64[::1])")
def halves(values):
    made = _zeros(values.size + 1)
    for i in range(values.size):
        made[i] = _half(values[i])
    made[values.size] = _sum(values, values.size)
    return made


@inner("float64(float64[::1], int64)", wraparound=False)
def _next_to(values, i):
    part = values[1:]
    return part[i] + values[-1]


@inner("float64[::1](float64[::1])", wraparound=False)
def _same(values):
    return values


@compiled("float64(float64[::1])", wraparound=False)
def neighbours(values):
    total = 0.0
    for i in range(values.size - 1):
        total += _next_to(_same(values), i)
    return total


@compiled("float64(float64[::1], int64)")
def at(values, i):
    return values[i]


@compiled("int64(int64)")
def unused(x):
    return x


@compiled("int64(int64)")
def positive(x):
    if x < 0:
        raise ValueError("below zero")
    return x
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A module with kernels, its cache empty."""
    (tmp_path / "some_kernels.py").write_text(KERNELS)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("some_kernels", None)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def cached(folder):
    return {path.name.split(".")[1].split("-")[0] for path in folder.rglob("*.nbi")}


def test_importing_every_kernel_compiles_and_loads_nothing():
    names = [
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for path in ROOT.rglob("*.py")
        if "\n@compiled(" in path.read_text(encoding="utf-8")
    ]
    assert len(names) > 10
    code = (
        f"import sys\nfor name in {names}: __import__(name)\n"
        "print('veladura.base.compiler' in sys.modules)"
    )
    assert run(code) == "False"


def test_a_kernel_calls_inner_ones_and_only_what_is_called_is_compiled(package):
    module = import_module("some_kernels")
    assert module.halves(np.array([1.0, 4.0])).tolist() == [0.5, 2.0, 2.5]
    assert cached(package) == {"halves"}


def test_an_index_below_zero_counts_from_the_end_unless_a_kernel_does_without(package):
    module, values = import_module("some_kernels"), np.array([1.0, 4.0, 9.0])
    assert module.neighbours(values) == 4 + 9 + 2 * 9  # one written into the kernel still does
    assert module.at(values, -2) == 4.0  # compiled after a kernel without


def test_kernels_that_borrow_arrays_leave_them_to_their_holders(package):
    module = import_module("some_kernels")
    values = np.arange(1000.0)
    holders = sys.getrefcount(values)
    for _ in range(5000):  # one holder too few a call would free it, one too many keep it
        module.neighbours(values)
    assert sys.getrefcount(values) == holders
    assert values.tolist() == list(range(1000))


def test_threads_that_meet_at_a_kernel_compile_it_once(package, monkeypatch):
    from veladura.base import compiler

    module, built = import_module("some_kernels"), []
    build = compiler.build
    monkeypatch.setattr(compiler, "build", lambda kernel: built.append(kernel) or build(kernel))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda x: module.halves(np.full(3, float(x)))[3], range(64)))
    assert results == [1.5 * x for x in range(64)]
    assert [kernel.__name__ for kernel in built].count("halves") == 1


def test_what_is_cached_is_loaded_without_a_compiler(package):
    code = (
        "import sys, numpy as np, some_kernels\n"
        "print(some_kernels.halves(np.ones(2)).tolist(), 'numba.np.linalg' in sys.modules)"
    )
    assert run(code) == "[0.5, 0.5, 1.0] True"  # compiling needs all of Numba
    assert run(code) == "[0.5, 0.5, 1.0] False"


def test_after_loading_another_kernel_can_be_compiled(package):
    run("import numpy as np, some_kernels; some_kernels.halves(np.ones(2))")
    code = (
        "import numpy as np, some_kernels\n"
        "print(some_kernels.halves(np.ones(1)).tolist(), some_kernels.unused(7))"
    )
    assert run(code) == "[0.5, 0.5] 7"
    assert cached(package) == {"halves", "unused"}


def test_a_changed_file_is_compiled_again(package):
    code = "import some_kernels; print(some_kernels.unused(7))"
    assert run(code) == "7"
    path = package / "some_kernels.py"
    path.write_text(path.read_text().replace("    return x\n", "    return x + 1\n"))
    assert run(code) == "8"


def test_errors_of_kernels_reach_python(package):
    code = (
        "import some_kernels\ntry:\n    some_kernels.positive(-1)\n"
        "except ValueError as error:\n    print(error)"
    )
    assert run(code) == "below zero"
    assert run(code) == "below zero"  # loaded


def test_other_types_than_the_declared_ones_are_refused(package):
    module = import_module("some_kernels")
    with pytest.raises(TypeError):
        module.halves(np.array(["text"]))


def test_a_failure_of_the_compiler_is_told_and_not_taken_for_a_missing_type(package, monkeypatch):
    from veladura.base import compiler

    def broken(kernel):
        return object().no_such_attribute

    module = import_module("some_kernels")
    monkeypatch.setattr(compiler, "build", broken)
    with pytest.raises(RuntimeError, match="_half cannot be compiled"):
        module._half._numba_type_  # noqa: B018


def test_all_kernels_of_a_module_can_be_built_ahead(package):
    run("from veladura.base.jit import build_all; build_all(['some_kernels'])")
    assert cached(package) == {"halves", "neighbours", "at", "unused", "positive"}


def test_a_kernel_keeps_the_name_and_words_of_its_function():
    @jit.compiled("int64(int64)")
    def double(x):
        """Double it."""
        return 2 * x

    assert (double.__name__, double.__doc__) == ("double", "Double it.")


def test_the_types_of_a_first_call_are_met_in_one_thread_at_a_time(monkeypatch):
    # Numba's table of types is changed by one thread while another one reads it: runs of
    # Geography, whose chains begin at the same moment, ended in a RuntimeError now and then.
    import numba

    def double(x):
        return x * 2.0

    def triple(x):
        return x * 3.0

    kernels = [jit.compiled("float64(float64)")(function) for function in (double, triple)]
    inside, most = [], []

    def met(value):
        inside.append(value)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()

    monkeypatch.setattr(numba, "typeof", met)
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda i: kernels[i % 2](float(i)), range(8)))
    assert values == [i * (2.0, 3.0)[i % 2] for i in range(8)]
    assert most == [1, 1]
