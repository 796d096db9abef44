"""Tables for the comparison of private methods: two real ones, four that are generated.

No setting of a method was chosen on the two that are held out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import data_folder

REAL, GENERATED, HELD_OUT = ("adult", "ma2019"), ("tree", "classes"), ("factors", "survey")


def frame_of(name: str) -> pd.DataFrame:
    """Return a table of text: adult (9 columns), ma2019 (24, numbers in 20 bins), or generated."""
    made = {
        "tree": (tree, 71),
        "classes": (classes, 72),
        "factors": (factors, 901),
        "survey": (survey, 902),
    }
    if name in made:
        law, seed = made[name]
        return law(np.random.default_rng(seed))
    data = Path(data_folder())
    if name == "adult":
        return pd.read_csv(data / "adult" / "adult.csv", sep=";", dtype=str)
    frame = pd.read_csv(data / "nist" / "ma2019.csv", dtype=str, keep_default_na=False)
    for column in ("AGEP", "DENSITY", "INDP", "PINCP", "POVPIP", "PWGTP", "WGTP"):
        numbers = pd.to_numeric(frame[column], errors="coerce")
        low, high = numbers.min(), numbers.max()
        bins = np.minimum(((numbers - low) / (high - low) * 20).fillna(-1), 19).astype(int)
        frame[column] = np.where(bins < 0, "N", bins.astype(str))
    return frame


def tree(rng: np.random.Generator, rows: int = 12_000) -> pd.DataFrame:
    """Return ten columns of 2 to 15 values: each depends on one or two that came before it."""
    sizes = [2, 15, 4, 9, 3, 6, 2, 12, 5, 2]
    columns: list[np.ndarray] = []
    for size in sizes:
        parents = rng.choice(len(columns), min(len(columns), int(rng.integers(1, 3))), False)
        group = np.zeros(rows, dtype=np.int64)
        for parent in parents:
            group = group * sizes[parent] + columns[parent]
        law = rng.dirichlet(1.5 / np.arange(1, size + 1), group.max() + 1)
        ends = np.cumsum(law, axis=1)[group]
        columns.append(np.minimum((rng.random(rows)[:, None] > ends).sum(axis=1), size - 1))
    return _named(columns)


def classes(rng: np.random.Generator, rows: int = 6_000) -> pd.DataFrame:
    """Return twelve columns of 2 to 10 values that are independent in each of seven classes."""
    sizes = [3, 5, 2, 10, 4, 2, 7, 3, 2, 6, 4, 8]
    hidden = rng.choice(7, rows, p=rng.dirichlet(np.full(7, 3.0)))
    columns = []
    for size in sizes:
        ends = np.cumsum(rng.dirichlet(1 / np.arange(1, size + 1), 7), axis=1)[hidden]
        columns.append(np.minimum((rng.random(rows)[:, None] > ends).sum(axis=1), size - 1))
    return _named(columns)


def factors(rng: np.random.Generator, rows: int = 9_000) -> pd.DataFrame:
    """Return thirteen columns of 2 to 25 values: numbers of three common factors, cut anywhere."""
    sizes = [2, 3, 25, 6, 2, 10, 4, 16, 3, 5, 2, 8, 12]
    loadings = rng.normal(0, 0.7, (len(sizes), 3))
    numbers = rng.normal(size=(rows, 3)) @ loadings.T + rng.normal(size=(rows, len(sizes)))
    columns = []
    for number, size in zip(numbers.T, sizes, strict=True):
        cuts = np.quantile(number, np.sort(rng.random(size - 1)))
        columns.append(np.searchsorted(cuts, number))
    return _named(columns)


def survey(rng: np.random.Generator, rows: int = 15_000) -> pd.DataFrame:
    """Return eleven columns of 2 to 30 values of people of whom only some are asked some things."""
    region = rng.choice(30, rows, p=rng.dirichlet(np.full(30, 2.0)))
    age = np.minimum(rng.gamma(4, 11, rows) // 6, 14).astype(int)
    working = rng.random(rows) < 0.62 - 0.08 * np.maximum(age - 9, 0)
    work = np.where(age < 3, 0, np.where(working, 1, 2))
    often = rng.choice(6, rows, p=[0.05, 0.1, 0.1, 0.5, 0.15, 0.1])
    hours = np.where(work == 1, often + 1, 0)
    school = (rng.random(rows) * 5 * (age > 2) + 0.3 * (region % 3)).astype(int)
    earned = (hours * 1.1 + school * 0.8 + rng.normal(0, 1.6, rows)).astype(int) + 1
    income = np.where(work == 0, 0, np.clip(earned, 1, 9))
    sex = rng.integers(0, 2, rows)
    married = np.where(age < 3, 0, (rng.random(rows) < 0.2 + 0.05 * age).astype(int) + 1)
    several = rng.choice(4, rows, p=[0.3, 0.25, 0.3, 0.15])
    few = rng.choice(4, rows, p=[0.8, 0.1, 0.07, 0.03])
    children = np.where(married == 2, several, few)
    ill = (rng.random(rows) < 0.03 + 0.02 * age).astype(int)
    smokes = (rng.random(rows) < 0.35 - 0.04 * school).astype(int)
    people = [region, age, work, hours, school, income, sex, married, children, ill, smokes]
    return _named(people)


def _named(columns: list[np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame({f"c{i}": column.astype(str) for i, column in enumerate(columns)})
