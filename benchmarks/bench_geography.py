"""The sampler of synthetic geography.

Sweeps by grid, effective draws beside the plain sweep and beside NUTS, in one run.

BENCH_NUMPYRO names a Python that has NumPyro (see benchmarks/reference_icar.py); without it NUTS is
left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from numba import njit

from veladura.methods.geography import icar_kernels as kernels
from veladura.methods.geography.icar_arrays import Model
from veladura.methods.geography.icar_chain import begin, lay_out, names_of_scalars, scalars, sweep
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.icar_priors import Priors

WHOLE = 15_001  # sweeps of the source
NUMPYRO = os.environ.get("BENCH_NUMPYRO", "")


def world(
    side: int, levels: tuple[int, ...] = (2, 2, 3), rows: int = 500, seed: int = 0
) -> tuple[CellCounts, Graph, EffectDesign]:
    """Return a square grid on which each combination has a hill of its own."""
    rng = np.random.default_rng(seed)
    codes = np.stack(np.meshgrid(*map(range, levels), indexing="ij"), axis=-1).reshape(
        -1, len(levels)
    )
    at = np.stack(np.meshgrid(range(side), range(side), indexing="ij"), axis=-1).reshape(-1, 2)
    centre, spread = (
        rng.uniform(0.2, 0.8, (len(codes), 1, 2)),
        rng.uniform(0.1, 0.25, (len(codes), 1)),
    )
    hills = rng.uniform(0.3, 1, (len(codes), 1)) * np.exp(
        -(((at + 0.5) / side - centre) ** 2).sum(axis=2) / (2 * spread**2)
    )
    pairs = [
        (i, i + step)
        for i in range(side**2)
        for step in (1, side - 1, side, side + 1)
        if i + step < side**2
    ]
    near = [(i, j) for i, j in pairs if np.abs(at[i] - at[j]).max() == 1]
    return (
        CellCounts(rng.poisson(rows * hills / hills.sum()), np.full(side**2, -2 * np.log(side))),
        Graph.of_pairs(side**2, near),
        EffectDesign(codes.astype(np.int64)),
    )


@njit(nogil=True)
def plain(rng: Any, model: Any, state: Any, sweeps: int, trace: Any) -> None:
    """Every unknown given all others, site by site, and nothing else."""
    for number in range(sweeps):
        kernels.keep_books(model, state)
        kernels.draw_eps(rng, model, state)
        for j in range(state.effect.shape[0]):
            kernels.draw_effect(rng, model, state, j)
            kernels.draw_intercept(rng, model, state, j)
        kernels.draw_precisions(rng, model, state)
        if trace.shape[0] == sweeps:
            kernels.summarise(model, state, trace[number])


def chain(model: Model, offset: Any, sweeps: int, *, whole: bool, seed: int) -> tuple[Any, float]:
    """Return the traces after burn-in and the processor seconds of all sweeps."""
    rng = np.random.default_rng(seed)
    state = begin(rng, model, offset, Priors())
    burn = sweeps // 3
    trace, total = np.zeros((sweeps - burn, scalars(model))), np.zeros_like(model.counts)
    start = time.process_time()
    if whole:
        sweep(rng, model, state, burn, 1, trace, total)
    else:
        plain(rng, model, state, burn, trace[:0])
        plain(rng, model, state, sweeps - burn, trace)
    return trace, time.process_time() - start


def least(traces: list[Any], names: list[str]) -> tuple[float, str]:
    """Return the smallest effective sample size of the scalars, and whose it is."""
    ess = array_stats.ess(np.stack(traces), chain_axis=0, draw_axis=1)
    at = int(np.argmin(ess))
    return float(ess[at]), names[at]


def mixing(side: int, sweeps: int) -> None:
    """Effective draws per second of the slowest scalar.

    All moves beside the plain sweep, two chains each in turn.
    """
    counts, graph, design = world(side)
    model = lay_out(counts, graph, design, Priors())
    names = names_of_scalars(model, list(design.names))
    rates = {}
    for label, whole in (("plain", False), ("ours", True)):
        runs = [chain(model, counts.offset, sweeps, whole=whole, seed=seed) for seed in (1, 2)]
        seconds = sum(run[1] for run in runs)
        ess, name = least([run[0] for run in runs], names)
        rates[label] = ess / seconds
        print(
            f"{side}x{side} {label:>6}: {WHOLE * seconds / (2 * sweeps):6.2f} s for {WHOLE} sweeps;"
            f" slowest is {name!r}: {ess:6.0f} effective of {2 * len(runs[0][0])},"
            f" {rates[label]:7.1f} a second",
            flush=True,
        )
    print(
        f"{side}x{side}: {rates['ours'] / rates['plain']:.1f} times the effective draws per second"
        " of the plain sweep"
    )


def growth() -> None:
    """Seconds per sweep, cell and combination: linear cost, up to 50x50 with 24 combinations."""
    for side, levels in ((10, (2, 2, 3)), (20, (2, 2, 3)), (40, (2, 2, 3)), (50, (2, 3, 4))):
        counts, graph, design = world(side, levels, rows=5 * side**2)
        model = lay_out(counts, graph, design, Priors())
        sweeps = max(60, 60_000 // side**2)
        seconds = chain(model, counts.offset, sweeps, whole=True, seed=1)[1] / sweeps
        print(
            f"{side}x{side}, {len(design.codes)} combinations: {1e3 * seconds:6.2f} ms a sweep,"
            f" {1e9 * seconds / counts.values.size:5.0f} ns a cell and combination"
        )


def compilation() -> None:
    """Processor seconds to compile the kernels into an empty cache: what a first run waits for."""
    code = (
        "import time, numba; from veladura.base.jit import build_all; start = time.process_time();"
        " build_all(['veladura.methods.geography.icar_kernels']); levels = time.process_time();"
        " build_all(['veladura.methods.geography.icar_slopes']); print(levels - start,"
        " time.process_time() - levels)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
    levels, slopes = map(float, done.stdout.split())
    print(f"first compilation: {levels:.1f} s, and {slopes:.1f} s more for a model with covariates")


def nuts(side: int = 6, sweeps: int = 6000) -> None:
    """Effective draws per second beside NUTS in NumPyro, the same model and counts.

    Warm-up in and compilation left out of both.
    """
    counts, _, design = world(side)
    if not NUMPYRO:
        print(
            "NUTS left out: BENCH_NUMPYRO names no Python with NumPyro (see"
            " benchmarks/reference_icar.py)"
        )
        return
    p = Priors()
    priors = {
        k: getattr(p, k)
        for k in (
            "intercept_variance",
            "spatial_shape",
            "spatial_rate",
            "extra_shape",
            "extra_rate",
        )
    }
    case = {
        "grid": [side, side],
        "codes": design.codes.tolist(),
        "counts": counts.values.tolist(),
        "covariates": [],
        "priors": priors,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.json"
        path.write_text(json.dumps(case), encoding="utf-8")
        script = Path(__file__).with_name("reference_icar.py")
        fitted = json.loads(
            subprocess.run(
                [NUMPYRO, str(script), str(path)], capture_output=True, text=True, check=True
            ).stdout
        )
    scalar = {k: v["ess"] for k, v in fitted["figures"].items() if k.startswith(("mean", "log sd"))}
    theirs = min(scalar.values()) / fitted["seconds"]
    graph = world(side)[1]
    model = lay_out(counts, graph, design, Priors())
    names = names_of_scalars(model, list(design.names))
    same = [at for at, name in enumerate(names) if name.startswith(("mean", "log sd"))]
    trace, seconds = chain(model, counts.offset, sweeps, whole=True, seed=1)
    ours = least([trace[:, same]], [names[at] for at in same])[0] / seconds
    print(
        f"{side}x{side}: slowest of means and standard deviations: ours {ours:.1f} effective draws"
        f" a second, NUTS {theirs:.1f}; {ours / theirs:.0f} times"
    )


def main() -> None:
    model = lay_out(*world(3), Priors())
    for whole in (True, False):
        chain(model, world(3)[0].offset, 30, whole=whole, seed=0)  # compiled code warm
    mixing(10, 6000)
    mixing(20, 3000)
    growth()
    compilation()
    nuts()


if __name__ == "__main__":
    main()
