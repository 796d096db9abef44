"""Differential privacy: coverage of intervals, and marginals of ma2019.

Reference numbers beside those of Marcolin (2018) are in `veladura study 003`.

``python -m benchmarks.acceptance_dp coverage marginals`` runs the parts that are named.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks import data_folder
from veladura.base.streams import Streams
from veladura.studies.marcolin.releases import alpha_of, estimated, released

RELEASES = 1000
PARTS = ("coverage", "marginals")


def main(data: Path) -> None:
    wanted = [part for part in sys.argv[1:] if part in PARTS] or PARTS
    if "coverage" in wanted:
        coverage()
    if "marginals" in wanted:
        marginals(data)


def coverage() -> None:
    print(
        f"coverage of 95 % shortest intervals, n = 200, {RELEASES} releases, shares drawn from the"
        " prior"
    )
    for epsilon in (0.5, 1, 2):
        print(
            f"  epsilon = {epsilon}: "
            + ", ".join(f"k = {k} {share(k, 200, epsilon)[0]:.3f}" for k in (2, 4, 8, 16))
        )
    print("fixed shares of the source (it reports 80 / 60 / 30 % and less), each cell")
    fixed = {
        "k = 4": (0.7, 0.1, 0.15, 0.05),
        "k = 4, unbalanced": (0.96, 0.02, 0.018, 0.002),
        "k = 8": (0.30, 0.24, 0.16, 0.10, 0.08, 0.06, 0.04, 0.02),
    }
    for name, shares in fixed.items():
        for n, epsilon in ((100, 2), (500, 2), (500, 0.5)):
            cells = share(len(shares), n, epsilon, np.array(shares))[1]
            print(
                f"  {name}, n = {n}, epsilon = {epsilon}:"
                f" {' '.join(f'{cell:.3f}' for cell in cells)}"
            )


def share(
    k: int, n: int, epsilon: float, fixed: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    rng, alpha = Streams(3)("coverage", k, n, str(epsilon)), alpha_of(epsilon, n)
    hits = np.zeros(k)
    for _ in range(RELEASES):
        p = rng.dirichlet(np.full(k, 0.5)) if fixed is None else fixed
        counts = rng.multinomial(n, p)[None].astype(float)
        hits += estimated(released(rng, counts, n, alpha), n, alpha, 0.5, p).covered[0]
    return float(hits.mean() / RELEASES), hits / RELEASES


def marginals(data: Path) -> None:
    """Compare what two-way tables lose.

    Marginals, independent noisy columns, and noisy counts of the whole product.
    """
    frame = pd.read_csv(data / "nist" / "ma2019.csv", dtype=str, keep_default_na=False)
    columns = [name for name in frame if frame[name].nunique() <= 30]
    print(
        f"ma2019, {len(frame)} rows, {len(columns)} columns of at most 30 values, epsilon = 1: mean"
        " two-way total variation distance"
    )
    declared = {
        name: sorted(frame[name].unique()) for name in columns
    }  # stands for the public dictionary
    start = perf_counter()
    made = vd.Marginals(columns=columns, domain=declared, epsilon=1).protect(frame).datasets[0]
    print(
        f"  Marginals                          {loss(frame, made, columns):.4f}  "
        f" ({perf_counter() - start:.0f} s)"
    )
    alone = (
        vd.Marginals(columns=columns, domain=declared, epsilon=1, rounds=0)
        .protect(frame)
        .datasets[0]
    )
    print(f"  independent noisy columns          {loss(frame, alone, columns):.4f}")
    few = columns[:5]
    whole = vd.NoisyCounts(columns=few, domain=declared, epsilon=1).protect(frame).datasets[0]
    pieces = vd.Marginals(columns=few, domain=declared, epsilon=1).protect(frame).datasets[0]
    single = (
        vd.Marginals(columns=few, domain=declared, epsilon=1, rounds=0).protect(frame).datasets[0]
    )
    print(
        f"  first five columns ({int(np.prod([len(declared[n]) for n in few]))} cells): Marginals"
        f" {loss(frame, pieces, few):.4f}, NoisyCounts {loss(frame, whole, few):.4f}, independent"
        f" {loss(frame, single, few):.4f}"
    )


def loss(before: pd.DataFrame, after: pd.DataFrame, columns: list[str]) -> float:
    found = []
    for pair in combinations(columns, 2):
        one, other = (frame.groupby(list(pair)).size() / len(frame) for frame in (before, after))
        found.append(float(one.sub(other, fill_value=0).abs().sum()) / 2)
    return float(np.mean(found))


if __name__ == "__main__":
    main(data_folder())
