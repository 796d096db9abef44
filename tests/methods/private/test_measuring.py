"""Choosing and measuring tables: shares of the budget, weights, size of the model, silence."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from veladura.base.arrays import Floats
from veladura.methods.private.measuring import Design, Noise, closure, column_shares, measure
from veladura.numeric.graphical.fit import NoisyTable, carried, fit, margins
from veladura.numeric.graphical.junction import Columns, model_megabytes
from veladura.numeric.graphical.model import LogLinear

pytestmark = pytest.mark.quick

SHAPE = (4, 5, 4, 3, 6)
PAIRS = list(combinations(range(len(SHAPE)), 2))


def people(rng: np.random.Generator, rows: int = 20_000) -> list[Floats]:
    """Five columns that all follow a hidden one, and so depend on each other."""
    hidden = rng.integers(0, 3, rows)
    laws = [rng.dirichlet(np.ones(size), 3) for size in SHAPE]
    return [
        (rng.random(rows)[:, None] > np.cumsum(law, axis=1)[hidden]).sum(axis=1).clip(0, k - 1)
        for law, k in zip(laws, SHAPE, strict=True)
    ]


def measured(weights: dict[Columns, float], megabytes: float = 8.0):
    """Measure with hardly any noise, and choose the best score: no luck is left."""
    codes = people(np.random.default_rng(3))

    def count(columns: Columns) -> Floats:
        sizes = [SHAPE[c] for c in columns]
        flat = np.ravel_multi_index([codes[c] for c in columns], sizes)
        return np.bincount(flat, minlength=int(np.prod(sizes))).astype(float)

    chosen: list[int] = []

    def choose(scores, sensitivity: float, rho: float) -> int:
        chosen.append(int(np.argmax(scores)))
        return chosen[-1]

    noise = Noise(lambda counts, sigma: counts, choose)
    design = Design(SHAPE, closure(weights), 20_000, megabytes=megabytes, rounds=4)
    return measure(design, count, 1.0, noise)


def test_shares_of_columns_are_those_of_least_error() -> None:
    """Beside a general optimiser: the least sum of k sigma with the sum of 1 / sigma^2 given."""
    shape = (2, 20, 7, 3)

    def error(logits: Floats) -> float:
        share = np.exp(logits) / np.exp(logits).sum()
        return float((np.array(shape) / np.sqrt(share)).sum())

    best = minimize(error, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    expected = np.exp(best) / np.exp(best).sum()
    np.testing.assert_allclose(column_shares(shape), expected, rtol=1e-4)
    assert error(np.log(column_shares(shape))) < 0.97 * error(np.zeros(4))  # even shares


def test_a_table_that_matters_more_is_measured_first() -> None:
    even = measured(dict.fromkeys(PAIRS, 1.0))
    first = next(t.columns for t in even.tables if len(t.columns) == 2)
    wanted = next(pair for pair in PAIRS if not set(pair) & set(first))
    heavy = measured({**dict.fromkeys(PAIRS, 1.0), wanted: 50.0})
    assert next(t.columns for t in heavy.tables if len(t.columns) == 2) == wanted


def test_the_model_stays_within_its_size() -> None:
    small = 150 * 8 / 2**20  # megabytes: 150 cells; all five columns have 1,440
    state, free = (measured(dict.fromkeys(PAIRS, 1.0), size) for size in (small, 8.0))

    def size(tables) -> float:
        return model_megabytes(SHAPE, [table.columns for table in tables])

    assert size(state.tables) <= small
    assert any(len(table.columns) == 2 for table in state.tables)
    assert size(free.tables) > small  # the control: without the limit the same rounds go beyond


def test_a_warm_start_is_the_distribution_of_the_last_round() -> None:
    rng = np.random.default_rng(5)
    shape = (3, 4, 2)
    tables = [
        NoisyTable((c,), rng.integers(20, 90, k).astype(float), 2.0) for c, k in enumerate(shape)
    ]
    tables.append(NoisyTable((0, 1), rng.integers(5, 30, 12).astype(float), 2.0))
    before = fit(shape, tables, 200.0)
    more = (*(table.columns for table in tables), (1, 2))
    model = LogLinear(shape, more, (), margins(before))
    after = model.beliefs(carried(model, before))
    for pair in combinations(range(3), 2):
        np.testing.assert_allclose(after.table(pair), before.beliefs.table(pair), atol=1e-12)
    cold = model.beliefs(np.zeros(model.size))  # the control: a cold start is another one
    assert np.abs(cold.table((0, 1)) - before.beliefs.table((0, 1))).max() > 0.01


def test_no_library_speaks_on_the_terminal() -> None:
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    values = [list(cell) for cell in product("ab", "xyz")] * 40
    program = f"""
import pandas as pd, veladura as vd
frame = pd.DataFrame({values!r}, columns=["one", "two"])
recipe = vd.Marginals(columns=["one", "two"], domain={{"one": ["a", "b"], "two": list("xyz")}},
                      epsilon=2)
vd.posterior(recipe.protect(frame)).table()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
