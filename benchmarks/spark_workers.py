"""Spark with two workers against one: a standalone cluster on the loopback, a core a worker.

Run with ``python -m benchmarks.bench_scale workers`` on a machine of at least two cores that does
nothing else. Seconds of the clock, since two workers do the same work in less of it, and seconds of
the processor, which say who works: k-anonymity, which counts and recodes in the JVM, and Cart of
two columns, which draws in Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.spark.conftest import Cluster, end, free_port, start, wait_for

from benchmarks.processes import spent_by

METHODS = ("k-anonymity", "cart")


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Start a master and some workers of one core each, as long as the block runs."""
    import pyspark

    with tempfile.TemporaryDirectory() as folder:
        home, url = Path(folder), f"spark://127.0.0.1:{free_port()}"
        environment = {
            **os.environ,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(home / "local"),
            "PYSPARK_PYTHON": sys.executable,
        }
        command = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
        command += ["--port", url.rpartition(":")[2], "--webui-port", "0"]
        started = [start(home / "master.log", environment, command)]
        try:
            wait_for(home / "master.log", "I have been elected leader", started[0])
            running = Cluster(url, home, environment, started)
            running.add_workers(workers)
            yield url
        finally:
            for process in reversed(started):
                end(process)


def compare(source: Path) -> None:
    """Print the seconds that one worker and two take to protect a file, and who spends them."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for workers in (1, 2):
        with cluster(workers) as url:
            for method in METHODS:
                found[method, workers] = _seconds(method, source, url)
    for method in METHODS:
        one, two = (found[method, workers]["clock"] for workers in (1, 2))
        print(
            f"{method} on Spark, one worker {one:.0f} s, two workers {two:.0f} s: {one / two:.2f}"
            " times as fast (seconds of the clock)"
        )
        for workers in (1, 2):
            for when in ("start", "work"):
                spent = found[method, workers][when]
                listed = ", ".join(f"{name} {spent[name]:.1f}" for name in sorted(spent))
                print(f"  {workers} worker(s), processor seconds of the {when}: {listed}")
        sys.stdout.flush()


def _seconds(method: str, source: Path, url: str) -> dict[str, Any]:
    """Protect a file in a process of its own; return its seconds without those of the start."""
    with tempfile.TemporaryDirectory() as home:
        told = subprocess.run(
            [sys.executable, "-m", "benchmarks.spark_workers", method, str(source), url],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "VELADURA_CUSTODIAN": home, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
    figures: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return figures


def one(method: str, source: Path, url: str) -> None:
    """Protect a file on a cluster; print the seconds as JSON."""
    import veladura as vd
    from benchmarks.people import QUASI, recipe_of

    spent = [spent_by(os.getppid(), _who)]
    declared = {name: {"role": "quasi-identifier"} for name in QUASI}
    table = vd.open(url, declared, table=f"parquet.`{source}`")
    spent.append(spent_by(os.getppid(), _who))
    begin = perf_counter()
    if method == "cart":
        vd.Cart(columns=["income", "stay"], m=1, fit_rows=50_000).protect(table, seed=1)
    else:
        recipe_of().protect(table)
    clock = perf_counter() - begin
    spent.append(spent_by(os.getppid(), _who))
    start, work = (
        {name: after[name] - before.get(name, 0.0) for name in after}
        for before, after in pairwise(spent)
    )
    print(json.dumps({"clock": clock, "start": start, "work": work}))


def _who(command: str) -> str:
    """Return whose process a command line is."""
    if "CoarseGrainedExecutorBackend" in command:
        return "executors (Java)"
    if "pyspark.daemon" in command:
        return "executors (Python)"
    if "java" in command:
        return (
            "master and workers"
            if ".deploy.worker." in command or ".deploy.master." in command
            else "driver (Java)"
        )
    return "driver (Python)"


if __name__ == "__main__":
    one(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
