"""The studio: the first page after the command, and what a click takes, by HTTP as a browser asks.

`python -m benchmarks studio`; `python -m benchmarks.bench_studio 1000000` for another size.
Wall seconds, because people wait for them, and in brackets processor seconds of the studio, which
other work on the machine does not change. DuckDB's own count of the same rows stands beside.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REPEATS = 5
KEYS = ("sex", "age", "region", "work", "school")


@dataclass(frozen=True, order=True)
class Seconds:
    """How long people wait, and how long the processor works."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.3f} s ({self.processor:.2f})"


@dataclass
class Studio:
    """A running studio, asked as its page asks."""

    port: int
    token: str
    started: float
    process: int

    def ask(self, path: str, form: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what a room or an action answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        host = f"127.0.0.1:{self.port}"
        headers = {
            "X-Veladura-Token": self.token,
            "Sec-Fetch-Site": "same-origin",
            "Origin": f"http://{host}",
        }
        body = None if form is None else json.dumps(form)
        connection.request("GET" if form is None else "POST", path, body, headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def busy(self) -> float:
        """Return the processor seconds that the studio has used."""
        ticks = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        return sum(map(int, ticks.split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def opened(self) -> Seconds:
        """Wait for the room of columns; return the seconds since the command."""
        while "<table" not in (page := self.ask("/room/columns").get("html", "")):
            assert "could not be opened" not in page, page
            time.sleep(0.05)
        return Seconds(time.perf_counter() - self.started, self.busy())

    def timed(self, path: str, form: dict[str, Any] | None = None) -> Seconds:
        """Return the seconds until the whole answer is here."""
        start, busy = time.perf_counter(), self.busy()
        answer = self.ask(path, form)
        assert "error" not in answer, answer
        return Seconds(time.perf_counter() - start, self.busy() - busy)


@contextmanager
def studio(folder: Path, source: str) -> Iterator[Studio]:
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "veladura", "studio", source, "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "VELADURA_CUSTODIAN": str(folder / "home")},
    )
    assert process.stdout is not None
    found = re.search(r"127\.0\.0\.1:(\d+)/#token=(\S+)", process.stdout.readline())
    assert found
    try:
        yield Studio(int(found[1]), found[2], start, process.pid)
    finally:
        process.terminate()
        process.wait()


def survey(path: Path, rows: int) -> None:
    """Write invented people with twenty columns, skewed, rounded and with gaps."""
    rng = np.random.default_rng(3)
    columns: dict[str, pa.Array] = {
        "sex": pa.array(rng.choice(["f", "m"], rows)),
        "age": pa.array(rng.integers(0, 95, rows)),
        "region": pa.array(rng.choice([f"r{i}" for i in range(40)], rows)),
        "work": pa.array(rng.choice([f"w{i}" for i in range(25)], rows)),
        "school": pa.array(rng.choice(["none", "primary", "secondary", "higher"], rows)),
        "income": pa.array(
            np.exp(rng.normal(10, 0.6, rows)).round(-2), mask=rng.random(rows) < 0.05
        ),
    }
    for i in range(14):
        columns[f"answer{i + 1}"] = pa.array(rng.integers(1, 6, rows), mask=rng.random(rows) < 0.02)
    pq.write_table(pa.table(columns), path)


def clicks(open_studio: Studio, names: list[str]) -> None:
    """Print what ticks and rooms take: first a new combination each time, then a room again."""
    ticks = [
        open_studio.timed("/do/risk/count", {"known": names[: i + 1]}) for i in range(len(names))
    ]
    middle = sorted(ticks)[len(ticks) // 2]
    print(f"  a tick in the risk room    median {middle}, worst {max(ticks)} (aim 0.3)")
    parts = open_studio.timed("/do/risk/parts", {"known": names})
    print(f"  what each column does      {parts} (comes after the number)")
    for room in ("columns", "risk", "protect", "run", "release"):
        first = open_studio.timed(f"/room/{room}")
        again = sorted(open_studio.timed(f"/room/{room}") for _ in range(REPEATS))[REPEATS // 2]
        print(f"  room {room:10}            first {first}, again {again}")


def generated(rows: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        survey(folder / "people.parquet", rows)
        with studio(folder, "people.parquet") as page:
            print(f"{rows:,} x 20: first page {page.opened()}")
            time.sleep(3)  # as long as people look at a first page
            clicks(page, list(KEYS))
        query = f"""SELECT count(*) FROM (SELECT 1 FROM '{folder / "people.parquet"}'
            GROUP BY {", ".join(KEYS)} HAVING count(*) = 1)"""  # noqa: S608
        start = time.perf_counter()
        duckdb.sql(query).fetchall()
        print(f"  DuckDB's own count         {time.perf_counter() - start:.3f} s")


def register() -> None:
    from veladura.example import path

    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "people.csv").write_bytes(path("clinic.csv").read_bytes())
        times = []
        for _ in range(3):
            (folder / "plan.toml").unlink(missing_ok=True)
            with studio(folder, "people.csv") as page:
                times.append(page.opened())
        print(f"bundled register: first page {sorted(times)[1]} (aim 3)")
        with studio(folder, "people.csv") as page:
            page.opened()
            time.sleep(3)
            clicks(page, ["zip", "sex", "ethnicity", "marital"])


def main() -> None:
    register()
    generated(100_000)


if __name__ == "__main__":
    generated(int(sys.argv[1]))
