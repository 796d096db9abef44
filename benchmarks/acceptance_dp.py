"""Differential privacy on real data and against the source.

Reference numbers, coverage, and marginals of ma2019.

``python -m benchmarks.acceptance_dp reference coverage marginals`` runs the parts that are named.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks import data_folder
from veladura.base.streams import Streams
from veladura.inference.posterior.posterior import from_counts
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain

RELEASES = 1000
PARTS = ("reference", "coverage", "marginals")


def line(k: int) -> Domain:
    return Domain({"cell": tuple(range(k))})


def alpha_of(epsilon: float, size: int, m: int = 1) -> float:
    return float(exact.smallest_alpha(Fraction(str(epsilon)) / m, size))


def main(data: Path) -> None:
    wanted = [part for part in sys.argv[1:] if part in PARTS] or PARTS
    if "reference" in wanted:
        reference()
    if "coverage" in wanted:
        coverage()
    if "marginals" in wanted:
        marginals(data)


def reference() -> None:
    print(
        "x = 30 of 100, epsilon 2, uniform prior: mean, variance of it over releases, average"
        " posterior variance [source]"
    )
    for m, told in (
        (1, ".3105 .0063"),
        (2, ".3043 .0068"),
        (5, ".3116 .0124"),
        (10, ".3334 .0156"),
    ):
        mean, between, within = binary((30, 70), 100, m, 2)
        print(f"  M = {m:>2}  {mean:.3f}  {between:.4f}  {within:.4f}   [{told}]")
    for epsilon, told in (
        (0.1, ".489"),
        (0.5, ".377"),
        (1, ".324"),
        (2, ".311"),
        (3, ".311"),
        (250, ".308"),
    ):
        print(f"  epsilon = {epsilon:>4}  {binary((30, 70), 100, 1, epsilon)[0]:.3f}   [{told}]")
    print("x = np for p = .01, .5, .99, epsilon 2 [source]")
    for n, size, m, told in (
        (100, 100, 1, ".076 .497 .925"),
        (100, 100, 5, ".097 .498 .903"),
        (1000, 1000, 1, ".015 .501 .986"),
        (1000, 1000, 5, ".050 .501 .949"),
        (1000, 100, 1, ".029 .501 .971"),
        (1000, 100, 5, ".033 .502 .967"),
    ):
        found = [binary((round(n * p), n - round(n * p)), size, m, 2)[0] for p in (0.01, 0.5, 0.99)]
        print(
            f"  n = {n:>4}, size = {size:>4}, M = {m} "
            f" {' '.join(f'{value:.3f}' for value in found)}   [{told}]"
        )
    print("four categories, epsilon 2, prior .5: mean over tables and releases [source]")
    four, unbalanced = (0.7, 0.1, 0.15, 0.05), (0.96, 0.02, 0.018, 0.002)
    for n, shares, told in (
        (100, four, ""),
        (500, four, ""),
        (1000, four, ""),
        (500, unbalanced, "   [.826 .062 .059 .053]"),
    ):
        print(
            f"  n = {n:>4}, shares {_words(np.array(shares))}:"
            f" {_words(drawn_table(shares, n))}{told}"
        )
    susep = (21, 24, 19, 21, 6, 2, 10, 4)
    for alpha in (alpha_of(2, 107), 39.36):
        print(f"  collisions, alpha {alpha:.2f}: {_words(table(susep, alpha))}")
    print("  [source]                  .189 .220 .168 .185 .057 .038 .095 .048")
    print(
        "  with ages 18-25 declared:"
        f" {_words(table((0, 21, 24, 19, 21, 0, 6, 2, 10, 4), alpha_of(2, 107)))}"
    )


def binary(
    counts: tuple[int, int], size: int, m: int, epsilon: float
) -> tuple[float, float, float]:
    rng, alpha, n = (
        Streams(1)("dp", str(counts), size, m, str(epsilon)),
        alpha_of(epsilon, size, m),
        sum(counts),
    )
    released = (
        np.array([rng.multinomial(size, rng.dirichlet(alpha + np.array(counts))) for _ in range(m)])
        for _ in range(RELEASES)
    )
    found = [from_counts(line(2), r, n, 1.0, alpha=alpha) for r in released]
    means = np.array([one.mean[0] for one in found])
    return (
        float(means.mean()),
        float(means.var()),
        float(np.mean([one.variance[0] for one in found])),
    )


def table(counts: tuple[int, ...], alpha: float) -> np.ndarray:
    rng, n = Streams(2)("dp", str(counts), str(alpha)), sum(counts)
    released = (
        rng.multinomial(n, rng.dirichlet(alpha + np.array(counts))) for _ in range(RELEASES)
    )
    return np.mean(
        [from_counts(line(len(counts)), r, n, 0.5, alpha=alpha).mean for r in released], axis=0
    )


def drawn_table(shares: tuple[float, ...], n: int) -> np.ndarray:
    """Return the mean posterior mean when the table is drawn anew for every release."""
    rng, alpha = Streams(4)("dp", str(shares), n), alpha_of(2, n)
    released = (
        rng.multinomial(n, rng.dirichlet(alpha + rng.multinomial(n, shares)))
        for _ in range(RELEASES)
    )
    return np.mean(
        [from_counts(line(len(shares)), r, n, 0.5, alpha=alpha).mean for r in released], axis=0
    )


def _words(values: np.ndarray) -> str:
    return " ".join(f"{value:.3f}" for value in values)


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
        r = rng.multinomial(n, rng.dirichlet(alpha + rng.multinomial(n, p)))
        low, high = from_counts(line(k), r, n, 0.5, alpha=alpha).interval(0.95)
        hits += (low <= p) & (p <= high)
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
