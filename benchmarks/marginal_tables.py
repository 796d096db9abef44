"""Tables for the comparison of private methods: two real ones, two that are generated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import data_folder

REAL, GENERATED = ("adult", "ma2019"), ("tree", "classes")


def frame_of(name: str) -> pd.DataFrame:
    """Return a table of text: adult (9 columns), ma2019 (24, numbers in 20 bins), or generated."""
    if name == "tree":
        return tree(np.random.default_rng(71))
    if name == "classes":
        return classes(np.random.default_rng(72))
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


def _named(columns: list[np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame({f"c{i}": column.astype(str) for i, column in enumerate(columns)})
