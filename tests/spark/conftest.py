"""Spark for the tests: a session on this machine, and a standalone cluster on the loopback."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

NO_JAVA = "no Spark: make servers, or install openjdk-17-jre-headless"
QUASI = ("sex", "age", "race", "marital", "education", "country", "work", "job", "pay")


def require_spark() -> None:
    """Skip, or fail where everything must run, if Java or PySpark are missing."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NO_JAVA)
    pytest.importorskip("pyspark", reason=NO_JAVA)


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skewed people with nine quasi-identifiers, gaps, and two columns of many numbers."""
    rng, rows = np.random.default_rng(11), 6_000
    path = tmp_path_factory.mktemp("people") / "people.parquet"

    def skewed(name: str, size: int) -> pa.Array:
        codes = np.minimum((size * rng.random(rows) ** 4).astype(int), size - 1)
        return pa.array([f"{name} {code}" for code in codes], mask=rng.random(rows) < 0.02)

    columns = {name: skewed(name, 3 + 2 * i) for i, name in enumerate(QUASI)}
    columns["age"] = pa.array(rng.integers(17, 80, rows), mask=rng.random(rows) < 0.02)
    columns["ward"] = pa.array([f"ward {code}" for code in rng.integers(0, 4, rows)])
    columns["weight"] = pa.array(rng.lognormal(8, 1, rows).round(2))
    columns["number"] = pa.array(rng.integers(2**53, 2**60, rows), mask=rng.random(rows) < 0.1)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a session on this machine, which ends with the tests."""
    require_spark()
    stop_session()
    home = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("warehouse"))  # Spark keeps its tables where it starts
    try:
        from veladura.table.database.spark import connect_spark

        connect_spark("spark:local[2]")
    finally:
        os.chdir(home)
    yield "spark:local[2]"
    stop_session()


def stop_session() -> None:
    from pyspark.sql import SparkSession

    if (session := SparkSession.getActiveSession()) is not None:
        session.stop()


def job_total() -> int:
    """Return the number of jobs that the session has run so far."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    return int(session._jsparkSession.sparkContext().statusStore().jobsList(None).size())


@dataclass
class Cluster:
    """A master and its workers, each a process group of its own."""

    url: str
    workers: list[subprocess.Popen[bytes]]

    def kill(self, number: int) -> None:
        """Kill a worker and its executors, as a power cut does."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a standalone master and two workers from the installed package."""
    require_spark()
    stop_session()
    import pyspark

    home, port = tmp_path_factory.mktemp("spark"), free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_CONF_DIR": str(home / "conf"),
        "SPARK_LOCAL_DIRS": str(home / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    url = f"spark://127.0.0.1:{port}"
    kind = "org.apache.spark.deploy"
    started = [
        start(
            home / "master.log",
            environment,
            [f"{kind}.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", 0],
        )
    ]
    try:
        wait_for(home / "master.log", "I have been elected leader", started[0])
        for number in (1, 2):
            command = [f"{kind}.worker.Worker", "--host", "127.0.0.1", "--cores", 1]
            command += ["--memory", "1100m", "--webui-port", 0]
            command += ["--work-dir", home / f"work{number}", url]
            started.append(start(home / f"worker{number}.log", environment, command))
        for number in (1, 2):
            said = "Successfully registered with master"
            wait_for(home / f"worker{number}.log", said, started[number])
        yield Cluster(url, started[1:])
    finally:
        stop_session()
        for process in started:
            end(process)


def start(log: Path, environment: dict[str, str], command: list[Any]) -> subprocess.Popen[bytes]:
    """Start a daemon of Spark that dies with this process."""
    program = Path(environment["SPARK_HOME"]) / "bin" / "spark-class"
    with log.open("wb") as out:
        return subprocess.Popen(
            [str(program), *map(str, command)],
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # no other thread holds a lock of it
        )


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def wait_for(log: Path, words: str, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    """Wait until a daemon says something."""
    until = time.monotonic() + seconds
    while words not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > until:
            pytest.fail(f"Spark did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, gently first."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, how)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                continue


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
