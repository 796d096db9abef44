"""A standalone cluster of two workers: the same release, also when one of them is killed."""

from __future__ import annotations

import threading
import time

import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import DataError

from .conftest import QUASI, spark_session

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)"),
]
ROLES = {name: {"role": "quasi-identifier"} for name in QUASI}


def recipe():
    ages = {"age": vd.Hierarchy.intervals((10, 30))}
    return vd.KAnonymity(quasi_identifiers=QUASI, k=3, max_suppression=0.1, hierarchies=ages)


@pytest.mark.slow
@pytest.mark.usefixtures("lazy_files")
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(cluster, people, tmp_path):
    def one_by_one(batches):  # many small tasks, slow enough that the blow falls between them
        for batch in batches:
            time.sleep(0.1)
            yield batch

    table = vd.open(cluster.url, ROLES, table=f"parquet.`{people}`")
    session = spark_session()
    assert session.sparkContext.master == cluster.url
    slow = session.table(f"parquet.`{people}`").repartition(8)
    slow = slow.mapInArrow(one_by_one, slow.schema)
    busy = vd.open(slow, ROLES)
    blow = threading.Timer(1.0, cluster.kill, [0])
    blow.start()
    release = recipe().protect(busy, seed=1)
    blow.join()
    assert cluster.workers[0].wait(10) != 0
    folder = release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "r")
    near = recipe().protect(vd.open(people, ROLES), seed=1)
    other = near.save(tmp_path / "out" / "n", custodian=tmp_path / "safe" / "n")
    file = "data/dataset-1.parquet"
    assert (folder / file).read_bytes() == (other / file).read_bytes()
    assert table.rows == pq.read_metadata(people).num_rows


@pytest.mark.slow
@pytest.mark.usefixtures("lazy_files")
def test_a_worker_that_is_killed_while_rows_are_drawn_changes_nothing(cluster, people, monkeypatch):
    """The blow falls when the job that draws has begun: its work lies in scratch from then on."""
    from veladura.table import chunks
    from veladura.table.database.scratch import scratch_folder

    def one_by_one(batches):
        for batch in batches:
            time.sleep(0.3)
            yield batch

    def blow():
        while not list(scratch_folder().glob("*.work")):
            time.sleep(0.02)
        time.sleep(0.5)
        cluster.kill(len(cluster.workers) - 1)

    monkeypatch.setattr(chunks, "CHUNK", 500)
    cluster.add_workers()  # in place of the one that was killed before
    vd.open(cluster.url, ROLES, table=f"parquet.`{people}`")
    slow = spark_session().table(f"parquet.`{people}`").repartition(8)
    slow = slow.mapInArrow(one_by_one, slow.schema)
    recipe = vd.Cart(columns=["weight"], predictors=["ward", "age"], m=1, fit_rows=600)
    thread = threading.Thread(target=blow, daemon=True)
    thread.start()
    release = recipe.protect(vd.open(slow, ROLES), seed=1)
    thread.join(10)
    assert cluster.workers[-1].wait(10) != 0
    near = recipe.protect(vd.open(people, ROLES), seed=1)
    far, near_rows = (pq.read_table(one.tables[0].table.stored) for one in (release, near))
    assert far.equals(near_rows)


@pytest.mark.usefixtures("lazy_files")
def test_a_folder_that_workers_do_not_share_is_refused(cluster, people, tmp_path, monkeypatch):
    """Parts that the driver does not see are told, and nothing is released."""
    from veladura.table.database import spark

    monkeypatch.setattr(spark.pq, "read_metadata", lambda _: type("Part", (), {"num_rows": 0})())
    table = vd.open(cluster.url, ROLES, table=f"parquet.`{people}`")
    with pytest.raises(DataError, match="share"):
        recipe().protect(table, seed=1)
