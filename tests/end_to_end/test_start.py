"""Protecting a frame loads what the method uses, and no library that it does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
