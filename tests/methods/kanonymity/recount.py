"""Counting again from written files, by code that shares nothing with the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import veladura as vd
from veladura.measures.assessment import Assessment
from veladura.release.package import save

COLUMNS = ["zip", "age", "sex"]


def people(seed: int, rows: int = 60, missing: float = 0.0) -> pd.DataFrame:
    """A small table with rare combinations; some values missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "zip": rng.choice(["02138", "02139", "02141", "10001"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "age": pd.array(rng.integers(18, 60, rows), dtype="Int64"),
            "sex": rng.choice(["f", "m", "x"], rows, p=[0.5, 0.45, 0.05]),
            "income": rng.integers(1000, 9000, rows),
        }
    )
    for name in COLUMNS:
        frame.loc[rng.random(rows) < missing, name] = None
    return frame


def hierarchies() -> dict[str, vd.Hierarchy]:
    return {
        "zip": vd.Hierarchy.mask(5),
        "age": vd.Hierarchy.intervals([5, 10, 20]),
        "sex": vd.Hierarchy.star(),
    }


def recipe(**settings):
    return vd.KAnonymity(
        **{
            "quasi_identifiers": COLUMNS,
            "k": 3,
            "max_suppression": 0.2,
            "hierarchies": hierarchies(),
            **settings,
        }
    )


def unmeasured(release, folder, format_="parquet"):
    """A saved release without figures and pictures: they are not what these tests are about."""
    plain = replace(release, pictures=(), public_pictures=())
    return save(
        plain,
        folder / "out" / "r",
        folder / "safe" / "c",
        format=format_,
        assessment=Assessment({}),
    )


def written(release, folder, format_="parquet") -> pd.DataFrame:
    """The rows of a saved release, every value as text, missing as None."""
    saved = unmeasured(release, folder, format_)
    path = saved / "data" / f"dataset-1.{format_}"
    frame = (
        pd.read_parquet(path)
        if format_ == "parquet"
        else pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    )
    return frame.astype(object).where(frame.notna(), None)


def smallest_group(frame: pd.DataFrame, columns=COLUMNS) -> int:
    """Rows of the rarest combination; missing is a value of its own."""
    return int(frame.groupby(list(columns), dropna=False).size().min())


def fewest_matches(frame: pd.DataFrame, columns=COLUMNS) -> int:
    """Rows that match the row with fewest matches, pair by pair; missing matches anything."""
    values = frame[list(columns)].to_numpy(dtype=object)
    known = frame[list(columns)].notna().to_numpy()
    agree = (values[:, None, :] == values[None, :, :]) | ~known[:, None, :] | ~known[None, :, :]
    return int(agree.all(axis=2).sum(axis=1).min())


def without_stars(frame: pd.DataFrame, columns=COLUMNS) -> pd.DataFrame:
    return frame[~(frame[list(columns)] == "*").all(axis=1)]
