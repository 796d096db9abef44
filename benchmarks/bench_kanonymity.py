"""k-anonymity: the search beside a pandas groupby, and ten million rows beside DuckDB's own work.

Run with ``python -m benchmarks.bench_kanonymity [search | rows | growth | anjana]``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.growth_kanonymity import growth
from benchmarks.memory import peak_growth
from benchmarks.people import QUASI, generate, recipe_of

BIG = 10_000_000
CHOICES = ("balanced", "loss", "non-uniform-entropy", "discernibility", "average-class-size")


def main() -> None:
    chosen = sys.argv[1:] if len(sys.argv) > 1 and sys.argv[1] in PARTS else PARTS
    for part in chosen:
        PARTS[part]()


def timed(function: Callable[[], Any], repeats: int = 5) -> float:
    """Return the processor seconds of a call, which other work on the machine moves little."""

    def once() -> float:
        start = process_time()
        function()
        return process_time() - start

    return median(once() for _ in range(repeats))


def search_ratio() -> None:
    """The search for all k-minimal nodes of adult, and with it the choice by quality models.

    In units of one pandas groupby over the nine columns.
    """
    if not os.environ.get("VELADURA_DATA"):
        print("search: VELADURA_DATA is not set, so the adult data are not at hand; skipped.")
        return
    import veladura as vd
    from veladura.methods.kanonymity.quality import best_nodes
    from veladura.methods.kanonymity.search import find_minimal
    from veladura.methods.kanonymity.settings import allowed_rows
    from veladura.table.counts import counts

    folder = Path(os.environ["VELADURA_DATA"]) / "adult"
    frame = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
    names = list(frame.columns)
    hierarchies = {
        name: vd.Hierarchy.from_csv(folder / "hierarchies" / f"adult_hierarchy_{name}.csv")
        for name in names
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = vd.open(frame)
    recipe = vd.KAnonymity(quasi_identifiers=names, k=5, max_suppression=0, hierarchies=hierarchies)
    fitted = recipe.fit(table)
    lattice = fitted.lattice
    counting = timed(lambda: counts(table, names))
    print(
        f"search on adult, {lattice.nodes:,} nodes; counting the tuples took"
        f" {counting * 1e3:.0f} ms"
    )
    print("    k  MaxSup  minimal      ms  groupbys; with the choice by", ", ".join(CHOICES))
    for k in (2, 5, 10, 100):
        criteria = replace(fitted.criteria, k=k)
        for share, aim in ((0.0, 1), (0.02, 9), (0.1, 12)):
            allowed = allowed_rows(share, len(frame))

            def search(criteria: Any = criteria, allowed: int = allowed) -> Any:
                return find_minimal(lattice, criteria, allowed)

            found = search()

            def choose(name: str, criteria: Any = criteria, found: Any = found) -> Any:
                return best_nodes(criteria, name, {}, lattice, found)

            groupby = timed(lambda: frame.groupby(names, sort=False).size())
            seconds = timed(search)
            whole = [seconds + timed(lambda name=name: choose(name)) for name in CHOICES]
            print(
                f"{k:5} {share:7.0%} {len(found.minimal):8} {seconds * 1e3:7.1f}"
                f" {seconds / groupby:9.1f}; "
                + ", ".join(f"{both / groupby:.1f}" for both in whole)
                + (f"   (aim {aim})" if k == 5 else "")
            )


def many_rows() -> None:
    """Ten million rows from Parquet to Parquet.

    Beside DuckDB's GROUP BY plus scan and write of the same file.
    """
    for label, distinct in (
        ("about a million distinct tuples", False),
        ("nearly all tuples distinct", True),
    ):
        with tempfile.TemporaryDirectory() as home:
            source = Path(home) / "people.parquet"
            generate(source, BIG, distinct=distinct)
            told = subprocess.run(
                [sys.executable, "-m", "benchmarks.bench_kanonymity", "--one", str(source)],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "VELADURA_CUSTODIAN": f"{home}/custodian"},
            )
            theirs = seconds_of_duckdb(source, Path(home) / "copy.parquet")
            ours = json.loads(told.stdout)
            print(
                f"{BIG:,} rows, 8 quasi-identifiers and 4 other columns, {label}"
                f" ({ours['tuples']:,})"
            )
            print(f"  DuckDB: GROUP BY {theirs[0]:.1f} s, scan and write {theirs[1]:.1f} s")
            print(
                f"  protect to Parquet, proved {ours['protected']:.1f} s:"
                f" {ours['protected'] / sum(theirs):.1f} times (aim under 6); with assessment,"
                f" reports and package {ours['seconds']:.1f} s: {ours['seconds'] / sum(theirs):.1f}"
                f" times; peak {ours['peak'] / 2**30:.2f} GiB (aim under 4)"
            )


def one(source: Path) -> None:
    """Protect a Parquet file to a Parquet file.

    Print processor seconds, memory and the number of tuples as JSON.
    """
    import veladura as vd

    laps: list[float] = []

    def work() -> None:
        columns = {name: {"role": "quasi-identifier"} for name in QUASI}
        release = recipe_of().protect(vd.open(source, columns))
        laps.append(process_time())
        release.save(source.parent / "out" / "release", custodian=source.parent / "safe" / "record")

    start = process_time()
    _, peak = peak_growth(work)
    seconds = process_time() - start
    tuples = len(
        vd.open(source, {name: {"role": "quasi-identifier"} for name in QUASI}).counts(QUASI).size
    )
    print(
        json.dumps(
            {"seconds": seconds, "protected": laps[0] - start, "peak": peak, "tuples": tuples}
        )
    )


def seconds_of_duckdb(source: Path, out: Path) -> tuple[float, float]:
    import duckdb

    connection = duckdb.connect()
    names = ", ".join(QUASI)
    counted = timed(
        lambda: connection.sql(
            f"SELECT {names}, count(*) FROM '{source}' GROUP BY {names}"  # noqa: S608
        ).to_arrow_table(),
        1,
    )
    written = timed(lambda: connection.sql(f"SELECT * FROM '{source}'").write_parquet(str(out)), 1)  # noqa: S608
    return counted, written


def beside_anjana() -> None:
    """The same table and hierarchies with what PyPI offers, if it is installed."""
    try:
        from anjana.anonymity import k_anonymity
    except ModuleNotFoundError:
        print("anjana is not installed (pip install anjana): skipped.")
        return
    import veladura as vd
    from veladura import example

    pd.set_option("future.infer_string", False)  # anjana refuses the strings of pandas 3
    frame = pd.read_csv(example.path("clinic.csv"), dtype=object)[
        ["zip", "sex", "marital", "ethnicity", "diagnosis"]
    ]
    names = ["zip", "sex", "marital", "ethnicity"]
    levels = {name: {0: frame[name].to_numpy(), 1: np.full(len(frame), "*")} for name in names[1:]}
    levels["zip"] = {i: np.array([z[: 5 - i] + "*" * i for z in frame["zip"]]) for i in range(6)}
    out: dict[str, Any] = {}
    theirs = timed(
        lambda: out.__setitem__("data", k_anonymity(frame.copy(), [], names, 5, 2.0, levels)), 1
    )
    recipe = vd.KAnonymity(
        quasi_identifiers=names,
        k=5,
        max_suppression=0.02,
        hierarchies={
            name: vd.Hierarchy.mask(5) if name == "zip" else vd.Hierarchy.star() for name in names
        },
    )
    table = vd.open(frame, dict.fromkeys(names, "category"))
    recipe.fit(table)  # compiled code warm
    ours = timed(lambda: recipe.protect(table))
    kept = out["data"]
    chosen = [
        next(i for i, column in levels[name].items() if set(kept[name]) <= set(column))
        for name in names
    ]
    precision = 1 - sum(
        level / max(levels[name]) for name, level in zip(names, chosen, strict=True)
    ) / len(names)
    print(f"anjana  {theirs:7.3f} s, {len(kept)} rows kept, precision {precision:.3f}")
    print(
        f"ours    {ours:7.3f} s, {len(recipe.protect(table).datasets[0])} rows kept, precision"
        f" {recipe.fit(table).chosen.precision:.3f} ({theirs / ours:.0f} times faster)"
    )


PARTS = {"search": search_ratio, "rows": many_rows, "growth": growth, "anjana": beside_anjana}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(Path(sys.argv[2]))
    else:
        main()
