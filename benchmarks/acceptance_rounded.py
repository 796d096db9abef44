"""Rounded populations: coverage of combined intervals, and bias of spread and quantiles.

Numbers as surveys have them: ages in years, incomes that most people round to hundreds. All columns
are replaced, and enough of them come before the income for its draws to be calibrated.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import veladura as vd

PEOPLE, POPULATIONS, TABLES, DATASETS = 1000, 400, 20, 50
NAMES = ("mean", "median", "90 % point", "slope of age", "slope of sex", "slope of group")
SHARES = (0.05, 0.5, 0.95)


def population(rng: np.random.Generator, people: int = PEOPLE) -> pd.DataFrame:
    """Return people with a group, a sex, an age in years, and a rounded income."""
    group, sex = rng.choice(list("abc"), people, p=[0.5, 0.3, 0.2]), rng.choice(["f", "m"], people)
    age = np.clip(np.round(rng.normal(50, 12, people) + 4 * (group == "b")), 18, 95)
    log = 7 + 0.02 * (age - 50) + 0.25 * (sex == "m") + 0.3 * (group == "b")
    income = np.exp(log + 0.5 * rng.normal(size=people))
    income = np.where(rng.random(people) < 0.6, np.round(income, -2), np.round(income))
    return pd.DataFrame({"group": group, "sex": sex, "age": age, "income": np.maximum(income, 10)})


def figures(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return mean, two quantiles (Woodruff 1952) and three slopes, with their variances."""
    income, people = data["income"].to_numpy(float), len(data)
    values, variances = [income.mean()], [income.var(ddof=1) / people]
    for share in (0.5, 0.9):
        values.append(np.quantile(income, share))
        variances.append(quantile_error(income, share) ** 2)
    terms = [np.ones(people), data["age"], data["sex"] == "m", data["group"] == "b"]
    x = np.column_stack([*terms, data["group"] == "c"]).astype(float)
    inverse, log = np.linalg.inv(x.T @ x), np.log(income)
    slopes = inverse @ x.T @ log
    left = log - x @ slopes
    own = left @ left / (people - x.shape[1]) * np.diag(inverse)
    return np.append(values, slopes[1:4]), np.append(variances, own[1:4])


def quantile_error(income: np.ndarray, share: float) -> float:
    """Return the standard error of a quantile: of rounded numbers, of the numbers between."""
    half = 1.96 * np.sqrt(share * (1 - share) / income.size)
    low, high = np.quantile(income, [share - half, share + half])
    return float(high - low) / 3.92


def middle_quantiles(income: np.ndarray, shares: list[float]) -> np.ndarray:
    """Return quantiles by the mid-distribution function (Ma, Genton and Parzen 2011).

    At a value it is the share below plus half of the share at it, and linear between: on a heap the
    ordinary one jumps.
    """
    values, counts = np.unique(income, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / income.size
    return np.asarray(np.interp(shares, middle, values))


def median_interval(release: vd.Release) -> tuple[float, float]:
    """Return Woodruff's own interval of the median from all datasets.

    The share of people below a fixed number is combined, which is no matter of heaps, and the
    interval of the share is read as numbers. It need not be symmetric around the median.
    """
    stacked = np.concatenate([data["income"].to_numpy(float) for data in release.datasets])
    (middle,) = middle_quantiles(stacked, [0.5])

    def share_below(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        below = np.sign(middle - data["income"].to_numpy(float)) / 2 + 0.5
        return np.array([below.mean()]), np.array([below.var(ddof=1) / below.size])

    share = release.estimate(share_below)
    half = float(share.upper[0] - share.lower[0]) / 2
    low, high = middle_quantiles(stacked, [0.5 - half, 0.5 + half])
    return float(low), float(high)


def coverage() -> None:
    """Print how often combined 95 % intervals hold the truth, beside those of the original."""
    truth = figures(population(np.random.default_rng(1), 4_000_000))[0]
    hits, own = [], []
    half = 1.96 * np.sqrt(0.25 / PEOPLE)
    for i in range(POPULATIONS):
        data = population(np.random.default_rng([77, i]))
        value, variance = figures(data)
        low, high = middle_quantiles(data["income"].to_numpy(float), [0.5 - half, 0.5 + half])
        held = np.abs(value - truth) <= 1.96 * np.sqrt(variance)
        own.append([*held, low <= truth[1] <= high])
        release = vd.Cart(m=5).protect(data, seed=i, threads=1)
        combined, (low, high) = release.estimate(figures), median_interval(release)
        held = (combined.lower <= truth) & (truth <= combined.upper)
        hits.append([*held, low <= truth[1] <= high])
    names = (*NAMES, "median by Woodruff's own interval")
    print(f"coverage of 95 % intervals, {POPULATIONS} populations of {PEOPLE}: {', '.join(names)}")
    for name, rates in (("released", hits), ("original", own)):
        print(f"  {name:8} {', '.join(f'{rate:.3f}' for rate in np.mean(rates, axis=0))}")


def bias() -> None:
    """Print the bias of sd, mean and quantiles of the income, in standard errors of the original.

    The sd is in % of itself. Bayesian weights double the variance of every figure, so each table
    has 50 datasets: with five, chance alone moves the sd of the income by half a percent.
    """
    gaps = []
    for seed in range(TABLES):
        data = population(np.random.default_rng([88, seed]))
        made = pd.concat(vd.Cart(m=DATASETS).protect(data, seed=seed).datasets)
        old, new = data["income"].to_numpy(), made["income"].to_numpy()
        sd = [100 * (made[name].std() / data[name].std() - 1) for name in ("age", "income")]
        mean = (new.mean() - old.mean()) / (old.std() / np.sqrt(old.size))
        quantiles = [
            (np.quantile(new, share) - np.quantile(old, share)) / quantile_error(old, share)
            for share in SHARES
        ]
        gaps.append([*sd, mean, *quantiles])
    error = np.std(gaps, axis=0, ddof=1) / np.sqrt(TABLES)
    print(f"bias over {TABLES} tables (error): sd of age and income in %, mean, 5, 50, 95 % in SE")
    both = zip(np.mean(gaps, axis=0), error, strict=True)
    print("  " + ", ".join(f"{gap:+.2f} ({e:.2f})" for gap, e in both))


def main(data: Path) -> None:
    del data  # populations are generated
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bias()
        coverage()
