"""CART synthesis on real data: whole tables from `veladura init`, rules, single numbers.

The Survey of Consumer Finances is in `veladura study 000`.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import veladura as vd
from veladura.plan.draft import draft
from veladura.plan.reading import read_plan
from veladura.release.package import load
from veladura.release.verify import holds, verify
from veladura.table.table import Table, from_arrow

TABLES = ("SD2011.csv", "nist/ma2019.csv", "adult/adult.csv", "termlife.csv")


def resampled(table: Table, seed: int) -> Table:
    """Return an independent bootstrap sample of the rows."""
    rows = np.random.default_rng(seed).integers(table.rows, size=table.rows)
    return from_arrow(table.arrow.take(pa.array(rows)), table.schema, table.source)


def single_numbers_in_files(original: Table, folder: Path) -> int:
    """Count, from the released files, numbers that occur once in the original column."""
    found = 0
    for file in sorted((folder / "data").glob("*.parquet")):
        released = pq.read_table(file)
        for field in original.schema:
            if field.kind in ("integer", "number", "date"):
                before = pd.Series(original.arrow.column(field.name).to_pylist()).dropna()
                single = set(before[~before.duplicated(keep=False)])
                found += sum(
                    value in single
                    for value in released.column(field.name).to_pylist()
                    if value is not None
                )
    return found


def whole(data: Path, name: str) -> None:
    """Draft a plan, run it as it stands, and check what came out from the files."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "plan.toml").write_text(
            draft(
                str(data / name),
                method="cart",
                home=home,
                release="out/release",
                custodian="safe/record",
                seed=7,
            ),
            encoding="utf-8",
        )
        plan = read_plan(home / "plan.toml")
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of slips against a proposed rule
            table = plan.open()
            release = plan.recipe.protect(table, seed=7)
        seconds = time.perf_counter() - start
        release.save(home / "out" / "release", custodian=home / "safe" / "record")
        assert holds(verify(home / "out" / "release"))
        original = release.original
        assert original is not None
        guarded = next(
            (
                promise.settings["columns"]
                for promise in release.promises
                if promise.name == "moved-numbers"
            ),
            [],
        )
        single = (
            single_numbers_in_files(original.select(guarded), home / "out" / "release")
            if guarded
            else 0
        )
        score = vd.utility.pmse(original, release, synthesis="simple")
        again = vd.utility.pmse(
            original, [resampled(original, seed) for seed in range(2)], synthesis="simple"
        )
        print(
            f"{name}: {original.rows} rows x {len(original.names)} columns, m ="
            f" {len(release.datasets)}, {seconds:.1f} s; standardised pMSE {float(score.ratio):.2f}"
            " (null of simple synthesis; 2 is ideal for Bayesian-bootstrap leaves), of a resample"
            f" {float(again.ratio):.2f}; {score.slopes} slopes; numbers of one person in the"
            f" files, by chance: {single}"
        )
        if name == "SD2011.csv":
            for frame in load(home / "out" / "release").datasets:
                assert (frame.loc[frame["workab"] == "NO", "wkabdur"] == -8).all()
            print('  workab == "NO" implies wkabdur == -8 in every row of every file')


def main(data: Path) -> None:
    for name in TABLES:
        whole(data, name)
