"""Releases of many files: written, read, checked and analysed part by part."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.base.memory import VARIABLE
from veladura.errors import PlanError, PromiseError
from veladura.release import data
from veladura.release.folder import write_hashes
from veladura.table import parts
from veladura.table.parts import cuts, write_batches

ROWS = 2_500


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "note": rng.choice(["=1+1", "it's", "plain", None], ROWS),
            "income": np.round(rng.lognormal(10, 1, ROWS), 2),
        }
    )
    frame.loc[::17, "income"] = np.nan
    return frame


@pytest.fixture(scope="module", params=["parquet", "csv"])
def folder(request, people, tmp_path_factory):
    home = tmp_path_factory.mktemp(f"parts-{request.param}")
    release = vd.KAnonymity(quasi_identifiers=["age", "sex"], k=5).protect(people, seed=1)
    return release.save(
        home / "out" / "release", home / "safe" / "r", format=request.param, rows_per_file=1000
    )


def files(folder):
    return sorted(path.name for path in (folder / "data" / "dataset-1").iterdir())


def content(frame: pd.DataFrame) -> list[tuple]:
    rows = frame.astype(object).where(frame.notna(), "").itertuples(index=False, name=None)
    return sorted(tuple(map(str, row)) for row in rows)


def statuses(folder, **settings) -> dict[str, str]:
    return {line.claim: line.status for line in vd.verify(folder, **settings)}


def test_a_dataset_with_more_rows_is_written_in_parts(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = manifest["rows"][0]
    assert manifest["files"]["parts"] == [cuts(rows, 1000)]
    ending = manifest["files"]["format"]
    assert files(folder) == [f"part-0000{i}.{ending}" for i in range(len(cuts(rows, 1000)))]
    listed = (folder / "SHA256SUMS").read_text()
    assert all(f"data/dataset-1/{name}" in listed for name in files(folder))
    assert "parts" in (folder / "report.html").read_text()


@pytest.mark.parametrize("lazy", [False, True])
def test_parts_are_read_as_one_table(folder, people, lazy):
    release = vd.load(folder, lazy=lazy)
    assert release.tables[0].table.in_memory is not lazy
    held = vd.KAnonymity(quasi_identifiers=["age", "sex"], k=5).protect(people, seed=1).datasets[0]
    assert content(release.datasets[0].astype(held.dtypes)) == content(held)


@pytest.mark.parametrize("held", ["0", "1000000"])
def test_verify_proves_the_same_of_parts_however_they_are_read(folder, held, monkeypatch):
    monkeypatch.setenv("VELADURA_HELD_CELLS", held)
    found = statuses(folder)
    assert "broken" not in found.values()
    assert found["All files match their checksums."] == "holds"
    assert any("at least 5 people" in claim and s == "holds" for claim, s in found.items())


@pytest.mark.parametrize("held", ["0", "1000000"])
def test_a_class_that_is_too_small_is_seen_across_parts(folder, tmp_path, held, monkeypatch):
    """Two people of one class in the first part, one in the last: three are fewer than five."""
    monkeypatch.setenv("VELADURA_HELD_CELLS", held)
    if (folder / "data" / "dataset-1" / "part-00000.csv").exists():
        pytest.skip("one format is enough")
    forged = shutil.copytree(folder, tmp_path / "forged")
    for name, number in (("part-00000.parquet", 2), ("part-00002.parquet", 1)):
        path = forged / "data" / "dataset-1" / name
        rows = pq.read_table(path)
        columns = rows.to_pydict()
        columns["sex"][:number] = ["x"] * number
        pq.write_table(pa.table(columns, schema=rows.schema), path, store_schema=False)
    write_hashes(forged)
    found = statuses(forged)
    assert found["All files match their checksums."] == "holds"
    assert any("k-anonymity" in claim and s == "broken" for claim, s in found.items())


def _drop(forged):
    (forged / "data" / "dataset-1" / files(forged)[1]).unlink()


def _add(forged):
    first = forged / "data" / "dataset-1" / files(forged)[0]
    shutil.copy(first, first.with_name(first.name.replace("00000", "00099")))


def _link(forged):
    first = forged / "data" / "dataset-1" / files(forged)[0]
    first.rename(forged.parent / first.name)
    first.symlink_to(forged.parent / first.name)


def _linked_folder(forged):
    home = forged / "data" / "dataset-1"
    home.rename(forged.parent / "elsewhere")
    home.symlink_to(forged.parent / "elsewhere")


def _swap(forged):
    home = forged / "data" / "dataset-1"
    one, other = (home / name for name in (files(forged)[0], files(forged)[-1]))
    one.rename(home / "held")
    other.rename(one)
    (home / "held").rename(other)


@pytest.mark.parametrize("harm", [_drop, _add, _link, _linked_folder, _swap])
def test_what_was_done_to_parts_is_seen(folder, tmp_path, harm):
    forged = shutil.copytree(folder, tmp_path / "forged")
    harm(forged)
    assert "broken" in statuses(forged).values()


@pytest.mark.parametrize("harm", [_drop, _add])
def test_and_with_checksums_that_fit(folder, tmp_path, harm):
    forged = shutil.copytree(folder, tmp_path / "forged")
    harm(forged)
    write_hashes(forged)
    assert "broken" in statuses(forged).values()


@pytest.mark.parametrize(
    "said", [[[1]], [[1, 2]], [], [[], []], [["../../etc"]], [[-1, ROWS + 1]], [[10**30]], "data"]
)
def test_a_manifest_whose_parts_do_not_add_up_is_refused(folder, tmp_path, said):
    forged = shutil.copytree(folder, tmp_path / "forged")
    manifest = json.loads((forged / "manifest.json").read_text())
    manifest["files"]["parts"] = said
    (forged / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(PromiseError, match=r"manifest\.json was cut off"):
        vd.load(forged)


def test_parts_with_other_columns_are_refused(folder, tmp_path):
    if (folder / "data" / "dataset-1" / "part-00000.csv").exists():
        pytest.skip("names of CSV files are compared while they are read")
    forged = shutil.copytree(folder, tmp_path / "forged")
    path = forged / "data" / "dataset-1" / "part-00001.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.rename_columns(["income", *rows.column_names[1:-1], "age"]), path)
    for lazy in (False, True):
        with pytest.raises(PromiseError, match="does not fit codebook"):
            vd.load(forged, lazy=lazy)


def test_a_part_that_unfolds_to_too_much_is_not_read(folder, monkeypatch):
    monkeypatch.setattr(data, "MUCH", 1000)
    monkeypatch.setattr(data, "RATIO", 1)
    with pytest.raises(PromiseError, match="they were not read"):
        vd.load(folder, lazy=True)
    assert vd.load(folder, lazy=True, large=True).tables[0].table.rows


def test_a_name_in_the_path_gives_no_column(people, tmp_path):
    release = vd.Noise(columns=["income"]).protect(people, seed=1)
    saved = release.save(tmp_path / "k=5" / "release", tmp_path / "safe" / "r", rows_per_file=999)
    assert list(vd.load(saved, lazy=True).datasets[0].columns) == list(people.columns)


def test_a_lazy_release_is_written_in_parts_in_the_same_order(people, tmp_path, monkeypatch):
    """Rows that DuckDB recodes: parts one after the other are the one file."""
    people.to_parquet(tmp_path / "people.parquet")
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    release = vd.KAnonymity(quasi_identifiers=["age", "sex"], k=5).protect(
        vd.open(tmp_path / "people.parquet", {"age": {"role": "quasi-identifier"}}), seed=1
    )
    one = release.save(tmp_path / "one" / "release", tmp_path / "safe" / "one")
    many = release.save(tmp_path / "many" / "release", tmp_path / "safe" / "m", rows_per_file=700)
    whole = pq.read_table(one / "data" / "dataset-1.parquet")
    read = [pq.read_table(path) for path in sorted((many / "data" / "dataset-1").iterdir())]
    assert [rows.num_rows for rows in read] == cuts(whole.num_rows, 700)
    assert pa.concat_tables(read).equals(whole)
    assert "broken" not in statuses(many).values()


def test_parts_of_a_stream_do_not_depend_on_how_it_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "GROUP", 40)
    whole = pa.table({"x": list(range(1000))})
    written = {}
    for size in (1, 7, 40, 333, 1000):
        home = tmp_path / str(size)
        home.mkdir()
        stored = write_batches(whole.to_batches(size), whole.schema, home / "a.parquet", 150)
        written[size] = [path.read_bytes() for path in parts.files_of(stored)]
        assert [pq.read_metadata(path).num_rows for path in parts.files_of(stored)] == cuts(
            1000, 150
        )
    assert all(found == written[1] for found in written.values())


def test_rows_per_file_in_a_plan(people, tmp_path):
    from veladura.plan.reading import read_plan
    from veladura.plan.run import run

    people[["age", "sex"]].to_csv(tmp_path / "people.csv", index=False)
    text = """
