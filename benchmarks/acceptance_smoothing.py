"""What smoothing costs and gives.

Overlap, coverage, variance, skewness and match risk of the laws that a leaf can draw from.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

import veladura as vd
from veladura.measures.utility.overlap import interval_overlap
from veladura.studies.martins.scenarios import DEGREES, scenario
from veladura.studies.martins.survey import RADII, households, read

Floats = NDArray[np.float64]
LAWS: dict[str, vd.Cart] = {
    "local (default)": vd.Cart(m=5),
    "local, proper": vd.Cart(m=5, proper=True),
    "plain draws": vd.Cart(m=5, draws="plain"),
    "local, bandwidth 0.5": vd.Cart(m=5, bandwidth=0.5),
    "none": vd.Cart(m=5, smoothing="none"),
}
REPETITIONS, POPULATIONS, DATASETS = 40, 1000, 20
TRUTH = [1.5, 1.0, 1.0]


def law(name: str, target: str, m: int = 5) -> vd.Cart:
    """Return the recipe of a law for one column."""
    return replace(LAWS[name], m=m, columns=[target])


def regression(data: pd.DataFrame, names: list[str]) -> tuple[Floats, Floats]:
    """Return the coefficients of y and their variances."""
    x = np.column_stack([np.ones(len(data)), data[names].to_numpy(float)])
    y = data["y"].to_numpy(float)
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ y
    left = y - x @ slopes
    return slopes, left @ left / (len(y) - x.shape[1]) * np.diag(inverse)


def overlap(name: str, errors: str) -> float:
    """Return the mean overlap of the intervals of four coefficients with those of the original."""
    found = []
    for seed in range(REPETITIONS):
        data = scenario(np.random.default_rng(seed), errors, rotated=False)
        slopes, variances = regression(data, ["x1", "x2", "x3"])
        half = stats.t.ppf(0.975, len(data) - 4) * np.sqrt(variances)
        made = (
            law(name, "y")
            .protect(data, seed=seed, threads=1)
            .estimate(lambda d: regression(d, ["x1", "x2", "x3"]))
        )
        found.append(
            interval_overlap(
                (slopes, slopes - half, slopes + half), (made.value, made.lower, made.upper)
            )
        )
    return float(np.mean(found))


def coverage(name: str) -> tuple[Floats, float]:
    """Return how often intervals of a mean and of two slopes hold the truth.

    The variance of a slope over the original's.
    """

    def estimate(data: pd.DataFrame) -> tuple[Floats, Floats]:
        slopes, variances = regression(data, ["x", "z"])
        return np.append(data["y"].mean(), slopes[1:]), np.append(
            data["y"].var() / len(data), variances[1:]
        )

    hits, ratios = np.zeros(3), []
    for seed in range(POPULATIONS):
        rng = np.random.default_rng([11, seed])
        x, z = rng.normal(size=500), rng.integers(0, 2, 500)
        data = pd.DataFrame({"x": x, "z": z, "y": 1 + x + z + rng.normal(size=500)})
        release = law(name, "y").protect(data, seed=seed, threads=1)
        made = release.estimate(estimate)
        hits += (made.lower <= TRUTH) & (made.upper >= TRUTH)
        ratios.append(
            np.mean([estimate(one)[1][1] for one in release.datasets]) / estimate(data)[1][1]
        )
    return hits / POPULATIONS, float(np.mean(ratios))


def skewed(name: str) -> tuple[float, float]:
    """Return figures of a log-normal column that nothing predicts.

    The median over the original's, and the Kolmogorov-Smirnov distance.
    """
    rng = np.random.default_rng(12)
    data = pd.DataFrame(
        {
            "income": np.exp(9 + rng.normal(size=1000)).round(2),
            **{f"x{i}": rng.normal(size=1000) for i in range(3)},
        }
    )
    made = np.concatenate(
        [one["income"] for one in law(name, "income", DATASETS).protect(data, seed=1).datasets]
    )
    return float(np.median(made) / np.median(data["income"])), float(
        stats.ks_2samp(made, data["income"]).statistic
    )


def rates(name: str, data: Path) -> str:
    """Return the match rates of the Survey of Consumer Finances for the source's four radii."""
    frame = households(read(data / "termlife.csv")).rename(columns={"log_income": "income"})
    datasets = [
        one.assign(income=np.exp(one["income"]))
        for one in law(name, "income").protect(frame, seed=7).datasets
    ]
    original = frame.assign(income=np.exp(frame["income"]))
    known = [column for column in frame if column != "income"]
    found = [
        vd.risk.match(original, datasets, known=known, sensitive="income", radius=radius)
        for radius in RADII
    ]
    return "; ".join(
        f"{float(one.emr):.4f} / {float(one.tmr):.4f} / {float(one.fmr):.4f}" for one in found
    )


def main(data: Path) -> None:
    print(f"Match rates within {', '.join(f'{r:,}' for r in RADII)} dollars: EMR/n / TMR / FMR")
    for name in LAWS:
        print(f"{name}\n  match rates {rates(name, data)}")
        print("  median and distance of a skewed column: {:.3f}, {:.3f}".format(*skewed(name)))
        print(
            "  overlap in the three scenarios: "
            + ", ".join(f"{overlap(name, errors):.3f}" for errors in DEGREES)
        )
        hits, ratio = coverage(name)
        print(
            f"  coverage of mean and slopes: {', '.join(f'{hit:.3f}' for hit in hits)}; variance of"
            f" a slope {ratio:.2f} times the original's",
            flush=True,
        )
