"""Rows in chunks on Spark: the rows of DuckDB, whatever partitions and workers there are."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.methods.geography.test_passing import RECIPES as PLACES
from tests.methods.geography.test_passing import homes

import veladura as vd
from veladura.table import chunks

from .conftest import job_total, spark_session
from .test_local import NASTY, ROLES

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
KEPT = ["ward", "sex", "age", "weight", "number"]
METHODS = {
    "noise": vd.Noise(columns=["weight", "age"], scale=0.2, fit_rows=800),
    "pram": vd.Pram(columns=["ward", "sex"], fit_rows=800),
    "partial": vd.Cart(columns=["weight", "ward"], m=2, fit_rows=800),
    "full": vd.Cart(m=1, fit_rows=800),
    "critical": vd.CriticalCart(critical={"weight": "weight > 9_000"}, m=1, fit_rows=1_500),
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1_000)


def drawn(recipe, table, seed=3):
    """Return the files of a release in chunks, which hold rows in an order of their own."""
    release = recipe.protect(table.select(KEPT), seed=seed)
    assert all(proof.status != "broken" for proof in release.proofs)
    return [pq.read_table(dataset.table.stored) for dataset in release.tables]


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.slow  # test_sources.py has two of them
@pytest.mark.parametrize("method", METHODS)
def test_rows_are_those_of_duckdb(local, people, method):
    far = drawn(METHODS[method], vd.open(local, ROLES, table=f"parquet.`{people}`"))
    near = drawn(METHODS[method], vd.open(people, ROLES))
    assert all(one.equals(two) for one, two in zip(far, near, strict=True))


@pytest.mark.filterwarnings("ignore:[^\n]*(settled|sweeps|chains)")
@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("method", [pytest.param(n, marks=pytest.mark.slow) for n in PLACES])
def test_places_are_those_of_duckdb(local, tmp_path, monkeypatch, method):
    monkeypatch.setattr(chunks, "CHUNK", 300)
    path = tmp_path / "homes.parquet"
    homes().to_parquet(path)
    releases = [
        PLACES[method].protect(vd.open(source, table=table), seed=3)
        for source, table in ((local, f"parquet.`{path}`"), (path, None))
    ]
    far, near = (
        [pq.read_table(dataset.table.stored) for dataset in release.tables] for release in releases
    )
    assert all(one.equals(two) for one, two in zip(far, near, strict=True))
    assert all(proof.status == "holds" for release in releases for proof in release.proofs)


def test_partitions_change_nothing(local, people):
    frame = spark_session().read.parquet(str(people))
    first, again = (
        drawn(METHODS["noise"], vd.open(frame.repartition(parts), ROLES)) for parts in (1, 7)
    )
    assert local
    assert all(one.equals(two) for one, two in zip(first, again, strict=True))


@pytest.mark.usefixtures("lazy_files")
def test_values_that_others_lose_stay_beside_noise(local, tmp_path):
    """Whole numbers above 2^53, NaN, far years, zones, decimals: released as DuckDB has them."""
    path = tmp_path / "nasty.parquet"
    rows = {name: pa.concat_arrays([values] * 40) for name, values in NASTY.items()}
    pq.write_table(pa.table({**rows, "x": [i / 7 for i in range(240)]}), path)
    recipe = vd.Noise(columns=["x"], fit_rows=120, min_people=0)
    releases = [
        recipe.protect(vd.open(source, table=table), seed=1)
        for source, table in ((local, f"parquet.`{path}`"), (path, None))
    ]
    far, near = (pq.read_table(release.tables[0].table.stored) for release in releases)
    assert far.equals(near)


@pytest.mark.usefixtures("lazy_files")
def test_declared_rules_run_on_the_executors(local, people):
    """Recoding, top-coding and suppression one after the other: no row comes to this process."""
    recipe = vd.Steps(
        [
            vd.Recode(columns={"ward": {"groups": {"east": ["ward 0", "ward 1"]}}}),
            vd.TopCode(columns={"weight": 9_000.0}),
            vd.Suppress(cells={"age": "age > 70"}),
        ]
    )
    before = job_total()
    far = recipe.protect(vd.open(local, ROLES, table=f"parquet.`{people}`"))
    assert job_total() - before <= 10
    near = recipe.protect(vd.open(people, ROLES).fetched())
    counts = [release.tables[0].table.counts(["ward", "age", "weight"]) for release in (far, near)]
    assert counts[0].size.tolist() == counts[1].size.tolist()
    for one, other in zip(counts[0].columns, counts[1].columns, strict=True):
        assert one.to_arrow().equals(other.to_arrow())
    assert not far.tables[0].table.in_memory


@pytest.mark.usefixtures("lazy_files")
def test_cells_are_blanked_by_risk_without_fetching_a_row(local, people):
    recipe = vd.Suppress(risk=0.3, known=["ward", "age"])
    far = recipe.protect(vd.open(local, ROLES, table=f"parquet.`{people}`").select(KEPT))
    assert not far.tables[0].table.in_memory
    near = recipe.protect(vd.open(people, ROLES).select(KEPT).fetched())
    counts = [release.tables[0].table.counts(["ward", "age", "weight"]) for release in (far, near)]
    assert counts[0].size.tolist() == counts[1].size.tolist()
    for one, other in zip(counts[0].columns, counts[1].columns, strict=True):
        assert one.to_arrow().equals(other.to_arrow())
    assert 0 < counts[0].columns[1].missing.sum() < counts[0].size.sum()