[source]
path = "people.csv"
[columns]
age = {role = "quasi-identifier"}
sex = {role = "quasi-identifier"}
[[step]]
method = "k-anonymity"
quasi_identifiers = ["age", "sex"]
k = 5
[release]
folder = "out/release"
rows_per_file = 1200
[custodian]
folder = "safe/record"
"""
    (tmp_path / "plan.toml").write_text(text)
    outcome = run(read_plan(tmp_path / "plan.toml"))
    assert len(files(outcome.folder)) == len(cuts(ROWS, 1200))
    (tmp_path / "plan.toml").write_text(text.replace("1200", "0"))
    with pytest.raises(PlanError, match="rows_per_file must be"):
        read_plan(tmp_path / "plan.toml")


def test_frames_that_do_not_fit_are_refused_in_words(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, "1 GiB")
    monkeypatch.setattr("veladura.base.memory.BYTES_A_CELL", 1 << 20)
    release = vd.load(folder, lazy=True)
    with pytest.raises(PlanError, match="piece by piece"):
        _ = release.datasets
    assert int(release.counts(["sex"])[0]["n"].sum()) == release.tables[0].table.rows


def test_verify_never_holds_the_rows(folder, monkeypatch):
    """Of a lazy release no question may fetch all rows of all columns."""
    from veladura.table.table import Table

    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    monkeypatch.setattr(Table, "read", _refuse)
    assert "broken" not in statuses(folder).values()


def _refuse(_table):
    msg = "rows were fetched"
    raise AssertionError(msg)


def test_scratch_of_parts_goes_with_its_table(tmp_path, monkeypatch):
    from veladura.table.write import Scratch

    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "safe"))
    scratch = Scratch()
    rows = pa.table({"x": [1, 2, 3]})
    stored = write_batches([rows], rows.schema, scratch.path, 2)
    assert sorted(path.name for path in stored.iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    del scratch
    assert not stored.exists()
