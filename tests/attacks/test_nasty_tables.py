"""Attack: find a row of a k-anonymous file that looks like no k - 1 others, whatever the table.

Tables are random and small, with every pair of values that are equal but look different, and come
in as frames, files or databases. The files of the release folder are recounted by code of its own:
raw cells of the CSV file, and Parquet as DuckDB reads it. `python -m
tests.attacks.test_nasty_tables 10000` runs as many tables as one asks for, and tells how it stands
after every 500; `... 10000 7000` goes on from table 7,000.
"""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
import struct
import sys
import tempfile
import warnings
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import VeladuraError
from veladura.measures.assessment import Assessment
from veladura.release.files import write_data
from veladura.release.package import save

PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0xFFF8DEADBEEF0001))[0]
POOLS = {
    "number": ([0.0, -0.0, math.nan, PAYLOAD, -math.nan, None, 1.0, 2.5, 1e300], pa.float64()),
    "text": (
        [
            "\u00e9",
            "e\u0301",
            "a",
            "a ",
            " a",
            "a\u00a0",
            "1",
            "1.0",
            "01",
            "",
            "*",
            None,
            "ﬁ",
            "fi",
            "=1",
            "a\0",
        ],
        pa.string(),
    ),
    "yes": ([True, False, None], pa.bool_()),
    "whole": ([0, 1, 2, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, None], pa.int64()),
    "day": (
        [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(2000, 2, 29), None],
        pa.date32(),
    ),
    "time": (
        [
            datetime(2020, 1, 1, 12, tzinfo=UTC),
            datetime(2020, 1, 1, 13, tzinfo=timezone(timedelta(hours=1))),
            datetime(2020, 1, 1, 12, 0, 0, 1, tzinfo=UTC),
            None,
        ],
        pa.timestamp("us", tz="UTC"),
    ),
}
FORMS = ("global", "local", "mondrian", "star", "cells", "k-map", "steps", "strata")
CELL = re.compile(r'("(?:[^"]|"")*"|[^,\n]*)(,|\n)')


def random_table(draw: np.random.Generator) -> tuple[pa.Table, list[str]]:
    """Return a table of nasty values, and its quasi-identifiers."""
    rows = int(draw.integers(6, 40))
    kinds = list(draw.choice(list(POOLS), int(draw.integers(1, 4)), replace=False))
    columns = {}
    for kind in kinds:
        values, type_ = POOLS[kind]
        few = draw.choice(len(values), int(draw.integers(1, len(values) + 1)), replace=False)
        chosen = [values[i] for i in draw.choice(few, rows)]
        columns[f"{kind}, =q"] = pa.array(chosen, type_, from_pandas=False)
    columns["secret"] = pa.array([f"s{i}" for i in draw.integers(0, 3, rows)])
    columns["amount"] = pa.array(draw.integers(0, 9, rows))
    return pa.table(columns), list(columns)[: len(kinds)]


def to_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def to_csv(table: pa.Table, folder: Path) -> Path:
    table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(folder / "a.csv", index=False)
    return folder / "a.csv"


def to_duckdb(table: pa.Table, folder: Path) -> Path:
    (folder / "a.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.register("rows", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    return folder / "a.duckdb"


def to_sqlite(table: pa.Table, folder: Path) -> Path:
    (folder / "a.sqlite").unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(folder / "a.sqlite")) as connection:
        frame = table.to_pandas(timestamp_as_object=True).astype(object)
        frame.where(frame.notna(), None).to_sql("people", connection, index=False)
    return folder / "a.sqlite"


ROUTES = {
    "arrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "pandas of Arrow": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, _: pl.from_arrow(table),
    "parquet": to_parquet,
    "csv": to_csv,
    "duckdb": to_duckdb,
    "sqlite": to_sqlite,
}


