"""Seconds of processor of the exact posterior.

What an effective draw costs beside the Metropolis sampler, in one run.

Run with ``python -m benchmarks.bench_dp``.
"""

from __future__ import annotations

from fractions import Fraction
from time import process_time

import numpy as np

from veladura.base.streams import Streams
from veladura.inference import adaptive_metropolis, chain_model, gibbs
from veladura.inference.posterior.posterior import Posterior, from_counts
from veladura.methods.private import exact, urn
from veladura.methods.private.domain import Domain

CASES = ((16, 1000, 2, 0.05), (1000, 100_000, 1, 30.0))
REPEATS = 5


def release_of(k: int, n: int, epsilon: int) -> tuple[np.ndarray, float]:
    rng = Streams(1)("bench", k, n)
    alpha = exact.smallest_alpha(Fraction(epsilon), n)
    counts = rng.multinomial(n, rng.dirichlet(np.full(k, 0.5)))
    return rng.multinomial(n, rng.dirichlet(float(alpha) + counts)), float(alpha)


def solve(released: np.ndarray, n: int, alpha: float) -> tuple[Posterior, float, float]:
    """Return the posterior, the seconds of its moments, and those of moments and all intervals."""
    start = process_time()
    found = from_counts(
        Domain({"cell": tuple(range(released.size))}), released, n, 0.5, alpha=alpha
    )
    assert found.mean.size == found.variance.size
    moments = process_time() - start
    found.interval(0.95)
    return found, moments, process_time() - start


def main() -> None:
    print("exact posterior, M = 1 (best of several)")
    for k, n, epsilon, aim in CASES:
        released, alpha = release_of(k, n, epsilon)
        runs = [solve(released, n, alpha) for _ in range(REPEATS)]
        moments, whole = (min(run[i] for run in runs) for i in (1, 2))
        print(
            f"  k = {k:>4}, n = {n:>7,}: moments {moments:7.3f} s, with all intervals {whole:7.3f}"
            f" s (aim under {aim} s), error {runs[0][0].error:.0e}"
        )
    for k, n in ((2, 100), (4, 100), (16, 1000)):
        _samplers(k, n)
    alpha = exact.smallest_alpha(Fraction(1), 100_000)
    start = process_time()
    urn.draw(urn.Bits(), [alpha] * 1000, [100] * 1000, 100_000)
    print(
        "urn, 100,000 rows in 1,000 cells from the system's entropy:"
        f" {process_time() - start:.2f} s"
    )


def _samplers(k: int, n: int) -> None:
    released, alpha = release_of(k, n, 2)
    found, _, _ = solve(released, n, alpha)
    found.draw(10, 1)
    start = process_time()
    found.draw(20_000, 2)
    mine = (process_time() - start) / 20_000
    model = chain_model(released, n, alpha=alpha)
    print(f"one effective draw, k = {k}, n = {n} (worst cell)")
    print(f"  exact            {mine * 1e6:10.1f} microseconds")
    for name, sampler, sweeps in (
        ("Metropolis", adaptive_metropolis, 6000),
        ("Gibbs", gibbs, 1500),
    ):
        chain = sampler(model, sweeps=sweeps, seed=3)
        each, size = chain.seconds, float(chain.effective.min())
        print(
            f"  {name:<16} {each / size * 1e6:10.1f} microseconds, {each / size / mine:8.0f}"
            f" times; accepted {chain.acceptance[0]:.2f}, effective {size:.0f} of {sweeps}"
        )


if __name__ == "__main__":
    main()
