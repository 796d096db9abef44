"""CART synthesis on real data.

Whole tables from `veladura init`, rules, single numbers, and the Survey of Consumer Finances.
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
from veladura.plan.plan import read_plan
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
                assert (frame.loc[frame["smoke"] == "NO", "nociga"] == -8).all()
            print('  smoke == "NO" implies nociga == -8 in every row of every file')


def survey(data: Path) -> pd.DataFrame:
    """Return the households of the Survey of Consumer Finances as the source groups them.

    With the logarithm of their income.
    """
    frame = pd.read_csv(data / "termlife.csv")
    frame = frame[frame["Income"] < 10_000_000].reset_index(drop=True)
    return pd.DataFrame(
        {
            "gender": frame["Gender"].astype(str),
            "age": (
                pd.cut(frame["Age"], [0, 29, 59, 200], labels=["16-29", "30-59", "60+"]).astype(str)
            ),
            "married": frame["MarStat"].astype(str),
            "education": (
                pd.cut(frame["Education"], [-1, 9, 12, 99], labels=["<=9", "10-12", ">=13"]).astype(
                    str
                )
            ),
            "ethnicity": frame["Ethnicity"].astype(str),
            "household": frame["NumHH"],
            "charity": frame["Charity"],
            "log_income": np.log(frame["Income"]),
        }
    )


def finances(data: Path) -> None:
    """The Survey of Consumer Finances: log income given seven columns, 498 households."""
    frame = survey(data)
    release = vd.Cart(columns=["log_income"], m=5).protect(frame, seed=7)
    score = vd.utility.pmse(frame, release, pairs=False)
    print(
        f"termlife: {len(frame)} households, G = {float(score.value):.4f} (source .012), ratio"
        f" {float(score.ratio):.2f}"
    )
    alone, schooled, young = (
        frame["married"] != "1",
        frame["education"] == ">=13",
        frame["age"] == "16-29",
    )
    leaves = {
        "not married, education <= 12": (alone & ~schooled, 63, 9.748),
        "not married, education >= 13, age 16-29": (alone & schooled & young, 22, 9.628),
        "not married, education >= 13, age 30+": (alone & schooled & ~young, 81, 10.601),
        "married, education <= 12": (~alone & ~schooled, 90, 10.601),
        "married, education >= 13": (~alone & schooled, 242, 11.526),
    }
    for leaf, (inside, rows, mean) in leaves.items():
        assert inside.sum() == rows, leaf
        made = [d.loc[inside, "log_income"] for d in release.datasets]
        print(
            f"  {leaf}: {rows} rows, mean log income {frame.loc[inside, 'log_income'].mean():.3f}"
            f" (source {mean}), synthetic {np.mean([x.mean() for x in made]):.3f}; deviation"
            f" {frame.loc[inside, 'log_income'].std():.3f}, synthetic"
            f" {np.mean([x.std() for x in made]):.3f}"
        )


def main(data: Path) -> None:
    for name in TABLES:
        whole(data, name)
    finances(data)
