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
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.memory import peak_growth

QUASI = ("age", "sex", "zip", "marital", "education", "country", "occupation", "class")
BIG = 10_000_000


def main() -> None:
    chosen = sys.argv[1:] if len(sys.argv) > 1 and sys.argv[1] in PARTS else PARTS
    for part in chosen:
        PARTS[part]()


def timed(function: Callable[[], Any], repeats: int = 5) -> float:
    def once() -> float:
        start = perf_counter()
        function()
        return perf_counter() - start

    return median(once() for _ in range(repeats))


def search_ratio() -> None:
    """The search for all k-minimal nodes of adult, in units of one pandas groupby over the nine columns."""
    if not os.environ.get("VELADURA_DATA"):
        print("search: VELADURA_DATA is not set, so the adult data are not at hand; skipped.")
        return
    import veladura as vd
    from veladura.anonymize.search import allowed_rows, search

    folder = Path(os.environ["VELADURA_DATA"]) / "adult"
    frame = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
    names = list(frame.columns)
    hierarchies = {name: vd.Hierarchy.from_csv(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = vd.open(frame)
    recipe = vd.KAnonymity(quasi_identifiers=names, k=5, max_suppression=0, hierarchies=hierarchies)
    lattice = recipe.fit(table).lattice
    counting = timed(lambda: table.counts(names))
    print(f"search on adult, {lattice.nodes:,} nodes; counting the tuples took {counting * 1e3:.0f} ms")
    print("    k  MaxSup  minimal      ms  groupbys")
    for k in (2, 5, 10, 100):
        for share, aim in ((0.0, 1), (0.02, 9), (0.1, 12)):
            allowed = allowed_rows(share, len(frame))
            groupby = timed(lambda: frame.groupby(names, sort=False).size())
            seconds = timed(lambda k=k, allowed=allowed: search(lattice, k, allowed))
            found = len(search(lattice, k, allowed)[0])
            print(f"{k:5} {share:7.0%} {found:8} {seconds * 1e3:7.1f} {seconds / groupby:9.1f}" + (f"   (aim {aim})" if k == 5 else ""))


def many_rows() -> None:
    """Ten million rows from Parquet to Parquet, beside DuckDB's GROUP BY plus scan and write of the same file."""
    for label, distinct in (("about a million distinct tuples", False), ("nearly all tuples distinct", True)):
        with tempfile.TemporaryDirectory() as home:
            source = Path(home) / "people.parquet"
            generate(source, BIG, distinct=distinct)
            told = subprocess.run(
                [sys.executable, "-m", "benchmarks.bench_kanonymity", "--one", str(source)],
                capture_output=True, text=True, check=True, env={**os.environ, "VELADURA_CUSTODIAN": f"{home}/custodian"},
            )  # fmt: skip
            theirs = seconds_of_duckdb(source, Path(home) / "copy.parquet")
            ours = json.loads(told.stdout)
            print(f"{BIG:,} rows, 8 quasi-identifiers and 4 other columns, {label} ({ours['tuples']:,})")
            print(f"  DuckDB: GROUP BY {theirs[0]:.1f} s, scan and write {theirs[1]:.1f} s")
            print(
                f"  protect to Parquet {ours['seconds']:.1f} s: {ours['seconds'] / sum(theirs):.1f} times (aim under 6); peak {ours['peak'] / 2**30:.2f} GiB (aim under 4)"
            )


def one(source: Path) -> None:
    """Protect a Parquet file to a Parquet file; print time, memory and the number of tuples as JSON."""
    import veladura as vd

    def work() -> None:
        columns = {name: {"role": "quasi-identifier"} for name in QUASI}
        release = recipe_of().protect(vd.open(source, columns))
        release.save(source.parent / "out" / "release", custodian=source.parent / "safe" / "record")

    seconds, peak = peak_growth(work)
    tuples = len(vd.open(source, {name: {"role": "quasi-identifier"} for name in QUASI}).counts(QUASI).size)
    print(json.dumps({"seconds": seconds, "peak": peak, "tuples": tuples}))


def recipe_of() -> Any:
    import veladura as vd

    return vd.KAnonymity(quasi_identifiers=QUASI, k=5, max_suppression=0.02, hierarchies={
        "age": vd.Hierarchy.intervals((5, 10, 20, 40)), "zip": vd.Hierarchy.mask(5),
    })  # fmt: skip


def seconds_of_duckdb(source: Path, out: Path) -> tuple[float, float]:
    import duckdb

    connection = duckdb.connect()
    names = ", ".join(QUASI)
    counted = timed(lambda: connection.sql(f"SELECT {names}, count(*) FROM '{source}' GROUP BY {names}").to_arrow_table(), 1)  # noqa: S608
    written = timed(lambda: connection.sql(f"SELECT * FROM '{source}'").write_parquet(str(out)), 1)  # noqa: S608
    return counted, written


def generate(path: Path, rows: int, *, distinct: bool) -> None:
    """Write people with skewed, dependent columns, a million rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    labels = {
        name: pa.array([f"{name} {i}" for i in range(size)])
        for name, size in (("sex", 2), ("marital", 5), ("education", 12), ("country", 40), ("occupation", 14), ("class", 2), ("note", 500))
    }
    zips = pa.array([f"{i:05d}" for i in rng.permutation(100_000)[:2000]])
    writer = None
    for _ in range(0, rows, 1_000_000):
        size = min(rows, 1_000_000)

        def skewed(count: int, power: float) -> Any:
            return pa.array(np.minimum((count * rng.random(size) ** (1.0 if distinct else power)).astype(int), count - 1))  # noqa: B023

        table = pa.table({
            "age": pa.array(np.clip(rng.normal(45, 10, size), 0, 99).astype(int) if not distinct else rng.integers(0, 100_000, size)),
            "sex": labels["sex"].take(skewed(2, 1.0)), "zip": zips.take(skewed(2000, 24.0)), "marital": labels["marital"].take(skewed(5, 5.0)),
            "education": labels["education"].take(skewed(12, 9.0)), "country": labels["country"].take(skewed(40, 30.0)),
            "occupation": labels["occupation"].take(skewed(14, 9.0)), "class": labels["class"].take(skewed(2, 4.0)),
            "income": pa.array(np.round(rng.lognormal(10, 1, size), 2)), "stay": pa.array(rng.poisson(5, size)),
            "note": labels["note"].take(skewed(500, 1.0)), "score": pa.array(rng.random(size)),
        })  # fmt: skip
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()


def growth() -> None:
    """How time grows with rows, columns and nodes."""
    import veladura as vd

    print("rows        seconds (fit + sample, 8 quasi-identifiers)")
    for rows in (100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as home:
            generate(Path(home) / "t.parquet", rows, distinct=False)
            frame = pd.read_parquet(Path(home) / "t.parquet").head(rows)
        columns = {name: {"role": "quasi-identifier"} for name in QUASI}
        seconds = timed(lambda frame=frame, columns=columns: recipe_of().protect(vd.open(frame, columns)), 1)
        print(f"{rows:10,} {seconds:8.2f}")
    print("columns  nodes      search ms (100,000 rows)")
    rng = np.random.default_rng(1)
    for count in (4, 6, 8, 10):
        frame = pd.DataFrame({f"q{i}": (20 * rng.random(100_000) ** 3).astype(int) for i in range(count)})
        recipe = vd.KAnonymity(
            quasi_identifiers=list(frame), k=5, max_suppression=0.02, hierarchies={name: vd.Hierarchy.intervals((5, 10)) for name in frame}
        )
        start = perf_counter()
        fitted = recipe.fit(vd.open(frame, dict.fromkeys(frame, "integer")))
        print(f"{count:7} {fitted.lattice.nodes:9,} {(perf_counter() - start) * 1e3:9.0f}")


def beside_anjana() -> None:
    """The same table and hierarchies with what PyPI offers, if it is installed."""
    try:
        from anjana.anonymity import k_anonymity
    except ModuleNotFoundError:
        print("anjana is not installed (pip install anjana): skipped.")
        return
    import veladura as vd
    from veladura import example

    frame = pd.read_csv(example.path("clinic.csv"), dtype={"zip": str})[["zip", "sex", "marital", "ethnicity", "diagnosis"]]
    names = ["zip", "sex", "marital", "ethnicity"]
    levels = {name: {0: frame[name].to_numpy(), 1: np.full(len(frame), "*")} for name in names[1:]}
    levels["zip"] = {i: np.array([z[: 5 - i] + "*" * i for z in frame["zip"]]) for i in range(6)}
    out: dict[str, Any] = {}
    theirs = timed(lambda: out.__setitem__("data", k_anonymity(frame.copy(), [], names, 5, 2.0, levels)), 1)
    recipe = vd.KAnonymity(
        quasi_identifiers=names,
        k=5,
        max_suppression=0.02,
        hierarchies={name: vd.Hierarchy.mask(5) if name == "zip" else vd.Hierarchy.star() for name in names},
    )
    table = vd.open(frame, dict.fromkeys(names, "category"))
    recipe.fit(table)  # compiled code warm
    ours = timed(lambda: recipe.protect(table))
    kept = out["data"]
    chosen = [next(i for i, column in levels[name].items() if set(kept[name]) <= set(column)) for name in names]
    precision = 1 - sum(level / max(levels[name]) for name, level in zip(names, chosen, strict=True)) / len(names)
    print(f"anjana  {theirs:7.3f} s, {len(kept)} rows kept, precision {precision:.3f}")
    print(
        f"ours    {ours:7.3f} s, {len(recipe.protect(table).datasets[0])} rows kept, precision {recipe.fit(table).chosen.precision:.3f} ({theirs / ours:.0f} times faster)"
    )


PARTS = {"search": search_ratio, "rows": many_rows, "growth": growth, "anjana": beside_anjana}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(Path(sys.argv[2]))
    else:
        main()
