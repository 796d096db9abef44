"""Information loss of microaggregation beside reference figures for MDAV on two tables.

Run with ``VELADURA_DATA=<folder> python -m benchmarks.acceptance_mdav``; the folder holds
``sdcmicro/CASCrefmicrodata.csv`` and ``sdcmicro/Tarragona.csv``, as the R package sdcMicro ships
them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks import data_folder

REFERENCE = (  # file, k, 100 SSE / SST on standardised columns
    ("CASCrefmicrodata.csv", 3, 5.692186),
    ("CASCrefmicrodata.csv", 5, 9.088435),
    ("CASCrefmicrodata.csv", 10, 14.155930),
    ("Tarragona.csv", 3, 16.932588),
)
TOLERANCE = 1e-6  # the references have six decimals, the released means two


def information_loss(before: pd.DataFrame, after: pd.DataFrame) -> float:
    """Return 100 SSE / SST, each column in units of its own sample standard deviation."""
    scale = before.std()
    within = (((after - before) / scale) ** 2).to_numpy().sum()
    total = (((before - before.mean()) / scale) ** 2).to_numpy().sum()
    return float(100 * within / total)


def main(data: Path) -> None:
    wrong = 0
    for name, k, reference in REFERENCE:
        frame = pd.read_csv(data / "sdcmicro" / name).astype(np.float64)
        release = vd.Microaggregation(columns=list(frame), k=k, min_people=0).protect(frame)
        measured = information_loss(frame, release.datasets[0])
        same = abs(measured - reference) <= TOLERANCE
        wrong += not same
        print(
            f"{name:<22} k = {k:>2}  measured {measured:.6f}  reference {reference:.6f} "
            f" {'same' if same else 'DIFFERENT'}"
        )
    if wrong:
        sys.exit(f"{wrong} of {len(REFERENCE)} figures differ from the reference.")


if __name__ == "__main__":
    main(data_folder())
