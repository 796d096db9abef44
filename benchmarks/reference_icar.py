"""The disease-mapping model fitted by NUTS in NumPyro.

An independent second opinion on the sampler.

    python -m venv numpyro-venv && numpyro-venv/bin/pip install numpyro==0.22.0
    numpyro-venv/bin/python benchmarks/reference_icar.py
    numpyro-venv/bin/python benchmarks/reference_icar.py case.json

The first writes tests/methods/geography/reference_icar.json anew, the second fits one case and
prints its figures.

It needs nothing of veladura, and shares no code with it. Effects are whitened in the eigenvectors
of the intrinsic CAR precision; a case is a grid, counts by combination and cell, codes, covariates
and priors.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

OUT = Path(__file__).parents[1] / "tests" / "spatial" / "reference_icar.json"
PRIORS = {
    "intercept_variance": 100.0,
    "spatial_shape": 1.0,
    "spatial_rate": 0.1,
    "extra_shape": 1.0,
    "extra_rate": 1.0,
}


def laplacian(rows: int, columns: int) -> np.ndarray:
    """Number of neighbours on the diagonal, -1 for each pair that shares a side or a corner."""
    at = np.stack(np.meshgrid(range(rows), range(columns), indexing="ij"), axis=-1).reshape(-1, 2)
    near = np.abs(at[:, None] - at[None]).max(axis=2) == 1
    return np.diag(near.sum(axis=1)) - near.astype(float)


def simulated(case: str, seed: int) -> dict[str, Any]:
    """Return a case: a 6x6 grid, two attributes of two and three levels.

    A covariate with smooth or normal slopes or none.
    """
    rng = np.random.default_rng(seed)
    codes = [[a, b] for a in range(2) for b in range(3)]
    x, y = np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 6))
    log = [
        0.8 * x + 0.5 * a * (y - x) - 0.4 * b * y - 0.3 * b + 0.3 * rng.normal(size=(6, 6))
        for a, b in codes
    ]
    counts = rng.poisson(1.2 * np.exp(np.array(log).reshape(6, 36)))
    covariates = (
        []
        if case == "levels"
        else [np.where(counts > 0, rng.normal(size=counts.shape), 0).round(3).tolist()]
    )
    slope = {} if case == "levels" else {"slope": case, "slope_variance": 1.0}
    return {
        "grid": [6, 6],
        "codes": codes,
        "counts": counts.tolist(),
        "covariates": covariates,
        "priors": PRIORS | slope,
    }


def fit(
    case: dict[str, Any],
    warm: int = 800,
    draws: int = 1500,
    chains: int = 2,
    seed: int = 0,
    *,
    again: bool = False,
) -> dict[str, Any]:
    """Return posterior means, standard deviations, effective sample sizes and seconds.

    ``again``: of a second run, compiled already.
    """
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from jax import random
    from numpyro.diagnostics import effective_sample_size, gelman_rubin
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    counts, codes, z = (
        np.array(case["counts"]),
        np.array(case["codes"]),
        np.array(case["covariates"]),
    )
    p = case["priors"]
    values, vectors = np.linalg.eigh(laplacian(*case["grid"]))
    root = jnp.array(vectors[:, 1:] / np.sqrt(values[1:]))
    dummies = [np.ones(len(codes))] + [
        codes[:, k] == j for k in range(codes.shape[1]) for j in range(1, codes[:, k].max() + 1)
    ]
    area = -np.log(counts.shape[1])

    def smooth(name: str, variance: float) -> Any:
        precision = numpyro.sample(
            f"precision {name}", dist.Gamma(p["spatial_shape"], p["spatial_rate"])
        )
        mean = numpyro.sample(f"mean {name}", dist.Normal(0, variance**0.5))
        white = numpyro.sample(
            f"white {name}", dist.Normal(0, 1).expand([root.shape[1]]).to_event(1)
        )
        return numpyro.deterministic(f"effect {name}", mean + root @ white / jnp.sqrt(precision))

    def model() -> None:
        linear = area
        for j, has in enumerate(dummies):
            linear = linear + jnp.array(has, dtype=float)[:, None] * smooth(
                str(j), p["intercept_variance"]
            )
        for k, covariate in enumerate(z):
            name = str(len(dummies) + k)
            if p["slope"] == "icar":
                slopes = smooth(name, p["slope_variance"])
            else:
                slopes = numpyro.sample(
                    f"effect {name}",
                    dist.Normal(0, p["slope_variance"] ** 0.5)
                    .expand([counts.shape[1]])
                    .to_event(1),
                )
            linear = linear + jnp.array(covariate) * slopes
        extra = numpyro.sample("precision eps", dist.Gamma(p["extra_shape"], p["extra_rate"]))
        eps = numpyro.sample("eps", dist.Normal(0, 1).expand(counts.shape).to_event(2)) / jnp.sqrt(
            extra
        )
        rate = numpyro.deterministic("intensity", jnp.exp(linear + eps))
        numpyro.sample("counts", dist.Poisson(rate).to_event(2), obs=counts)

    sampler = MCMC(
        NUTS(model),
        num_warmup=warm,
        num_samples=draws,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
    )
    if again:
        sampler.run(random.PRNGKey(seed + 1))
    start = time.process_time()
    sampler.run(random.PRNGKey(seed))
    found = {
        name: np.asarray(x)
        for name, x in sampler.get_samples(group_by_chain=True).items()
        if not name.startswith(("white", "eps"))
    }
    seconds = time.process_time() - start
    found = {
        f"log sd {k.split()[1]}" if k.startswith("precision") else k: (
            -0.5 * np.log(x) if "precision" in k else x
        )
        for k, x in found.items()
    }
    return {
        "seconds": seconds,
        "rhat": max(float(np.max(gelman_rubin(x))) for x in found.values()),
        "figures": {
            name: {
                "mean": x.mean(axis=(0, 1)).round(6).tolist(),
                "sd": x.std(axis=(0, 1)).round(6).tolist(),
                "ess": np.round(effective_sample_size(x), 1).tolist(),
            }
            for name, x in found.items()
        },
    }


def main() -> None:
    if len(sys.argv) > 1:
        print(
            json.dumps(fit(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), again=True))
        )
        return
    cases = {case: simulated(case, seed) for seed, case in enumerate(("levels", "normal", "icar"))}
    with get_context("spawn").Pool(len(cases)) as pool:
        made = {
            name: {"case": case, **fitted}
            for (name, case), fitted in zip(
                cases.items(), pool.map(fit, cases.values()), strict=True
            )
        }
    versions = {name: version(name) for name in ("numpyro", "jax", "numpy")}
    OUT.write_text(
        json.dumps({"script": "benchmarks/reference_icar.py", "versions": versions, "cases": made})
        + "\n",
        encoding="utf-8",
    )
    print(f"wrote {OUT.name}: largest R-hat {max(fitted['rhat'] for fitted in made.values()):.3f}")


if __name__ == "__main__":
    main()
