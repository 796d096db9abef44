"""Spark on this machine: the releases of DuckDB, in few jobs; what it would change is refused."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.table import profiles
from veladura.table.database import spark
from veladura.table.database.connection import home_of
from veladura.table.profiles import profile_columns
from veladura.table.recode import recode

from .conftest import QUASI, job_total, spark_session, write_plan

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    # the gateway to Java leaves its sockets to the collector of garbage
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROLES = {name: {"role": "quasi-identifier"} for name in QUASI}
FILES = ("codebook.json", "data/dataset-1.parquet")
DOMAIN = {"ward": [f"ward {i}" for i in range(4)]}


def recipe(**settings):
    ages = {"age": vd.Hierarchy.intervals((10, 30))}
    return vd.KAnonymity(
        quasi_identifiers=QUASI, k=3, max_suppression=0.1, hierarchies=ages, **settings
    )


def saved(release, folder):
    """Return the files of a release that hold values."""
    path = release.save(folder / "out" / "release", custodian=folder / "safe" / "record")
    assert all(proof.status != "broken" for proof in vd.verify(path))
    return [(path / file).read_bytes() for file in FILES]


@pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)")
@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("source", ["people", "adult"])
def test_a_release_takes_few_jobs_and_has_the_bytes_of_duckdb(local, request, tmp_path, source):
    people = request.getfixturevalue(source)
    before = job_total()
    table = vd.open(local, ROLES, table=f"parquet.`{people}`")
    fitted = recipe().fit(table)
    release = fitted.sample(seed=1)
    figures = vd.assess(table, release)
    far = saved(release, tmp_path / "far")
    assert job_total() - before <= 15
    other = vd.open(people, ROLES)
    same = recipe().fit(other)
    assert [node.levels for node in same.minimal] == [node.levels for node in fitted.minimal]
    near = same.sample(seed=1)
    assert saved(near, tmp_path / "near") == far
    assert vd.assess(other, near).to_json() == figures.to_json()


@pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)")
@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("settings", [{"suppressed": "star"}, {"recoding": "mondrian"}])
def test_other_ways_to_recode(local, people, tmp_path, settings):
    far, near = (
        recipe(**settings).protect(vd.open(source, ROLES, table=table), seed=1)
        for source, table in ((local, f"parquet.`{people}`"), (people, None))
    )
    assert saved(far, tmp_path / "far") == saved(near, tmp_path / "near")


def test_maps_and_many_dropped_classes_join_missing_with_missing(local, people):
    maps = {"age": pa.table({"old": [*range(17, 80), None], "new": ["in"] * 63 + ["none"]})}
    drop = pa.table({"sex": pa.array(["sex 0", None]), "age": ["in", "none"]})
    far, near = (
        recode(vd.open(source, ROLES, table=table), maps, drop)
        for source, table in ((local, f"parquet.`{people}`"), (people, None))
    )
    for names in (["age"], ["sex", "age"], ["number"]):
        mine, theirs = far.counts(names), near.counts(names)
        assert mine.size.tolist() == theirs.size.tolist()
        for one, other in zip(mine.columns, theirs.columns, strict=True):
            assert one.to_arrow().equals(other.to_arrow())


def test_what_is_joined_with_is_sent_to_the_workers(local, people):
    """Not sorted on both sides, as Spark does from 10 MB on: here from nothing on."""
    session = spark_session()
    drop = pa.table({"sex": pa.array(["sex 0", None]), "race": ["race 0", "race 1"]})
    table = recode(vd.open(local, ROLES, table=f"parquet.`{people}`"), {}, drop)
    home = home_of(table.expression)
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        home._run_pre_execute_hooks(table.expression)
        frame = session.sql(home.compile(table.expression))
        plan = frame._jdf.queryExecution().executedPlan().toString()
    finally:
        session.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert "BroadcastHashJoin" in plan
    assert "SortMergeJoin" not in plan


@pytest.mark.usefixtures("local")
def test_a_session_of_ours_compiles_once_unless_somebody_configured_spark(tmp_path, monkeypatch):
    bean = spark_session()._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    assert "-XX:TieredStopAtLevel=1" in list(bean.getInputArguments())
    (tmp_path / "spark-defaults.conf").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert spark.quick_start() == {}


NASTY = {
    "big": pa.array([2**53 + 1, None, -(2**63), 2**63 - 1, 5, 5], pa.int64()),
    "number": pa.array([float("nan"), None, -0.0, 0.0, 1e-7, 1e300], pa.float64()),
    "single": pa.array([0.1, None, -0.0, 3.5, 1e30, float("nan")], pa.float32()),
    "time": pa.array(
        [
            dt.datetime(900, 1, 1, 3),  # noqa: DTZ001
            dt.datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
            None,
            dt.datetime(1582, 10, 10),  # noqa: DTZ001
            *[dt.datetime(1970, 1, 1)] * 2,  # noqa: DTZ001
        ],
        pa.timestamp("us"),
    ),
    "day": pa.array(
        [dt.date(900, 1, 1), dt.date(9999, 12, 31), None, dt.date(1582, 10, 10), *[dt.date.min] * 2]
    ),
    "decimal": pa.array(
        [Decimal("0.1"), Decimal("123456789012345678.123456789"), None, *[Decimal("-0.3")] * 3],
        pa.decimal128(38, 9),
    ),
    "money": pa.array([Decimal("0.10"), None, *[Decimal("1234567.89")] * 4], pa.decimal128(12, 2)),
    "flag": pa.array([True, False, None, True, True, False]),
    "text": pa.array(["", "NaN", None, "null", "a ", "é"]),
    "unsigned": pa.array([2**32 - 1, 0, None, 1, 2, 3], pa.uint32()),
    "tiny": pa.array([-128, 127, None, 1, 2, 3], pa.int8()),
    "endless": pa.array([math.inf, -math.inf, None, -0.0, 0.0, math.nan]),
    "ends": pa.array(
        [
            dt.datetime(1, 1, 1),  # noqa: DTZ001
            dt.datetime(1, 1, 1, 0, 0, 0, 1),  # noqa: DTZ001
            None,
            dt.datetime(9999, 12, 31),  # noqa: DTZ001
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
            dt.datetime(1970, 1, 1),  # noqa: DTZ001
        ],
        pa.timestamp("us"),
    ),
}
NASTY["zoned"] = NASTY["time"].cast(pa.timestamp("us", "America/New_York"))


@pytest.mark.usefixtures("lazy_files")
def test_values_that_others_lose_come_through(local, tmp_path):
    """Whole numbers above 2^53 beside gaps, NaN, far years, zones, decimals and a negative zero."""
    path = tmp_path / "nasty.parquet"
    pq.write_table(pa.table({**NASTY, "place": range(6)}), path)
    roles = {"place": {"role": "quasi-identifier"}}
    far, near = vd.open(local, roles, table=f"parquet.`{path}`"), vd.open(path, roles)
    assert far.schema == near.schema
    assert far.arrow.sort_by("place").equals(near.arrow.sort_by("place"))
    one = vd.KAnonymity(
        quasi_identifiers=["place"], k=2, hierarchies={"place": vd.Hierarchy.intervals((3,))}
    )
    mine, theirs = (one.protect(table).tables[0].table for table in (far, near))
    assert mine.schema == theirs.schema
    rows = [pq.read_table(table.stored).sort_by("text") for table in (mine, theirs)]
    assert rows[0].equals(rows[1])


@pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)")
@pytest.mark.usefixtures("lazy_files")
def test_they_are_counted_and_joined_as_quasi_identifiers(local, tmp_path):
    """Four rows are there three times and two of them twice, which go at k = 3."""
    path = tmp_path / "nasty.parquet"
    rows = {name: pa.concat_arrays([v, v, v.slice(0, 4)]) for name, v in NASTY.items()}
    pq.write_table(pa.table(rows), path)
    names = [name for name in NASTY if name != "endless"]
    recipe = vd.KAnonymity(quasi_identifiers=names, k=3, max_suppression=0.5)
    places = (local, f"parquet.`{path}`"), (path, None)
    far, near = (recipe.protect(vd.open(source, table=table)) for source, table in places)
    released = [pq.read_table(one.tables[0].table.stored) for one in (far, near)]
    assert released[0].equals(released[1])
    assert released[0].num_rows == 12
    for source, table in places:
        with pytest.raises(DataError, match="'endless' has 2 infinite values"):
            vd.KAnonymity(quasi_identifiers=["endless"], k=2).protect(vd.open(source, table=table))


@pytest.mark.usefixtures("lazy_files")
def test_texts_are_parsed_as_numbers_and_dates(local, tmp_path):
    texts = {
        "whole": ["1", " 22 ", None, "-9223372036854775808"],
        "number": ["1.5", "1e3", None, "-0"],
        "day": ["31.12.1999", "01.02.1900", None, "29.02.2000"],
    }
    pq.write_table(pa.table({**texts, "place": range(4)}), tmp_path / "t.parquet")
    kinds = {"whole": "integer", "number": "number"}
    kinds["day"] = {"kind": "date", "format": "%d.%m.%Y"}
    far = vd.open(local, kinds, table=f"parquet.`{tmp_path / 't.parquet'}`")
    near = vd.open(tmp_path / "t.parquet", kinds)
    assert far.arrow.sort_by("place").equals(near.arrow.sort_by("place"))
    pq.write_table(pa.table({"whole": ["1", "x", "99999999999999999999"]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"\{'whole': 2\}"):
        vd.open(local, {"whole": "integer"}, table=f"parquet.`{tmp_path / 'b.parquet'}`")


@pytest.mark.parametrize(
    ("sql", "columns", "words"),
    [
        ("SELECT parse_json('1') AS x", {}, "has type variant"),
        ("SELECT array(1) AS x", {}, "has type array"),
        ("SELECT 'a' COLLATE UTF8_LCASE AS x", {}, "collation UTF8_LCASE"),
        ("SELECT cast(1 AS decimal(20, 0)) AS x", {}, "declare its kind"),
        ("SELECT 1e-7D AS x", {"x": "category"}, "numbers with fractions"),
    ],
)
def test_what_spark_would_change_is_refused_in_words(local, sql, columns, words):
    frame = spark_session().sql(sql)
    with pytest.raises(DataError, match=words):
        vd.open(frame, columns)


def test_names_that_spark_takes_for_one_are_told(local, tmp_path):
    pq.write_table(pa.table({"Age": ["a"], "age": ["b"]}), tmp_path / "case.parquet")
    with pytest.raises(DataError, match="names differ only in case"):
        vd.open(local, table=f"parquet.`{tmp_path / 'case.parquet'}`")


def test_types_that_spark_does_not_read_are_told(local, tmp_path):
    for number, kind in enumerate((pa.timestamp("ns"), pa.time64("us"))):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"x": pa.array([1, None], kind)}), path)
        with pytest.raises(DataError, match=r"(?s)type that Spark does not read.*microseconds"):
            vd.open(local, table=f"parquet.`{path}`")


@pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)")
@pytest.mark.usefixtures("lazy_files")
def test_names_that_mean_something_in_sql_and_texts_that_end_it(local, tmp_path):
    names = ["select", "group by", "a.b", "a`b", 'a"b', "a'b", "new\nline", "{x}", "c0", "n" * 300]
    texts = ["nul\0", "nul", 'quo"te', "it's", "back\\slash", "two\nlines", "\r", "", "*", "null"]
    columns = [pa.array([*texts[i:], *texts[:i], None] * 3) for i in range(len(names))]
    path = tmp_path / "words.parquet"
    pq.write_table(pa.table(columns, names=names), path)
    recipe = vd.KAnonymity(quasi_identifiers=names, k=3)
    releases = [
        recipe.protect(vd.open(source, table=table))
        for source, table in ((local, f"parquet.`{path}`"), (path, None))
    ]
    far, near = (pq.read_table(release.tables[0].table.stored) for release in releases)
    assert far.equals(near)
    assert far.column_names == names
    assert set(far.column(0).to_pylist()) == {*texts, None}


def test_frames_and_ibis_tables_of_the_caller(local, people):
    frame = spark_session().read.parquet(str(people))
    mine = ibis.pyspark.connect(spark_session())
    frame.createOrReplaceTempView("of_the_caller")
    wanted = vd.open(people, ROLES).counts(["sex", "race"])
    for source in (frame, mine.table("of_the_caller")):
        counts = vd.open(source, ROLES).counts(["sex", "race"])
        assert counts.size.tolist() == wanted.size.tolist()
    assert vd.open(local, ROLES, table="of_the_caller").rows == 6000


@pytest.mark.parametrize(
    ("url", "table", "words"),
    [
        ("spark:local[2]", None, "needs the name of a table"),
        ("spark:yarn", "t", "not the URL of a Spark session"),
        ("spark:local[3]", "t", "already has a Spark session on local"),
        ("spark:local[2]", "a`; DROP TABLE b", "not the name of a Spark table"),
    ],
)
def test_wrong_places_are_told(local, url, table, words):
    with pytest.raises(PlanError, match=words):
        vd.open(url, table=table)


def test_a_session_is_known_also_where_no_thread_of_java_has_it_active(local):
    """Java keeps the active session by thread, and Python may be given a new thread at any time."""
    from pyspark.sql import SparkSession

    kind = spark_session()._jvm.org.apache.spark.sql.classic.SparkSession
    before = kind.getActiveSession().get()
    kind.clearActiveSession()
    try:
        assert SparkSession.getActiveSession() is None
        assert spark_session().sparkContext.master == "local[2]"
        with pytest.raises(PlanError, match="already has a Spark session on local"):
            vd.open("spark:local[3]", table="t")
    finally:
        kind.setActiveSession(before)


def test_an_absent_table_is_told(local):
    with pytest.raises(DataError, match="table 'nowhere'"):
        vd.open(local, table="nowhere")


@pytest.mark.usefixtures("lazy_files")
def test_many_numbers_are_quantiles_of_one_aggregate(local, people, monkeypatch):
    monkeypatch.setattr(profiles, "MOST_VALUES", 500)
    table = vd.open(local, ROLES, table=f"parquet.`{people}`")
    before = job_total()
    profile_columns(table)
    assert job_total() - before <= 4
    near = vd.open(people, ROLES)
    for name in ("weight", "number"):
        profile, exact = table.profile(name), near.counts([name])
        given, known = ~profile.columns[0].missing, ~exact.columns[0].missing
        assert profile.size.sum() == exact.size.sum()
        values, reached = exact.columns[0].values[known], np.cumsum(exact.size[known])
        mine = np.cumsum(profile.size[given])
        place = np.searchsorted(values, profile.columns[0].values[given])
        assert np.abs(reached[place] - mine).max() <= 2 + reached[-1] / 4096
        assert profile.columns[0].values[given][0] == values[0]
        assert profile.columns[0].values[given][-1] == values[-1]


@pytest.mark.usefixtures("lazy_files")
def test_a_private_synthesis_is_that_of_duckdb(local, people):
    method = vd.DirichletMultinomial(columns=["ward"], domain=DOMAIN, epsilon=1.5)
    far, near = (
        method.protect(
            vd.open(source, ROLES, table=table).select(["ward"]), seed=3, unsafe_repeatable=True
        )
        for source, table in ((local, f"parquet.`{people}`"), (people, None))
    )
    for mine, theirs in zip(far.datasets, near.datasets, strict=True):
        assert mine.equals(theirs)


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("method", [vd.NoisyCounts, vd.Marginals])
def test_private_counts_are_taken_in_spark(local, people, method):
    """At epsilon 20 noise moves a count of thousands by less than one part in a hundred."""
    settings = {"rounds": 1, "fits": 1} if method is vd.Marginals else {}
    recipe = method(columns=["ward"], domain=DOMAIN, epsilon=20.0, **settings)
    table = vd.open(local, ROLES, table=f"parquet.`{people}`").select(["ward"])
    made = recipe.protect(table).datasets[0]["ward"].value_counts(normalize=True)
    true = pq.read_table(people).column("ward").to_pandas().value_counts(normalize=True)
    assert (made - true).abs().sum() / 2 < 0.05


@pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)")
@pytest.mark.usefixtures("lazy_files")
def test_a_plan_writes_a_table_of_the_catalogue(local, people, tmp_path, veladura):
    name = f"protected_{uuid4().hex[:8]}"  # a session may outlive the test, and its tables with it
    write_plan(tmp_path, local, people, name, "safe")
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = spark_session().table(name).toArrow()
    file = pq.read_table(tmp_path / "out" / "release" / "data" / "dataset-1.parquet")
    assert written.cast(file.schema).equals(file)


@pytest.mark.usefixtures("local")
def test_the_tutorial_runs_as_it_is_pasted(tmp_path, monkeypatch, python):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "state"))
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "spark.md"
    namespace = {"__name__": "__main__"}
    for code in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        python(code, namespace, tmp_path)
    assert all(proof.status != "broken" for proof in vd.verify(tmp_path / "out" / "clinic"))