def random_recipe(draw: np.random.Generator, table: pa.Table, keys: list[str], folder: Path):
    """Return a recipe that promises k, its k, and how its file is to be read."""
    k = int(draw.integers(2, 4))
    form = str(draw.choice(FORMS if len(keys) > 1 else FORMS[:-1]))  # strata need a second column
    missing = (
        "category"
        if form in ("mondrian", "local")
        else str(draw.choice(["category", "wildcard", "both"]))
    )
    settings = {
        "quasi_identifiers": keys,
        "k": k,
        "max_suppression": float(draw.choice([0.0, 0.2, 0.6])),
        "missing": missing,
    }
    if form in ("local", "mondrian"):
        settings["recoding"] = form
    elif form in ("star", "cells"):
        settings["suppressed"] = form
    elif form == "strata":
        settings |= {"suppressed": "cells", "strata": keys[:1]}
    elif form == "k-map":
        settings |= {"k": 1, "missing": "category", "max_suppression": 0.6}
        settings["hierarchies"] = {name: vd.Hierarchy.star() for name in keys}
        pq.write_table(pa.concat_tables([table] * 2), folder / "population.parquet")
        settings["models"] = [vd.KMap(k=k, population=folder / "population.parquet")]
    settings["preserve_type"] = bool(draw.random() < 0.3) and form in ("global", "cells")
    recipe = vd.KAnonymity(**settings)
    if form == "steps":
        before = vd.Recode(columns={"secret": {"keep": ["s0"]}, "amount": {"round": 3}})
        recipe = vd.Steps([before, recipe, vd.TopCode(columns={"amount": 6})])
    return recipe, k, form, settings["missing"]


def raw_cells(path: Path) -> list[tuple[str, ...]]:
    """Return the cells of a CSV file as they are written, quotes and all."""
    text = path.read_text(encoding="utf-8")
    rows, row = [], []
    for match in CELL.finditer(text):
        row.append(match[1])
        if match[2] == "\n":
            rows.append(tuple(row))
            row = []
    return rows[1:]


def parquet_cells(path: Path) -> list[tuple[str, ...]]:
    """Return the cells of a Parquet file as DuckDB reads them, bits of numbers and all."""
    with duckdb.connect() as connection:
        source = f"read_parquet('{path}')"
        types = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
        shown = ", ".join(
            f'epoch_us("{name}")' if type_.startswith("TIMESTAMP") else f'"{name}"'
            for name, type_, *_ in types
        )
        rows = connection.execute(f"SELECT {shown} FROM {source}").fetchall()  # noqa: S608
    return [tuple(_looks(value) for value in row) for row in rows]


def _looks(value: object) -> str:
    if isinstance(value, float):
        return struct.pack("<d", value).hex()
    return "" if value is None else f"{type(value).__name__} {value!r}"


def smallest(rows: list[tuple[str, ...]], missing: str, form: str, star: str) -> int:
    """Return the fewest rows that a row looks like; suppressed rows are those of nobody."""
    shown = [row for row in rows if not (form == "star" and {*row} == {star})]
    if not shown:
        return sys.maxsize
    same = min(Counter(shown).values()) if missing != "wildcard" else sys.maxsize
    if missing == "category":
        return same
    match = min(
        sum(
            all(a in ("", b) or b == "" for a, b in zip(one, other, strict=True)) for other in shown
        )
        for one in shown
    )
    return min(same, match)


def mapped(rows: list[tuple[str, ...]], population: list[tuple[str, ...]], star: str) -> int:
    """Return the fewest people of the population that a released row could be."""
    return min(
        (
            sum(
                all(a in (star, b) for a, b in zip(row, person, strict=True))
                for person in population
            )
            for row in set(rows)
        ),
        default=sys.maxsize,
    )


