"""A call or a command loads what it uses, and no library that it does not.

Seconds depend on the machine; which modules and kernels are loaded does not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from veladura import example

FRAME = """
import sys
import numpy as np
import pyarrow as pa
import veladura as vd
rng = np.random.default_rng(0)
frame = pa.table({
    "zip": rng.choice(["02138", "02139", "02140"], 300),
    "sex": rng.choice(["f", "m"], 300),
    "income": rng.normal(50_000, 9_000, 300).round(),
})
"""
RECIPES = {
    "cart": "vd.Cart(columns=['income', 'sex'], m=2)",
    "k-anonymity": (
        "vd.KAnonymity(quasi_identifiers=['zip', 'sex'], k=5, max_suppression=0.05,"
        " hierarchies={'zip': vd.Hierarchy.mask(5)})"
    ),
    "dirichlet-multinomial": (
        "vd.DirichletMultinomial(columns=['sex'], domain={'sex': ['f', 'm']}, epsilon=2.0)"
    ),
    "microaggregation": "vd.Microaggregation(columns=['income'], k=3)",
    "pram": "vd.Pram(columns=['sex'])",
}
HEAVY = (
    "arviz_stats",
    "duckdb",
    "ibis",
    "jinja2",
    "matplotlib",
    "opendp",
    "polars",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "shapely",
    "sklearn",
    "statsmodels",
)
COMPILED = {"cart", "k-anonymity", "microaggregation"}


def loaded(recipe, names):
    code = f"{FRAME}{recipe}.protect(frame)\nprint([n for n in {names} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("method", RECIPES)
def test_protecting_a_frame_loads_nothing_that_is_not_used(method):
    assert loaded(RECIPES[method], HEAVY) == "[]"


@pytest.mark.parametrize("method", RECIPES)
def test_numba_is_loaded_by_methods_that_run_compiled_code_only(method):
    wanted = ["numba"] if method in COMPILED else []
    assert loaded(RECIPES[method], ("numba",)) == str(wanted)


KERNELS = """
from veladura.base import jit
print(sum(
    isinstance(value, jit.Kernel) and not value.inner and value._native is not None
    for name, module in list(sys.modules.items())
    if name.startswith("veladura.")
    for value in vars(module).values()
    if getattr(value, "__module__", name) == name
))
"""


def printed(code, **variables):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    return done.stdout.strip()


@pytest.mark.parametrize(("method", "most"), [("cart", 14), ("k-anonymity", 4)])
def test_few_kernels_are_loaded(method, most):
    """Each takes some milliseconds: inner ones are part of those that call them.

    Synthesis loads four for growing, four for drawing, two for the linear scores and four for
    calibrated draws. With ten, before linear scores and calibration were parted into passes, the
    first synthesis of a process took as long (.808 s and .810 s of processor, medians of nine).
    """
    assert 0 < int(printed(f"{FRAME}{RECIPES[method]}.protect(frame)\n{KERNELS}")) <= most


def test_machine_code_from_the_cache_loads_no_part_of_numba_that_compiles():
    code = f"{FRAME}{RECIPES['cart']}.protect(frame)\nprint('numba.np.arrayobj' in sys.modules)"
    printed(code)  # compiles what is not in the cache yet
    assert printed(code) == "False"


def loaded_by(arguments, folder):
    """Run a command of veladura; return the heavy libraries it loaded."""
    code = (
        "import sys\n"
        f"sys.argv = ['veladura', *{arguments!r}]\n"
        "from veladura.cli.main import app\n"
        "app(standalone_mode=False)\n"
        f"print([name for name in {(*HEAVY, 'numba')} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return set(eval(done.stdout.splitlines()[-1]))  # noqa: S307  # a list of names, our own


@pytest.mark.parametrize("method", ["", "k-anonymity", "cart"])
def test_a_plan_is_drafted_without_numba_scipy_and_matplotlib(method, tmp_path):
    shutil.copy(example.path("clinic.csv"), tmp_path)
    asked = ["--method", method] if method else []
    assert loaded_by(["init", "clinic.csv", *asked, "--quiet"], tmp_path) == {"duckdb"}


def test_a_synthesis_is_run_without_matplotlib_and_ibis(tmp_path):
    lines = example.path("clinic.csv").read_text().splitlines(keepends=True)[:401]
    (tmp_path / "people.csv").write_text("".join(lines))
    loaded_by(["init", "people.csv", "--method", "cart", "--quiet"], tmp_path)
    loaded_by(["confirm", "plan.toml", "--accept-all"], tmp_path)
    assert loaded_by(["run", "plan.toml", "--quiet"], tmp_path) == {
        "duckdb",
        "jinja2",
        "numba",
        "scipy.optimize",
        "scipy.special",
    }


def test_figures_are_computed_with_one_thread_of_every_blas():
    """SciPy brings its own, which must be loaded before the threads are limited.

    With more threads the last digits of a figure depend on their number.
    """
    code = f"""{FRAME}
from threadpoolctl import threadpool_info
from veladura.measures.utility import pmse

fit = pmse.logistic

def logistic(*arguments):
    fitted = fit(*arguments)
    threads = [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]
    print(len(threads), max(threads))
    return fitted

pmse.logistic = logistic
vd.assess(frame, {RECIPES["cart"]}.protect(frame), threads=1)
"""
    libraries, threads = map(int, printed(code, OPENBLAS_NUM_THREADS="2").split()[:2])
    assert libraries > 0
    assert threads == 1
