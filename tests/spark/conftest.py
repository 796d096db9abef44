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
from collections.abc import Callable, Iterator
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
def people(own_folder: Callable[[str], Path]) -> Path:
    """Skewed people with nine quasi-identifiers, gaps, and two columns of many numbers."""
    rng, rows = np.random.default_rng(11), 6_000
    path = own_folder("spark-people") / "people.parquet"

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


# columns of the census of adults that is used everywhere for k-anonymity, and how many values each
ADULT = {
    "age": 73,
    "sex": 2,
    "race": 5,
    "marital": 7,
    "education": 16,
    "country": 41,
    "work": 8,
    "job": 14,
    "pay": 2,
}


@pytest.fixture(scope="session")
def adult(own_folder: Callable[[str], Path]) -> Path:
    """Nine columns and nothing else, with as many values as adult has, in three files."""
    rng, rows = np.random.default_rng(7), 5_000
    folder = own_folder("spark-adult") / "adult"
    folder.mkdir()
    columns: dict[str, Any] = {}
    for name, size in ADULT.items():
        codes = np.minimum((size * rng.random(rows) ** 3).astype(int), size - 1)
        columns[name] = codes + 17 if name == "age" else [f"{name} {code}" for code in codes]
    for part in range(3):
        pq.write_table(pa.table(columns).slice(part * 1_700, 1_700), folder / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def local(own_folder: Callable[[str], Path]) -> Iterator[str]:
    """Return the URL of a session on this machine, which ends with the module."""
    require_spark()
    stop_session()
    home = Path.cwd()
    os.chdir(own_folder("spark-warehouse"))  # Spark keeps its tables where it starts
    try:
        from veladura.table.database.spark import connect_spark

        connect_spark("spark:local[2]")
    finally:
        os.chdir(home)
    yield "spark:local[2]"
    stop_session()


def stop_session() -> None:
    from veladura.table.database.spark import running_session

    if (session := running_session()) is not None:
        session.stop()


def spark_session() -> Any:
    """Return the session that runs, whichever thread of Java serves this one."""
    from veladura.table.database.spark import running_session

    session = running_session()
    assert session is not None
    return session


def job_total() -> int:
    """Return the number of jobs that the session has run so far."""
    jobs = spark_session()._jsparkSession.sparkContext().statusStore().jobsList(None)
    return int(jobs.size())


@dataclass
class Cluster:
    """A master and its workers, each a process group of its own."""

    url: str
    home: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[bytes]]  # the master first

    @property
    def workers(self) -> list[subprocess.Popen[bytes]]:
        return self.started[1:]

    def add_workers(self, more: int = 1) -> None:
        """Start some workers more side by side, and wait until the master knows them."""
        first = len(self.started)
        for number in range(first, first + more):
            command = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1"]
            command += ["--cores", 1, "--memory", "1100m", "--webui-port", 0]
            command += ["--work-dir", self.home / f"work{number}", self.url]
            log = self.home / f"worker{number}.log"
            self.started.append(start(log, self.environment, command))
        for number in range(first, first + more):
            log = self.home / f"worker{number}.log"
            wait_for(log, "Successfully registered with master", self.started[number])

    def kill(self, number: int) -> None:
        """Kill a worker and its executors, as a power cut does."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(own_folder: Callable[[str], Path]) -> Iterator[Cluster]:
    """Start a standalone master and two workers from the installed package."""
    require_spark()
    stop_session()
    with pytest.MonkeyPatch.context() as patch:
        retry_soon(patch)
        yield from _cluster(own_folder)


def retry_soon(patch: pytest.MonkeyPatch) -> None:
    """Let Spark take files of a killed worker for lost at once: by default it waits 15 seconds."""
    from pyspark import SparkContext

    settings = {"spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "200ms"}
    listed = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    patch.setenv("PYSPARK_SUBMIT_ARGS", f"{listed} pyspark-shell")
    if SparkContext._jvm is not None:  # Java runs since an earlier module
        for name, value in settings.items():
            SparkContext._jvm.java.lang.System.setProperty(name, value)


def _cluster(own_folder: Callable[[str], Path]) -> Iterator[Cluster]:
    import pyspark

    home, port = own_folder("spark"), free_port()
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
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
    master += ["--port", port, "--webui-port", 0]
    started = [start(home / "master.log", environment, master)]
    try:
        wait_for(home / "master.log", "I have been elected leader", started[0])
        cluster = Cluster(url, home, environment, started)
        cluster.add_workers(2)
        yield cluster
    finally:
        stop_session()
        for process in started:
            end(process)


@pytest.fixture(scope="module")
def connect_server(own_folder: Callable[[str], Path]) -> Iterator[str]:
    """Start a Spark Connect server from the installed package; return its URL."""
    require_spark()
    import pyspark

    home, port = own_folder("spark-connect"), free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(home / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    kind = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command: list[Any] = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"]
    command += ["--class", kind, "--driver-memory", "1g"]
    command += ["--conf", f"spark.connect.grpc.binding.port={port}"]
    command += ["--conf", "spark.connect.grpc.binding.address=127.0.0.1"]
    command += ["--conf", "spark.ui.enabled=false", "--conf", f"spark.sql.warehouse.dir={home}/w"]
    server = start(home / "server.log", environment, command)
    try:
        wait_for(home / "server.log", "Spark Connect server started", server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        end(server)


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


def write_plan(folder: Path, source: str, people: Path, table: str, custodian: str) -> None:
    """Write a plan of k-anonymity whose release is a table of the catalogue, too."""
    roles = "\n".join(f'{column} = {{ role = "quasi-identifier" }}' for column in QUASI)
    (folder / "plan.toml").write_text(
        f"""
[source]
url = "{source}"
table = "parquet.`{people}`"

[columns]
{roles}
ward = {{ exact = "made up" }}
weight = {{ exact = "made up" }}
number = {{ exact = "made up" }}

[[step]]
method = "k-anonymity"
quasi_identifiers = {list(QUASI)}
k = 3
max_suppression = 0.1
hierarchies = {{ age = {{ widths = [10, 30] }} }}

[release]
folder = "out/release"
table = "{table}"

[custodian]
folder = "{custodian}"
""",
        encoding="utf-8",
    )