def attack(seed: int, folder: Path) -> str:
    """Return "refused", "held", or how the promise was broken."""
    draw = np.random.default_rng(seed)
    raw, keys = random_table(draw)
    route = list(ROUTES)[seed % len(ROUTES)]
    try:
        opened = vd.open(ROUTES[route](raw, folder), name="people").fetched()
        table = opened.read()
        recipe, k, form, missing = random_recipe(draw, table, keys, folder)
        release = recipe.protect(opened, seed=seed)
    except VeladuraError:
        return "refused"
    places = [release.tables[0].table.names.index(name) for name in keys]
    readers = {"csv": (raw_cells, '"*"'), "parquet": (parquet_cells, "str '*'")}
    for format_, (read, star) in readers.items():
        path = written(release, folder, format_, whole=seed // len(ROUTES) % 8 == 0)
        rows = [tuple(row[i] for i in places) for row in read(path)]
        if form == "k-map":
            path = folder / f"population.{format_}"
            write_data(table, path, format_)
            people = [tuple(row[i] for i in range(len(keys))) for row in read(path)] * 2
            fewest = mapped(rows, people, star)
        else:
            fewest = smallest(rows, missing, form, star)
        if fewest < k:
            return f"seed {seed}, {route}, {form}, {missing}, {format_}: {fewest} rows, k = {k}"
    return f"held by way of {route}: {form}"


def written(release: vd.Release, folder: Path, format_: str, *, whole: bool) -> Path:
    """Return the data file of the release, in a whole release folder or by itself."""
    if not whole:
        path = folder / f"rows.{format_}"
        write_data(release.tables[0].table.read(), path, format_)
        return path
    saved = save(
        release,
        folder / "out" / "people",
        folder / "safe" / "people",
        format=format_,
        force=True,
        assessment=Assessment({}),
    )
    return saved / "data" / f"dataset-1.{format_}"


def outcomes(seeds: range) -> Counter:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Counter(attack(seed, Path(folder)) for seed in seeds)


def held_in(seen: Counter, form: str) -> int:
    return sum(number for outcome, number in seen.items() if outcome.endswith(f": {form}"))


def held(seen: Counter) -> int:
    """Return the number of tables whose promise held; none may be broken, on no way in."""
    good = {outcome for outcome in seen if outcome == "refused" or outcome.startswith("held")}
    assert {*seen} == good, seen
    ways = [outcome.removeprefix("held by way of ").split(": ") for outcome in good - {"refused"}]
    assert {route for route, _ in ways} == {*ROUTES}, seen
    assert {form for _, form in ways} == {*FORMS}, (
        seen
    )  # a form that is always refused shows nothing
    return sum(number for outcome, number in seen.items() if outcome.startswith("held"))


@pytest.mark.parametrize("first", [0, pytest.param(128, marks=pytest.mark.slow)])
def test_no_row_of_a_written_file_stands_out(first):
    assert held(outcomes(range(first, first + 128))) > 64  # not all were refused


@pytest.mark.slow
def test_no_row_of_ten_thousand_written_files_stands_out():
    assert held(outcomes(range(10_000))) > 5_000


def test_the_recount_finds_what_stands_out():
    one = ("a", "")
    assert smallest([one, one, ("a", "x")], "category", "global", "*") == 1
    assert smallest([one, one, ("a", "x")], "wildcard", "global", "*") == 3
    assert smallest([one, one, ("b", "x")], "both", "global", "*") == 1
    assert mapped([("*", "x")], [("a", "x"), ("b", "y")], "*") == 1
    assert _looks(0.0) != _looks(-0.0)
    assert _looks(math.nan) != _looks(PAYLOAD)


def main(last: int, first: int = 0) -> None:
    """Print how many promises held, were refused and were broken, after every 500 tables."""
    seen: Counter = Counter()
    for start in range(first, last, 500):
        stop = min(start + 500, last)
        seen += outcomes(range(start, stop))
        number = sum(count for outcome, count in seen.items() if outcome.startswith("held"))
        broken = [outcome for outcome in seen if outcome.startswith("seed")]
        print(  # noqa: T201
            f"tables {first} to {stop - 1}: {number} held, {seen['refused']} refused,"
            f" {len(broken)} broken",
            *broken,
            *(f"{form}: {held_in(seen, form)} held" for form in FORMS),
            sep="\n  ",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
