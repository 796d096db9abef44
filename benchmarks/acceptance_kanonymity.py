"""k-anonymity on real tables.

Numbers of minimal vectors counted by another program, and a release that verifies.

Run with ``VELADURA_DATA=<folder> python -m benchmarks.acceptance_kanonymity``; the folder holds
``adult/`` and ``sdcmicro/testdata.csv``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

import veladura as vd
from benchmarks import data_folder
from veladura.release.verify import holds, verify

MINIMAL = (
    (0, 27),
    (603, 787),
    (3016, 1155),
)  # rows that may be suppressed, minimal vectors for k = 5
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
BREAKING = ((2, 157), (3, 281))  # k, rows of testdata in smaller groups


def adult(folder: Path) -> int:
    """Count the minimal vectors of nine quasi-identifiers."""
    table = vd.open(folder / "adult.csv", {"age": "category"})
    hierarchies = {
        name: vd.Hierarchy.from_csv(folder / "hierarchies" / f"adult_hierarchy_{name}.csv")
        for name in table.names
    }
    wrong = 0
    for allowed, expected in MINIMAL:
        started = time.perf_counter()
        fitted = vd.KAnonymity(
            quasi_identifiers=table.names, k=5, max_suppression=allowed, hierarchies=hierarchies
        ).fit(table)
        wrong += len(fitted.minimal) != expected
        print(
            f"adult, k = 5, at most {allowed:>4} rows suppressed: {len(fitted.minimal):>4} minimal"
            f" of {fitted.lattice.nodes} nodes, expected {expected:>4}; counted and searched in"
            f" {time.perf_counter() - started:.2f} s; chosen {list(fitted.chosen.levels.values())}"
        )
    return wrong


def testdata(path: Path) -> int:
    """Count the rows that break k, release with k = 3, verify, and count again with pandas."""
    frame = pd.read_csv(path, dtype=dict.fromkeys(KEYS, str))
    wrong = 0
    for k, expected in BREAKING:
        sizes = vd.KAnonymity(quasi_identifiers=KEYS, k=k).fit(frame).criteria.at([0] * len(KEYS))
        wrong += sizes.suppressed != expected
        print(f"testdata: {sizes.suppressed} rows break {k}-anonymity, expected {expected}")
    release = vd.KAnonymity(quasi_identifiers=KEYS, k=3).protect(frame)
    with tempfile.TemporaryDirectory() as folder:
        saved = release.save(
            Path(folder) / "out" / "r", custodian=Path(folder) / "safe" / "c", format="csv"
        )
        lines = verify(saved)
        out = pd.read_csv(next((saved / "data").glob("*.csv")), dtype=str)
    least = int(out.groupby(KEYS, dropna=False).size().min())
    told = release.steps[0].settings
    print(
        f"testdata, k = 3: {len(out)} of {len(frame)} rows at levels {told['levels']}, smallest"
        f" group {least}, verified: {holds(lines)}"
    )
    return wrong + (not holds(lines)) + (least < 3)


def main(data: Path) -> None:
    if wrong := adult(data / "adult") + testdata(data / "sdcmicro" / "testdata.csv"):
        sys.exit(f"{wrong} figures are not as expected.")


if __name__ == "__main__":
    main(data_folder())
